# SPDX-License-Identifier: GPL-2.0-or-later
"""Spoils a table: adds 16 to the CFA offset of the widest row of a function."""

import table


def shift_row(path, addr):
    """Shift a row of the function at that address. The table is of sframectl convert."""
    elf = bytearray(path.read_bytes())
    size, rows = next((size, rows) for start, size, rows in table.functions(elf) if start == addr)
    ends = [row.first for row in rows[1:]] + [size]
    _, row = max(zip(ends, rows), key=lambda pair: pair[0] - pair[1].first)
    value = int.from_bytes(elf[row.data:row.data + row.datum], "little", signed=True) + 16
    elf[row.data:row.data + row.datum] = value.to_bytes(row.datum, "little", signed=True)
    path.write_bytes(elf)
