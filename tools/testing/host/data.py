# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of sframectl for the files of tools/testing/data, and for files made here, against those of readelf."""

import json
import shutil

import listings
from cli import DATA, STORED, TOP, run

ENOENT = 2


def differences(got, want, what):
    """Returns the differences between two listings: missing, added and changed functions and rows."""
    errors = []
    if len(got) != len(want):
        errors.append(f"{len(got)} functions, {what} has {len(want)}")
    for index, (a, b) in enumerate(zip(got, want)):
        if a[:3] != b[:3]:
            errors.append(f"fde {index}: {a[:3]}, {what} says {b[:3]}")
        if len(a[3]) != len(b[3]):
            errors.append(f"fde {index}: {len(a[3])} rows, {what} has {len(b[3])}")
        errors += [f"fde {index}: {x}, {what} says {y}"
                   for x, y in zip(a[3], b[3]) if x != y]
    return errors


def row_at(func, block, pc):
    """Returns the row of a listing that holds at an address, corrected for erratum E6 in PLTs."""
    start, _, mask, rows = func
    off = (pc - start) % block if mask else pc - start
    holding = [row for row in rows if row[0] <= off]
    if not holding:
        return None
    row = holding[-1]
    if mask and row[0] == 0 and row[1].startswith("sp") and row[3] == "(c-8)":
        row = (row[0], "sp+8", *row[2:])
    return row


def expected_rows(listing, blocks):
    """Returns a dictionary from address to row. Addresses outside of all functions are missing."""
    expected = {}
    for func, block in zip(listing, blocks):
        for pc in range(func[0], func[0] + func[1]):
            if row := row_at(func, block, pc):
                expected[pc] = row
    return expected


def parse_answers(text):
    """Parses the output of the program lookup: pairs of an address and a row or None."""
    for line in text.splitlines():
        first, last, *answer = line.split()
        row = None
        if len(answer) > 1:
            row = (int(answer[0], 16), *answer[1:4], len(answer) == 5)
        elif answer != [f"-{ENOENT}"]:
            row = ("error", *answer)
        for pc in range(int(first, 16), int(last, 16) + 1):
            yield pc, row


def lookup_errors(cli, path, listing, blocks):
    expected = expected_rows(listing, blocks)
    missing = set(expected)
    errors = []
    answers = run(cli.build / "lookup", path)
    if answers.returncode:
        return [answers.stderr]
    for pc, row in parse_answers(answers.stdout):
        missing.discard(pc)
        if row != expected.get(pc):
            errors.append(f"0x{pc:x}: {row}, not {expected.get(pc)}")
    if missing:
        errors.append(f"{len(missing)} addresses not looked up")
    return errors


def data_file(cli, path, known):
    name = str(path.relative_to(DATA))
    ran = run(cli.build / "sframectl", "dump", "--json", path)
    if ran.returncode or ran.stderr:
        cli.tap.case(f"dump {name}", [f"status {ran.returncode}: {ran.stderr}"])
        return
    dump = json.loads(ran.stdout)
    got = listings.sframectl(dump)
    # If the digests are equal, so are the listings.
    cli.tap.case(f"rows of binutils {name}", [] if listings.summary(got) == known else [
        f"functions, rows, digest: {listings.summary(got)}, readelf has {known}",
        "tools/testing/run oracle/corpus prints the differences"])

    ran = run(cli.build / "sframectl", "check", path)
    cli.tap.case(f"check {name}", [ran.stderr] if ran.returncode else [])

    # In an unlinked file the functions all start at 0.
    if not dump["relocatable"]:
        errors = lookup_errors(cli, path, got, listings.block_sizes(dump))
        cli.tap.case(f"every address {name}", errors)


def data_files(cli):
    known = listings.stored(DATA)
    names = [str(path.relative_to(DATA)) for path in STORED]
    cli.tap.case("the files of tools/testing/data are those in its list of rows",
                 [] if names and names == list(known) else [f"{names}, not {list(known)}"])
    for path in STORED:
        data_file(cli, path, known.get(str(path.relative_to(DATA))))


# Files made by the tools of this machine.

def compile_here(tmp):
    """Compiles the decoder itself, unlinked and linked. Returns None if the assembler is too old."""
    unlinked, linked = tmp / "here.o", tmp / "here.so"
    ran = run("gcc", "-O1", "-fPIC", "-fomit-frame-pointer", "-Wa,--gsframe",
              "-fno-reorder-blocks-and-partition", "-iquote", TOP / "include", "-c",
              TOP / "sframe_core.c", "-o", unlinked)
    if ran.returncode or run("gcc", "-shared", unlinked, "-o", linked).returncode:
        return None
    return unlinked, linked


def dump_of(cli, path):
    return json.loads(run(cli.build / "sframectl", "dump", "--json", path).stdout)


def made_here(cli):
    present = shutil.which("gcc") and shutil.which("readelf")
    files = compile_here(cli.tmp) if present else None
    ran = run("readelf", "--sframe", files[1]) if files else None
    if not ran or ran.returncode or "func idx" not in ran.stdout:
        cli.tap.case("gcc and readelf of this machine make SFrame", [ran.stderr if ran else "they are missing, or too old"])
        return
    text = cli.tmp / "here.txt"
    text.write_text(ran.stdout)
    unlinked, linked = dump_of(cli, files[0]), dump_of(cli, files[1])
    got, want = listings.sframectl(linked), listings.readelf(text, files[1])
    cli.tap.case("rows of binutils, made here", differences(got, want, "readelf"))
    cli.tap.case("every address, made here", lookup_errors(cli, files[1], want, listings.block_sizes(linked)))

    # Linking moves functions and adds some. Sizes and rows stay the same.
    before = sorted(listings.sframectl(unlinked))
    after = sorted(func for func in got
                   if func[1:] in [other[1:] for other in before])
    moved = after[0][0] - before[0][0] if after else 0
    before = [(start + moved, *rest) for start, *rest in before]
    cli.tap.case("relocated as by ld, made here", differences(before, after, "the linked file"))


def tests(cli):
    data_files(cli)
    made_here(cli)
