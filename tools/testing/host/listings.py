# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads other programs' listings of a file's SFrame data into one form.

A listing is a list of (start, size, mask, rows), where rows is a list of
(offset, cfa, fp, ra, mangled). Rules have the format of sframectl.
"""

import hashlib
import json
import re

EM_X86_64 = 62

FUNC = re.compile(r"\s*func idx \[(\d+)\]: pc = 0x([0-9a-f]+), size = (\d+) bytes")
HEAD = re.compile(r"\s*STARTPC(\[m\])?\s+CFA\s+FP\s+RA")
ROW = re.compile(r"\s*([0-9a-f]{16})\s+(\S+)\s+(\S+)\s+(\S+)\s*$")
OUTERMOST = re.compile(r"\s*([0-9a-f]{16})\s+RA undefined\s*$")


def machine(elf_path):
    with open(elf_path, "rb") as elf:
        elf.seek(18)
        return int.from_bytes(elf.read(2), "little")


def saved(text):
    """Returns the rule as sframectl writes it: binutils writes c-16 for the word at CFA - 16."""
    return f"({text})" if re.match(r"c[+-]", text) else text


def return_address(text, fixed):
    """Returns the rule for RA. In readelf, u means no rule, f a fixed offset, and U a flexible row without a rule.

    Only binutils 2.47 writes f and U. Older versions write u for a fixed offset, too.
    """
    if text in ("u", "f", "U"):
        return fixed
    return saved(text)


def parse_row(match, pcmask, start, fixed_ra):
    pc, cfa, fp, ra = match.groups()
    mangled = ra.endswith("[s]")
    ra = ra.removesuffix("[s]")
    off = int(pc, 16) - (0 if pcmask else start)
    cfa = cfa.replace("+-", "-")
    return (off, cfa, saved(fp), return_address(ra, fixed_ra), mangled)


def readelf(path, elf_path):
    """Parses the output of readelf --sframe, of binutils 2.40 to 2.47.

    The output lacks the block size of repetitive code, so mask is a bool here.
    """
    fixed_ra = "(c-8)" if machine(elf_path) == EM_X86_64 else "u"
    listing, func, pcmask = [], None, False
    with open(path) as text:
        for line in text:
            if match := FUNC.match(line):
                assert int(match[1]) == len(listing), f"{path}: {line}"
                func = [int(match[2], 16), int(match[3]), False, []]
                listing.append(func)
            elif match := HEAD.match(line):
                pcmask = func[2] = match[1] is not None
            elif match := OUTERMOST.match(line):
                func[3].append((int(match[1], 16) - func[0], "-", "-", "undefined", False))
            elif match := ROW.match(line):
                func[3].append(parse_row(match, pcmask, func[0], fixed_ra))
            elif func and line.strip():
                raise ValueError(f"{path}: what is {line!r}?")
    return [tuple(func) for func in listing]


def sframectl(dump):
    """Converts the output of sframectl dump --json, with all blobs."""
    return [(fde["start"], fde["size"], fde["pcmask"],
             [(row["off"], row["cfa"], row["fp"], row["ra"], row["ra_mangled"])
              for row in fde["rows"]])
            for blob in dump["blobs"] for fde in blob["fdes"]]


def block_sizes(dump):
    return [fde["rep_size"] for blob in dump["blobs"] for fde in blob["fdes"]]


def summary(listing):
    """Returns the numbers of functions and rows, and a digest of the listing."""
    rows = sum(len(func[3]) for func in listing)
    return f"{len(listing)} {rows} {hashlib.sha256(json.dumps(listing).encode()).hexdigest()}"


def stored(data):
    """Returns the summaries of readelf's listings of the files in tools/testing/data, by name."""
    lines = (data / "rows").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
