# SPDX-License-Identifier: GPL-2.0-or-later
"""The paths of x86_64 (arch/x86/sframe_path.h), compared with the call frame information of real files.

readelf says for each instruction of a file where its CFA and the caller's frame pointer are. Where the path
from an instruction leads to a return, both have to agree. Rows end where instructions do, so the lengths of
instructions are tested, too.
"""

import re
import subprocess

FILES = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/bin/bash"]
MIN_JUDGED = 20_000     # instructions of a file
MAX_UNKNOWN = 30        # code that ends within a row: ud2, and what follows it
MAX_ELSEWHERE = 20      # the path ends with a register as the stack pointer that the row does not know
MAX_CONTRADICTED = 5    # functions of glibc in assembly, which push registers and have no row for it

CIE = re.compile(r'([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE "(\w*)"')
FDE = re.compile(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)")
ROW = re.compile(r"([0-9a-f]{16}) (\S+) +(.*)$")
CFA = re.compile(r"(rsp|rbp)\+(\d+)$")
FP = re.compile(r"c([+-]\d+)$")


def meaning(cfa, columns):
    """Returns what a row says, as the program wants it; None if it is of another form."""
    base, saved = CFA.match(cfa), FP.match(columns.get("rbp", "u"))
    if not base or columns.get("ra") != "c-8" or not (saved or columns.get("rbp", "u") in "us"):
        return None
    return f"{base[1]} {base[2]} {saved[1] if saved else 0}"


def rows(text):
    """Yields start, end and meaning of each row in the output of readelf, but for signal frames."""
    of_cie, signal_cies = {}, set()
    cie = end = here = names = None
    for line in text.splitlines() + ["0 0 0 FDE cie=0 pc=0..0"]:
        if found := CIE.match(line):
            cie, end = found[1], None
            if "S" in found[2]:
                signal_cies.add(cie)
        elif found := FDE.match(line):
            if end and here:
                yield *here[:1], end, here[1]
            cie, end = found[1], int(found[3], 16)
            here = (int(found[2], 16), of_cie.get(cie))
        elif line.lstrip().startswith("LOC"):
            names = line.split()[2:]
        elif found := ROW.match(line):
            row = (int(found[1], 16), meaning(found[2], dict(zip(names, found[3].split()))))
            if end is None:
                of_cie[cie] = row[1]
                continue
            if here[0] != row[0]:
                yield *here[:1], end and row[0], here[1]
            here = row
        if cie in signal_cies:
            here = here and (here[0], None)


def problems(build, path):
    """Returns what is wrong with the paths of a file."""
    listing = subprocess.run(["readelf", "-wNF", path], check=True,
                             capture_output=True, text=True).stdout
    lines = [f"{start:x} {end:x} {says}\n" for start, end, says in rows(listing) if says and end > start]
    ran = subprocess.run([build / "paths", path], input="".join(lines), capture_output=True, text=True)
    found = [line for line in ran.stdout.splitlines() if not line.startswith("sum ")]
    sums = {what: int(number) for number, what in re.findall(r"(\d+) (\w+)", ran.stdout.splitlines()[-1])}
    print(f"# {path}: {sums}")
    if sums["judged"] < MIN_JUDGED:
        found.append(f"only {sums['judged']} instructions were judged")
    if sums["unknown"] > MAX_UNKNOWN:
        found.append(f"{sums['unknown']} instructions are unknown")
    if sums["elsewhere"] > MAX_ELSEWHERE:
        found.append(f"{sums['elsewhere']} paths have another base than their rows")
    if sums["contradicted"] > MAX_CONTRADICTED:
        found.append(f"{sums['contradicted']} rows do not agree with their code")
    return found + ran.stderr.splitlines()


def tests(cli):
    for path in FILES:
        cli.tap.case(f"paths agree with the call frame information of {path}", problems(cli.build, path))
