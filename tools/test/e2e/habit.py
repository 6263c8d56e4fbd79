#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the stacks of habit.c: habit.py [--name NAME] [--kernel FILE] FILE

FILE is the output of `perf script -F comm,ip,sym`. The name of the sampled function says
what the whole stack is. Prints a line of figures, and a line `ok ...` or `FAIL ...` for
each expectation:

wrong    no stack has a frame that is not one of the callers, or is in another order
main     with --kernel: not fewer stacks reach main() than in that FILE, less half of a
         hundredth. It is of the kernel's own stacks of the same program
whole    likewise of stacks that reach main(), and leave no caller out
missing  not more stacks leave a caller out and go on above it, than stacks in that FILE do, or
         have a wrong frame; without --kernel none

With --may-end `main` is not expected: libraries of the program keep no frame pointers, and do
not use the register. So the kernel's own stacks go on there, without a caller.
"""

import argparse
import re

LEVELS = 16
CALLED_BY = {5: "lib_calls", 8: "lib_calls", 11: "plain_calls", 14: "plain_calls"}


def chain_of_level(level):
    """The callers of level_N, and itself."""
    chain = []
    while level:
        chain.append(f"level_{level}")
        if level in CALLED_BY:
            chain.append(CALLED_BY[level])
        level -= 1
    return chain + ["main"]


FULL = chain_of_level(LEVELS)


def chains(name):
    """The stacks that are possible if this function was sampled."""
    kind, _, number = name.rpartition("_")
    if name == "main":
        return [["main"]]
    if kind == "leaf":
        return [[name] + chain_of_level(int(number))]
    if kind == "level":
        return [chain_of_level(int(number))]
    return [FULL[i:] for i, caller in enumerate(FULL) if caller == name]


def judge(stack, chain):
    """The number of callers left out, or None if a frame is wrong."""
    at = missing = 0
    for name in stack:
        if name not in chain[at:]:
            return None
        found = chain.index(name, at)
        missing += found - at
        at = found + 1
    return missing


def stacks(lines):
    """The stacks of the program, up to main(). What is above belongs to libc."""
    stack, ours = [], False
    for line in lines:
        if not line.strip():
            if ours and stack:
                yield stack
            stack = []
        elif not line[0].isspace():
            ours = line.startswith("habit")
        else:
            name = line.split(None, 1)[1].split("+")[0].strip()
            if "main" not in stack:
                stack.append(name)
    if ours and stack:
        yield stack


class Figures:
    def __init__(self, path):
        self.samples = self.main = self.whole = self.wrong = self.missing = 0
        self.examples = []
        with open(path, encoding="utf-8", errors="replace") as file:
            for stack in stacks(file):
                # A sample in libc or in a PLT slot does not say where it was called from.
                if re.fullmatch(r"(level|leaf)_\d+|main|(lib|plain)_calls", stack[0]):
                    self.add(stack)

    def add(self, stack):
        self.samples += 1
        self.main += stack[-1] == "main"
        fits = [result for result in (judge(stack, chain) for chain in chains(stack[0]))
                if result is not None]
        if not fits:
            self.wrong += 1
            self.examples.append(" ".join(stack))
        elif min(fits):
            self.missing += 1
        else:
            self.whole += stack[-1] == "main"

    def share(self, number):
        return 100 * number / max(self.samples, 1)

    def __str__(self):
        return (f"{self.samples} stacks, {self.share(self.main):.2f} % reach main(), "
                f"{self.share(self.whole):.2f} % are whole, "
                f"{self.share(self.wrong):.2f} % wrong, "
                f"{self.share(self.missing):.2f} % leave a caller out")


def expect(what, holds):
    print(f"{'ok  ' if holds else 'FAIL'} {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="habit")
    parser.add_argument("--kernel")
    parser.add_argument("--may-end", action="store_true")
    parser.add_argument("file")
    args = parser.parse_args()
    ours = Figures(args.file)
    print(f"     {args.name}: {ours}")
    for example in ours.examples[:3]:
        print(f"     wrong: {example}")
    expect(f"{args.name}: at least 500 stacks", ours.samples >= 500)
    expect(f"{args.name}: no wrong frame", not ours.wrong)
    if not args.kernel:
        expect(f"{args.name}: no caller is left out", not ours.missing)
        return
    kernel = Figures(args.kernel)
    print(f"     {args.name}, by the kernel: {kernel}")
    if not args.may_end:
        expect(f"{args.name}: as many stacks reach main() as by the kernel",
               ours.share(ours.main) >= kernel.share(kernel.main) - 0.5)
    expect(f"{args.name}: as many stacks are whole as by the kernel",
           ours.share(ours.whole) >= kernel.share(kernel.whole) - 0.5)
    expect(f"{args.name}: not more callers are left out",
           ours.share(ours.missing) <= kernel.share(kernel.missing + kernel.wrong) + 0.5)


if __name__ == "__main__":
    main()
