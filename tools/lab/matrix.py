# SPDX-License-Identifier: GPL-2.0-or-later
"""Where each test on kernels runs: tools/testing/e2e/matrix, without the series that are no longer on the list."""

from typing import NamedTuple

from .host import TREE, Failed
from .series import NAMES, Kernel

MARKS = ("-", "hand", "long", "short", "check")  # in the order in which one takes the place of another


class Test(NamedTuple):
    """A line of the matrix."""

    name: str
    marks: dict  # by kernel
    subject: str


def tests():
    """Return the tests in the order of the matrix. All have the same kernels."""
    return parse((TREE / "tools/testing/e2e/matrix").read_text(), NAMES)


def parse(text, names):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    columns, found = lines[0].split()[1:], []
    for line in lines[1:]:
        cells, _, subject = line.partition("#")
        name, *marks = cells.split()
        if len(marks) != len(columns) or not set(marks) <= set(MARKS) or not subject:
            raise Failed(f"tools/testing/e2e/matrix: the line of '{name}' has not {len(columns)} of {' '.join(MARKS)}, and "
                         "after # its subject")
        found.append(Test(name, merge(columns, marks, names), subject.strip()))
    return found


def merge(columns, marks, names):
    """Return the marks by kernel. What ran on a series that is not on the list runs on the newest."""
    merged = {}
    for column, mark in zip(columns, marks):
        if column != "others" and (kernel := Kernel.named(column)).series not in names:
            column = str(kernel._replace(series="newest"))
        merged[column] = max(mark, merged.get(column, "-"), key=MARKS.index)
    return merged


def lines():
    return tuple(f"{kernel} {test.name} {mark}" for test in tests() for kernel, mark in test.marks.items())
