# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what sframectl convert says of code that it leaves out, and of files that it refuses.

The code is for x86_64: gcc makes libraries of it here.
"""

import json
import os
import platform
import re
import resource
import signal
import struct
import subprocess
import zlib

# The PLT of GNU ld: CFA = rsp + 8 + ((rip & 15) >= 11) * 8
PLT_EXPRESSION = ".cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22"

# CFA = memory at rbp - 8
CFA_IN_MEMORY = ".cfi_escape 0x0f, 3, 0x76, 0x78, 6"

CFA_SUM = ".cfi_escape 0x0f, 5, 0x77, 16, 6, 0x23, 16"

# What the call frame instructions of a function say, and what is said of its code.
DETAILS = (
    (".cfi_def_cfa_offset 8", "default: described by DEFAULT rows"),
    # As in code that realigns its stack.
    (CFA_IN_MEMORY, "flex: described by FLEX rows"),
    (".cfi_escape 0x0b", "malformed: call frame instructions that contradict themselves or the format"),
    (".cfi_escape 0x3f", "unknown: an instruction or augmentation that this program does not know"),
    # CFA = memory at rsp + 16, and 16 more. In OCaml, functions that change the stack are marked as signal frames.
    (f".cfi_signal_frame\n{CFA_SUM}", "flex: described by FLEX rows"),
    (CFA_SUM, "flex: described by FLEX rows"),
    (".cfi_escape 0x0f, 1, 0x31", "expression: a DWARF expression that SFrame has no form for"),
    (".cfi_def_cfa 17, 8", "register: a rule names a register that is not in the registers of a sample"),
    (".cfi_escape 0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x20", "offset: an offset does not fit 32 bits"),
    (".cfi_val_offset 7, 8", "sp: the caller's stack pointer is not the CFA"),
    (".cfi_same_value 16", "ra: a rule for the return address that SFrame has no form for"),
    (f"{CFA_IN_MEMORY}\n.cfi_val_offset 6, 8", "fp: a rule for the frame pointer that SFrame has no form for"),
    (f"{PLT_EXPRESSION}\n.cfi_offset 6, -16", "plt: a PLT of an unknown form"),
)

FUNCTION = """
	.balign 16
f:	.cfi_startproc {simple}
	nop
	{instructions}
	ret
	.cfi_endproc
"""

PLT = f"""
	.balign 16
f:	.cfi_startproc
	{PLT_EXPRESSION}
	.fill 32, 1, 0x90
	.cfi_endproc
"""

# The linker would refuse the entries to be made.
NO_HEADER = "-Wl,--no-eh-frame-hdr"

# Entries of .eh_frame by hand: a CIE, and FDEs of the start and size that follow, each with an instruction.
ENTRIES = """
f:	ret
	.fill 15, 1, 0x90
	.data
variable:	.quad 1
	.section .eh_frame, "a", @progbits
cie:	.long 2f - 1f
1:	.long 0
	.byte 1
	.asciz "zR"
	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
	.balign 8, 0
2:
"""
ENTRY = """
	.long 2f - 1f
1:	.long . - cie
	.long {start} - .
	.long 8
	.byte 0, 0x0e, {offset}
	.balign 8, 0
2:
"""
# DW_CFA_set_loc leads backwards, out of the function.
BACKWARDS = """
	.long 2f - 1f
1:	.long . - cie
	.long f + 8 - .
	.long 8
	.byte 0, 0x01
	.long f + 4 - .
	.byte 0x0e, 16
	.balign 8, 0
2:
"""


def library(tmp, text, *options):
    """Makes a library of assembly."""
    path = tmp / "left-out.so"
    subprocess.run(["gcc", "-nostdlib", "-shared", "-x", "assembler", "-", "-o", path, *options],
                   input=f".text\n{text}\n.section .note.GNU-stack, \"\", @progbits\n", text=True, check=True,
                   stderr=subprocess.DEVNULL)    # the linker complains of odd entries, and links them
    return path


def details(cli, tmp):
    for instructions, said in DETAILS:
        path = library(tmp, FUNCTION.format(simple="", instructions=instructions))
        cli(f"convert -v: {said}", "convert", "-v", "-o", tmp, path, out=rf"^ +\d+   {re.escape(said)}$")
    path = library(tmp, FUNCTION.format(simple="simple", instructions=".cfi_def_cfa 7, 8\n.cfi_offset 16, -8"))
    cli("convert -v: no CFA", "convert", "-v", "-o", tmp, path, out=r"^ +1   no-cfa: no rule for the CFA$")
    path = library(tmp, PLT)
    cli("convert -v: PLT", "convert", "-v", "-o", tmp, path,
        out=r"^ +32   plt: slots of a PLT, described by rows for each slot$")
    entry = ENTRIES + ENTRY.format(start="f", offset=16)
    other = ENTRY.format(start="f + 8", offset=16)
    path = library(tmp, entry + ENTRY.format(start="f", offset=24) + other, NO_HEADER)
    cli("convert -v: two entries", "convert", "-v", "-o", tmp, path,
        out=r"^ +8   overlap: two functions of one address that contradict each other$")
    path = library(tmp, entry + ENTRY.format(start="variable", offset=16), NO_HEADER)
    cli("convert -v: data", "convert", "-v", "-o", tmp, path,
        out=r"^ +8   outside: not in executable code of the file$")
    path = library(tmp, entry + BACKWARDS, NO_HEADER)
    cli("convert -v: backwards", "convert", "-v", "-o", tmp, path, out=r"^ +8   malformed: ")
    # An entry that refers to no CIE.
    path = library(tmp, entry + ".long 12, 4, 0, 0\n", NO_HEADER)
    cli("convert -v: odd entry", "convert", "-v", "-o", tmp, path, out=r"^ +1   entries of \.eh_frame cannot be read$")


# Another CIE that says the same: it has another unit of offsets.
OTHER_CIE = """
other:	.long 2f - 1f
1:	.long 0
	.byte 1
	.asciz "zR"
	.byte 1, 0x7c, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 2
	.balign 8, 0
2:
"""
# The row of the second half begins only after the first one ends.
AGREEING = """
	.long 2f - 1f
1:	.long . - {cie}
	.long f - .
	.long {size}
	.byte 0, 0x0e, 16, {program}
	.balign 8, 0
2:
"""


def agreeing(cli, tmp):
    """Entries of one function that have the same rows, written in another way."""
    first = ENTRIES + ENTRY.format(start="f", offset=16)
    for what, entry, said in (
            ("another CIE", OTHER_CIE + AGREEING.format(cie="other", size=8, program=0), 8),
            ("another size", AGREEING.format(cie="cie", size=16, program=0), 16),
            ("another size, and a row after the end of the first", AGREEING.format(cie="cie", size=16, program="0x48, 0x0e, 24"), 16),
            ("a row that says the same again", AGREEING.format(cie="cie", size=8, program="0x44, 0x0e, 16"), 8)):
        path = library(tmp, first + entry, NO_HEADER)
        cli(f"convert -v: two entries agree, {what}", "convert", "-v", "-o", tmp, path,
            out=rf"\A(?!(.|\n)*overlap)(.|\n)*^ +{said}   default: ")
    path = library(tmp, first + AGREEING.format(cie="cie", size=8, program="0x44, 0x0e, 24") +
                   ENTRY.format(start="f + 8", offset=16), NO_HEADER)
    cli("convert -v: two entries, one with another row", "convert", "-v", "-o", tmp, path,
        out=r"^ +8   overlap: two functions of one address that contradict each other$")


# Functions without .eh_frame, as a compiler writes them for a debugger; and one that has .eh_frame only.
DEBUGGED = """
	.cfi_sections .debug_frame
	.section .text.{name}, "axG", @progbits, {name}, comdat
	.globl {name}
	.type {name}, @function
{name}:	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	sub $32, %rsp
	.cfi_adjust_cfa_offset 32
	nop
	add $32, %rsp
	{restore}
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size {name}, . - {name}
	.section .note.GNU-stack, "", @progbits
"""
RESTORES = (".cfi_adjust_cfa_offset -32", ".cfi_def_cfa rsp, 16")

# The 64-bit form, which clang -gdwarf64 writes: the CIE, and an FDE.
LONG = """
f:	push %rbx
	pop %rbx
	ret
	.section .debug_frame, "", @progbits
cie:	.long 0xffffffff
	.quad 2f - 1f
1:	.quad -1
	.byte 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1
	.balign 8, 0
2:	.long 0xffffffff
	.quad 2f - 1f
1:	.quad cie - .debug_frame
	.quad f, 3
	.byte 0x41, 0x0e, 16, 0x41, 0x0e, 8
	.balign 8, 0
2:
"""

# Each address is described once: a long entry of .debug_frame around two functions of .eh_frame.
AROUND = """
	.cfi_sections .eh_frame
f:	.fill 16, 1, 0x90
	.cfi_startproc
	.fill 16, 1, 0x90
	.cfi_endproc
	.fill 16, 1, 0x90
	.cfi_startproc
	.fill 16, 1, 0x90
	.cfi_endproc
	.section .debug_frame, "", @progbits
	.long 2f - 1f
1:	.long -1
	.byte 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1
	.balign 8, 0
2:	.long 2f - 1f
1:	.long 0
	.quad f, 64
	.byte 0x44, 0x0e, 16, 0x5c, 0x0e, 24, 0x44, 0x0e, 32
	.balign 8, 0
2:
"""


def readelf_rows(path):
    """Returns the rows that readelf shows of .debug_frame, by address: the distance of the CFA from the stack pointer."""
    shown = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, check=True).stdout
    shown = shown[shown.index("Contents of the .debug_frame section"):]
    found = re.findall(r"^([0-9a-f]{16}) rsp\+(\d+) ", shown, re.M)
    return {int(at, 16): f"sp+{off}" for at, off in found if int(at, 16)}


def table_rows(cli, tmp, path):
    """Returns the rows of the table of a file, likewise."""
    subprocess.run([cli.program, "convert", "-o", tmp, path], capture_output=True, check=True)
    ran = subprocess.run([cli.program, "dump", "--json", tmp / f"{path.name}.sframe"], capture_output=True, check=True)
    return {fde["start"] + row["off"]: row["cfa"] for fde in json.loads(ran.stdout)["blobs"][0]["fdes"]
            if not fde["pcmask"] for row in fde["rows"]}


def debug_frame(cli, tmp):
    """.debug_frame describes what .eh_frame leaves out: crtend.o brings an .eh_frame of four bytes."""
    objects = []
    for i, restore in enumerate(RESTORES):
        objects.append(tmp / f"debugged{i}.o")
        text = DEBUGGED.format(name="shared", restore=restore) + DEBUGGED.format(name=f"own{i}", restore=restore)
        subprocess.run(["gcc", "-c", "-x", "assembler", "-", "-o", objects[-1]], input=text, text=True, check=True)
    path = tmp / "debugged.so"
    subprocess.run(["gcc", "-shared", *objects, "-o", path], check=True)
    want = readelf_rows(path)
    got = table_rows(cli, tmp, path)
    cli.enough("rows of .debug_frame", len(want), 15)
    missing = {hex(at): row for at, row in want.items() if got.get(at) != row}
    cli.end("convert: .debug_frame beside an empty .eh_frame, as readelf", [f"{missing}, not {got}"] if missing else [])
    cli("convert -v: entries of two objects agree", "convert", "-v", "-o", tmp, path, out=r"\A(?!(.|\n)*overlap)")
    for kind in "zlib", "zlib-gnu":
        packed = tmp / f"packed-{kind}.so"
        subprocess.run(["objcopy", f"--compress-debug-sections={kind}", path, packed], check=True)
        rows = table_rows(cli, tmp, packed)
        cli.end(f"convert: .debug_frame compressed by {kind}", [f"{rows}, not {got}"] if rows != got else [])
    path = library(tmp, LONG)
    rows = sorted(table_rows(cli, tmp, path).values())
    cli.end("convert: 64-bit .debug_frame", [f"{rows}"] if rows != ["sp+16", "sp+8", "sp+8"] else [])
    cli("convert -v: 64-bit .debug_frame", "convert", "-v", "-o", tmp, path, out=r"\A(?!(.|\n)*cannot be read)")
    path = library(tmp, AROUND)
    rows = table_rows(cli, tmp, path)
    begin = min(rows)
    found = {at - begin: row for at, row in rows.items()}
    want = {0: "sp+8", 4: "sp+16", 16: "sp+8", 32: "sp+24", 36: "sp+32", 48: "sp+8"}
    cli.end("convert: .debug_frame around .eh_frame", [f"{found}"] if found != want else [])
    damaged = bytearray(path.read_bytes())
    struct.pack_into("<I", damaged, section(damaged, b".debug_frame")[0], 0x10000)
    path.write_bytes(damaged)
    rows = [row for at, row in sorted(table_rows(cli, tmp, path).items())]
    cli.end("convert: a damaged .debug_frame", [f"{rows}"] if rows != ["sp+8", "sp+8"] else [])
    cli("convert -v: a damaged .debug_frame", "convert", "-v", "-o", tmp, path,
        out=r"^ +1   entries of \.debug_frame cannot be read$")


MANY = """
	.cfi_sections .debug_frame
	.rept 200
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
"""


def compressed(cli, tmp):
    """.debug_frame in each form that ld and Go write, and headers that promise more, or less, than there is."""
    path = library(tmp, MANY)
    want = table_rows(cli, tmp, path)
    cli.enough("rows of many functions", len(want), 600)
    unknown = r"its \.debug_frame is compressed in a way that is not known"
    for kind in "zlib", "zlib-gnu", "zstd":
        packed = tmp / f"many-{kind}.so"
        if subprocess.run(["objcopy", f"--compress-debug-sections={kind}", path, packed], capture_output=True, check=False).returncode:
            cli.tap.skip(f"convert: .debug_frame compressed by {kind}", "objcopy does not know it")
            continue
        elf = packed.read_bytes()
        name = b".zdebug_frame" if kind == "zlib-gnu" else b".debug_frame"
        if section(elf, name)[1] > 2000:
            raise ValueError(f"{kind}: not compressed")
        ran = subprocess.run([cli.program, "convert", "-o", tmp, packed], capture_output=True, text=True, check=False)
        # libelf knows zstd from 0.189 on.
        if kind == "zstd" and re.search(unknown, ran.stderr):
            cli.tap.skip("convert: .debug_frame compressed by zstd", "libelf does not know it")
            continue
        rows = table_rows(cli, tmp, packed)
        cli.end(f"convert: .debug_frame compressed by {kind}, many functions", [f"{rows}"] if rows != want else [])
    elf = (tmp / "many-zlib.so").read_bytes()
    at = section(elf, b".debug_frame")[0] + 8
    size, = struct.unpack_from("<Q", elf, at)
    for what, claimed in (("2^40 bytes", 2**40), ("a byte more", size + 1), ("a byte less", size - 1), ("no byte", 0)):
        broken = bytearray(elf)
        struct.pack_into("<Q", broken, at, claimed)
        path.write_bytes(broken)
        cli(f"convert: .debug_frame that claims {what}", "convert", "-o", tmp, path, status=1, out=".*", err=unknown)
    # It is what it claims to be: no more than 128 MiB are inflated.
    bomb, large = bytearray(elf), (128 << 20) + 1
    place = struct.pack("<QQ", *section(elf, b".debug_frame"))
    at = bomb.index(place, struct.unpack_from("<Q", elf, 40)[0])
    data = struct.pack("<IIQQ", 1, 0, large, 8) + zlib.compress(bytes(large))
    struct.pack_into("<QQ", bomb, at, len(bomb), len(data))
    path.write_bytes(bomb + data)
    cli("convert: .debug_frame of 128 MiB and a byte", "convert", "-o", tmp, path, status=1, out=".*", err=unknown)


THREE = "".join(f"""
	.balign 16
f{i}:	.cfi_startproc
	.fill {size}, 1, 0x90
	.cfi_def_cfa_offset {16 + i}
	nop
	.cfi_endproc
""" for i, size in enumerate((15, 31, 47)))


def terminator(cli, tmp):
    """Without section headers: the entry in the middle becomes terminators, and leaves the list of .eh_frame_hdr."""
    elf = bytearray(library(tmp, THREE).read_bytes())
    header, _ = section(elf, b".eh_frame_hdr")
    nr, = struct.unpack_from("<I", elf, header + 8)
    entries = [list(struct.unpack_from("<ii", elf, header + 12 + 8 * i)) for i in range(nr)]
    if nr != 3:
        raise ValueError(f"{nr} functions")
    middle = header + entries[1][1]
    length, = struct.unpack_from("<I", elf, middle)
    elf[middle:middle + 4 + length] = bytes(4 + length)
    del entries[1]
    bare = elf.copy()
    struct.pack_into("<Q", bare, 40, 0)
    struct.pack_into("<HH", bare, 60, 0, 0)
    tables, path = [], tmp / "terminator.so"
    for what, made, offsets in (("with section headers", elf, None), ("a list", bare, [entries[0][1], entries[1][1]]),
                                ("a list with wrong offsets", bare, [entries[0][1], entries[0][1]])):
        for i, off in enumerate(offsets or []):
            struct.pack_into("<ii", made, header + 12 + 8 * i, entries[i][0], off)
        if offsets:
            struct.pack_into("<I", made, header + 8, 2)
        path.write_bytes(made)
        tables.append(table_rows(cli, tmp, path))
        sizes = subprocess.run([cli.program, "convert", "--json", "-o", tmp, path], capture_output=True, check=True).stdout
        covered = json.loads(sizes)["files"][0]["covered_bytes"]
        errors = [] if covered == 16 + 48 else [f"{covered} bytes, not {16 + 48}"]
        errors += [] if tables[-1] == tables[0] else [f"{tables[-1]}, not {tables[0]}"]
        cli.end(f"convert: a terminator in the middle, {what}", errors)


# Two CIEs, 512 bytes apart: sframectl remembers one of them. Each function wants the other one.
CIES = "".join(f"""
{cie}:	.long 512 - 4
	.long 0
	.byte 1
	.asciz "zR"
	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, {cfa}, 0x90, 1
	.rept 245
	.byte 0x0e, {cfa}
	.endr
""" for cie, cfa in (("first", 8), ("second", 16)))
NR_ALTERNATE = 20000
ALTERNATE = f"""
f:	.fill {NR_ALTERNATE}, 1, 0xc3
	.section .eh_frame, "a", @progbits
	.balign 512
{CIES}
""" + "".join(f"""
	.long 16, . - {("first", "second")[i % 2]}, f + {i} - ., 1, 0
""" for i in range(NR_ALTERNATE))


def cies(cli, tmp):
    """What is read of CIEs is in proportion to the section: 400,000 bytes, and 10 MB of CIEs."""
    path = library(tmp, ALTERNATE, NO_HEADER, "-Wl,-z,max-page-size=4096")
    cli("convert -v: two CIEs by turns", "convert", "-v", "-o", tmp, path,
        out=r"^ +\d{4,}   entries of \.eh_frame cannot be read$")


def signed(cli, tmp):
    """Register 34 of arm64 says whether the return address is signed: "DWARF for the Arm 64-bit Architecture"."""
    for name, escape, rows in (
            ("lit1", "0x16, 34, 1, 0x31", r"\+0x0 .* ra=u$\s+\+0x4 .* ra=u \[s\]$"),
            ("const1u", "0x16, 34, 2, 8, 1", r"\+0x0 .* ra=u$\s+\+0x4 .* ra=u \[s\]$"),
            ("lit0", "0x16, 34, 1, 0x30", r"rows 1 .*\s+\+0x0 .* ra=u$\s+fde|rows 1 .*\s+\+0x0 .* ra=u\s*\Z"),
            ("lit2", "0x16, 34, 1, 0x32", None)):
        text = f"""
	.text
begin:	.skip	16
	.section .eh_frame, "a", @progbits
cie:	.long	2f - 1f
1:	.long	0
	.byte	1
	.asciz	"zR"
	.uleb128 1
	.sleb128 -8
	.uleb128 30
	.uleb128 1
	.byte	0x1b, 0x0c, 31, 0
	.balign	8
2:
	.long	4f - 3f
3:	.long	3b - cie
	.long	begin - .
	.long	16
	.uleb128 0
	.byte	0x44, {escape}
	.balign	8
4:	.long	0
	.section .note.GNU-stack, "", @progbits
"""
        path = library(tmp, text, NO_HEADER)
        elf = bytearray(path.read_bytes())
        elf[18:20] = (183).to_bytes(2, "little")
        made = tmp / f"{name}.so"
        made.write_bytes(elf)
        cli(f"convert {name}", "convert", "-v", "-o", tmp, made, out="unknown: an instr" if rows is None else "100")
        if rows:
            cli(f"rows of {name}", "dump", tmp / f"{name}.so.sframe", out=rows)


def section(elf, name):
    """Returns offset and size of a section."""
    off, = struct.unpack_from("<Q", elf, 40)
    entry_size, nr, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, off + i * entry_size) for i in range(nr)]
    names = headers[names][4]
    return next(header[4:6] for header in headers if elf[names + header[0]:].startswith(name + b"\0"))


def forbid_writes():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def refused(cli, tmp):
    good = bytearray(library(tmp, FUNCTION.format(simple="", instructions="")).read_bytes())
    path = tmp / "refused.so"

    def refuses(why, elf):
        path.write_bytes(elf)
        cli(f"convert: {why}", "convert", "-o", tmp, path, status=1, err=rf"refused\.so: {why}$")

    elf = good.copy()
    frame, _ = section(elf, b".eh_frame")
    struct.pack_into("<I", elf, frame, 0x10000)
    refuses("its .eh_frame is damaged: an entry runs past the end", elf)

    elf = good.copy()
    struct.pack_into("<Q", elf, 40, 0)      # without section headers, PT_GNU_EH_FRAME leads to .eh_frame
    struct.pack_into("<H", elf, 60, 0)
    elf[section(good, b".eh_frame_hdr")[0]] = 9
    refuses("its .eh_frame_hdr is damaged", elf)

    elf = good.copy()
    segments, = struct.unpack_from("<Q", elf, 32)
    nr, = struct.unpack_from("<H", elf, 56)
    for i in range(nr):
        flags, = struct.unpack_from("<I", elf, segments + 56 * i + 4)
        struct.pack_into("<I", elf, segments + 56 * i + 4, flags & ~1)
    refuses("has no executable code", elf)

    path.write_bytes(good)
    ran = subprocess.run([cli.program, "convert", "--store", tmp, path], text=True, capture_output=True,
                         preexec_fn=forbid_writes, check=False)
    cli.judge("convert --store without memory for a copy", ran, status=1,
              err=r"refused\.so: cannot be copied to memory")
    cli("convert: an empty name of a directory", "convert", "-o", "", path, status=2,
        err="convert: -o: give the name of a directory$")
    cli("convert: no directory", "convert", "-o", tmp / "none", path, status=1,
        err=r"none/refused\.so\.sframe: cannot write: No such file or directory$")


# A process that ends when the finished table file is to get its name.
KILLER = """
	#include <signal.h>
	#include <unistd.h>
	int rename(const char *from, const char *to) { (void)from, (void)to; return kill(getpid(), SIGKILL); }
	int linkat(int a, const char *from, int b, const char *to, int flags)
	{ (void)a, (void)from, (void)b, (void)to, (void)flags; return kill(getpid(), SIGKILL); }
"""


def killed(cli, tmp):
    """A process that is killed leaves no part of a table file."""
    path, killer, out = library(tmp, FUNCTION.format(simple="", instructions="")), tmp / "killer.so", tmp / "killed"
    subprocess.run(["gcc", "-fPIC", "-shared", "-x", "c", "-", "-o", killer], input=KILLER, text=True, check=True)
    out.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(killer),
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    ran = subprocess.run([cli.program, "convert", "-o", out, path], text=True, capture_output=True, check=False, env=environment)
    errors = [] if ran.returncode == -signal.SIGKILL else [f"status {ran.returncode}: {ran.stderr}"]
    cli.end("convert: killed before the file has its name", errors + [str(file) for file in out.iterdir()])
    (out / "left-out.so.sframe").write_text("older")
    cli("convert: over an older file", "convert", "-o", out, path)
    made = (out / "left-out.so.sframe").read_bytes()
    cli.end("convert: the older file alone is replaced", [] if made[:4] == b"\x7fELF" and len([*out.iterdir()]) == 1 else [
        f"{made[:9]}, {[*out.iterdir()]}"])


def whole_code(cli, tmp):
    """CODE is all code of a file, as readelf lists it, and COVERED what of it can be unwound."""
    path = library(tmp, FUNCTION.format(simple="", instructions="") + "\n.fill 198, 1, 0x90\n")
    shown = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    code = sum(int(size, 16) for size in re.findall(r"PROGBITS +\S+ \S+ (\S+) \S+ +AX ", shown))
    cli.end("the code of readelf", [] if code == 200 else [f"{code}: {shown}"])
    cli("convert -v: all code", "convert", "-v", "-o", tmp, path,
        out=r"^ +200 +1\.000% .*\n +2   default: .*\n +198   undescribed: no call frame information: ")
    cli("convert --json: all code", "convert", "--json", "-o", tmp, path, as_json=lambda said: [
        said["files"][0][f"{key}_bytes"] for key in ("code", "covered", "described", "undescribed")] == [200, 2, 2, 198])


# As much code as below, of functions that are analysed one by one.
SHORT = """
        .rept 100000
        .balign 16
        push %rbx
        call f
        pop %rbx
        ret
        .endr
"""

# Code for which an analysis would need hours: many functions go on along one long path, or a name is inside of another.
ENDLESS = {
    "a shared path": """
        .rept 20000
        .balign 16
        push %rbx
        call f
        jmp 1f
        .endr
        .balign 16
1:      .rept 50000
        inc %rax
        .endr
        pop %rbx
        ret
""",
    "names within names": """
        .type outer, @function
outer:  ret
        .size outer, 1600000
        .altmacro
        .macro name number
        .type name\\number, @function
name\\number: ret
        .endm
        .set number, 0
        .rept 100000
        name %number
        .set number, number + 1
        .endr
        .fill 1500000, 1, 0x90
        ret
""",
}


def processor_time(run):
    """Return the seconds of processor that the children of run() have used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def endless(cli, tmp):
    """The analysis of code that nothing describes ends as soon as for other code, and takes no row of .eh_frame with it."""
    def library_of(code):
        return library(tmp, FUNCTION.format(simple="", instructions="") + code)

    path = library_of(SHORT)
    short = processor_time(lambda: cli("convert: short functions", "convert", "--json", "-o", tmp, path, as_json=lambda said: [
        said["files"][0]["analysed_bytes"] > 750000, said["files"][0]["unsure"]["limit"]] == [True, 0]))
    for what, code in ENDLESS.items():
        path = library_of(code)
        endless = processor_time(lambda: cli(f"convert: {what}", "convert", "--json", "-o", tmp, path, as_json=lambda said: [
            said["files"][0]["default_bytes"] - said["files"][0]["analysed_bytes"], said["files"][0]["unsure"]["limit"] > 0] ==
            [2, True]))
        cli.end(f"convert: {what}, in time", [] if endless < 2 * short else [f"{endless / short:.1f} of the time for short functions"])


def tests(cli):
    if platform.machine() != "x86_64":
        cli.tap.skip("what convert leaves out", "not x86_64, for which the code is")
        return
    details(cli, cli.tmp)
    agreeing(cli, cli.tmp)
    debug_frame(cli, cli.tmp)
    compressed(cli, cli.tmp)
    terminator(cli, cli.tmp)
    cies(cli, cli.tmp)
    refused(cli, cli.tmp)
    killed(cli, cli.tmp)
    whole_code(cli, cli.tmp)
    endless(cli, cli.tmp)
    signed(cli, cli.tmp)
