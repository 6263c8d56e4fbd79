#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the stacks of habit.c: habit.py [--name NAME] [--kernel FILE] FILE

FILE is the output of `perf script -F comm,ip,sym,symoff`. The name of the sampled function
says what the whole stack is. Prints lines of figures, and a case for each expectation:

wrong    no stack has a frame that is not one of the callers, or is in another order
main     with --kernel: not fewer stacks reach main() than in that FILE, which is of the
         kernel's own stacks of the same program. Compared is what both got at each place
         that both have sampled: which places these are, a timer and a loop decide together
whole    likewise of stacks that reach main(), and leave no caller out
missing  at most one in a thousand stacks leaves a caller out and goes on above it

With --may-end `main` is not expected: libraries of the program keep no frame pointers, and do
not use the register. So the kernel's own stacks go on there, without a caller.
"""

import argparse
import collections
import math
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
    """The stacks of the program, up to main(), each with the place that was sampled, as
    FUNCTION+OFFSET. What is above belongs to libc."""
    stack, place, ours = [], "", False
    for line in lines:
        if not line.strip():
            if ours and stack:
                yield place, stack
            stack = []
        elif not line[0].isspace():
            ours = line.startswith("habit")
        else:
            at = line.split(None, 1)[1].split()[0]
            if not stack:
                place = at
            if "main" not in stack:
                stack.append(at.split("+")[0])
    if ours and stack:
        yield place, stack


class Figures:
    """What the stacks are like: the number of all, and of each kind, by the sampled place."""

    def __init__(self, path):
        self.at = {}
        self.examples = []
        with open(path, encoding="utf-8", errors="replace") as file:
            for place, stack in stacks(file):
                # A sample in libc or in a PLT slot does not say where it was called from.
                if re.fullmatch(r"(level|leaf)_\d+|main|(lib|plain)_calls", stack[0]):
                    self.at.setdefault(place, collections.Counter()).update(self.kinds(stack))

    def kinds(self, stack):
        yield "samples"
        if stack[-1] == "main":
            yield "main"
        fits = [result for result in (judge(stack, chain) for chain in chains(stack[0]))
                if result is not None]
        if not fits:
            yield "wrong"
            self.examples.append(" ".join(stack))
        elif min(fits):
            yield "missing"
        elif stack[-1] == "main":
            yield "whole"

    def number(self, *kinds):
        return sum(counts[kind] for counts in self.at.values() for kind in kinds)

    def share(self, *kinds):
        """In percent."""
        return 100 * self.number(*kinds) / max(self.number("samples"), 1)

    def __str__(self):
        return (f"{self.number('samples')} stacks, {self.share('main'):.2f} % reach main(), "
                f"{self.share('whole'):.2f} % are whole, {self.share('wrong'):.2f} % wrong, "
                f"{self.share('missing'):.2f} % leave a caller out")


def compare(ours, kernel, kind):
    """The share of our stacks of a kind, less what it would be if each place had the kernel's
    share of it; and what chance makes of that: four standard deviations, at least half
    of a hundredth. The last: how many of our samples this is about. All in percent."""
    difference = variance = samples = 0
    for place in ours.at.keys() & kernel.at.keys():
        here, there = ours.at[place]["samples"], kernel.at[place]["samples"]
        number = kernel.at[place][kind]
        difference += ours.at[place][kind] - here * number / there
        likely = (number + 1) / (there + 2)
        variance += likely * (1 - likely) * here * (1 + here / there)
        samples += here
    percent = 100 / max(samples, 1)
    return (difference * percent, max(0.5, 4 * math.sqrt(variance) * percent),
            100 * samples / max(ours.number("samples"), 1))


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
    tap = Tap()

    def expect(what, holds):
        tap.case(f"{args.name}: {what}", () if holds else "see above")

    expect("at least 500 stacks", ours.number("samples") >= 500)
    expect("no wrong frame", not ours.number("wrong"))
    expect("at most 0.1 % leave a caller out", ours.share("missing") <= 0.1)
    if not args.kernel:
        return tap.end()
    kernel = Figures(args.kernel)
    print(f"     {args.name}, by the kernel: {kernel}")
    shares = [("as many stacks are whole as by the kernel", "whole")]
    if not args.may_end:
        shares.insert(0, ("as many stacks reach main() as by the kernel", "main"))
    for what, kind in shares:
        difference, chance, part = compare(ours, kernel, kind)
        print(f"     {args.name}: {kind}: {difference:+.2f} %, by chance {chance:.2f} %, "
              f"of {part:.0f} % of the stacks")
        expect(what, difference >= -chance)
    expect("a quarter of the stacks is from places that both have sampled", part >= 25)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
