# SPDX-License-Identifier: GPL-2.0-or-later
"""What the Python parts of the host tests share: programs, places, and cases about a run of sframectl."""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
DATA = TOP / "tools/testing/data"
STORED = sorted(DATA.glob("*/*"))
BUILD = TOP / "build/test"
VERSION = re.search('^PACKAGE_VERSION="(.*)"', (TOP / "dkms.conf").read_text(), re.M)[1]
IS_ROOT = not os.geteuid()

# A mount namespace of its own: a user gets one together with a user namespace.
UNSHARE = ["unshare", "-m"] if IS_ROOT else ["unshare", "-Urm"]


def run(*command):
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, errors="surrogateescape", check=False)


@functools.cache
def can_unshare():
    return not run(*UNSHARE, "true").returncode


class Cli:
    """Runs sframectl and checks the status and the output. Each run is a case of @tap."""

    good = DATA / "v3-binutils-2.47.50/x86_64-drap-flex"

    def __init__(self, tap, tmp):
        self.tap = tap
        self.tmp = tmp
        self.build = BUILD / "san"
        self.program = self.build / "sframectl"

    @functools.cached_property
    def made(self):
        """The directory of the sections of section_cases.c."""
        made = self.tmp / "made"
        made.mkdir()
        run(self.build / "test_decoder", "--write", made, "any")
        return made

    @property
    def blob(self):
        return (self.made / "ok-v3-minimal.sframe.bin").read_bytes()

    def __call__(self, name, *args, status=0, out="", err=None, as_json=None, said=""):
        """out and err are regular expressions. err None: nothing on standard error. said is text on
        standard output, in which lines may end at any space."""
        self.judge(name, run(self.program, *args), status, out, err, as_json, said)

    def judge(self, name, ran, status=0, out="", err=None, as_json=None, said=""):
        errors = []
        if said not in " ".join(ran.stdout.split()):
            errors.append(f"{said!r} is not in {ran.stdout!r}")
        if ran.returncode != status:
            errors.append(f"status {ran.returncode}, not {status}")
        if not re.search(out, ran.stdout, re.M):
            errors.append(f"{out!r} is not in {ran.stdout!r}")
        if err is None and ran.stderr:
            errors.append(f"complains: {ran.stderr!r}")
        if err and not re.search(err, ran.stderr, re.M):
            errors.append(f"{err!r} is not in {ran.stderr!r}")
        if as_json and not errors:
            try:
                if not as_json(json.loads(ran.stdout)):
                    errors.append(f"unexpected: {ran.stdout}")
            except (ValueError, KeyError, IndexError) as error:
                errors.append(f"{error!r}: {ran.stdout}")
        self.end(name, errors)

    def end(self, name, errors):
        """Names are those of files, too: one line, without bytes that are no text."""
        self.tap.case(f"sframectl {name}".encode("unicode_escape").decode(), errors)

    def enough(self, what, number, least):
        self.tap.case(f"at least {least} {what}", [f"only {number}"] if number < least else [])
