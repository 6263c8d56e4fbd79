#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the stacks of habit.c: habit.py [--name NAME] [--whole LEVEL] FILE

FILE is the output of `perf script -F comm,ip,sym`. The name of the sampled function
says what the whole stack is. Prints a line of figures, and a case for each expectation:

wrong    no stack has a frame that is not one of the callers, or is in another order
missing  at most one in a thousand stacks leaves a caller out, other than that of the sampled leaf, and goes on above it
whole    with --whole: of the stacks of level_1() to level_LEVEL(), and of their leaves, 99 of 100 reach
         main(), and leave no caller out
"""

import argparse
import collections
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
from tap import Tap  # noqa: E402

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
    """
    The number of callers left out, or None if a frame is wrong. The sampled leaf has made no frame: the frame pointer
    leads to the caller of its caller. Without a table no walk knows better, and the kernel's own does the same.
    """
    at = missing = 0
    for name in stack:
        if name not in chain[at:]:
            return None
        found = chain.index(name, at)
        if not (at == 1 and found == 2 and stack[0].startswith("leaf_")):
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
            if "main" not in stack:
                stack.append(line.split()[1])
    if ours and stack:
        yield stack


class Figures:
    """What the stacks are like: the number of all, and of each kind."""

    def __init__(self, path, whole_level):
        self.whole_level = whole_level
        self.number = collections.Counter()
        self.examples = []
        with open(path, encoding="utf-8", errors="replace") as file:
            for stack in stacks(file):
                # A sample in libc or in a PLT slot does not say where it was called from.
                if re.fullmatch(r"(level|leaf)_\d+|main|(lib|plain)_calls", stack[0]):
                    self.number.update(self.kinds(stack))

    def kinds(self, stack):
        yield "samples"
        if stack[-1] == "main":
            yield "main"
        level = re.search(r"_(\d+)$", stack[0])
        is_low = level and int(level[1]) <= self.whole_level
        if is_low:
            yield "low"
        fits = [result for result in (judge(stack, chain) for chain in chains(stack[0]))
                if result is not None]
        if not fits:
            yield "wrong"
            self.examples.append(" ".join(stack))
        elif min(fits):
            yield "missing"
        elif stack[-1] == "main":
            yield "whole"
            if is_low:
                yield "low and whole"

    def share(self, kind):
        """In percent."""
        return 100 * self.number[kind] / max(self.number["samples"], 1)

    def __str__(self):
        return (f"{self.number['samples']} stacks, {self.share('main'):.2f} % reach main(), "
                f"{self.share('whole'):.2f} % are whole, {self.share('wrong'):.2f} % wrong, "
                f"{self.share('missing'):.2f} % leave a caller out")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="habit")
    parser.add_argument("--whole", type=int, default=0)
    parser.add_argument("file")
    args = parser.parse_args()
    ours = Figures(args.file, args.whole)
    print(f"     {args.name}: {ours}")
    for example in ours.examples[:3]:
        print(f"     wrong: {example}")
    tap = Tap()

    def expect(what, holds):
        tap.case(f"{args.name}: {what}", () if holds else "see above")

    expect("at least 500 stacks", ours.number["samples"] >= 500)
    expect("no wrong frame", not ours.number["wrong"])
    expect("at most 0.1 % leave a caller out", ours.share("missing") <= 0.1)
    if args.whole:
        low, whole = ours.number["low"], ours.number["low and whole"]
        expect(f"{whole} of {low} stacks up to level {args.whole} are whole", low >= 100 and whole >= 0.99 * low)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
