#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the stacks of tools/bench/programs: programs.py --root DIR --share DIR PROGRAM...

DIR/PROGRAM.WAY is what perf script shows of a recording. Prints the table of
Documentation/measurements.rst:

start   stacks that reach _start, or the call of main() in libc, or have perf's 127 frames
clean   stacks of these without a wrong frame
depth   frames of a stack, on average
wrong   frames that are no code, or that no call precedes. The first one of a stack does not
        count. Code of JITs is not in a file, so it is only known to be code
"""

import argparse
import collections
import mmap
import re
import struct
from pathlib import Path

MMAP = re.compile(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*: (\S+) (.*)$")
ADDRESS = re.compile(r"^\s+([0-9a-f]+)\s*$")
SAMPLE = re.compile(r"^\s*(\S.*?)\s+(\d+)/(\d+)\s")
KERNEL = 1 << 63
FULL = 127
START_BYTES = 64
X86_64, AARCH64 = 62, 183


class Code:
    """An ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.machine, = struct.unpack_from("<H", self.data, 18)
        entry, offset = struct.unpack_from("<QQ", self.data, 24)
        size, number = struct.unpack_from("<HH", self.data, 54)
        self.entry = None
        for i in range(number):
            kind, _, off, addr, _, length = struct.unpack_from("<IIQQQQ", self.data, offset + i * size)
            if kind == 1 and addr <= entry < addr + length:
                self.entry = entry - addr + off

    def follows_call(self, at):
        """Is the instruction before this offset a call? None if the offset is not in the file."""
        if not 8 <= at <= len(self.data):
            return None
        code = self.data[at - 8:at]
        if self.machine == AARCH64:
            insn, = struct.unpack_from("<I", code, 4)
            return insn & 0xfc000000 == 0x94000000 or insn & 0xfefff000 == 0xd63f0000
        return code[3] == 0xe8 or any(code[8 - n] == 0xff and code[9 - n] >> 3 & 7 == 2 for n in range(2, 8))

    def is_start(self, at):
        """Is this _start, or the code of libc after its call of main()?"""
        if self.entry is not None and self.entry <= at < self.entry + START_BYTES:
            return True
        if self.machine == X86_64:
            return self.data[at:at + 3] == b"\x89\xc7\xe8" and self.data[at - 2:at - 1] == b"\xff"
        return False


class Files:
    def __init__(self, root, share):
        self.root, self.share, self.known = root, share, {}
        self.is_arm64 = (root / "usr/lib/aarch64-linux-gnu").exists()

    def address(self, address):
        """perf adds callers of its own on arm64: by LR, less one, and maybe signed."""
        return (address & (1 << 48) - 1) + 1 if self.is_arm64 and address & 3 == 3 else address

    def get(self, path):
        if path not in self.known:
            ours = path.startswith("/var/tmp/programs/")
            place = self.share / path[len("/var/tmp/"):] if ours else self.root / path[1:]
            if ours and not place.exists():
                place = self.share / Path(path).name
            try:
                self.known[path] = Code(place)
            except (OSError, ValueError, struct.error):
                self.known[path] = None
        return self.known[path]


class Figures:
    def __init__(self, program, files):
        self.program, self.files = program, files
        self.stacks = self.started = self.clean = self.frames = self.wrong = 0
        self.examples = collections.Counter()
        self.ends = collections.Counter()

    def find(self, maps, address):
        """(is code, the file or None, offset in it, path)"""
        for start, size, offset, path in reversed(maps):
            if start <= address < start + size:
                return True, self.files.get(path), address - start + offset, path
        return False, None, 0, "nothing"

    def add(self, maps, stack):
        self.stacks += 1
        self.frames += len(stack)
        has_started = len(stack) >= FULL
        wrong_before = self.wrong
        for nr, address in enumerate(stack):
            is_code, code, at, path = self.find(maps, address)
            has_started |= bool(code and code.is_start(at))
            if nr and (not is_code or (code and code.follows_call(at) is False)):
                self.wrong += 1
                self.examples[f"{path}+{at or address:#x}"] += 1
        self.started += has_started
        self.clean += has_started and self.wrong == wrong_before
        if not has_started:
            _, _, at, path = self.find(maps, stack[-1])
            self.ends[f"{path}+{at:#x}"] += 1

    def read(self, path):
        maps = collections.defaultdict(list)
        stack, ours, pid = [], False, 0
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in [*lines, ""]:
                mapping = MMAP.search(line)
                address = ADDRESS.match(line)
                if mapping:
                    owner, start, size, offset, rights, name = mapping.groups()
                    if "x" in rights:
                        maps[int(owner)].append((int(start, 16), int(size, 16), int(offset, 16), name))
                elif address:
                    value = self.files.address(int(address[1], 16))
                    if value < KERNEL:
                        stack.append(value)
                else:
                    if ours and stack:
                        self.add(maps[pid], stack)
                    stack = []
                    sample = SAMPLE.match(line)
                    ours = bool(sample) and sample[1] == self.program and sample[2] == sample[3]
                    pid = int(sample[2]) if sample else 0
        return self

    def row(self, way):
        stacks = max(self.stacks, 1)
        return [self.program, way, self.stacks, f"{100 * self.started / stacks:.1f} %",
                f"{100 * self.clean / stacks:.1f} %", f"{self.frames / stacks:.1f}", f"{100 * self.wrong / max(self.frames, 1):.3f} %"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--share", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    files = Files(args.root, args.share)
    print(f"{'program':10}{'way':10}{'stacks':>8}{'start':>10}{'clean':>10}{'depth':>8}{'wrong':>10}")
    for program in args.programs:
        for way in ("kernel", "sframe", "proved"):
            path = args.share / f"{program}.{way}"
            if not path.exists():
                continue
            figures = Figures(program, files).read(path)
            program_, way_, stacks, start, clean, depth, wrong = figures.row(way)
            print(f"{program_:10}{way_:10}{stacks:>8}{start:>10}{clean:>10}{depth:>8}{wrong:>10}")
            if args.verbose:
                for what, counter in (("wrong", figures.examples), ("end", figures.ends)):
                    for place, number in counter.most_common(6):
                        print(f"    {what} {number} {place}")


if __name__ == "__main__":
    main()
