# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes small ELF files with a .gopclntab, field by field, as Go's debug/gosym and runtime describe it."""

import struct

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
PHDR = struct.Struct("<IIQQQQQQ")
SHDR = struct.Struct("<IIQQQQIIQQ")
RELA = struct.Struct("<QQq")
MACHINES = {"x86_64": (62, 1, 8), "aarch64": (183, 4, 1027)}    # EM_*, bytes of an instruction, R_*_RELATIVE

# Go that wrote it: the magic number, whether functions are relative to the code, and where their flags are.
VERSIONS = {"1.16": (0xfffffffa, False, 41), "1.18": (0xfffffff0, True, 37), "1.20": (0xfffffff1, True, 41)}
TOP_FRAME, SP_WRITE = 1, 2

TEXT, DATA = 0x401000, 0x500000    # addresses


def varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7f | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def deltas(parts, quantum):
    """Returns a table of stack pointers: each part is a number of bytes of code, and the distance in it."""
    table, last = b"", -1
    for length, delta in parts:
        change = delta - last
        table += varint((change << 1 ^ change >> 63) & 0xffffffff) + varint(length // quantum)
        last = delta
    return table + b"\0"


class Function:
    """Code, in hexadecimal, and what .gopclntab says of it. table: other bytes in place of parts."""

    def __init__(self, name, code, parts=(), flags=0, table=None):
        self.name, self.code, self.parts, self.flags, self.table = name, bytes.fromhex(code), parts, flags, table


def section(functions, version, machine="x86_64", text=TEXT, nr=None):
    """Returns the bytes of .gopclntab. Functions begin at multiples of 16. Equal tables are there once, as Go has them."""
    magic, is_relative, flags_at = VERSIONS[version]
    quantum = MACHINES[machine][1]
    names, tables, places = b"", b"\0", {}
    entries, starts, at = [], [], 0
    for function in functions:
        starts.append(at)
        entry = bytearray(48)
        struct.pack_into("<I" if is_relative else "<Q", entry, 0, at if is_relative else TEXT + at)
        struct.pack_into("<i", entry, 4 if is_relative else 8, len(names))
        table = deltas(function.parts, quantum) if function.table is None else function.table
        struct.pack_into("<I", entry, 16 if is_relative else 20, places.setdefault(table, len(tables)))
        entry[flags_at] = function.flags
        entries.append(bytes(entry))
        names += function.name.encode() + b"\0"
        tables += table if places[table] == len(tables) else b""
        at += len(function.code) + -len(function.code) % 16
    starts.append(at)
    form = "<II" if is_relative else "<QQ"
    base = struct.calcsize(form) * len(functions) + (4 if is_relative else 8)
    base += -base % 8
    index = b"".join(struct.pack(form, start if is_relative else TEXT + start, base + 48 * i)
                     for i, start in enumerate(starts[:-1]))
    index += struct.pack(form[:2], at if is_relative else TEXT + at)
    index += bytes(base - len(index)) + b"".join(entries)
    header = struct.pack("<IHBBQQ", magic, 0, quantum, 8, len(functions) if nr is None else nr, 0)
    header += struct.pack("<Q", text) if is_relative else b""
    at = len(header) + 40
    header += struct.pack("<5Q", at, 0, 0, at + len(names), at + len(names) + len(tables))
    return header + names + tables + index


def elf(functions, version, machine="x86_64", *, name=".gopclntab", text=TEXT, before=b"", relocated=None, module=None, **how):
    """
    Returns a file with the functions. before: bytes of the section before the table. relocated: where in the section, or in
    .go.module, a relocation has the address of the code. module: .go.module has it at 176, and the table has not.
    """
    number, _, relative = MACHINES[machine]
    code = b"".join(function.code + b"\xcc" * (-len(function.code) % 16) for function in functions)
    table = before + section(functions, version, machine, 0 if module is not None else text, **how)
    parts = [(b"", b"", 0, 0, 0), (b".text", code, 1, 6, TEXT), (name.encode(), table, 1, 2, DATA)]
    if module is not None:
        parts.append((b".go.module", bytes(176) + struct.pack("<Q", module), 1, 3, DATA + 0x100000))
    if relocated is not None:
        place = parts[-1][4] + relocated
        parts.append((b".rela.dyn", RELA.pack(place - 8, relative, 1) + RELA.pack(place, relative, TEXT), 4, 2, DATA + 0x200000))
    parts.append((b".shstrtab", b"\0" + b"\0".join(part[0] for part in parts[1:]) + b"\0.shstrtab\0", 3, 0, 0))
    body, headers, names = b"", b"", parts[-1][1]
    start = EHDR.size + PHDR.size
    for title, data, kind, flags, addr in parts:
        body += bytes(-len(body) % 8)
        headers += SHDR.pack(names.index(b"\0" + title + b"\0") + 1 if title else 0, kind, flags, addr, start + len(body) if title else 0,
                             len(data), 0, 0, 8, RELA.size if kind == 4 else 0)
        body += data
    body += bytes(-len(body) % 8)
    header = EHDR.pack(b"\x7fELF\2\1\1" + bytes(9), 2, number, 1, TEXT, EHDR.size, start + len(body), 0, EHDR.size, PHDR.size, 1,
                       SHDR.size, len(parts), len(parts) - 1)
    return header + PHDR.pack(1, 5, start, TEXT, TEXT, len(code), len(code), 0x1000) + body + headers


# As Go compiles for x86_64, before 1.21 and since; for arm64, with a small frame and a large one.
FRAMES = {
    "x86_64": [
        Function("main.now", "55 4889e5 4883ec10 90 4883c410 5d c3", [(1, 0), (7, 8), (5, 24), (1, 8), (1, 0)]),
        Function("main.before", "4883ec10 48896c2408 488d6c2408 90 488b6c2408 4883c410 c3", [(4, 0), (20, 16), (1, 0)]),
        Function("main.least", "4883ec08 48892c24 488d2c24 90 488b2c24 4883c408 c3", [(4, 0), (17, 8), (1, 0)]),
        Function("main.large", "4881ec00010000 4889ac24f8000000 488dac24f8000000 488bac24f8000000 4881c400010000 c3",
                 [(7, 0), (31, 256), (1, 0)]),
        Function("main.pushes", "50 90 58 c3", [(1, 0), (2, 8), (1, 0)]),
        Function("main.leaf", "90 c3", [(2, 0)]),
    ],
    "aarch64": [
        Function("main.now", "fe0f1ef8 fd831ff8 fd2300d1 1f2003d5 fdfb7fa9 ff830091 c0035fd6", [(4, 0), (20, 32), (4, 0)]),
        Function("main.large", "f48304d1 9dfa3fa9 9f020091 fd2300d1 1f2003d5 fdfb7fa9 ff830491 c0035fd6",
                 [(12, 0), (16, 288), (4, 0)]),
        Function("main.leaf", "1f2003d5 c0035fd6", [(8, 0)]),
    ],
}
