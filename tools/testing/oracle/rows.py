# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the rows that "sframectl dump" lists with those of "readelf --sframe"."""

import json
import shutil
import struct
import subprocess
import tempfile
from itertools import zip_longest
from pathlib import Path

import listings

PCREL = 0x4


def output(*command):
    ran = subprocess.run([str(word) for word in command], text=True,
                         capture_output=True, check=False)
    if ran.returncode or ran.stderr:
        raise ValueError(f"{command[0]} ended with status {ran.returncode}: "
                         f"{ran.stderr.strip() or 'it says nothing'}")
    return ran.stdout


def section_header(elf):
    """Return the offset in the file of .sframe's section header."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<3H", elf, 0x3a)
    strings, = struct.unpack_from("<Q", elf, table + names * size + 0x18)
    for header in range(table, table + count * size, size):
        name = strings + struct.unpack_from("<I", elf, header)[0]
        if elf[name:name + 8] == b".sframe\0":
            return header
    raise ValueError("no section .sframe")


def cut_to_blob(path, addr):
    """Let the section begin at ADDR: lld concatenates blobs, and readelf lists only the first."""
    elf = bytearray(path.read_bytes())
    header = section_header(elf)
    start, offset, size = struct.unpack_from("<3Q", elf, header + 0x10)
    skip = addr - start
    struct.pack_into("<3Q", elf, header + 0x10, addr, offset + skip, size - skip)
    path.write_bytes(elf)


def listing_of_readelf(readelf, path, blobs):
    """Return the functions of all blobs, in the order of the blobs."""
    listing = []
    with tempfile.TemporaryDirectory() as tmp:
        copy, text = Path(tmp) / "copy", Path(tmp) / "text"
        shutil.copy(path, copy)
        for index, blob in enumerate(blobs):
            if index:
                cut_to_blob(copy, blob["addr"])
            text.write_text(output(readelf, "--sframe", copy))
            listing += listings.readelf(text, copy)
    return listing


def different(ours, theirs):
    """Yield a text for each function or row that differs."""
    for index, (a, b) in enumerate(zip_longest(ours, theirs)):
        if a is None or b is None or a[:3] != b[:3]:
            yield f"function {index}: {a and a[:3]}, readelf says {b and b[:3]}"
            continue
        for x, y in zip_longest(a[3], b[3]):
            if x != y:
                yield f"function {index} at 0x{a[0]:x}: {x}, readelf says {y}"


def version(blobs):
    """Return V1, V2, V2-PCREL or V3. All blobs have the same version."""
    first, *others = [(blob["version"], blob["flags"]) for blob in blobs]
    if any(other != first for other in others):
        raise ValueError("blobs of several versions")
    number, flags = first
    return f"V{number}-PCREL" if number == 2 and flags & PCREL else f"V{number}"


def compare(sframectl, readelf, path):
    """Return the version, the listing of readelf, and the differences."""
    blobs = json.loads(output(sframectl, "dump", "--json", path))["blobs"]
    theirs = listing_of_readelf(readelf, path, blobs)
    return version(blobs), theirs, list(different(listings.sframectl({"blobs": blobs}), theirs))
