# SPDX-License-Identifier: GPL-2.0-or-later
"""sframectl with the sections of kunit/section_cases.c."""

import re

import meanings
from cli import HERE

MIN_SECTIONS = 93
MIN_KNOWN_SECTIONS = 15


def known_sections(cli):
    """The builder makes the same bytes as sections.hex has."""
    lines = [line.split() for line in (HERE / "sections.hex").read_text().splitlines()
             if not line.startswith("#")]
    cli.enough("sections written by hand", len(lines), MIN_KNOWN_SECTIONS)
    for name, text in lines:
        path = cli.made / f"{name}.sframe.bin"
        built = path.read_bytes().hex() if path.exists() else "no section"
        cli.tap.case(f"same bytes {name}",
                     [] if built == text else [f"{built}, not {text}"])


def expected_defects(made):
    """Returns the table that test_decoder writes, from name to defect or "none"."""
    return dict(line.split() for line in (made / "table").read_text().splitlines())


def defects(cli):
    """dump and check name the defect of each section that has one."""
    expected = expected_defects(cli.made)
    cli.enough("sections", len(expected), MIN_SECTIONS)
    for name, defect in expected.items():
        path = cli.made / f"{name}.sframe.bin"
        bad = defect != "none"
        guess = "no ELF file, so taken for a bare section: " if defect == "magic" else ".*: "
        status, err = (1, rf"{path.name}: {guess}.*{defect}: {re.escape(meanings.DEFECTS[defect])}$") if bad else (0, None)
        if defect == "empty":
            cli("dump empty", "dump", path, out="bare section",
                err="the section is empty: it describes no function$")
            cli("check empty", "check", path, out="^empty ")
            continue
        cli(f"dump {path.name}", "dump", path, status=status, err=err)
        cli(f"dump --json {path.name}", "dump", "--json", path, status=status,
            err=err, as_json=lambda dump, bad=bad: dump["relative"] and
            bool(dump["defects"]) == bad)
        cli(f"check --json {path.name}", "check", "--json", path, status=status,
            err=err, as_json=lambda check, bad=bad:
            bool(check["objects"][0]["defects"]) == bad)


def blobs(cli):
    blob = cli.blob
    path = cli.tmp / "three"
    path.write_bytes((blob + bytes(-len(blob) % 8)) * 2 + blob)
    cli("dump three blobs", "dump", path, out="^blob 2 at section\\+0xb0:")
    cli("dump --json three blobs", "dump", "--json", path,
        as_json=lambda dump: [fde["start"] for blob in dump["blobs"]
                              for fde in blob["fdes"]] ==
        [0x1000, 0x1040, 0x1058, 0x1098, 0x10b0, 0x10f0])


def tests(cli):
    known_sections(cli)
    defects(cli)
    blobs(cli)
