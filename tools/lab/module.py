# SPDX-License-Identifier: GPL-2.0-or-later
"""The module and its tools, built in copies of the tree's files that they are made of."""

import hashlib
import os
import re
import sys

from .archive import cache
from .host import LAB, TREE, Failed, run, say
from .kernels import kdir
from .roots import build_inside, oracle_root, root, unstable_root

# Tools, tests, documents and results of builds are no part of the module.
NO_SOURCES = {"build", "out", "tools", "kunit", "Documentation", "debian"}
SOURCES = re.compile(r"Kbuild|Makefile|.*\.([chS]|lds)")
TOOLS = ("Makefile", "dkms.conf", "sframe_core.c", "include", "tools/perf-sframe", "tools/sframectl")


def root_for(arch):
    """The root that has the compiler for that architecture."""
    return root if arch == "amd64" else oracle_root


def root_of_module(kernel):
    """The root that has the compiler for that kernel's modules."""
    return unstable_root if kernel.series == "unstable" else root_for(kernel.arch)


def files(*names):
    """List the tree's files of these names, and those in folders of these names."""
    found = []
    for path in [TREE / name for name in names]:
        found += [path] if path.is_file() else path.rglob("*")
    return sorted(str(path.relative_to(TREE)) for path in found if path.is_file() and not path.is_symlink())


def module_sources():
    """List the files that the module's build reads."""
    found = []
    for folder, folders, names in os.walk(TREE):
        if folder == str(TREE):
            folders[:] = set(folders) - NO_SOURCES
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.relpath(os.path.join(folder, name), TREE) for name in names
                  if SOURCES.fullmatch(name) and not name.startswith(".")]
    return sorted(f"./{name}" for name in found)


def sums(names):
    """Return the names with the checksums of the files, as sha256sum prints them."""
    return "\n".join(f"{hashlib.sha256((TREE / name).read_bytes()).hexdigest()}  {name}" for name in names)


def copy(names, folder):
    run("cp", "-p", "--parents", "-t", folder, *names, cwd=TREE)


def module(kernel):
    """Return the module, built against that kernel's headers."""
    if not (TREE / "Makefile").exists() or not (TREE / "Kbuild").exists():
        raise Failed("there is no module to build yet: the project has no Makefile or no Kbuild")
    headers, names = kdir(kernel), module_sources()
    path = cache.made(f"module-{kernel}",
                      f"1 {root_of_module(kernel)().name} {str(headers).removeprefix(f'{LAB}/')} {sums(names)}",
                      lambda folder: make_module(folder, kernel, headers, names))
    return path / "sframe_unwind.ko"


def make_module(folder, kernel, headers, names):
    say(f"building the module for {kernel}")
    copy(names, folder)
    log = folder / "make.log"
    build_inside(root_of_module(kernel), log, "make", "-C", folder, f"-j{os.cpu_count()}", f"KDIR={headers}", "modules")
    lines = log.read_text(errors="replace").splitlines()
    for nr, line in enumerate(lines):
        if re.search("warning[: ]", line, re.IGNORECASE):
            print(*lines[nr:nr + 6], sep="\n", file=sys.stderr)
    if not (folder / "sframe_unwind.ko").exists():
        raise Failed("make modules succeeded, but left no sframe_unwind.ko in its directory")


def tools(kernel):
    """Return the directory with sframectl and perf, the wrapper, for that kernel's architecture."""
    names = files(*TOOLS)
    return cache.made("tools" if kernel.arch == "amd64" else "tools-arm64",
                      f"1 {root_for(kernel.arch)().name} {sums(names)}",
                      lambda folder: make_tools(folder, kernel, names))


def make_tools(folder, kernel, names):
    copy(names, folder)
    say("building the tools")
    cc = "gcc" if kernel.arch == "amd64" else "aarch64-linux-gnu-gcc"
    build_inside(root_for(kernel.arch), folder / "make.log", "make", "-C", folder, f"-j{os.cpu_count()}", f"CC={cc}", "tools")
