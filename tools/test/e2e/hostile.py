#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make programs whose SFrame section is hostile: hostile.py ARCH CODE OUTDIR [SECTION.bin]...

The files are sections of the corpus, of which the bad ones are also built here.

Each is a static PIE of three pages: the section, 0x1000 bytes on the code (hostile-ARCH.S), and the ELF header. In the
file the code comes ahead of the section, so that a test can cut the section off and keep the code. OUTDIR/table
lists them, one a line: NAME FAULT, with the counter that must grow while the program is sampled:

  fault.NAME[,NAME...]   one of these must grow
  stop                   no fault; the walk itself must refuse
  any                    nothing is demanded but survival
  map                    likewise, and the kernel does not execute it: churn maps it
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

# The rows of the function, and of the leaf: start, info, words. ELF's machine, SFrame's ABI, where RA always is. As if
# the leaf had its return address in memory is what copies.c wants of it.
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

# The counters are named in include/sframe_core.h; what must grow is what the corpus' README says is wrong.
FAULTS = {
    'bad-short-header': 'fault.short',
    'bad-magic': 'fault.magic',
    'bad-version0': 'fault.version',
    'bad-version4': 'fault.version',
    'bad-flag8': 'fault.flags',
    'bad-abi0': 'fault.abi',
    'bad-abi9': 'fault.abi',
    'bad-aux255': 'fault.fdeoff,freoff,num-fdes,short',
    'bad-fdeoff-gt-freoff': 'fault.fdeoff',
    'bad-nfde-mul-overflow': 'fault.num-fdes',
    'bad-nfde-huge': 'fault.num-fdes',
    'bad-freoff-wrap': 'fault.freoff',
    'bad-frelen': 'fault.fre-len',
    'bad-frelen-wrap': 'fault.fre-len',
    'bad-fre_off': 'fault.fre-off',
    'bad-fre_off-attr-cut': 'fault.fre-off',
    'bad-num_fres-lie': 'fault.fre-cut,fre-order',
    'bad-words-cut': 'fault.fre-cut',
    'bad-wordsize3': 'fault.word-size',
    'bad-fretype3': 'fault.fre-type',
    'bad-fdetype2': 'fault.fde-type',
    'bad-pcmask-rep0': 'fault.rep-size',
    'bad-unsorted-fdes': 'fault.fde-order',
    'bad-unsorted-rows': 'fault.fre-order',
    'bad-flex-1word': 'fault.nr-words',
    'bad-flex-cfa-noreg': 'fault.flex-cfa',
    'bad-flex-cfa-pad': 'fault.flex-cfa',
    'bad-flex-regnum': 'fault.regnum',
    'bad-flex-trailing': 'fault.nr-words',
    'bad-default-4words': 'fault.nr-words',
    'weird-fixed-fp': 'fault.fixed-offsets',
    'weird-fixed-ra': 'fault.fixed-offsets',
    'weird-cfa-shrinks': 'stop',
}


def segment(kind, flags, offset, address, size):
    return struct.pack('<IIQQQQQQ', kind, flags, offset, address, address, size, size, PAGE if kind == PT_LOAD else 8)


def file_header(entry, phoff, nr_phdrs):
    ident = b'\x7fELF\x02\x01\x01' + bytes(9)
    return ident + struct.pack('<HHIQQQIHHHHHH', 3, arch.machine, 1, entry, phoff, 0, 0, 64, 56, nr_phdrs, 64, 0, 0)


def elf(code, section, sframe=None, extra=()):
    """The program; SFRAME and EXTRA replace and add to the segment that names the section."""
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
    """FDE number INDEX: its function begins FUNCTION bytes into the code."""
    return struct.pack('<qII', PAGE + function - (28 + 16 * index), size, fre_off)


def attribute(nr_rows, info=0, info2=0, rep_size=0):
    return struct.pack('<HBBB', nr_rows, info, info2, rep_size)


def good_section(order=(0, 1), leaf_row=None):
    """V3: a function with three rows, and a leaf; ORDER of their FDEs"""
    fres = attribute(3) + b''.join(arch.rows)
    functions = (0, 0x40, 0), (0x40, 0x40, len(fres))
    fres += attribute(1) + (leaf_row or arch.leaf_row)
    return header(2, 4, len(fres)) + b''.join(fde(i, *functions[k]) for i, k in enumerate(order)) + fres


def one_function(rows, nr_rows=1, info2=0):
    return header(1, nr_rows, 5 + len(rows)) + fde(0, 0, 0x40, 0) + attribute(nr_rows, 0, info2) + rows


def bad_sections():
    """What the corpus' README lists as bad and weird: one field changed, or other rows."""
    first, second, third = arch.rows
    rows = first + second + third
    fields = {
        'bad-magic': (0, 'B', 0xe3), 'bad-version0': (2, 'B', 0), 'bad-version4': (2, 'B', 4),
        'bad-flag8': (3, 'B', 0xd), 'bad-abi0': (4, 'B', 0), 'bad-abi9': (4, 'B', 9),
        'weird-fixed-fp': (5, 'b', -16), 'weird-fixed-ra': (6, 'b', -8 - arch.fixed_ra), 'bad-aux255': (7, 'B', 255),
        'bad-nfde-mul-overflow': (8, 'I', 0x10000001), 'bad-nfde-huge': (8, 'I', 0xffffffff),
        'bad-frelen': (16, 'I', 0x1000), 'bad-frelen-wrap': (16, 'I', 0xfffffff8),
        'bad-fdeoff-gt-freoff': (20, 'I', 32), 'bad-freoff-wrap': (24, 'I', 0xfffffff0),
        'bad-start-min': (28, 'q', -2**63), 'bad-size-wrap': (36, 'I', 0xffffffff),
        'bad-fre_off': (40, 'I', 0xfffffff0), 'bad-fre_off-attr-cut': (40, 'I', 5 + len(rows) - 3),
        'bad-num_fres-lie': (44, 'H', 0xffff), 'bad-fretype3': (46, 'B', 3), 'bad-pcmask-rep0': (46, 'B', 0x10),
        'bad-fdetype2': (47, 'B', 2), 'bad-wordsize3': (50, 'B', 0x63),
    }
    for name, (offset, form, value) in fields.items():
        section = bytearray(one_function(rows, 3))
        struct.pack_into('<' + form, section, offset, value)
        yield name, bytes(section)
    yield 'bad-short-header', one_function(rows, 3)[:20]
    yield 'bad-unsorted-fdes', good_section((1, 0))
    yield 'bad-unsorted-rows', one_function(first + third + second, 3)
    yield 'bad-words-cut', one_function(first + bytes.fromhex('011f'), 2)
    yield 'bad-default-4words', one_function(bytes.fromhex('0009 08f0f801'))
    yield 'bad-flex-1word', one_function(bytes.fromhex('0002 39'), 1, 1)
    yield 'bad-flex-cfa-noreg', one_function(bytes.fromhex('0004 3808'), 1, 1)
    yield 'bad-flex-cfa-pad', one_function(bytes.fromhex('0004 0008'), 1, 1)
    yield 'bad-flex-regnum', one_function(b'\x00\x4a' + struct.pack('<IIIIi', 0x39, 8, 0, 0xfffffffb, -16), 1, 1)
    yield 'bad-flex-trailing', one_function(bytes.fromhex('000e 39080033f00101'), 1, 1)
    yield 'weird-cfa-shrinks', one_function(bytes.fromhex('0003 f8'))


def segments(section):
    """Sections that are good and named wrongly: name, what must grow, the segment, more of them."""
    size = len(section)

    def named(address, length, flags=R):
        return segment(PT_GNU_SFRAME, flags, SECTION_AT, address, length)

    segment_fault, short, magic = 'fault.segment', 'fault.short', 'fault.magic'
    yield 'segment-unmapped', segment_fault, named(0x700000, size), ()
    yield 'segment-in-gap', segment_fault, named(64 * PAGE, size), ()
    yield 'segment-kernel', segment_fault, named(0xffff888000000000, size), ()
    yield 'segment-wraps', segment_fault, named(2**64 - 8, size), ()
    yield 'segment-noncanonical', segment_fault, named(1 << 47, size), ()
    yield 'segment-huge', segment_fault, named(SECTION, 2**63), ()
    yield 'segment-size-max', segment_fault, named(SECTION, 2**64 - 1), ()
    yield 'segment-past-load', 'any', named(SECTION, 2 * PAGE), ()
    yield 'segment-empty', short, named(SECTION, 0), ()
    yield 'segment-27-bytes', short, named(SECTION, 27), ()
    yield 'segment-unaligned', magic, named(SECTION + 1, size - 1), ()
    yield 'segment-is-code', magic, named(CODE, 0x80), ()
    yield 'segment-at-end', segment_fault, named(SECTION + PAGE - 20, 4096), ()
    yield 'segment-twice', 'any', None, (named(CODE, 64),)
    yield 'segment-60-times', 'any', None, tuple(named(SECTION + 8 * i, size) for i in range(60))
    yield 'segment-1000-times', 'map', None, tuple(named(SECTION + 8 * i, size) for i in range(1000))


def main():
    global arch
    name, code_path, out, *bins = sys.argv[1:]
    arch = ARCHS[name]
    with open(code_path, 'rb') as file:
        code = file.read()
    assert len(code) <= PAGE
    good = good_section()
    programs = {'good': (elf(code, good), 'none'),
                'copied': (elf(code, good_section(leaf_row=arch.saved_row)), 'any'),
                'zeros': (elf(code, bytes(28)), 'fault.empty'),
                'noise': (elf(code, struct.pack('<64I', *(((i + 1) * 2654435761) % 2**32 for i in range(64)))),
                          'fault.magic')}
    for name, section in bad_sections():
        programs[name] = elf(code, section), FAULTS.get(name, 'any')
    for path in bins:
        name = os.path.basename(path)[:-len('.sframe.bin')]
        with open(path, 'rb') as file:
            programs[name] = elf(code, file.read()), FAULTS.get(name, 'any')
    for name, expected, sframe, extra in segments(good):
        programs[name] = elf(code, good, sframe, extra), expected
    # Cut short: at each 6th byte, for each costs the time of a program.
    for size in range(28, len(good), 6):
        programs[f'cut-at-{size}'] = elf(code, good[:size] + bytes(4), segment(
            PT_GNU_SFRAME, R, SECTION_AT, SECTION, size)), 'fault.num-fdes,freoff,fre-len'
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, 'table'), 'w') as table:
        for name, (image, fault) in sorted(programs.items()):
            path = os.path.join(out, name)
            with open(path, 'wb') as file:
                file.write(image)
            os.chmod(path, 0o755)
            print(name, fault, file=table)


if __name__ == '__main__':
    main()
