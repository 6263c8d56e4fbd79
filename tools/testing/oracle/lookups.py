# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares look-ups in the compiled tables of real files with those of the decoder, by the program lookups.

Then entries of a few tables are made wrong, one at a time: each must be found out.
"""

import json
import re
import subprocess
import tempfile

from convert import ARCHES, EXPECTED, find_files

LEAST = 1000  # files of an architecture
SMALL = ("true", "libdl.so.2")  # the files whose tables are made wrong


def compare(program, made, *words):
    """Return the sums of the numbers that lookups prints for each of these tables, and its problems with the files' names."""
    ran = subprocess.run([program, *words, *made], text=True, capture_output=True, check=False)
    sums = {"files": 0}
    for numbers in re.findall(r": (\w+ \d+(?: \w+ \d+)+)$", ran.stdout, re.M):
        sums["files"] += 1
        for name, number in re.findall(r"(\w+) (\d+)", numbers):
            sums[name] = sums.get(name, 0) + int(number)
    problems = [re.sub("^[^:]+", lambda table: made.get(table[0], table[0]), line)
                for line in [*re.findall("^# (.*)", ran.stdout, re.M), *ran.stderr.splitlines()]]
    return sums, problems or ([f"status {ran.returncode}"] if ran.returncode else [])


def run(choice, tap, sframectl, program):
    arches = {path: arch for arch, path in find_files(choice["places"])}
    with tempfile.TemporaryDirectory() as tmp:
        ran = subprocess.run([sframectl, "convert", "--json", "--store", tmp, *arches],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        files = json.loads(ran.stdout)["files"]
        tap.case("sframectl converts them", [f"{file['name']}: {file['error']}" for file in files
                                             if file.get("error", min(EXPECTED)) not in EXPECTED])
        tables = {arch: {file["output"]: file["name"] for file in files
                         if "output" in file and arches[file["name"]] == arch} for arch in ARCHES.values()}
        for arch, made in tables.items():
            sums, problems = compare(program, made)
            print(f"# {arch}: {sums}")
            tap.case(f"{arch}: look-ups as the decoder's", problems)
            tap.case(f"{arch}: {LEAST} files at least", [] if sums["files"] == len(made) >= LEAST else f"{sums}")
            small = {output: name for output, name in made.items() if name.rsplit("/", 1)[1] in SMALL}
            sums, problems = compare(program, small, "-w")
            print(f"# {arch}: {sums}")
            tap.case(f"{arch}: each wrong entry is found out", problems if sums.get("changes") else "nothing was changed")
