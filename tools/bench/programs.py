#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the table of tools/bench/programs: programs.py --root DIR --share DIR PROGRAM...

DIR/PROGRAM.WAY is what perf script shows of a recording, DIR/local the machine's /usr/local.
The columns are those of Documentation/measurements.rst; stacks.py says what is counted.
"""

import argparse
from pathlib import Path

from stacks import Figures, Files, read_stacks

WAYS = ("kernel", "dwarf", "sframe", "proved")


def judge(program, path, files, way):
    """Threads of another name count only if it begins with the program's: others compile, or collect garbage."""
    figures = Figures(files)
    name = program.split("-", maxsplit=1)[0]
    for comm, _, _, maps, stack in read_stacks(path, files, way == "dwarf"):
        if comm == name or comm.startswith(name + "-"):
            figures.add(maps, stack)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--share", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    files = Files(args.root, args.share / "local")
    print(f"{'program':12}{'way':10}{'stacks':>8}{'start':>10}{'clean':>10}{'depth':>8}{'wrong':>10}")
    for program in args.programs:
        for way in WAYS:
            path = args.share / f"{program}.{way}"
            if not path.exists():
                continue
            figures = judge(program, path, files, way)
            stacks, frames = max(figures.stacks, 1), max(figures.frames, 1)
            print(f"{program:12}{way:10}{figures.stacks:>8}{100 * figures.started / stacks:>8.1f} %"
                  f"{100 * figures.whole / stacks:>8.1f} %{frames / stacks:>8.1f}{100 * figures.wrong / frames:>8.3f} %")
            if args.verbose:
                for what, counter in (("wrong", figures.examples), ("end", figures.ends)):
                    for place, number in counter.most_common(6):
                        print(f"    {what} {number} {place}")


if __name__ == "__main__":
    main()
