# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what sframectl convert makes of .gopclntab. The rows that are expected follow from the instructions of the functions."""

import json
import struct
import subprocess
import time

from gopclntab import FRAMES, SP_WRITE, TEXT, TOP_FRAME, VERSIONS, Function, elf, varint

# Distances of the CFA, the return address and the caller's frame pointer from their bases, by the offset in the function.
ROWS = {
    "x86_64": [
        ((0, "sp+8", "u"), (1, "sp+16", "(c-16)"), (8, "sp+32", "(c-16)"), (13, "sp+16", "(c-16)"), (14, "sp+8", "u")),
        ((0, "sp+8", "u"), (4, "sp+24", "u"), (9, "sp+24", "(c-16)"), (24, "sp+8", "u")),
        ((0, "sp+8", "u"), (4, "sp+16", "u"), (8, "sp+16", "(c-16)"), (21, "sp+8", "u")),
        ((0, "sp+8", "u"), (7, "sp+264", "u"), (15, "sp+264", "(c-16)"), (38, "sp+8", "u")),
        ((0, "sp+8", "u"), (1, "sp+16", "u"), (3, "sp+8", "u")),
        ((0, "sp+8", "u"),),
    ],
    "aarch64": [
        ((0, "sp+0", "u"), (4, "sp+32", "u"), (8, "sp+32", "(c-40)"), (24, "sp+0", "u")),
        ((0, "sp+0", "u"), (12, "sp+288", "(c-296)"), (28, "sp+0", "u")),
        ((0, "sp+0", "u"),),
    ],
}
NO_CALLER = (0, "-", "-")

SWITCH = "55 4889e5 488b6238 ffd7 488b6038 5d c3"    # push, mov, load of rsp, call, load of rsp, pop, ret
SWITCHES = [(1, 0), (14, 8), (1, 0)]
OLD_SWITCH = "4883ec08 48892c24 488d2c24 488b6238 ffd7 488b6038 488b2c24 4883c408 c3"
OLD_SWITCHES = [(4, 0), (26, 8), (1, 0)]
BY_FP = ((0, "sp+8", "u"), (1, "sp+16", "(c-16)"), (4, "fp+16", "(c-16)"), (15, "sp+8", "u"))
NOPS = Function("main.nops", "90 90 90 c3", [(4, 0)])

# What functions of the runtime do to the stack, and the rows that hold then.
SPECIAL = (
    ("a goroutine begins", Function("runtime.goexit", "90 90", [(2, 0)], TOP_FRAME), (NO_CALLER,)),
    ("another function that nothing calls", Function("main.first", "90 90", [(2, 0)], TOP_FRAME), (NO_CALLER,)),
    ("a signal handler", Function("runtime.sigtramp", "90 c3", [(2, 0)], TOP_FRAME), ((0, "sp+8", "u"),)),
    ("where a signal handler returns to", Function("runtime.sigreturn__sigaction", "b80f000000 0f05", [(7, 0)]), ()),
    ("a switch by the frame pointer", Function("runtime.systemstack", SWITCH, SWITCHES, SP_WRITE), BY_FP),
    ("the same of Go 1.20", Function("runtime.systemstack", OLD_SWITCH, OLD_SWITCHES, SP_WRITE),
     ((0, "sp+8", "u"), (4, "sp+16", "u"), (8, "sp+16", "(c-16)"), (12, "fp+16", "(c-16)"), (26, "sp+16", "(c-16)"), (30, "sp+8", "u"))),
    ("a switch without a frame", Function("runtime.gogo", "488b6338 ffe3", [(6, 0)], SP_WRITE), ()),
    ("a switch outside of the runtime", Function("main.switch", SWITCH, SWITCHES, SP_WRITE), ()),
    ("no way back", Function("runtime.mcall", SWITCH, SWITCHES, SP_WRITE),
     ((0, "sp+8", "u"), (1, "sp+16", "(c-16)"), (8, "-", "-"))),
    ("no way back, but none out", Function("runtime.mcall", "90 c3", [(2, 0)], SP_WRITE), ()),
    ("a stack pointer that is too high", Function("main.pops", "415c 0f05 4154", [(2, 0), (2, -8), (2, 0)]),
     ((0, "sp+8", "u"), (4, "sp+8", "u"))),
)

# Bytes in place of a table of stack pointers. The functions around it keep their rows.
DAMAGED = {
    "no end": b"\x02" + b"\x80" * 40,
    "no progress": b"\x02\x00" * 40 + b"\0",
    "no number": b"\x02" + b"\x80" * 12 + b"\1\0",
    "the end of the section": None,
}


def rows_of(cli, path):
    """Returns the rows of the table of a file, by the start of the function, and what convert says of it."""
    ran = subprocess.run([cli.program, "convert", "--json", "-o", cli.tmp, path], capture_output=True, text=True, check=False)
    said = json.loads(ran.stdout)["files"][0]
    if "error" in said:
        return {}, said
    ran = subprocess.run([cli.program, "dump", "--json", cli.tmp / f"{path.name}.sframe"], capture_output=True, check=True)
    found = {}
    for fde in json.loads(ran.stdout)["blobs"][0]["fdes"]:
        found.setdefault((fde["start"] - TEXT) & ~0x7f, []).extend(
            ((fde["start"] - TEXT & 0x7f) + row["off"], row["cfa"], row["fp"], row["ra"], fde["signal"]) for row in fde["rows"])
    return found, said


def padded(functions):
    """Returns the functions, each of 128 bytes: of their code, and of padding."""
    return [Function(f.name, (f.code + b"\xcc" * (128 - len(f.code))).hex(), f.parts, f.flags, f.table) for f in functions]


def check(cli, name, data, want):
    path = cli.tmp / "go"
    path.write_bytes(data)
    found, said = rows_of(cli, path)
    got = [tuple(row[:3] for row in found.get(128 * i, ())) for i in range(len(want))]
    cli.end(f"convert: .gopclntab: {name}", [] if got == [tuple(rows) for rows in want] else [f"{got}, not {want}", f"{said}"])
    return found


def frames(cli):
    for machine, functions in FRAMES.items():
        functions = padded(functions)
        for version in VERSIONS:
            found = check(cli, f"{machine}, Go {version}", elf(functions, version, machine), ROWS[machine])
            ra = {row[3] for rows in found.values() for row in rows}
            want = {"x86_64": {"(c-8)"}, "aarch64": {"u", "(c-32)", "(c-288)"}}[machine]
            cli.end(f"convert: .gopclntab: {machine}, Go {version}: return addresses", [] if ra == want else [f"{ra}"])
        for name, how in (("in .data.rel.ro", {"name": ".data.rel.ro", "before": bytes(64), "text": 0, "relocated": 64 + 24}),
                          ("relocated", {"name": ".data.rel.ro.gopclntab", "text": 0, "relocated": 24}),
                          ("with .go.module", {"module": TEXT}),
                          ("with .go.module, relocated", {"module": 0, "relocated": 176})):
            check(cli, f"{machine}, {name}", elf(functions, "1.20", machine, **how), ROWS[machine])
        # The instructions say the same, except of the code at which the kernel starts the program, which has no caller, and of a nop
        # before a function.
        rows = {"x86_64": [(NO_CALLER,), *ROWS["x86_64"][1:5], ((1, "sp+8", "u"),)], "aarch64": [(NO_CALLER,), (), ((4, "sp+0", "u"),)]}[machine]
        check(cli, f"{machine}, at an unknown address", elf(functions, "1.20", machine, text=0), rows)


def special(cli):
    for name, function, rows in SPECIAL:
        check(cli, name, elf(padded([NOPS, function, NOPS]), "1.20"), [((0, "sp+8", "u"),), rows, ((0, "sp+8", "u"),)])
    # It jumps after ldr x30, [sp], #32; sub x29, sp, #8. The table has 32 there, too, and no row holds after the first of them.
    switch = Function("runtime.systemstack", "fe0f1ef8 fd831ff8 fd2300d1 7f000091 60003fd6 fd835ff8 fe0742f8 c0035fd6" +
                      "430340f9 fe0742f8 fd2300d1 60001fd6", [(4, 0), (24, 32), (4, 0), (16, 32)], SP_WRITE)
    check(cli, "aarch64, a switch", elf(padded([switch]), "1.20", "aarch64"),
          [((0, "sp+0", "u"), (4, "sp+32", "u"), (8, "sp+32", "(c-40)"), (12, "fp+40", "(c-40)"), (24, "sp+32", "(c-40)"),
            (28, "sp+0", "u"), (32, "fp+40", "(c-40)"))])
    pushes = Function("main.pushes", "ff8300d1 1f2003d5 ff830091 c0035fd6", [(4, 0), (8, 32), (4, 0)])
    check(cli, "aarch64, no return address in the frame", elf(padded([pushes]), "1.20", "aarch64"), [((0, "sp+0", "u"), (12, "sp+0", "u"))])
    names = [Function(f.name, f.code.hex(), f.parts) for _, f, _ in SPECIAL[:6] if f.name.startswith("runtime.")]
    wanted = [rows for _, f, rows in SPECIAL[:6] if f.name.startswith("runtime.")]
    check(cli, "by the names alone", elf(padded(names), "1.16"), wanted)
    for machine in FRAMES:
        functions = padded([Function(name, FRAMES[machine][0].code.hex(), FRAMES[machine][0].parts)
                            for name in ("runtime.asyncPreempt", "runtime.async")])
        path = cli.tmp / "injected"
        path.write_bytes(elf(functions, "1.20", machine))
        found, _ = rows_of(cli, path)
        signals = [{row[4] for row in found[at]} for at in (0, 128)]
        # The handler of arm64 has pushed 16 bytes: the old return address, and nothing.
        rows = found[0][2 if machine == "aarch64" else 1][1:4]
        want = {"x86_64": ("sp+16", "(c-16)", "(c-8)"), "aarch64": ("sp+48", "(c-56)", "(c-48)")}[machine]
        cli.end(f"convert: .gopclntab: {machine}, an injected call", [] if signals == [{True}, {False}] and rows == want else [f"{found}"])


def hostile(cli):
    plain = ((0, "sp+8", "u"),)
    for name, table in DAMAGED.items():
        data = elf(padded([NOPS, Function("main.damaged", "90 90", table=table or b"\0"), NOPS]), "1.20")
        if table is None:
            data = bytearray(data)
            at = data.rindex(struct.pack("<Ii", 128, len("main.nops") + 1))
            struct.pack_into("<I", data, at + 16, 2**32 - 1)
        path = cli.tmp / "damaged"
        path.write_bytes(data)
        found, said = rows_of(cli, path)
        around = [tuple(row[:3] for row in found.get(at, ())) for at in (0, 256)]
        cli.end(f"convert: .gopclntab: {name}", [] if around == [plain, plain] and said["holes"]["malformed"] else [f"{found} {said}"])
    many = padded([NOPS] * 4)
    for name, nr in (("10^9 functions", 10**9), ("2^64 - 1 functions", 2**64 - 1)):
        check(cli, name, elf(many, "1.20", nr=nr), [plain] * 4)
    data = bytearray(elf(many, "1.20"))
    starts = data.index(struct.pack("<I", 0) + struct.pack("<I", 40))
    struct.pack_into("<I", data, starts + 8, 320)
    check(cli, "functions that overlap", bytes(data), [plain, (), (), plain])
    check(cli, "a part of 2^32 bytes", elf(padded([Function("main.long", "90", table=b"\x02" + varint(2**32 - 1) + b"\0"), NOPS]), "1.20"),
          [plain, plain])
    # Each of the functions has its bytes, and no more: one table for all of them takes no more time.
    table = b"\x02\x01" + b"\x02\x01\x01\x01" * 50000 + b"\0"
    path = cli.tmp / "shared"
    path.write_bytes(elf([Function("main.f", "90" * 16, table=table)] * 20000, "1.20"))
    begin = time.monotonic()
    rows_of(cli, path)
    took = time.monotonic() - begin
    cli.end("convert: .gopclntab: many functions with one long table", [] if took < 20 else [f"{took} s"])
    for size in range(0, len(elf(many, "1.20")), 31):
        path.write_bytes(elf(many, "1.20")[:size])
        if subprocess.run([cli.program, "convert", "-o", cli.tmp, path], capture_output=True, check=False).returncode not in (0, 1):
            cli.end("convert: .gopclntab: cut off", [f"after {size} bytes"])
            break
    else:
        cli.end("convert: .gopclntab: cut off", [])


def tests(cli):
    frames(cli)
    special(cli)
    hostile(cli)
