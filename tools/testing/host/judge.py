# SPDX-License-Identifier: GPL-2.0-or-later
"""The unit tests of verify.py, which judges the stacks of the end-to-end tests."""

import re
import sys

from cli import TOP, run

MIN_TESTS = 7


def tests(cli):
    ran = run(sys.executable, "-B", TOP / "tools/testing/e2e/test_verify.py")
    count = re.search(r"^Ran (\d+) tests?", ran.stderr, re.M)
    cli.tap.case("tests of verify.py", [ran.stderr] if ran.returncode else [])
    cli.enough("tests of verify.py", int(count[1]) if count else 0, MIN_TESTS)
