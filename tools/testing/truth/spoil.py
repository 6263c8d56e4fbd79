#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""spoil.py TABLE ADDRESS: shift one row of a table

Adds 16 to the CFA offset of the widest row of the function at ADDRESS. TABLE is of sframectl convert: version 3, and
starts of functions are relative to their own field.
"""

import struct
import sys
from pathlib import Path

HEADER, FDE, ATTR = 28, 16, 5
SHT_PROGBITS = 1


def find_section(elf):
    """Return file offset and address of the section that begins with the magic number."""
    shoff, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    for index in range(count):
        _, _, _, addr, off = struct.unpack_from("<IIQQQ", elf, shoff + index * size)
        if off and elf[off:off + 3] == b"\xe2\xde\x03":
            return off, addr
    sys.exit("there is no SFrame section")


def find_function(elf, start, addr, wanted):
    """Return the index, and the size, of a function."""
    nr, = struct.unpack_from("<I", elf, start + 8)
    for index in range(nr):
        at = HEADER + FDE * index
        off, size = struct.unpack_from("<qI", elf, start + at)
        if addr + at + off == wanted:
            return index, size
    sys.exit(f"no function begins at {wanted:#x}")


def widest_row(elf, start, index, size):
    """Return the file offset of the first datum of the row, and the bytes of a datum."""
    freoff, = struct.unpack_from("<I", elf, start + 24)
    off, = struct.unpack_from("<I", elf, start + HEADER + FDE * index + 12)
    at = start + HEADER + freoff + off
    count, info, _, _ = struct.unpack_from("<HBBB", elf, at)
    at += ATTR
    rows = []
    for _ in range(count):
        bytes_of_addr = 1 << (info & 0xf)
        first = int.from_bytes(elf[at:at + bytes_of_addr], "little")
        word = elf[at + bytes_of_addr]
        datum = 1 << (word >> 5 & 3)
        at += bytes_of_addr + 1
        rows.append((first, at, datum))
        at += datum * (word >> 1 & 0xf)
    ends = [row[0] for row in rows[1:]] + [size]
    return max(zip(ends, rows), key=lambda pair: pair[0] - pair[1][0])[1][1:]


def main():
    path = Path(sys.argv[1])
    elf = bytearray(path.read_bytes())
    start, addr = find_section(elf)
    index, size = find_function(elf, start, addr, int(sys.argv[2], 16))
    at, datum = widest_row(elf, start, index, size)
    value = int.from_bytes(elf[at:at + datum], "little", signed=True)
    elf[at:at + datum] = (value + 16).to_bytes(datum, "little", signed=True)
    path.write_bytes(elf)


main()
