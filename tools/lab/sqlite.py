# SPDX-License-Identifier: GPL-2.0-or-later
"""SQLite, and its benchmark speedtest1 with SFrame data."""

import subprocess

from .archive import cache
from .host import Failed, say
from .module import root_for
from .roots import build_inside, root, run_inside
from .sources import source
from .toolchains import toolchain

COMPILERS = {"amd64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}
FLAGS = "-O2 -fomit-frame-pointer -Wa,--gsframe".split()


def sqlite():
    """Return the directory with SQLite in one file, sqlite3.c, and with speedtest1.c."""
    tree = source("sqlite3")
    return cache.made("sqlite", f"1 {tree.parent.name} {root().name}", lambda folder: make_sqlite(folder, tree))


def make_sqlite(folder, tree):
    say("configuring SQLite")
    build_inside(root, folder / "make.log", "sh", "-eu", "-c", """\
cd "$1"
"$2/configure" --disable-tcl --quiet
make sqlite3.c
test -s sqlite3.c
cp "$2/test/speedtest1.c" .
""", "sh", folder, tree)


def speedtest1(version, arch):
    """Return the directory with speedtest1, without frame pointers and with SFrame data of that version."""
    if version not in ("v2", "v3"):
        raise Failed(f"no speedtest1 with '{version}': choose v2 or v3")
    if arch not in COMPILERS:
        raise Failed(f"no speedtest1 for '{arch}': choose amd64 or arm64")
    code, tools = sqlite(), toolchain(version, arch)
    return cache.made(f"speedtest1-{version}-{arch}", f"1 {code.name} {tools.name} {' '.join(FLAGS)}",
                      lambda folder: make_speedtest1(folder, arch, code, tools))


def make_speedtest1(folder, arch, code, tools):
    say(f"building speedtest1 with {tools.name.partition('.')[0]}")
    program = folder / "speedtest1"
    build_inside(root_for(arch), folder / "make.log", COMPILERS[arch], f"-B{tools}/", *FLAGS, f"-I{code}", "-o", program,
                 code / "speedtest1.c", code / "sqlite3.c", "-lm")
    try:
        run_inside(root, tools / "objcopy", "--dump-section", ".sframe=/dev/null", program)
    except subprocess.CalledProcessError as error:
        raise Failed(f"the assembler of {tools.name} wrote no .sframe section") from error
