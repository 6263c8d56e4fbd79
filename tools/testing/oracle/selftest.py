# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that compare can fail.

Each toolchain assembles and links small functions, written by hand. For a known mistake of a toolchain, compare must
report the erratum. For a mistake that is no erratum yet, and for damaged files, it must report a difference.
"""

import re
import shutil
import subprocess
from pathlib import Path

GAS = ("v1", "v2", "v3")

# The assembler may move all instructions of the first function to the CIE: the first one here has none.
FIRST = """
	.text
	.cfi_startproc
	nop
	.cfi_endproc
	.globl f
f:	.cfi_startproc
"""

# A function with ordinary rows, which the tests damage.
ORDINARY = """
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	nop
	.cfi_def_cfa_register 6
	call other@PLT
	.cfi_def_cfa 7, 8
	.cfi_restore 6
	ret
"""
SIZE = 8
ROWS = bytes.fromhex("00 03 08  01 05 10 f0  02 04 10 f0")
INSTRUCTIONS = bytes.fromhex("41 0e 10 86 02 41 0d 06")
PLT_0_ROWS = bytes.fromhex("00 03 10  06 03 18")
PLT_ROWS = bytes.fromhex("00 03 08  0b 03 10")

ORDINARY_ARM64 = """
	nop
	.cfi_negate_ra_state
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	nop
"""
ROWS_ARM64 = bytes.fromhex("00 03 00  04 83 00  08 87 10 f8 f0")

SAVED_IN_FIRST_ROW = """
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	nop
	.cfi_restore 6
	nop
"""
ROWS_RESTORED = bytes.fromhex("00 05 10 f0  01 05 10 f0")

CFA_IN_R11 = """
	nop
	.cfi_def_cfa 11, 4104
	nop
	nop
	.cfi_def_cfa 7, 4104
	nop
"""

UNDEFINED_RA = """
	.cfi_undefined 16
	nop
	nop
"""

NO_INSTRUCTIONS = """
	nop
	.cfi_endproc
	.cfi_startproc simple
	nop
"""

# Name; the toolchains; the errata and the number of differences expected; the function.
CASES = [
    ("restore, plain first row", (*GAS, "clang"), "-", 0, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	nop
	.cfi_restore 6
	nop
"""),
    ("restore, FP saved in the first row", (*GAS, "clang"), "E1=1", 0, SAVED_IN_FIRST_ROW),
    ("nested states", GAS, "E2=1", 0, """
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	nop
	.cfi_remember_state
	.cfi_def_cfa_offset 32
	nop
	.cfi_restore_state
	nop
	.cfi_restore_state
	nop
"""),
    ("state of the row before", ("v1", "v2"), "E2=1", 0, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_remember_state
	nop
	.cfi_def_cfa_offset 32
	nop
	.cfi_restore_state
	nop
"""),
    ("CFA in r11", ("v1",), "E3=2", 0, CFA_IN_R11),
    ("CFA in r11", ("v3",), "-", 0, CFA_IN_R11),
    ("FP saved, RA not", ("v1-arm64",), "E4=2", 0, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	nop
	nop
"""),
    ("undefined RA", ("v1", "v2", "clang"), "E5=2", 0, UNDEFINED_RA),
    ("undefined RA", ("v3",), "-", 0, UNDEFINED_RA),
    (".plt.got", ("v2", "v3"), "E6=8", 0, """
	call other@PLT
	mov other@GOTPCREL(%rip), %rax
	ret
"""),
    ("rbp by an expression of rsp", ("v3",), "E8=1", 0, """
	nop
	.cfi_escape 0x10, 6, 2, 0x77, 8
	nop
"""),
    ("rbp by an expression of rbp", ("v3",), "-", 0, """
	nop
	.cfi_def_cfa 10, 0
	nop
	.cfi_escape 0x10, 6, 2, 0x76, 0
	nop
	.cfi_escape 0xf, 3, 0x76, 0x78, 6
	nop
"""),
    ("rel_offset", ("clang",), "E11=2", 0, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_rel_offset 6, 0
	nop
	nop
"""),
    ("no instructions", ("v3",), "-", 0, NO_INSTRUCTIONS),
    ("no instructions", ("clang",), "E11=1", 0, NO_INSTRUCTIONS),
    ("offset and register of the CFA at once", GAS, "-", 1, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_def_cfa_register 6
	nop
"""),
    ("same_value", ("v1", "v2", "clang"), "-", 1, """
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	nop
	.cfi_same_value 6
	nop
"""),
    ("signal frame", GAS, "-", 0, """
	.cfi_signal_frame
	nop
"""),
    ("signal frame without rules", ("v3",), "-", 0, """
	.cfi_signal_frame
	.cfi_escape 0xf, 4, 0x77, 0xa0, 1, 6
	nop
"""),
]


class Test:
    def __init__(self, toolchains, tap, work, compare):
        self.toolchains, self.tap, self.work, self.compare = toolchains, tap, work, compare
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def link(self, name, producer, body, *options):
        """Make a shared library with the function."""
        tools = Path(self.toolchains[producer])
        source, unlinked, linked = (self.work / f"{name}-{producer}{end}" for end in (".s", ".o", ".so"))
        source.write_text(f"{FIRST}{body}	.cfi_endproc\n")
        assemble = [tools / "as", "--gsframe"]
        linker = tools / "ld"
        if producer == "clang":
            assemble = [tools / "clang", "-c", "-Wa,--gsframe", "-Wa,--allow-experimental-sframe"]
            linker = tools / "ld.lld"
        self.run(*assemble, source, "-o", unlinked)
        self.run(linker, "-shared", "--eh-frame-hdr", *options, unlinked, "-o", linked)
        return linked

    @staticmethod
    def run(*command):
        ran = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
        if ran.returncode:
            raise OSError(f"{command[0]}: {ran.stderr}")

    def results(self, *files):
        """Return differences and errata by file, None for a file that was refused; and the exit status."""
        ran = subprocess.run([self.compare, *files], text=True, capture_output=True, check=False)
        found = {line.split(": ")[0]: None for line in ran.stderr.splitlines()}
        for line in ran.stdout.splitlines():
            if match := re.fullmatch(r"([^#].*): V\S+ \S+ functions .* differences (\d+) errata (\S+)", line):
                found[match[1]] = int(match[2]), match[3]
        return found, ran.returncode

    def expect(self, name, linked, errata, differences):
        found, status = self.results(linked)
        problem = ""
        if found.get(str(linked)) != (differences, errata) or status != (differences != 0):
            problem = f"{found}, status {status}, not {differences} differences and errata {errata}"
        self.tap.case(name, problem)

    def refused(self, name, path):
        found, status = self.results(path)
        self.tap.case(name, "" if found == {str(path): None} and status == 2 else f"{found}, status {status}")

    def cases(self):
        for number, (name, producers, errata, differences, body) in enumerate(CASES):
            for producer in producers:
                linked = self.link(number, producer, body)
                self.expect(f"{name}, {producer}", linked, errata, differences)

    def damaged(self, name, linked, at, length):
        """Change each bit of these bytes: compare must notice every change."""
        data = linked.read_bytes()
        copies = []
        for off in range(at, at + length):
            for bit in range(8):
                copy = self.work / f"{linked.stem}-{off}-{bit}"
                copies.append(str(copy))
                damaged = bytearray(data)
                damaged[off] ^= 1 << bit
                copy.write_bytes(damaged)
        found, _ = self.results(*copies)
        passed = [copy for copy in copies if copy not in found or found[copy] and found[copy][0] == 0]
        self.tap.case(f"{8 * length} times damaged: {name}", f"unnoticed: {passed}" if passed else "")
        for copy in copies:
            Path(copy).unlink()

    def changed(self, name, linked, at, value, differences):
        """Change one byte: compare must find this number of differences, or refuse the file (None)."""
        data = linked.read_bytes()
        linked.write_bytes(data[:at] + bytes([value]) + data[at + 1:])
        if differences is None:
            self.refused(name, linked)
        else:
            self.expect(name, linked, "-", differences)

    def damage(self, producer):
        linked = self.link("ordinary", producer, ORDINARY)
        self.expect(f"ordinary, {producer}", linked, "-", 0)
        data = linked.read_bytes()
        instructions = data.index(INSTRUCTIONS)
        self.damaged(f"rows, {producer}", linked, data.index(ROWS), len(ROWS))
        self.damaged(f"offset of the CFA in .eh_frame, {producer}", linked, instructions + 2, 1)
        self.damaged(f"offset of FP in .eh_frame, {producer}", linked, instructions + 4, 1)
        if producer != "clang":
            self.damaged(f"rows of .plt, {producer}", linked, data.index(PLT_ROWS), len(PLT_ROWS))
        if producer == "v3":
            # The attribute is 5 bytes before the rows. Its third byte has the mark of a signal frame.
            self.changed(f"signal frame, {producer}", linked, data.index(ROWS) - 3, 0x80, SIZE)
            self.changed(f"undefined address type, {producer}", linked, data.index(ROWS) - 3, 0x03, None)
            linked.write_bytes(data)
        # The function's size is stored before its instructions and an empty augmentation.
        self.changed(f"half of it not in .eh_frame, {producer}", linked, instructions - 5, SIZE // 2, SIZE // 2)

    def ibt_plt(self):
        """E7: 2 bytes in the entry of .plt, and the stub in .plt.sec, which is described like entry 0 of .plt."""
        linked = self.link("ibt", "v1", "call other@PLT\n", "-z", "ibtplt")
        self.expect("IBT .plt and .plt.sec, v1", linked, "E7=18", 0)
        data = linked.read_bytes()
        second = data.index(PLT_0_ROWS, data.index(PLT_0_ROWS) + 1)
        self.damaged("first row of .plt.sec, v1", linked, second, 4)

    def damage_explained(self, producer):
        """Damage the row that E1 explains, but not its start: the row before is the same."""
        linked = self.link("restored", producer, SAVED_IN_FIRST_ROW)
        at = linked.read_bytes().index(ROWS_RESTORED)
        self.damaged(f"a row with E1, {producer}", linked, at + 5, 3)

    def damage_arm64(self, producer):
        linked = self.link("ordinary", producer, ORDINARY_ARM64)
        self.expect(f"ordinary, {producer}", linked, "-", 0)
        self.damaged(f"rows, {producer}", linked, linked.read_bytes().index(ROWS_ARM64), len(ROWS_ARM64))

    def unreadable(self):
        cut = self.work / "cut"
        cut.write_bytes((self.work / "restored-v3.so").read_bytes()[:4000])
        for path in (cut, self.work / "restored-v3.o", self.work / "absent", "/dev/null"):
            self.refused(f"unreadable: {Path(path).name}", path)


def run(toolchains, tap, work, compare):
    test = Test(toolchains, tap, work, compare)
    test.cases()
    test.ibt_plt()
    for producer in (*GAS, "clang"):
        test.damage(producer)
    for producer in GAS:
        test.damage_explained(producer)
    test.damage_arm64("v1-arm64")
    test.unreadable()
