# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of sframectl with names that others chose."""

import json
import re
import struct
import subprocess
import sys
import unicodedata

from files import sframe_header, sparse_elf

# Each name, and how text and JSON have it.
NAMES = (
    (b"esc\x1b[2Jape", r"esc\x1b[2Jape", "esc\x1b[2Jape"),
    (b"new\nline\ttab\x7f", r"new\x0aline\x09tab\x7f", "new\nline\ttab\x7f"),
    (b"latin\xe9", r"latin\xe9", "latin\ufffd"),
    (b"over\xc0\xaflong", r"over\xc0\xaflong", "over\ufffd\ufffdlong"),
    (b"surrogate\xed\xb3\xbf", r"surrogate\xed\xb3\xbf", "surrogate\ufffd\ufffd\ufffd"),
    ("c1\x9b2J".encode(), r"c1\u009b2J", "c1\x9b2J"),
    ("bidi\u202egpj.exe\u2066".encode(), r"bidi\u202egpj.exe\u2066", "bidi\u202egpj.exe\u2066"),
    ("joiner\u200dtag\U000e0041".encode(), r"joiner\u200dtag\U000e0041",
     "joiner\u200dtag\U000e0041"),
    (rb"back\slash\x1b", r"back\\slash\\x1b", r"back\slash\x1b"),
    ("größe-日本-🙂".encode(), "größe-日本-🙂", "größe-日本-🙂"),
)


def visible(data):
    """Returns why these bytes are not safe for a terminal, as strings."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [str(error)]
    return sorted({f"prints U+{ord(char):04X}" for char in text
                   if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
                   and char != "\n"})


def run(cli, *args):
    return subprocess.run([cli.program, *args], capture_output=True, check=False)


def shown(cli, tmp, blob, name, text, as_json):
    """dump and check show the name of a file, and say that it is missing."""
    path = bytes(tmp / "names") + b"/" + name
    missing = run(cli, "check", path)
    with open(path, "wb") as file:
        file.write(blob)
    errors = []
    for ran in (missing, run(cli, "check", path), run(cli, "dump", path)):
        errors += visible(ran.stdout + ran.stderr)
        if text not in (ran.stdout + ran.stderr).decode(errors="replace"):
            errors.append(f"{text} is not in {ran.stdout + ran.stderr}")
    for command in ("check", "dump"):
        ran = run(cli, command, "--json", path)
        errors += visible(ran.stdout)
        try:
            value = json.loads(ran.stdout)
            got = (value if command == "dump" else value["objects"][0])["file"]
            if not got.endswith(f"/{as_json}"):
                errors.append(f"JSON has {got!r}")
        except ValueError as error:
            errors.append(str(error))
    cli.end(f"name {as_json!r}", errors)


def invisible(cli, tmp):
    """Each character that must not be printed as it is, in one name after the other."""
    chars = [chr(code) for code in range(1, sys.maxunicode + 1)
             if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp")]
    ran = run(cli, "check", *(f"{tmp}/missing{char}".encode() for char in chars))
    cli.end("invisible characters", visible(ran.stdout + ran.stderr))
    cli.end("200 invisible characters", [] if len(chars) > 200 else [str(len(chars))])


def high_addresses(cli, tmp):
    """A section at such an address describes a function there."""
    path = tmp / "high"
    data = sframe_header(1, 5) + struct.pack("<qII", 0, 16, 0) + bytes(5)
    sparse_elf(path, data, len(data), addr=0xffffffff81000000)
    ran = run(cli, "dump", "--json", path)
    cli.end("addresses above 2^63",
            [] if re.search(rb'"addr": 18446744071578845184,', ran.stdout)
            and re.search(rb'"start": 18446744071578845212,', ran.stdout)
            and b": -1" not in ran.stdout.replace(b'"fixed_ra": -8', b"")
            else [ran.stdout.decode()])


def tests(cli):
    tmp, blob = cli.tmp, cli.blob
    (tmp / "names").mkdir()
    for name, text, as_json in NAMES:
        shown(cli, tmp, blob, name, text, as_json)
    invisible(cli, tmp)
    high_addresses(cli, tmp)
    ran = run(cli, "check", b"--\x1b[2J")
    cli.end("name of an option", visible(ran.stdout + ran.stderr))
