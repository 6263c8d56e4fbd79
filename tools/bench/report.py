#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the benchmarks' figures: report.py FIGURES JSON

Prints them as Documentation/measurements.rst has them, and writes the figures of samples and lookups to JSON. FIGURES has a line
for each: see guest.sh, lookups.c and tables.py.
"""

import json
import sys

NS_PER_INSTRUCTION = 2      # tools/lab/vm --icount
WAYS = ("fp", "sframe", "sframe-cold", "sframe-resident", "sframe-habit", "dwarf")
HARM = {"nobody": ("nobody", "none"), "99 Hz": ("sframe-99", "fp-99"), "999 Hz": ("sframe-999", "fp-999")}


def read(path):
    """The lines of each kind, as words."""
    lines = {}
    with open(path) as file:
        for line in file:
            kind, *words = line.split()
            lines.setdefault(kind, []).append(words)
    return lines


def ratio(figure, peer):
    return round(figure / peer, 2) if peer else None


# ---- tables ----

def grouped(number):
    """Digits in groups of three, from five digits on."""
    number = round(number)
    return f"{number:,}" if number >= 10000 else str(number)


def beside(figure, peer):
    """A figure and its ratio to a peer, if there is one."""
    return f"{grouped(figure)} = {figure / peer:.2f}" if peer else grouped(figure)


def table(head, rows):
    """A simple table of reStructuredText; every cell is a string."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    bar = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
    return "\n".join([bar, lines[0], bar, *lines[1:], bar])


# ---- the parts: each returns a table; samples() and lookups() also their figures ----

def samples(lines):
    """Instructions of a sample above those of a sample without a stack."""
    raw = {(way, int(depth)): (float(ns), float(size), int(hits), int(misses))
           for way, depth, ns, _, size, _, hits, misses in lines}
    base = {"fp": "none", "sframe-cold": "none-cold", "sframe-resident": "none-resident",
            "sframe-habit": "none-habit"}
    ways = [way for way in WAYS if any(way == found for found, _ in raw)]
    depths = sorted({depth for way, depth in raw if way == "sframe"})
    figures = {}
    for depth in depths:
        figures[depth] = row = {}
        for way in ways:
            ns, size, hits, misses = raw[way, depth]
            above = ns - raw[base.get(way, "none-sframe"), depth][0]
            row[way] = {"bytes": round(size), "instructions": round(above / NS_PER_INSTRUCTION)}
            if way.startswith("sframe"):
                row[way]["missed"] = ratio(misses, hits + misses)
    # Looking up 127 rows of a mapped section uses up the budget of a walk.
    least, most = depths[0], max(depth for depth in depths if depth <= 48)
    frame = {way: round((figures[most][way]["instructions"] - figures[least][way]["instructions"]) / (most - least), 1)
             for way in ways}
    part = {"depths": figures, "frame": frame, "new": new_samples(raw)}
    rows = [[str(depth)] + [cell(row, way) for way in ways] for depth, row in figures.items()]
    rows.append(["frame"] + [grouped(frame[way]) for way in ways])
    rows.append(["new"] + [grouped(part["new"][way]) if way in part["new"] else "" for way in ways])
    return part, table(["depth", *ways], rows)


def cell(row, way):
    """What a sample costs, beside one by frame pointers; or that its stack was cut."""
    if way.startswith("sframe") and row[way]["bytes"] < row["sframe"]["bytes"]:
        return "cut"
    return beside(row[way]["instructions"], way != "fp" and row.get("fp", {}).get("instructions"))


def new_samples(raw):
    """Instructions of a sample of which only the sampled address is new."""
    (depth, base), = ((depth, figures[0]) for (way, depth), figures in raw.items() if way == "none-new")
    return {way: round((raw[f"{way}-new", depth][0] - base) / NS_PER_INSTRUCTION)
            for way in ("fp", "sframe", "sframe-resident") if (f"{way}-new", depth) in raw}


def lookups(lines):
    """Nanoseconds and instructions of look-ups, by file and way."""
    part, rows = {}, []
    for name, _, functions, _, us, *figures in lines:
        ways = {way: (float(ns), int(instructions))
                for way, ns, instructions in zip(figures[::3], figures[1::3], figures[2::3], strict=True)}
        part[name] = {way: instructions for way, (_, instructions) in ways.items()}
        (own, own_instructions), *peers = ways.values()
        rows.append([name, grouped(int(functions)), us, f"{own:.1f}", *(f"{ns:.0f} = {ns / own:.1f}" for ns, _ in peers),
                     str(own_instructions), *(beside(instructions, own_instructions) for _, instructions in peers)])
    return {"lookups": part}, table(["file", "functions", "us each", "compiled", "libsframe", "libgcc",
                                     "instructions", "libsframe", "libgcc"], rows)


def tables(lines):
    """Megabytes of tables: the sections with 16 bytes a function, which tables were before, and compiled."""
    rows = []
    for name, *figures in lines:
        files, functions, sframe, compiled = map(int, figures)
        before = sframe + 16 * functions
        rows.append([name, grouped(files), grouped(functions), *(f"{size / 1e6:.2f}" for size in (sframe, before, compiled)),
                     f"{compiled / before:.3f}"])
    return table(["files", "number", "functions", "sframe", "before", "compiled", "of before"], rows)


def large(lines):
    """Processor time of programs, by that without perf, and what the module has counted."""
    seconds = {(name, way): float(took) for name, way, _, took, *_ in lines}
    rows = []
    for name, way, hz, _, *counted in lines:
        if way == "none":
            continue
        alone, took = seconds[name, "none"], seconds[name, way]
        row = [name, hz, way, f"{took / alone:.3f}", "", "", "", ""]
        if way == "sframe":
            stacks, frames, hits, misses = map(int, counted)
            row[4:] = (grouped(stacks), f"{frames / stacks:.1f}", f"{100 * hits / (hits + misses):.2f} %",
                       str(ratio(took - alone, seconds[name, "fp"] - alone)))
        rows.append(row)
    return table(["program", "Hz", "way", "processor", "stacks", "depth", "hits", "of fp's cost"], rows)


def memory(lines):
    """Bytes held by the module for each process, with so many libraries."""
    part = {(int(libraries), int(count)): int(size) / int(count) for libraries, count, *_, size, _ in lines}
    rows = [[grouped(count), grouped(each)] for (libraries, count), each in part.items() if not libraries]
    most = max(count for _, count in part)
    rows.append(["a section more", grouped((part[8, most] - part[0, most]) / 8)])
    return table(["processes sampled", "bytes for each"], rows)


def harm(lines):
    """Instructions of operations, and what they are with the module by what they are without it."""
    part = {}
    for column, operation, ns in lines:
        part.setdefault(operation, {})[column] = float(ns) / NS_PER_INSTRUCTION
    return table(["operation", "instructions", *HARM], [
        [operation, grouped(row["none"]), *(f"{row[way] / row[peer]:.3f}" for way, peer in HARM.values())]
        for operation, row in part.items()])


PARTS = {"large": large, "harm": harm, "memory": memory, "tables": tables}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kept = {}
    for name, lines in read(sys.argv[1]).items():
        if name in ("samples", "lookups"):
            figures, text = {"samples": samples, "lookups": lookups}[name](lines)
            kept |= figures
        else:
            text = PARTS[name](lines)
        print(f"bench {name}:\n\n{text}\n")
    if kept:
        with open(sys.argv[2], "w") as file:
            json.dump(kept, file, indent=1)


if __name__ == "__main__":
    main()
