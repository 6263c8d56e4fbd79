#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges stacks by the files of the machine that they were taken on.

  stacks.py --root DIR --local DIR [--callers-less-one] FILE

FILE is what perf script shows with -F comm,pid,tid,time,event,ip --show-mmap-events
--show-task-events; symbols may follow the addresses. DIR of --root has the machine's files, and
DIR of --local those of its /usr/local. Prints "name value" lines:

stacks   samples that have a frame of user mode
complete those that reach the first function of the program, its loader or a thread, or have 127 frames,
         without a wrong frame
frames   frames of all stacks
wrong    frames that are no code, or that no call precedes. An interrupted frame, the first one or
         the one above a signal handler, needs no call. Code that is in no file is only known to
         be code

No unwinder and no table is asked: this knows instructions, and where programs begin.
"""

import argparse
import collections
import mmap
import re
import struct
from pathlib import Path

MMAP = re.compile(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (0x[0-9a-f]+|0) .*: (\S+) (.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
ADDRESS = re.compile(r"^\s+([0-9a-f]+)(?:\s.*)?$")
SAMPLE = re.compile(r"^\s*\S.*?\s+(\d+)/\d+\s")
KERNEL = 1 << 63
FULL = 127
START_BYTES = 80     # of _start: Free Pascal has the longest
X86_64, AARCH64 = 62, 183

# After the call of a thread's function in clone() and clone3(): exit(result).
THREAD_EXITS = {
    X86_64: (b"\x48\x89\xc7\xb8\x3c\0\0\0\x0f\x05",               # mov %rax,%rdi; mov $60,%eax; syscall
             b"\x89\xc7\xb8\x3c\0\0\0\x0f\x05"),
    AARCH64: (struct.pack("<II", 0xd2800ba8, 0xd4000001),),           # mov x8, #93; svc #0
}

# start_thread() stores the result of the thread's function in the descriptor: mov %rax,%fs:disp.
STORES_RESULT = b"\x64\x48\x89\x04\x25"

# The stub that a signal handler returns to: nothing has called it. On arm64 it is in the vDSO.
SIGRETURN = b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05"                     # mov $15,%rax; syscall


class Code:
    """An ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.machine, = struct.unpack_from("<H", self.data, 18)
        if self.machine not in THREAD_EXITS:
            raise ValueError("another machine")
        entry, offset = struct.unpack_from("<QQ", self.data, 24)
        size, number = struct.unpack_from("<HH", self.data, 54)
        self.entry = None
        for i in range(number):
            kind, _, off, addr, _, length = struct.unpack_from("<IIQQQQ", self.data, offset + i * size)
            if kind == 1 and addr <= entry < addr + length:
                self.entry = entry - addr + off

    def follows_call(self, at):
        """Is the instruction before this offset a call?"""
        if not 8 <= at <= len(self.data):
            return False
        code = self.data[at - 8:at]
        if self.machine == AARCH64:
            insn, = struct.unpack_from("<I", code, 4)
            return insn & 0xfc000000 == 0x94000000 or insn & 0xfefff000 == 0xd63f0000
        return code[3] == 0xe8 or any(code[8 - n] == 0xff and code[9 - n] >> 3 & 7 == 2 for n in range(2, 8))

    def is_start(self, at):
        """Is this _start, or the code of libc after its call of main() or of a thread?"""
        if self.entry is not None and self.entry <= at < self.entry + START_BYTES:
            return True
        if any(self.data[at:at + len(exits)] == exits for exits in THREAD_EXITS[self.machine]):
            return True
        if self.machine == X86_64 and self.stores_result(at):
            return self.follows_call(at)
        if self.machine == X86_64:
            return self.data[at:at + 3] == b"\x89\xc7\xe8" and self.data[at - 2:at - 1] == b"\xff"
        return False

    def stores_result(self, at):
        """Does start_thread() store a thread's result here, or where this jumps?"""
        if self.data[at:at + 1] == b"\xe9":
            at += 5 + struct.unpack_from("<i", self.data, at + 1)[0]
        return self.data[at:at + len(STORES_RESULT)] == STORES_RESULT

    def is_sigreturn(self, at):
        return self.machine == X86_64 and self.data[at:at + len(SIGRETURN)] == SIGRETURN


class Files:
    """The files of the machine: @root, and @local for those of /usr/local."""

    def __init__(self, root, local):
        self.root, self.local, self.known = root, local, {}
        self.is_arm64 = (root / "usr/lib/aarch64-linux-gnu").exists()

    def address(self, address):
        """perf adds callers of its own on arm64: by LR, less one, and maybe signed."""
        return (address & (1 << 48) - 1) + 1 if self.is_arm64 and address & 3 == 3 else address

    def get(self, path):
        if path not in self.known:
            ours = path.startswith("/usr/local/")
            place = self.local / path[len("/usr/local/"):] if ours else self.root / path[1:]
            try:
                self.known[path] = Code(place)
            except (OSError, ValueError, struct.error):
                self.known[path] = None
        return self.known[path]


def read_stacks(path, files, callers_less_one=False):
    """Yields (maps, stack) for each sample of the text of perf script in a file. perf's dwarf mode shows the address of a
    caller less one."""
    maps = collections.defaultdict(list)
    stack, pid = [], None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in [*lines, ""]:
            mapping = MMAP.search(line)
            fork = FORK.search(line)
            address = ADDRESS.match(line)
            if mapping:
                owner, start, size, offset, rights, name = mapping.groups()
                if "x" in rights:
                    maps[int(owner)].append((int(start, 16), int(size, 16), int(offset, 16), name))
            elif fork:
                child, parent = map(int, fork.groups())
                if child != parent:
                    maps[child] = list(maps[parent])
            elif address and pid:
                value = files.address(int(address[1], 16))
                if value < KERNEL:
                    stack.append(value + 1 if callers_less_one and stack else value)
            else:
                if pid and stack:
                    yield maps[pid], stack
                sample = SAMPLE.match(line)
                stack, pid = [], sample and int(sample[1])


class Figures:
    def __init__(self, files):
        self.files = files
        self.stacks = self.complete = self.frames = self.wrong = 0

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
        is_interrupted = True
        for address in stack:
            is_code, code, at, path = self.find(maps, address)
            has_started |= bool(code and code.is_start(at))
            is_stub = path == "[vdso]" if self.files.is_arm64 else bool(code and code.is_sigreturn(at))
            if not is_code or not (is_interrupted or is_stub or not code or code.follows_call(at)):
                self.wrong += 1
            is_interrupted = is_stub
        self.complete += has_started and self.wrong == wrong_before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--callers-less-one", action="store_true")
    parser.add_argument("file")
    args = parser.parse_args()
    figures = Figures(Files(args.root, args.local))
    for maps, stack in read_stacks(args.file, figures.files, args.callers_less_one):
        figures.add(maps, stack)
    for name in ("stacks", "complete", "frames", "wrong"):
        print(name, getattr(figures, name))


if __name__ == "__main__":
    main()
