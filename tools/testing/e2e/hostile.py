#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make programs whose SFrame section is hostile: hostile.py ARCH CODE OUTDIR SECTIONS

SECTIONS has the output of test_decoder --write for ARCH: the sections of kunit/section_cases.c and a table of defects.

Each program is a static PIE of three pages: the ELF header, the section, and the code (hostile-ARCH.S) 0x1000 bytes after
the section. In the file the code comes before the section, so that a test can cut the section off and keep the code.
OUTDIR/table has a line "NAME EXPECTED" for each program. While the program is sampled, EXPECTED holds:

  defect.NAME[,NAME...]  one of these counters grows
  frames                 no such counter grows, and frames are found by SFrame
  sound                  no such counter grows, and a scan runs
  stop                   the walk itself stops at a wrong CFA
  any                    only the program must survive
  map                    the same; churn maps the program, because the kernel refuses to execute it
"""
import collections
import os
import struct
import sys

PT_LOAD, PT_GNU_STACK, PT_GNU_SFRAME = 1, 0x6474e551, 0x6474e554
R, X = 4, 1
PAGE = 0x1000
SECTION, CODE = PAGE, 2 * PAGE              # addresses
CODE_AT, SECTION_AT = PAGE, 2 * PAGE        # in the file

# ELF machine, SFrame ABI, fixed offset of RA; rows of the function and of the leaf: start, info, words. copies.c needs
# saved_row for the leaf: a row with the return address in memory.
Arch = collections.namedtuple('Arch', 'machine abi fixed_ra rows leaf_row saved_row')
ARCHS = {
    # push %rbp; mov %rsp, %rbp
    'x86_64': Arch(62, 3, -8, [bytes.fromhex(row) for row in ('000308', '010510f0', '040410f0')],
                   bytes.fromhex('000308'), bytes.fromhex('000308')),
    # stp x29, x30, [sp, #-16]!; mov x29, sp
    'arm64': Arch(183, 2, 0, [bytes.fromhex(row) for row in ('000300', '040710f8f0', '080610f8f0')],
                  bytes.fromhex('000300'), bytes.fromhex('000510f8')),
}
arch = ARCHS['x86_64']

MIN_SECTIONS = 90

# For these sections the result of the decoder on the host is not the effect in a process.
IN_A_PROCESS = {
    'weird-cfa-shrinks': 'stop',        # the walk checks where a CFA lies, not the decoder
    'bad-size-wrap': 'any',             # outside of user memory only if the section is at 1 << 46, as on the host
    'bad-flex-cfa-reg16': 'any',        # only the row of the first instruction is bad: few samples are taken there
}


def segment(kind, flags, offset, address, size):
    return struct.pack('<IIQQQQQQ', kind, flags, offset, address, address, size, size, PAGE if kind == PT_LOAD else 8)


def file_header(entry, phoff, nr_phdrs):
    ident = b'\x7fELF\x02\x01\x01' + bytes(9)
    return ident + struct.pack('<HHIQQQIHHHHHH', 3, arch.machine, 1, entry, phoff, 0, 0, 64, 56, nr_phdrs, 64, 0, 0)


def elf(code, section, sframe=None, extra=()):
    """The program. SFRAME replaces the segment that names the section, EXTRA adds segments."""
    headers = [
        segment(PT_LOAD, R, 0, 0, PAGE),
        segment(PT_LOAD, R, SECTION_AT, SECTION, PAGE),
        segment(PT_LOAD, R | X, CODE_AT, CODE, len(code)),
        segment(PT_GNU_STACK, R | 2, 0, 0, 0),
        sframe or segment(PT_GNU_SFRAME, R, SECTION_AT, SECTION, len(section)),
        *extra,
    ]
    image = bytearray(SECTION_AT + PAGE)
    image[CODE_AT:CODE_AT + len(code)] = code
    image[SECTION_AT:SECTION_AT + len(section)] = section
    table = b''.join(headers)
    phoff = 64
    if phoff + len(table) <= PAGE:
        image[phoff:phoff + len(table)] = table
    else:                               # a large table goes to the end of the file
        phoff = len(image)
        image += table
    image[:64] = file_header(CODE + 0x80, phoff, len(headers))
    return bytes(image)


def header(nr_fdes, nr_rows, fre_len):
    return struct.pack('<HBBBbbBIIIII', 0xdee2, 3, 5, arch.abi, 0, arch.fixed_ra, 0, nr_fdes, nr_rows, fre_len, 0, 16 * nr_fdes)


def fde(index, function, size, fre_off):
    """FDE number INDEX; its function begins FUNCTION bytes into the code"""
    return struct.pack('<qII', PAGE + function - (28 + 16 * index), size, fre_off)


def attribute(nr_rows, info=0, info2=0, rep_size=0):
    return struct.pack('<HBBB', nr_rows, info, info2, rep_size)


def good_section(order=(0, 1), leaf_row=None):
    """V3 section of a function with three rows, and a leaf. ORDER is that of their FDEs."""
    fres = attribute(3) + b''.join(arch.rows)
    functions = (0, 0x40, 0), (0x40, 0x40, len(fres))
    fres += attribute(1) + (leaf_row or arch.leaf_row)
    return header(2, 4, len(fres)) + b''.join(fde(i, *functions[k]) for i, k in enumerate(order)) + fres


def expected_of(name, defect):
    if name in IN_A_PROCESS:
        return IN_A_PROCESS[name]
    return 'sound' if defect == 'none' else f'defect.{defect}'


def built_sections(directory):
    """(name, EXPECTED, bytes) of each section of kunit/section_cases.c"""
    with open(os.path.join(directory, 'table')) as table:
        defects = dict(line.split() for line in table)
    assert len(defects) >= MIN_SECTIONS, f'{directory}: only {len(defects)} sections'
    assert IN_A_PROCESS.keys() <= defects.keys(), 'kunit/section_cases.c has other names'
    for name, defect in defects.items():
        with open(os.path.join(directory, f'{name}.sframe.bin'), 'rb') as file:
            yield name, expected_of(name, defect), file.read()


def segments(section):
    """(name, EXPECTED, segment, more segments): wrong segments for a sound section"""
    size = len(section)

    def named(address, length, flags=R):
        return segment(PT_GNU_SFRAME, flags, SECTION_AT, address, length)

    segment_defect, short, magic = 'defect.segment', 'defect.short', 'defect.magic'
    yield 'segment-unmapped', segment_defect, named(0x700000, size), ()
    yield 'segment-in-gap', segment_defect, named(64 * PAGE, size), ()
    yield 'segment-kernel', segment_defect, named(0xffff888000000000, size), ()
    yield 'segment-wraps', segment_defect, named(2**64 - 8, size), ()
    yield 'segment-noncanonical', segment_defect, named(1 << 47, size), ()
    yield 'segment-huge', segment_defect, named(SECTION, 2**63), ()
    yield 'segment-size-max', segment_defect, named(SECTION, 2**64 - 1), ()
    yield 'segment-past-load', 'any', named(SECTION, 2 * PAGE), ()
    yield 'segment-empty', short, named(SECTION, 0), ()
    yield 'segment-27-bytes', short, named(SECTION, 27), ()
    yield 'segment-unaligned', magic, named(SECTION + 1, size - 1), ()
    yield 'segment-is-code', magic, named(CODE, 0x80), ()
    yield 'segment-at-end', segment_defect, named(SECTION + PAGE - 20, 4096), ()
    yield 'segment-twice', 'any', None, (named(CODE, 64),)
    yield 'segment-60-times', 'any', None, tuple(named(SECTION + 8 * i, size) for i in range(60))
    yield 'segment-1000-times', 'map', None, tuple(named(SECTION + 8 * i, size) for i in range(1000))


def main():
    global arch
    name, code_path, out, sections = sys.argv[1:]
    arch = ARCHS[name]
    with open(code_path, 'rb') as file:
        code = file.read()
    assert len(code) <= PAGE
    good = good_section()
    programs = {'good': (elf(code, good), 'frames'),
                'copied': (elf(code, good_section(leaf_row=arch.saved_row)), 'any'),
                'zeros': (elf(code, bytes(28)), 'defect.empty'),
                'noise': (elf(code, struct.pack('<64I', *(((i + 1) * 2654435761) % 2**32 for i in range(64)))),
                          'defect.magic')}
    for name, expected, section in built_sections(sections):
        programs[name] = elf(code, section), expected
    for name, expected, sframe, extra in segments(good):
        programs[name] = elf(code, good, sframe, extra), expected
    # Sections that are cut. Only each 6th size is tried, because each one needs a program.
    for size in range(28, len(good), 6):
        programs[f'cut-at-{size}'] = elf(code, good[:size] + bytes(4), segment(
            PT_GNU_SFRAME, R, SECTION_AT, SECTION, size)), 'defect.num-fdes,freoff,fre-len'
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, 'table'), 'w') as table:
        for name, (image, expected) in sorted(programs.items()):
            path = os.path.join(out, name)
            with open(path, 'wb') as file:
                file.write(image)
            os.chmod(path, 0o755)
            print(name, expected, file=table)


if __name__ == '__main__':
    main()
