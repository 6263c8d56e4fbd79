# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the rows of a table are, for tests that damage them. The table is of sframectl convert: version 3."""

import struct
from collections import namedtuple

# @first is an address, from the start of the function. @start, @data (the first datum) and @end are offsets in the file.
# @datum is the size of each datum.
Row = namedtuple("Row", "first start data end datum")
HEADER, FDE, ATTR = 28, 16, 5


def section_of(elf):
    """Return the file offset and the address of the SFrame section."""
    shoff, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    for index in range(count):
        _, _, _, addr, off = struct.unpack_from("<IIQQQ", elf, shoff + index * size)
        if off and elf[off:off + 3] == b"\xe2\xde\x03":
            return off, addr
    raise ValueError("there is no SFrame section")


def functions(elf):
    """Yield the address, the size and the rows of each function."""
    start, addr = section_of(elf)
    nr, _, _, _, freoff = struct.unpack_from("<5I", elf, start + 8)
    for at in range(HEADER, HEADER + FDE * nr, FDE):
        off, size, first = struct.unpack_from("<qII", elf, start + at)
        yield addr + at + off, size, rows_at(elf, start + HEADER + freoff + first)


def rows_at(elf, at):
    count, info, _, _ = struct.unpack_from("<HBBB", elf, at)
    at += ATTR
    rows = []
    for _ in range(count):
        data = at + (1 << (info & 0xf)) + 1
        datum = 1 << (elf[data - 1] >> 5 & 3)
        end = data + datum * (elf[data - 1] >> 1 & 0xf)
        rows.append(Row(int.from_bytes(elf[at:data - 1], "little"), at, data, end, datum))
        at = end
    return rows
