# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what sframectl check and dump note on data that is sound but cannot be used fully, and on too much of it."""

import re
import struct
import subprocess

from cli import DATA
from files import sframe_header

UNLINKED = DATA / "v2pcrel-llvm-23/x86_64-clang.o"
LLD = DATA / "v2pcrel-llvm-23/x86_64-lld-basic"
PT_GNU_SFRAME = bytes.fromhex("54 e5 74 64 04")


def fde(start, size, rows_off):
    return struct.pack("<qII", start, size, rows_off)


def defects(cli, tmp):
    """After the tenth, defects are counted only. These FDEs have their rows outside of the section."""
    path = tmp / "defects"
    path.write_bytes(sframe_header(25, 8) + b"".join(fde(16 * i, 16, 9) for i in range(25)) + bytes(8))
    ran = subprocess.run([cli.program, "check", path], capture_output=True, text=True, check=False)
    cli.judge("check 25 defects", ran, status=1, err=r"defects: and 15 more defects$", out="")
    shown = len(re.findall("defects: .*fde ", ran.stderr))
    cli.end("check 25 defects: 10 are shown", [] if shown == 10 else [ran.stderr])


def shared_rows(cli, tmp):
    """All FDEs have the same 85 rows: more than the section has room for."""
    rows = struct.pack("<HBBB", 85, 0, 0, 0) + b"".join(bytes((i, 3, 8)) for i in range(85))
    path = tmp / "shared"
    path.write_bytes(sframe_header(200, len(rows)) + b"".join(fde(100 * i, 100, 0) for i in range(200)) + rows)
    cli("check shared rows", "check", path, status=1, err="shared: its FDEs share rows many times over: gave up$")


def tests(cli):
    place, good, blob = cli.tmp, cli.good, cli.blob
    path = place / "moved"
    elf = bytearray(good.read_bytes())
    segment = elf.index(PT_GNU_SFRAME)
    elf[segment + 16] ^= 8      # its address
    path.write_bytes(elf)
    cli("check moved segment", "check", path, out="^ *note: PT_GNU_SFRAME is not where the section .sframe is$")
    cli("check without segment", "check", LLD, out="^ *note: no PT_GNU_SFRAME: the kernel module finds no data$")
    cli("check unlinked", "check", UNLINKED, out="^ *note: not linked: the covered code is known only after linking$")
    cli("dump unlinked", "dump", UNLINKED, out="^not linked: 6 starts relocated; addresses are in sections$")
    elf = bytearray(good.read_bytes())
    sec = elf.index(b"\xe2\xde\x03")
    fdes, rows, size, fdes_at, rows_at = struct.unpack_from("<5I", elf, sec + 8)
    cli("dump header", "dump", good, out=r"^blob 0 at 0x21e0: version 3, AMD64, flags 0x5 \(sorted,pcrel\)\n"
        "  fixed fp 0, fixed ra -8, auxiliary header 0 bytes\n"
        f"  {fdes} FDEs at offset 0x{28 + fdes_at:x}, {rows} rows in {size} bytes at offset 0x{28 + rows_at:x}$")
    # The last of 9 functions: up to the end of the segment, across two bytes of padding, and past its end.
    entry = 28 + 16 * 8
    start = 0x21e0 + entry + struct.unpack_from("<q", elf, sec + entry)[0]
    struct.pack_into("<I", elf, sec + entry + 8, 0x1365 - start)
    path.write_bytes(elf)
    cli("check function with padding", "check", path, out="^ *note: describes addresses that are not code of this file$")
    struct.pack_into("<I", elf, sec + entry + 8, 0x1366 - start)
    path.write_bytes(elf)
    cli("check large function", "check", path, status=1, err="fde 8: stale: FDE's function is not in the file's code")

    subprocess.run([cli.program, "convert", "-o", place, "/bin/sh"], check=True, stdout=subprocess.DEVNULL)
    cli("check table file", "check", place / "sh.sframe",
        out="^ *note: a table file: it describes the code of another file$")
    cli("check -v stripped", "check", "-v", good,
        out=r"^ *not covered: \d+ bytes of code; the file has no symbols that could name it$")

    path.write_bytes((blob + bytes(-len(blob) % 8)) * 2)
    cli("check two blobs", "check", path,
        out="^ *note: not merged by the linker: the first header is of the first input only$")
    path.write_bytes(blob + bytes(-len(blob) % 8) + b"\0leftover")
    cli("check leftover bytes", "check", path, out="^ *note: bytes after the data are neither padding nor SFrame$")
    cli("dump leftover bytes", "dump", path, err="moved: the bytes after offset 0x[0-9a-f]+ are no SFrame data$")
    defects(cli, place)
    shared_rows(cli, place)
