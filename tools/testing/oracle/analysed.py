# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the rows that come of an analysis of code with those that come of .eh_frame, by the program analysed."""

import re
import subprocess
from pathlib import Path

from convert import find_files

# Functions whose call frame information is wrong, by their first bytes and the rows.
ERRATA = (
    # _start of arm64: __wrap_main() behind it is said to have no caller. "bti c; b main" is called as any function.
    ("5f2403d51d0080d2", r"CFI: .* RA 1:0\+0; the analysis: CFA 4:31\+0, FP 0:0\+0, RA 0:0\+0"),
    # _Fork() of arm64: the return address is said to be in x0 that was copied from x30 after a call.
    ("3f2303d5ffc300d1", r"CFI: CFA 4:31\+48, .* RA 4:0\+0;"),
    # draw_progress_bar() and clear_progress_bar() of systemd for arm64: in the loop that touches 1 MiB of stack by sub and str, GCC
    # forgets the 48 or 32 bytes above.
    ("3f2303d5fd7bbda9", r"CFI: CFA 4:13\+1048576, .*; the analysis: CFA 4:(31|29)\+48"),
    ("3f2303d5fd7bbea9", r"CFI: CFA 4:13\+1048576, .*; the analysis: CFA 4:(31|29)\+32"),
    # Vector functions of glibc: "and $-32,%rsp" is left out; "sub $32,%rsp" is said to be 40 bytes.
    ("554889e54883e4e0", r"CFI: CFA 4:7\+16, FP 3:0-16, .*; the analysis: CFA 4:6\+16, FP 3:0-16,"),
    ("534883ec200f2904", r"CFI: CFA 4:7\+(16|24|56), FP 0:0\+0, .*; the analysis: CFA 4:7\+(8|16|48), FP 0:0\+0,"),
    # AES of OpenSSL, several blocks at once: it leaves out all that moves the stack pointer after the pushes.
    ("f30f1efa53554154", r"CFI: CFA 4:7\+56, FP 3:0-24, .*; the analysis: CFA 4:7\+\d+, FP 3:0-24,"),
    # Functions of OpenSSL: it leaves out "lea 88(%rsp),%rsp" before "ret".
    ("5553415441554156", r"CFI: CFA 4:7\+(168|184), FP 0:0\+0, .*; the analysis: CFA 4:7\+8, FP 0:0\+0,"),
    # A function of OpenSSL that begins with "mov OPENSSL_ia32cap_P(%rip),%rcx": it leaves out that the frame pointer is pushed.
    ("488b0d.{6}0048", r"CFI: CFA (5:7\+272|4:0\+8), FP 0:0\+0, .*; the analysis: CFA 5:7\+272, FP 3:0-24,"),
)
# Its compiler puts code to the end of a function, with the call frame information of whatever comes before it there.
OCAML = b"caml_call_gc"
SUM = re.compile(r"^.*: (\d+) of (\d+) bytes, (\d+) instructions, (\d+) elsewhere, (\d+) late, (\d+) bare, (\d+) reloaded, (\d+) differences$", re.M)
BATCH = 10


def compare(program, paths):
    """Return the sums of what the program counts and the files that it skips, its differences, and its other problems."""
    ran = subprocess.run([program, *paths], text=True, capture_output=True, check=False)
    counts = [(*map(int, found), 0) for found in SUM.findall(ran.stdout)]
    problems = ran.stderr.splitlines() + ([] if ran.returncode in (0, 1) else [f"status {ran.returncode}: {paths}"])
    counts.append((0,) * 8 + (len(re.findall(": skipped: ", ran.stdout)),))
    return [sum(column) for column in zip(*counts)], re.findall("^# (.*)", ran.stdout, re.M), problems


def is_erratum(line):
    name, function, rows = re.match(r"(\S+): 0x\w+ in 0x\w+ \((\w+)\); (.*)", line).groups()
    return any(re.match(start, function) and re.search(pattern, rows) for start, pattern in ERRATA) or OCAML in Path(name).read_bytes()


def run(choice, tap, program):
    found = sorted(find_files(choice["places"]))
    for arch, share in (("amd64", 65), ("arm64", 80)):
        paths = [path for kind, path in found if kind == arch and "/debug/" not in path]
        paths = paths[::max(1, len(paths) // choice["files"])]
        sums, differences, problems = [0] * 9, [], []
        for i in range(0, len(paths), BATCH):
            more, lines, wrong = compare(program, paths[i:i + BATCH])
            sums = [one + two for one, two in zip(sums, more)]
            differences += [line for line in lines if not is_erratum(line)]
            problems += wrong
        rows, code, instructions, elsewhere, late, bare, reloaded, different, skipped = sums
        print(f"# {arch}: {len(paths)} files, {skipped} of them skipped, {instructions} instructions compared, {different - len(differences)} errata, "
              f"{elsewhere} by other registers, {late} by late rows, {bare} in functions without rows, {reloaded} by a reloaded frame pointer, "
              f"rows for {rows} of {code} bytes")
        tap.case(f"{arch}: the rows of the analysis are those of .eh_frame", problems + differences)
        # Left out are files with more than 32 MiB of code, and kernels.
        tap.case(f"{arch}: few files are skipped", [] if skipped * 100 <= len(paths) * 2 else f"{skipped} of {len(paths)}")
        tap.case(f"{arch}: rows for {share} % of the bytes", [] if rows * 100 >= code * share else f"{rows} of {code}")
