#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make programs whose SFrame section is as costly to search as possible: costly.py ARCH CODE OUTDIR

The sections are sound, or nearly. The code is that of hostile-ARCH.S, with a row for every instruction.

OUTDIR/table has a line "NAME REASON..." for each program: all reasons for which its walks end, sorted. The row
cache keeps a row that was found, or that there is none. So each address of `rows-2000` is looked up at full cost only
once. If the budget ends a look-up, the next one costs as much.
"""
import os
import struct
import sys

import hostile
from hostile import CODE, CODE_AT, PAGE, PT_GNU_SFRAME, PT_GNU_STACK, PT_LOAD, R, X, attribute, segment

MOST_ROWS = 65535                       # the most that V3 can express
NR_FDES = 1000000
START = 0x80                            # offset in the code of the entry point, the outermost function
SECTION = 0x100000                      # address, above the code
ROW_OUTERMOST = b'\x00'
# By ELF machine: the return of the function, and the first instruction of `milliseconds`
MARKS = {62: (b'\xc3', b'\xb8\xe4\0\0\0'), 183: (b'\xc0\x03\x5f\xd6', b'\x28\x0e\x80\xd2')}


def elf(code, section):
    """The program: @code is loaded at CODE; its last page is hostile-ARCH.S."""
    section_at = (CODE_AT + len(code) + PAGE - 1) // PAGE * PAGE
    headers = [
        segment(PT_LOAD, R, 0, 0, PAGE),
        segment(PT_LOAD, R | X, CODE_AT, CODE, len(code)),
        segment(PT_LOAD, R, section_at, SECTION, len(section)),
        segment(PT_GNU_STACK, R | 2, 0, 0, 0),
        segment(PT_GNU_SFRAME, R, section_at, SECTION, len(section)),
    ]
    entry = CODE + len(code) - PAGE + START
    ehdr = hostile.file_header(entry, 64, len(headers))
    return (ehdr + b''.join(headers)).ljust(CODE_AT, b'\0') + code.ljust(section_at - CODE_AT, b'\0') + section


def code_rows(code):
    """The row of each address of hostile-ARCH.S: its info byte and its words."""
    # The function has three rows: at its start, as all functions; after push or stp; and from mov to pop or ldp.
    (_, usual), (pushed, at_pushed), (moved, at_moved) = ((row[0], row[1:]) for row in hostile.arch.rows)
    ret, milliseconds = (code.index(c) for c in MARKS[hostile.arch.machine])
    rows = [usual] * len(code)
    rows[pushed:moved] = [at_pushed] * (moved - pushed)
    rows[moved:ret] = [at_moved] * (ret - moved)
    rows[START:milliseconds] = [ROW_OUTERMOST] * (milliseconds - START)
    return rows


def header(version, flags, nr_fdes, fre_len):
    size = {2: 20, 3: 16}[version]
    return struct.pack('<HBBBbbBIIIII', 0xdee2, version, flags, hostile.arch.abi, 0, hostile.arch.fixed_ra, 0, nr_fdes, nr_fdes, fre_len, 0,
                       size * nr_fdes)


def one_function(code, nr_rows):
    """One function with a row for each address. Rows are as small as can be. The last ones describe hostile-ARCH.S.

    The rows of V2 cost the same."""
    last = code_rows(code)
    first = (nr_rows - len(last)) // 16 * 16
    rows = [ROW_OUTERMOST] * first + last + [ROW_OUTERMOST] * (PAGE - len(last))
    fres = b''.join(struct.pack('<H', start) + row for start, row in enumerate(rows[:nr_rows]))
    fres = attribute(nr_rows, 1) + fres
    fde = struct.pack('<qII', CODE - SECTION - 28, first + PAGE, 0)
    return elf(bytes(first) + code.ljust(PAGE, b'\xcc'), header(3, 5, 1, len(fres)) + fde + fres)


def functions_of(code):
    """(start, size, row) of functions that describe hostile-ARCH.S; each change of the row begins a function"""
    rows = code_rows(code)
    starts = [i for i in range(len(rows)) if i == 0 or rows[i] != rows[i - 1]]
    return [(start, end - start, rows[start]) for start, end in zip(starts, starts[1:] + [len(rows)])]


def many_functions(code, known=True, size=16):
    """A million functions, half of them before the code and half after it. With KNOWN, the code is described, too."""
    fres = attribute(1) + b'\x00' + ROW_OUTERMOST
    functions = [(CODE - 16 * i, size, 0) for i in range(NR_FDES // 2, 0, -1)]
    for start, length, row in functions_of(code) if known else ():
        functions.append((CODE + start, length, len(fres)))
        fres += attribute(1) + b'\x00' + row
    functions += [(CODE + PAGE + 16 * i, size, 0) for i in range(NR_FDES // 2)]
    fdes = b''.join(struct.pack('<qII', start - (SECTION + 28 + 16 * i), length, off)
                    for i, (start, length, off) in enumerate(functions))
    return elf(code.ljust(PAGE, b'\xcc'), header(3, 5, len(functions), len(fres)) + fdes + fres)


def same_starts(code):
    """A million empty functions at the start of the code: a search finds the last, then steps back over the others."""
    fdes = b''.join(struct.pack('<qII', CODE - (SECTION + 28 + 16 * i), 0, 0) for i in range(NR_FDES))
    return elf(code.ljust(PAGE, b'\xcc'), header(3, 5, NR_FDES, 7) + fdes + attribute(1) + b'\x00' + ROW_OUTERMOST)


def programs(code):
    # The budget pays for 2000 rows in one look-up, but not in two. It does not pay for 65535 rows.
    yield 'rows-2000', 'budget complete', one_function(code, 2000)
    yield 'rows-65535', 'budget', one_function(code, MOST_ROWS)
    yield 'fdes-million', 'complete', many_functions(code)
    yield 'fdes-million-miss', 'nodata', many_functions(code, False)
    yield 'fdes-million-same', 'budget', same_starts(code)


def main():
    name, code_path, out = sys.argv[1:]
    hostile.arch = hostile.ARCHS[name]
    with open(code_path, 'rb') as file:
        code = file.read()
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, 'table'), 'w') as table:
        for name, reasons, image in programs(code):
            path = os.path.join(out, name)
            with open(path, 'wb') as file:
                file.write(image)
            os.chmod(path, 0o755)
            print(name, reasons, file=table)


if __name__ == '__main__':
    main()
