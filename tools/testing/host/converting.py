# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what sframectl convert says of code that it leaves out, and of files that it refuses.

The code is for x86_64: gcc makes libraries of it here.
"""

import platform
import re
import resource
import signal
import struct
import subprocess

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
    # CFA = memory at rsp + 16, and 16 more: of a signal frame SFrame cannot say that.
    (f".cfi_signal_frame\n{CFA_SUM}", "expression: a DWARF expression that SFrame has no form for"),
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
    ran = subprocess.run([cli.program, "convert", "--by-content", "-o", tmp, path], text=True, capture_output=True,
                         preexec_fn=forbid_writes, check=False)
    cli.judge("convert --by-content without memory for a copy", ran, status=1,
              err=r"refused\.so: cannot be copied to memory")
    cli("convert: no directory", "convert", "-o", tmp / "none", path, status=1,
        err=r"none/refused\.so\.sframe: cannot write: No such file or directory$")


def tests(cli):
    if platform.machine() != "x86_64":
        cli.tap.skip("what convert leaves out", "not x86_64, for which the code is")
        return
    details(cli, cli.tmp)
    cies(cli, cli.tmp)
    refused(cli, cli.tmp)
