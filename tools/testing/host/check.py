# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of `sframectl check` of a process, `check -v` and `check --require`, with objects that gcc makes here."""

import json
import os
import re
import subprocess

from cli import run

WITH = "int with_data(int x) { return x + 1; }\n"
# The middle of half() has data of its own; alias and plain are one function with two names.
WITHOUT = """
int plain(int x) { return x + 2; }
int alias(int x) __attribute__((alias("plain")));
int second(int x) { return x + 3; }
"""
HALF = """
	.text
	.globl	half
	.type	half, @function
half:
	.cfi_startproc
	ret
	.cfi_endproc
	nop
	nop
	nop
	.size	half, 4
	.globl	sizeless
	.type	sizeless, @function
sizeless:
	ret
	.section .note.GNU-stack,"",@progbits
"""


def gcc(*args, text=None):
    subprocess.run(["gcc", "-O1", "-fPIC", *args], input=text, text=True, check=True)


def objects(tmp):
    """Makes with.o, without.o, half.o, and libraries and a data file of them."""
    for name, text, kind, flag in (("with", WITH, "c", "-Wa,--gsframe"), ("without", WITHOUT, "c", "-O1"),
                                   ("half", HALF, "assembler", "-Wa,--gsframe"),
                                   ("data", "int data = 1;\n", "c", "-Wa,--gsframe")):
        gcc(flag, "-c", "-x", kind, "-", "-o", tmp / f"{name}.o", text=text)
    mixed = [tmp / f"{name}.o" for name in ("with", "without", "half")]
    gcc("-nostdlib", "-shared", *mixed, "-o", tmp / "mixed.so")
    gcc("-nostdlib", "-shared", "-s", *mixed, "-o", tmp / "stripped.so")
    gcc("-nostdlib", "-shared", tmp / "with.o", "-o", tmp / "with.so")
    gcc("-nostdlib", "-shared", tmp / "without.o", "-o", tmp / "without.so")


def symbols(path):
    """Returns the functions that nm lists, from name to (address, size)."""
    ran = subprocess.run(["nm", "-D", "-S", path], capture_output=True, text=True, check=True)
    words = [line.split() for line in ran.stdout.splitlines()]
    return {line[3]: (int(line[0], 16), int(line[1], 16)) for line in words if len(line) == 4}


def verbose(cli, tmp):
    want = symbols(tmp / "mixed.so")
    for name in ("mixed.so", "stripped.so"):
        ran = subprocess.run([cli.program, "check", "--json", "-v", tmp / name],
                             capture_output=True, check=True)
        got = {entry["name"]: entry for entry in json.loads(ran.stdout)["objects"][0]["uncovered"]}
        errors = [] if {*got} in ({"plain", "second", "half", "sizeless"},
                                    {"alias", "second", "half", "sizeless"}) else [
            f"{sorted(got)}"]
        errors += [f"{entry}, nm has {want[key]}" for key, entry in got.items()
                   if key != "sizeless" and (entry["addr"], entry["size"]) != want[key]]
        if not errors and (got["half"]["missing"], got["second"]["missing"]) != (3, want["second"][1]):
            errors.append(f"{got}")
        cli.end(f"check -v --json {name}", errors)
    gcc("-nostdlib", "-shared", "-fno-asynchronous-unwind-tables", "-x", "c", "-", "-o", tmp / "bare.so", text=WITHOUT)
    cli("check without anything", "check", tmp / "bare.so",
        out="^ *note: neither .sframe, .eh_frame, .gopclntab nor .debug_frame: no table is possible$")
    gcc("-nostdlib", "-shared", "-fno-asynchronous-unwind-tables", "-g", "-x", "c", "-", "-o", tmp / "debug.so",
        text=WITHOUT)
    cli("check with .debug_frame", "check", tmp / "debug.so", out=r"\A(?![\s\S]*neither \.sframe)[\s\S]*debug\.so$")
    addr, size = want["second"]
    cli("check -v", "check", "-v", tmp / "mixed.so",
        out=rf"^ *not covered: 0x{addr:x}, {size} bytes: second$")
    cli("check -v half", "check", "--verbose", tmp / "mixed.so",
        out=rf"^ *not covered: 0x{want['half'][0]:x}, 3 of 4 bytes: half$")
    cli("check -v without size", "check", "-v", tmp / "mixed.so",
        out="^ *not covered: 0x[0-9a-f]+, size unknown: sizeless$")
    cli("check -v between functions", "check", "-v", tmp / "mixed.so",
        out=r"^ *not covered: \d+ bytes outside of functions: padding, PLT, code without symbols$")
    cli("check without -v", "check", tmp / "mixed.so", out=r"\A(?!(.|\n)*not covered)")
    cli("check -v without data", "check", "-v", tmp / "without.so",
        out=r"\A(?!(.|\n)*bytes: )(.|\n)*not covered: all of its functions")

    # A file may have more functions than a report names.
    many = ".rept 100002\n.byte 0xc3\n.endr\n" + "".join(
        f".globl f{i}\n.type f{i}, @function\n.set f{i}, start + {i}\n.size f{i}, 1\n" for i in range(100002))
    gcc("-c", "-x", "assembler", "-", "-o", tmp / "many.o", text=f"start:\n{many}")
    gcc("-nostdlib", "-shared", tmp / "with.o", tmp / "many.o", "-o", tmp / "many.so")
    cli("check -v many", "check", "-v", tmp / "many.so", out="^ *not covered: 2 more functions$")
    cli("check -v --json many", "check", "-v", "--json", tmp / "many.so", as_json=lambda value:
        len(value["objects"][0]["uncovered"]) == 100000 and
        value["objects"][0]["uncovered_functions"] == 100002)


def require(cli, tmp):
    for name, lacking in (("with.o", None), ("with.so", None), ("mixed.so", None), ("data.o", None),
                          ("without.o", "no SFrame data; build it with -Wa,--gsframe"),
                          ("without.so", "no SFrame data; build it with -Wa,--gsframe")):
        status, err = (1, f"{name}: {lacking}") if lacking else (0, None)
        cli(f"check --require {name}", "check", "--require", tmp / name, status=status, err=err)
        cli(f"check --require --json {name}", "check", "--require", "--json", tmp / name,
            status=status, err=err, as_json=lambda value, lacking=lacking:
            value["objects"][0].get("lacks") == lacking)
        cli(f"check {name}", "check", tmp / name)
    cli("check --require several", "check", "--require", tmp / "with.o", tmp / "without.o",
        tmp / "with.so", status=1, err="without.o: no SFrame data", out="^2 of 3 objects")

    # The section is there, and nothing leads to it.
    data = bytearray((tmp / "with.so").read_bytes())
    data[data.index(bytes.fromhex("54 e5 74 64 04"))] = 0x50
    (tmp / "no-segment.so").write_bytes(data)
    cli("check --require without segment", "check", "--require", tmp / "no-segment.so", status=1,
        err="no-segment.so: no PT_GNU_SFRAME, so the kernel module finds no data; link it with GNU ld$")


def stale(cli, tmp):
    """What a linker that does not know SFrame (mold) leaves. The section of with.so has one function."""
    headers = subprocess.run(["readelf", "-lW", tmp / "with.so"], capture_output=True, text=True, check=True).stdout
    offset, addr = (int(word, 16) for word in re.search("GNU_SFRAME +(\\S+) (\\S+)", headers).groups())
    data = (tmp / "with.so").read_bytes()
    for name, at, value, err in (
            ("discarded.so", 28, -addr, "discarded.so: fde 0: stale: FDE's function is not in the file's code"),
            ("in-part.so", 32, 0x100000, "in-part.so: fde 0: stale: FDE's function is not in the file's code"),
            ("unlinked.so", 0, 0x0001dee2, "unlinked.so: header: unlinked: linked without regard to its format")):
        where = offset + at
        (tmp / name).write_bytes(data[:where] + value.to_bytes(4, "little", signed=True) + data[where + 4:])
        cli(f"check {name}", "check", tmp / name, status=1, err=err, out=" 0/[0-9]+ +0.0% +1 ")
        cli(f"dump {name}", "dump", tmp / name, status=1, err=err)


def processes(cli):
    pid = str(os.getpid())
    cli("check PID", "check", "-p", pid, out=r"^\d+ of \d+ objects carry SFrame data")
    cli("check --json PID", "check", "--json", "-p", pid,
        as_json=lambda check: any("libc" in obj["file"] or "python" in obj["file"]
                                  for obj in check["objects"]))
    cli("check no PID", "check", "-p", "999999999", status=1, out="VERSION",
        err="process 999999999: no such process")


PARTLY = """
	.globl	known, unknown
	.type	known, @function
known:	.cfi_startproc
	.fill	49, 1, 0x90
	ret
	.cfi_endproc
	.size	known, 50
	.type	unknown, @function
unknown:
	.fill	150, 1, 0x90
	.size	unknown, 150
	.section .note.GNU-stack,"",@progbits
"""


def measure(cli, tmp):
    """How much of all code can be unwound, and by what."""
    for name, flag in ("bare", "-O1"), ("own", "-Wa,--gsframe"):
        gcc(flag, "-c", "-x", "assembler", "-", "-o", tmp / f"partly-{name}.o", text=PARTLY)
        gcc("-nostdlib", "-shared", tmp / f"partly-{name}.o", "-o", tmp / f"partly-{name}.so")
    cli("check without a table: all code", "check", tmp / "partly-bare.so", out=r" 0/200 +0\.0% (.|\n)*"
        r"^200 bytes of code can be unwound: by tables 0\.0 %, by \.sframe of the objects 0\.0 %, by frame pointers at most 100\.0 %$")
    cli("check, own data: all code", "check", tmp / "partly-own.so", tmp / "partly-bare.so", out=r" 50/200 +25\.0% .* own (.|\n)*"
        r"^400 bytes of code can be unwound: by tables 0\.0 %, by \.sframe of the objects 12\.5 %, by frame pointers at most 87\.5 %$")
    # A module that holds a table of each file.
    program = cli.build / "sframectl-held"
    cli.judge("check -v, a table: all code", run(program, "check", "-v", tmp / "partly-bare.so"), out=r" 50/200 +25\.0% .* table (.|\n)*"
              r"^ *not covered: 0x[0-9a-f]+, 150 bytes: unknown\n(.|\n)*"
              r"^200 bytes of code can be unwound: by tables 25\.0 %, by \.sframe of the objects 0\.0 %, by frame pointers at most 75\.0 %$")
    ran = run(program, "check", "--json", "-p", str(os.getpid()))
    said = json.loads(ran.stdout)
    code = sum(entry.get("code_bytes", 0) for entry in said["objects"]) + sum(
        entry["bytes"] for entry in said["processes"][0]["no_elf"])
    tables = sum(entry.get("covered_bytes", 0) for entry in said["objects"])
    errors = [] if (said["code_bytes"], said["table_bytes"], said["sframe_bytes"]) == (code, tables, 0) and code / 2 < tables < code else [
        f"{code} bytes, {tables} by tables: {ran.stdout[-300:]}"]
    cli.end("check PID: by tables", errors)


def tests(cli):
    processes(cli)
    objects(cli.tmp)
    verbose(cli, cli.tmp)
    require(cli, cli.tmp)
    measure(cli, cli.tmp)
    stale(cli, cli.tmp)
