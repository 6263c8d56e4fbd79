# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the rows that come of an analysis of code with those that come of .eh_frame, by the program analysed."""

import re
import subprocess
from pathlib import Path

from convert import find_files

# Functions whose call frame information is wrong, by their first bytes and the row.
ERRATA = {
    # mul_1, addmul_1 and submul_1 of GMP, also in glibc: it leaves out what push %rbx and push %rbp do.
    "5355488d1a48f7db": "",
    # _start of arm64: __wrap_main() behind it is said to have no caller. "bti c; b main" is called as any function.
    "5f2403d51d0080d2": r"CFI: .* RA 1:0\+0; the analysis: CFA 4:31\+0, FP 0:0\+0, RA 0:0\+0",
    # _Fork() of arm64: the return address is said to be in x0 that was copied from x30 after a call.
    "3f2303d5ffc300d1": r"CFI: CFA 4:31\+48, .* RA 4:0\+0;",
    # draw_progress_bar() and clear_progress_bar() of systemd for arm64: in the loop that touches 1 MiB of stack by sub and str, GCC
    # forgets the 48 or 32 bytes above.
    "3f2303d5fd7bbda9": r"CFI: CFA 4:13\+1048576, .*; the analysis: CFA 4:(31|29)\+48",
    "3f2303d5fd7bbea9": r"CFI: CFA 4:13\+1048576, .*; the analysis: CFA 4:(31|29)\+32",
}
# Its compiler puts code to the end of a function, with the call frame information of whatever comes before it there.
OCAML = b"caml_call_gc"
SUM = re.compile(r"^.*: (\d+) of (\d+) bytes, (\d+) instructions, (\d+) elsewhere, (\d+) late, (\d+) reloaded, (\d+) differences$", re.M)
BATCH = 10


def compare(program, paths):
    """Return the sums of what the program counts, its differences, and its other problems."""
    ran = subprocess.run([program, *paths], text=True, capture_output=True, check=False)
    counts = [tuple(map(int, found)) for found in SUM.findall(ran.stdout)]
    problems = ran.stderr.splitlines() + ([] if ran.returncode in (0, 1) else [f"status {ran.returncode}: {paths}"])
    return [sum(column) for column in zip(*counts)] or [0] * 7, re.findall("^# (.*)", ran.stdout, re.M), problems


def is_erratum(line):
    name, function, rows = re.match(r"(\S+): 0x\w+ in 0x\w+ \((\w+)\); (.*)", line).groups()
    return re.search(ERRATA.get(function, "$^"), rows) or OCAML in Path(name).read_bytes()


def run(choice, tap, program):
    found = sorted(find_files(choice["places"]))
    for arch, share in (("amd64", 55), ("arm64", 80)):
        paths = [path for kind, path in found if kind == arch and "/debug/" not in path]
        paths = paths[::max(1, len(paths) // choice["files"])]
        sums, differences, problems = [0] * 7, [], []
        for i in range(0, len(paths), BATCH):
            more, lines, wrong = compare(program, paths[i:i + BATCH])
            sums = [one + two for one, two in zip(sums, more)]
            differences += [line for line in lines if not is_erratum(line)]
            problems += wrong
        rows, code, instructions, elsewhere, late, reloaded, different = sums
        print(f"# {arch}: {len(paths)} files, {instructions} instructions compared, {different - len(differences)} errata, "
              f"{elsewhere} by other registers, {late} by late rows, {reloaded} by a reloaded frame pointer, "
              f"rows for {rows} of {code} bytes")
        tap.case(f"{arch}: the rows of the analysis are those of .eh_frame", problems + differences)
        tap.case(f"{arch}: rows for {share} % of the bytes", [] if rows * 100 >= code * share else f"{rows} of {code}")
