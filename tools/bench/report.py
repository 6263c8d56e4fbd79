#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of the benchmarks' figures.

report.py FIGURES JSON    print the tables, and write the same to JSON; other parts of the same kernel stay there
report.py --rst JSON      print the tables of Documentation/measurements.rst, each between two comments

FIGURES has a line for each figure: see guest.sh and lookups in run.
"""

import json
import os
import sys

import harm

NS_PER_INSTRUCTION = 2      # tools/lab/vm --icount
WAYS = ("fp", "sframe", "sframe-cold", "sframe-resident-first", "sframe-resident", "dwarf")


def read(path):
    """The lines of each kind, as words."""
    lines = {}
    with open(path) as file:
        for line in file:
            if not line.startswith("#"):
                kind, *words = line.split()
                lines.setdefault(kind, []).append(words)
    return lines


def ratio(figure, peer):
    return round(figure / peer, 2) if peer else None


def samples(lines):
    """Instructions per sample above those of a sample without a stack."""
    raw = {(way, int(depth)): (float(ns), float(size), int(hits), int(misses))
           for way, depth, ns, _, size, _, hits, misses in lines}
    base = {"fp": "none", "sframe-cold": "none-cold", "sframe-resident": "none-resident",
            "sframe-resident-first": "none-first"}
    rows = []
    for depth in sorted({depth for way, depth in raw if way == "fp"}):
        row = {"depth": depth}
        for way in WAYS:
            ns, size, hits, misses = raw[way, depth]
            above = ns - raw[base.get(way, "none-sframe"), depth][0]
            row[way] = {"instructions": round(above / NS_PER_INSTRUCTION),
                        "bytes": round(size)}
            if way.startswith("sframe"):
                row[way]["missed"] = ratio(misses, hits + misses)
        for way in WAYS:
            row[way]["ratio"] = ratio(row[way]["instructions"],
                                      row["fp"]["instructions"])
        rows.append(row)
    first, last = rows[0], rows[-1]
    frame = {way: round((last[way]["instructions"] - first[way]["instructions"]) /
                        (last["depth"] - first["depth"]), 1) for way in WAYS}
    return {"unit": "guest instructions per sample, above a sample without a stack",
            "depths": rows, "frame": frame, "new": new_samples(raw)}


def new_samples(raw):
    """Stacks of which only the sampled address is new."""
    (depth, base), = ((depth, figures[0]) for (way, depth), figures in raw.items() if way == "none-new")
    new = {way: {"instructions": round((raw[f"{way}-new", depth][0] - base) / NS_PER_INSTRUCTION)}
           for way in ("fp", "sframe", "sframe-resident")}
    for figure in new.values():
        figure["ratio"] = ratio(figure["instructions"], new["fp"]["instructions"])
    return {"depth": depth, **new}


def show_samples(part):
    print("A sample, in instructions above one without a stack; frame pointers = 1")
    print(f"{'depth':>5}" + "".join(f"{way:>22}" for way in WAYS) + f"{'missed':>8}")
    for row in part["depths"]:
        print(f"{row['depth']:5}" + "".join(
            f"{row[way]['instructions']:14} = {row[way]['ratio']:5.2f}" for way in WAYS) +
            f"{row['sframe-cold']['missed']:8.0%}")
    print("frame" + "".join(f"{part['frame'][way]:22}" for way in WAYS))
    new = part["new"]
    print(f"{new['depth']} frames, the sampled address new: " + ", ".join(
        f"{way} {figure['instructions']} = {figure['ratio']:.2f}" for way, figure in new.items() if way != "depth") + "\n")


def lookups(lines):
    """Nanoseconds, beside those of the peers on the same addresses."""
    files = {}
    for name, key, *values in lines:
        file = files.setdefault(name, {})
        if key == "fdes":
            file["fdes"] = int(values[0])
            file["bytes"] = int(values[4])
        else:
            median, least, most = map(float, values)
            file[key] = {"ns": median, "min": least, "max": most}
    for file in files.values():
        for key, figure in file.items():
            if isinstance(figure, dict):
                figure["ratio"] = ratio(file["sframe"]["ns"], figure["ns"])
    return {"unit": "ns per address; ratio: sframe / that one", "files": files}


def show_lookups(part):
    peers = ("sframe", "resident", "libsframe", "libgcc", "libunwind", "libunwind-cached")
    print("A look-up, in ns; behind it: that in the mapped section to that one")
    print(f"{'':12}{'FDEs':>8}" + "".join(f"{peer:>18}" for peer in peers))
    for name, file in part["files"].items():
        print(f"{name:12}{file['fdes']:8}" + "".join(
            f"{file[peer]['ns']:11.0f} {file[peer]['ratio']:6.3f}" if peer in file else f"{'-':>18}"
            for peer in peers))
    print()


def slowdown(lines):
    alone = {way: float(seconds) for way, _, seconds, *_ in lines
             if way.startswith("none")}
    rows = []
    for way, hz, seconds, taken, lost, size in lines:
        if way.startswith("none"):
            continue
        peer = alone["none-fp" if way == "fp" else "none-sframe"]
        rows.append({"way": way, "hz": int(hz), "ratio": round(float(seconds) / peer, 4),
                     "seconds": float(seconds), "samples": int(taken), "lost": int(lost),
                     "bytes_per_sample": round(int(size) / max(int(taken), 1))})
    rows.sort(key=lambda row: (row["hz"], ("fp", "sframe", "dwarf").index(row["way"])))
    return {"unit": "run time with perf record / without", "alone": alone, "runs": rows}


def show_slowdown(part):
    print("speedtest1 under perf record; its run time alone = 1")
    print(f"{'Hz':>5}  {'way':8}{'run time':>9}{'samples':>9}{'lost':>6}{'bytes/sample':>14}")
    for row in part["runs"]:
        print(f"{row['hz']:5}  {row['way']:8}{row['ratio']:9.4f}{row['samples']:9}"
              f"{row['lost']:6}{row['bytes_per_sample']:14}")
    print()


def large(lines):
    seconds = {(name, way): float(took) for name, way, _, took, *_ in lines}
    rows = []
    for name, way, hz, _, stacks, frames, hits, misses in lines:
        alone, took = seconds[name, "none"], seconds[name, way]
        if way != "none":
            row = {"program": name, "way": way, "hz": int(hz), "ratio": round(took / alone, 4)}
            if way == "sframe":
                row |= {"stacks": int(stacks), "depth": ratio(int(frames), int(stacks)),
                        "hits": round(int(hits) / (int(hits) + int(misses)), 4),
                        "cost": ratio(took - alone, seconds[name, "fp"] - alone)}
            rows.append(row)
    return {"unit": "processor time with perf record / without; hits: of all rows; cost: of what fp adds to that time",
            "alone": {name: took for (name, way), took in seconds.items() if way == "none"}, "runs": rows}


def show_large(part):
    print("Large programs from resident tables; the processor time alone = 1")
    for row in part["runs"]:
        more = ""
        if row["way"] == "sframe":
            more = f"{row['stacks']:8} stacks {row['depth']:6.1f} frames {row['hits']:8.2%} hits {row['cost']:6.2f} of fp's cost"
        print(f"{row['program']:6}{row['hz']:6}  {row['way']:8}{row['ratio']:9.4f}{more}")
    print()


def memory(lines):
    rows = []
    for libraries, count, processes, _, sections, _, size, _ in lines:
        rows.append({"libraries": int(libraries), "sampled": int(count),
                     "processes": int(processes), "sections": int(sections),
                     "bytes": int(size),
                     "bytes_per_process": round(int(size) / int(count))})
    few, many = (next(row for row in rows[::-1] if row["libraries"] == n) for n in (0, 8))
    more = many["bytes_per_process"] - few["bytes_per_process"]
    return {"unit": "bytes held by the module", "crowds": rows,
            "bytes_per_section": round(more / 8)}


def show_memory(part):
    print("Memory held, by processes sampled")
    print(f"{'processes':>9}{'sections':>10}{'bytes':>12}{'a process':>11}")
    for row in part["crowds"]:
        print(f"{row['processes']:9}{row['sections']:10}{row['bytes']:12}"
              f"{row['bytes_per_process']:11}")
    print(f"a section more: {part['bytes_per_section']} bytes\n")


# ---- the same for Documentation/measurements.rst ----

def grouped(number):
    """Digits in groups of three, from five digits on."""
    number = round(number)
    return f"{number:,}" if number >= 10000 else str(number)


def beside(figure, peer):
    """A figure and its ratio to a peer."""
    return f"{grouped(figure)} = {peer:.2f}"


def rst_table(head, rows):
    """A simple table; every cell is a string."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    bar = "  ".join("=" * width for width in widths)
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [head, *rows]]
    return "\n".join([bar, lines[0], bar, *lines[1:], bar])


def rst_samples(part):
    rows = [[str(row["depth"]), grouped(row["fp"]["instructions"])] +
            [beside(row[way]["instructions"], row[way]["ratio"]) for way in WAYS[1:]]
            for row in part["depths"]]
    frame = part["frame"]
    rows.append(["frame", grouped(frame["fp"]),
                 beside(frame["sframe"], frame["sframe"] / frame["fp"]),
                 *(grouped(frame[way]) for way in WAYS[2:])])
    new = {way: beside(figure["instructions"], figure["ratio"]) for way, figure in part["new"].items() if way != "depth"}
    rows.append([f"{part['new']['depth']}, new", grouped(part["new"]["fp"]["instructions"]), "", new["sframe"],
                 new["sframe-resident"], "", ""])
    return rst_table(["depth", "frame pointers", "sframe", "sframe, cold", "resident, first",
                      "resident, cold", "dwarf, copied"], rows)


def rst_lookups(part):
    names = {"zstd": "libzstd", "sqlite3": "SQLite", "million": "made up"}
    peers = ["libsframe", "libgcc", "libunwind"]
    rows = [[names.get(name, name), grouped(file["fdes"]), grouped(file["sframe"]["ns"]),
             grouped(file["resident"]["ns"])] +
            [beside(file[peer]["ns"], file[peer]["ratio"]) for peer in peers]
            for name, file in part["files"].items()]
    return rst_table(["section", "functions", "sframe", "resident"] + peers, rows)


def rst_slowdown(part):
    names = {"fp": "frame pointers"}
    rows = [[str(row["hz"]), names.get(row["way"], row["way"]), f"{row['ratio']:.3f}",
             grouped(row["samples"]), grouped(row["bytes_per_sample"]), grouped(row["lost"])]
            for row in part["runs"]]
    return rst_table(["Hz", "way", "run time", "samples", "bytes", "lost"], rows)


def rst_large(part):
    rows = [[row["program"], str(row["hz"]), "frame pointers" if row["way"] == "fp" else row["way"], f"{row['ratio']:.3f}",
             grouped(row["stacks"]) if "hits" in row else "", f"{row['depth']:.1f}" if "hits" in row else "",
             f"{row['hits']:.2%}".replace("%", " %") if "hits" in row else "",
             f"{row['cost']:.2f}" if "cost" in row else ""] for row in part["runs"]]
    return rst_table(["program", "Hz", "way", "processor", "stacks", "depth", "hits", "of fp's cost"], rows)


def rst_memory(part):
    rows = [[grouped(row["sampled"]), grouped(row["bytes_per_process"])]
            for row in part["crowds"] if not row["libraries"]]
    rows.append(["a section more", grouped(part["bytes_per_section"])])
    return rst_table(["processes sampled", "bytes for each"], rows)


def rst_harm(part):
    return rst_table(*harm.rst_rows(part))


RST = {"samples": rst_samples, "lookups": rst_lookups, "slowdown": rst_slowdown,
       "large": rst_large, "memory": rst_memory, "harm": rst_harm}


def print_rst(path):
    with open(path) as file:
        result = json.load(file)
    for name, make in RST.items():
        if name in result:
            print(f".. bench {name}, printed by: tools/bench/report.py --rst out/bench/bench.json\n\n"
                  f"{make(result[name])}\n\n.. end of bench {name}\n")


PARTS = {"samples": (samples, show_samples), "lookups": (lookups, show_lookups),
         "slowdown": (slowdown, show_slowdown), "large": (large, show_large),
         "memory": (memory, show_memory), "harm": (harm.summarize, harm.show)}


def other_parts(path, kernel):
    """The parts in the file at path, if they are of the same kernel."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        result = json.load(file)
    return result if result["kernel"] == kernel else {}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--rst":
        print_rst(sys.argv[2])
        return
    lines = read(sys.argv[1])
    kernel = lines.pop("kernel")[0][0]
    result = other_parts(sys.argv[2], kernel) | {"kernel": kernel}
    is_good = True
    for name, words in lines.items():
        make, show = PARTS[name]
        result[name] = make(words)
        # Only the part "harm" has limits.
        is_good = show(result[name]) is not False and is_good
    with open(sys.argv[2], "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
