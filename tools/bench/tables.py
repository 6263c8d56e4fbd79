#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory of tables: tables.py SFRAMECTL TABLES DIR ROOT...

Converts all programs and libraries of these roots, and prints for each set of files

    tables SET FILES FUNCTIONS SFRAME COMPILED

with the bytes of their .sframe, and of their compiled tables. The sets: "minimal" are the essential packages of the first
root, and what they need; "large" are the 92 files of amd64 with the largest tables; the others are all of an architecture.
Files with the same content have one table.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
TESTING = Path(__file__).resolve().parents[1] / "testing"
sys.path[1:1] = [str(TESTING / "oracle"), str(TESTING / "host")]
from convert import find_files  # noqa: E402

LARGE = 92


def minimal_files(root):
    """The files of the packages that each Debian has, and of those that these depend on."""
    records = {}
    for text in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)", text, re.M))
        for name in [fields.get("Package", ""), *re.split(r"[, ]+", re.sub(r"\(.*?\)", "", fields.get("Provides", "")))]:
            records.setdefault(name, fields)
    names = [name for name, fields in records.items()
             if fields.get("Essential") == "yes" or fields.get("Priority") == "required"]
    packages = {}
    for name in names:  # grows
        if (fields := records.get(name)) and fields["Package"] not in packages:
            packages[fields["Package"]] = fields
            needs = f"{fields.get('Depends', '')},{fields.get('Pre-Depends', '')}"
            names += re.findall(r"(?:^|,)\s*([\w.+-]+)", needs)
    for package, fields in packages.items():
        for suffix in "", f":{fields['Architecture']}":
            files = root / f"var/lib/dpkg/info/{package}{suffix}.list"
            if files.exists():
                yield from (str((root / path.lstrip("/")).resolve()) for path in files.read_text().splitlines())


def measure(tables, files):
    """The functions, bytes of .sframe and bytes of the compiled table of each of these table files."""
    lines = subprocess.run([tables, *files], check=True, text=True, capture_output=True).stdout.splitlines()
    return {file: tuple(map(int, line.split())) for file, line in zip(files, lines, strict=True)}


def main():
    sframectl, tables, folder, *roots = sys.argv[1:]
    roots = [Path(root).resolve() for root in roots]
    paths = {path: arch for arch, path in find_files([root / "usr" for root in roots])}
    with tempfile.TemporaryDirectory(dir=folder) as out:
        said = subprocess.run([sframectl, "convert", "--json", "--store", out, *paths],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        made = {file["name"]: file["output"] for file in json.loads(said)["files"] if "output" in file}
        sizes = measure(tables, sorted(set(made.values())))
    minimal = set(minimal_files(roots[0]))
    sets = {"minimal": [path for path in made if path in minimal],
            "large": sorted((path for path in made if paths[path] == "amd64"), key=lambda path: -sizes[made[path]][2])}
    for arch in "amd64", "arm64":
        sets[arch] = [path for path in made if paths[path] == arch]
    for name, files in sets.items():
        found = list(dict.fromkeys(made[path] for path in files))
        if name == "large":
            found = found[:LARGE]
        print("tables", name, len(found), *(sum(column) for column in zip(*(sizes[file] for file in found))))


if __name__ == "__main__":
    main()
