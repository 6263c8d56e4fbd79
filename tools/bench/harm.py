# SPDX-License-Identifier: GPL-2.0-or-later
"""The part "harm" of the benchmarks' figures: see harm and harm-guest.sh. report.py uses it."""

from statistics import median

NS_PER_INSTRUCTION = 2      # tools/lab/vm --icount
PEERS = {"nobody": "none", "recent": "none",
         "99 Hz": "fp-99", "999 Hz": "fp-999"}
COLUMNS = {"nobody": "nobody", "recent": "recent",
           "99 Hz": "sframe-99", "999 Hz": "sframe-999"}


# Figures that miss their goal. Documentation/measurements.rst says why. They must not get worse.
MISSED = {("mprotect", "recent"): 1.022, ("munmap", "99 Hz"): 1.025, ("munmap", "999 Hz"): 1.022,
          ("exec-large", "99 Hz"): 1.021}
# The same kernel, without the module, takes so much more or less in these lines from boot to boot.
SPREAD = {"mmap": 0.06, "mmap-code": 0.06, "many-munmap": 0.17, "many-mprotect": 0.06}
LEAST_SPREAD = 0.003


def goal(line, column):
    """The most that a line may cost; the line without the module costs 1."""
    if line.startswith("many-"):
        return 1.10
    if column in ("nobody", "recent") or (line, column) == ("build-sframe", "99 Hz"):
        return 1.01
    return 1.02


def limit(line, column):
    """Above this, the cost of a line has grown."""
    return max(goal(line, column), MISSED.get((line, column), 0)) + SPREAD.get(line, LEAST_SPREAD)


def summarize(lines):
    """Medians of the rounds, and their ratios. The spread is that of the ratios of single rounds."""
    raw = {}
    for line, column, ns in lines:
        raw.setdefault(line, {}).setdefault(column, []).append(float(ns))
    rows = []
    for line, columns in raw.items():
        row = {"line": line,
               "instructions": {way: round(median(ns) / NS_PER_INSTRUCTION)
                                for way, ns in columns.items()}}
        for column, way in COLUMNS.items():
            peer = PEERS[column]
            rounds = [ns / ns_peer for ns, ns_peer in zip(columns[way], columns[peer])]
            ratio = round(median(columns[way]) / median(columns[peer]), 4)
            row[column] = {"ratio": ratio, "min": round(min(rounds), 4),
                           "max": round(max(rounds), 4), "goal": goal(line, column),
                           "is_met": ratio <= goal(line, column)}
        rows.append(row)
    return {"unit": "guest instructions; ratio: with the module / without",
            "rounds": max(len(ns) for columns in raw.values() for ns in columns.values()),
            "lines": rows}


def show(part):
    """Print the table. Return whether all costs are within their limits."""
    print("Operations with the module; without it = 1. A * marks a figure above its goal")
    print(f"{'':14}{'instructions':>13}" + "".join(f"{column:>12} " for column in COLUMNS) +
          f"{'spread':>8}")
    for row in part["lines"]:
        print(f"{row['line']:14}{row['instructions']['none']:13}" + "".join(
            f"{row[column]['ratio']:12.3f}{' ' if row[column]['is_met'] else '*'}"
            for column in COLUMNS) +
            f"{max(row[column]['max'] - row[column]['min'] for column in COLUMNS):8.3f}")
    for row in part["lines"]:
        missed = [f"{column} {row[column]['ratio']:.3f} (goal {row[column]['goal']:.2f})"
                  for column in COLUMNS if not row[column]["is_met"]]
        if missed:
            print(f"above the goal: {row['line']}: " + ", ".join(missed))
    grown = [f"{row['line']}, {column}: {row[column]['ratio']:.3f}, at most {limit(row['line'], column):.3f}"
             for row in part["lines"] for column in COLUMNS
             if row[column]["ratio"] > limit(row["line"], column)]
    for text in grown:
        print(f"FAIL: it costs more than it did: {text}")
    print(f"harm: {len(part['lines']) * len(COLUMNS) - len(grown)} passed, {len(grown)} failed\n")
    return not grown


def rst_rows(part):
    """The head and the rows of the table in Documentation/measurements.rst."""
    rows = [[row["line"], f"{row['instructions']['none']:,}"] +
            [f"{row[column]['ratio']:.3f}" for column in COLUMNS] for row in part["lines"]]
    return ["line", "instructions", *COLUMNS], rows
