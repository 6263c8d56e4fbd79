# SPDX-License-Identifier: GPL-2.0-or-later
"""Toolchains that write SFrame: binutils of three Debian releases, and clang with lld of unstable."""

import re

from .archive import archive, cache
from .cache import remove
from .host import Failed, say
from .roots import say_version_inside
from .unpack import script, unpack_tools

SUITES = {"v1": "bookworm", "v2": "trixie", "v3": "sid"}
TARGETS = {"amd64": ("x86_64-linux-gnu", "binutils"), "arm64": ("aarch64-linux-gnu", "binutils-aarch64-linux-gnu")}
TOOLS = ("as", "ld", "ld.bfd", "readelf", "objdump", "objcopy", "strip", "nm", "ar", "ranlib")
# Of bookworm, only these libraries are kept beside the programs.
OWN_LIBRARIES = re.compile("libbfd|libopcodes|libctf|libsframe|libjansson")
LOADER = "ld-linux-x86-64.so.2"


def toolchain(version, arch):
    """Return the directory with the binutils whose assembler writes that version, for that architecture."""
    if version == "clang":
        return clang()
    if version not in SUITES:
        raise Failed(f"no toolchain '{version}': choose v1, v2, v3 or clang")
    if arch not in TARGETS:
        raise Failed(f"no toolchain for '{arch}': choose amd64 or arm64")
    suite, (target, package) = SUITES[version], TARGETS[arch]
    return cache.made(f"toolchain-{version}" + ("-arm64" if arch == "arm64" else ""), f"1 {suite} {archive.stamp()}",
                      lambda folder: make_toolchain(folder, suite, target, package))


def make_toolchain(folder, suite, target, package):
    say(f"unpacking the {package} of {suite}")
    unpack_tools(folder, suite, [package])
    loader = f"$dir/lib/{LOADER}"
    if suite == "bookworm":
        # Programs of bookworm run with the root's C library. gcc's linker plugin needs this newer library, and
        # bookworm's ld loads the plugin.
        loader = f"/lib64/{LOADER}"
        for library in folder.glob("lib/lib*.so*"):
            if not OWN_LIBRARIES.match(library.name):
                library.unlink()
        (folder / "lib" / LOADER).unlink()
    for tool in TOOLS:
        script(folder / tool, f"""\
#!/bin/sh
# {tool} of {suite}, with the libraries beside it
dir=${{0%/*}}
exec {loader} --library-path "$dir/lib" "$dir/unpacked/usr/bin/{target}-{tool}" "$@"
""")
    say_version_inside(folder / "as")


def clang():
    return cache.made("toolchain-clang", f"3 {archive.stamp()}", make_clang)


def make_clang(folder):
    """clang runs with the C library of its suite and compiles against the root's. The loader starts clang, so clang
    cannot find its own headers: the script passes -resource-dir. clang also starts itself with "-cc1", again by the
    script; there the option is left out."""
    version = archive.suite("sid").newest_clang()
    say(f"unpacking clang and lld {version} of sid")
    unpack_tools(folder, "sid", [f"clang-{version}", f"lld-{version}"])
    llvm = f"unpacked/usr/lib/llvm-{version}"
    for path in (folder / "unpacked/usr/lib").iterdir():
        if path.name not in (f"llvm-{version}", "clang"):
            remove(path)
    for tool in ("clang", "clang++", "ld.lld"):
        options = "" if tool == "ld.lld" else f"-no-canonical-prefixes -resource-dir $dir/{llvm}/lib/clang/{version}"
        script(folder / tool, f"""\
#!/bin/sh
# {tool} of sid, with the libraries beside it
dir=${{0%/*}}
case ${{1:-}} in
-cc1*) ;;
*) set -- {options} "$@" ;;
esac
exec "$dir/lib/{LOADER}" --argv0 "$0" --library-path "$dir/lib" \\
	"$dir/{llvm}/bin/{tool}" "$@"
""")
    say_version_inside(folder / "clang")
