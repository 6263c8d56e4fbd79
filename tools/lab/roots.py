# SPDX-License-Identifier: GPL-2.0-or-later
"""The roots: Debian 13 with compilers and more, for single purposes; and commands that run inside them."""

import os
import subprocess
import sys

from .archive import archive, cache
from .host import HERE, TREE, prepare, say, say_version
from .unpack import drop, link_programs, strap

ROOT = """bash binutils busybox-static ca-certificates cpio dpkg-dev e2fsprogs elfutils file gcc gcc-12 gdb fuse3
    iproute2 kmod less libc6-dbg libcapstone-dev libelf-dev libfuse3-dev make perl procps python3-minimal shellcheck sparse
    strace tcl util-linux xz-utils zstd""".split()
ARM64_ROOT = """base-files base-passwd bash bsdutils busybox-static coreutils dash debianutils diffutils findutils fuse3
    gcc gdb grep gzip hostname iproute2 kmod less libc-bin libc6-dbg libc6-dev libcapstone5 make mawk mount ncurses-base
    procps python3-minimal sed strace tar util-linux xz-utils""".split()
KERNEL_ROOT = """bash bc binutils bison cpio flex gcc gcc-aarch64-linux-gnu kmod libc6-dev libelf-dev make perl python3
    qemu-system-arm xz-utils""".split()
CLANG_ROOT = "bash clang gcc libc6-dev libcapstone-dev libclang-rt-dev libelf-dev make python3".split()
ORACLE_ROOT = """bash binutils g++ g++-aarch64-linux-gnu gcc gcc-aarch64-linux-gnu libc6-dev libdw-dev libelf-dev
    gdb-multiarch libcapstone-dev libcapstone-dev:arm64 libelf-dev:arm64 make python3 tcl""".split()
UNSTABLE_ROOT = "bash gcc gcc-aarch64-linux-gnu kmod libc6-dev libelf-dev make".split()
DOC_ROOT = "bash make python3-sphinx".split()
TRUTH_ROOT = "bash g++ gcc gdb git libcapstone-dev libdw-dev libelf-dev make mawk openssl perl python3 sqlite3 xz-utils".split()
# The programs of tools/testing/runtimes, what compiles them, and what perf's judge needs.
RUNTIMES_ROOT = """bash dav1d erlang-base fp-compiler gcc golang-go guile-3.0 libc6-dev libcapstone5 libopenblas0-pthread
    luajit musl-tools nodejs ocaml-nox openjdk-21-jdk-headless perl php8.4-cli php8.4-opcache postgresql procps python3
    python3-numpy qemu-user ruby sbcl upx-ucl x265 zstd""".split()

# A part that is not whole is made again: nothing has to reach the disk before the next step.
DPKG_OPTIONS = ["--dpkgopt=force-unsafe-io",
                *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale", "info"))]

# Alternatives of some packages need these directories, though nothing else is in them.
KEEP_MAN = '--essential-hook=mkdir -p "$1"/usr/share/man/man1 "$1"/usr/share/man/man7'


# ---- what a root has -----------------------------------------------------------------------------------------

def kernel_packages(arch):
    """List the headers of Debian 13's kernels, and what their perf needs."""
    for record in archive.records():
        if record.is_of_root():
            yield f"linux-headers-{record.release_of(arch)}"
            yield from archive.depends_of("linux-perf" if arch == "amd64" else f"linux-perf:{arch}", record.perf)


def root():
    """The root that nearly everything is built and run in. The disks of tools/lab/vm are copies of it."""
    return made("root", sorted({*ROOT, *kernel_packages("amd64")}))


def arm64_root():
    """The root that arm64's disks are made from. Its programs cannot run on this machine."""
    packages = [*ARM64_ROOT, *kernel_packages("arm64")]
    return cache.made("root-arm64", f"2 {','.join(packages)}", lambda folder: make_arm64_root(folder, packages))


def kernel_root():
    """The root that kernels are built in. It is separate, because every package of root() also enlarges the disks."""
    return made("kernel-root", KERNEL_ROOT)


def clang_root():
    """The root that fuzzers are built in. clang alone would double the size of root()."""
    return made("clang-root", CLANG_ROOT, key="2")


def oracle_root():
    """The root that the corpus of tools/testing/oracle/run is compiled and compared in, and all else that is compiled for arm64."""
    return made("oracle-root", ORACLE_ROOT, arches="amd64,arm64")


def unstable_root():
    """The root of unstable: modules for its kernels want its compiler."""
    return made("unstable-root", UNSTABLE_ROOT, key=f"1 {archive.of('unstable').stamp()}", suite="sid")


def doc_root():
    """The root that makes pages of Documentation/."""
    return made("doc-root", DOC_ROOT)


def truth_root():
    """The root with the programs that tools/testing/truth/run steps."""
    return made("truth-root", TRUTH_ROOT)


def truth_arm64_root():
    """The programs of arm64 that tools/testing/truth/run steps by qemu-user. They are only unpacked."""
    archive.need_lists()
    return cache.made("truth-root-arm64", f"1 {','.join(TRUTH_ROOT)}", make_truth_arm64_root)


def runtimes_root():
    """The root with the runtimes whose stacks tools/testing/runtimes judges."""
    return made("runtimes-root", RUNTIMES_ROOT, options=[KEEP_MAN])


# ---- making one ----------------------------------------------------------------------------------------------

def made(noun, packages, arches="amd64", key=None, suite="trixie", options=()):
    """Return the path of that root. A key that is given has to change with the packages."""
    archive.need_lists()
    return cache.made(noun, key or f"1 {','.join(packages)}",
                      lambda folder: make_root(folder, packages, arches, suite, options))


def make_root(folder, packages, arches, suite, options=()):
    say(f"making the root of {suite}")
    folder.chmod(0o755)
    strap(folder, suite, packages, "--variant=minbase", *DPKG_OPTIONS, *options, arches=arches, backports=suite == "trixie")
    name_host(folder)


def make_arm64_root(folder, packages):
    """Unpack the packages, and do the work of their scripts."""
    say("making the Debian 13 root of arm64")
    folder.chmod(0o755)
    strap(folder, "trixie", packages, "--variant=extract", arches="arm64", backports=True)
    drop(folder, *(f"usr/share/{name}" for name in ("doc", "man", "locale", "info")))
    for name in ("passwd", "group"):
        (folder / "etc" / name).write_text((folder / f"usr/share/base-passwd/{name}.master").read_text())
    link_programs(folder, {"awk": "mawk", "sh": "dash", "cc": "gcc", "python3": "python3.13"})
    name_host(folder)


def make_truth_arm64_root(folder):
    say("making the root of arm64 programs that are stepped")
    strap(folder, "trixie", ["base-files", "dash", "libc-bin", *TRUTH_ROOT], "--variant=extract", arches="arm64")
    drop(folder, *(f"usr/share/{name}" for name in ("doc", "man", "locale", "info")))
    link_programs(folder, {"awk": "mawk", "sh": "dash"})


def name_host(folder):
    (folder / "etc/hostname").write_text("lab\n")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost lab\n")


# ---- running inside ------------------------------------------------------------------------------------------

def enter(make_root_once):
    """Return a root that stays while the returned file is open, and the words that run a command inside it."""
    prepare()
    while True:
        path = make_root_once()
        file = cache.keep(path)
        if path.exists():
            break
        file.close()
    words = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
             "bash", HERE / "namespace.sh", TREE, path, os.getcwd()]
    return file, [str(word) for word in words]


def become(make_root_once, command):
    """Run the command inside that root, in place of this process."""
    file, words = enter(make_root_once)
    os.execvp(words[0], [*words, *command])


def call_inside(make_root_once, *command):
    """Run a command inside that root, with the streams of this process, and return its status."""
    file, words = enter(make_root_once)
    with file:
        return subprocess.run([*words, *(str(word) for word in command)], close_fds=False, check=False).returncode


def run_inside(make_root_once, *command, log=None):
    """Run a command inside that root, with its output to stderr or to the file log. A status other than 0 is an
    error."""
    file, words = enter(make_root_once)
    with file:
        status = subprocess.run([*words, *(str(word) for word in command)], stdin=subprocess.DEVNULL, check=False,
                                close_fds=False,
                                stdout=log or sys.stderr, stderr=log and subprocess.STDOUT).returncode
    if status:
        raise subprocess.CalledProcessError(status, command)


def say_version_inside(program):
    """As say_version(), inside the usual root."""
    file, words = enter(root)
    with file:
        say_version(*words, program)


def build_inside(make_root_once, log, *command, tail=None):
    """Run a command of a build inside that root. Its output is added to the file named log, and printed if it fails:
    all of it, or the last lines."""
    # A make that calls this command must not pass its flags to the build's make.
    os.environ.pop("MAKEFLAGS", None)
    os.environ.pop("MAKELEVEL", None)
    try:
        with open(log, "a", encoding="utf-8") as file:
            run_inside(make_root_once, *command, log=file)
    except subprocess.CalledProcessError:
        lines = log.read_text(errors="replace").splitlines()
        print(*lines[-tail if tail else 0:], sep="\n", file=sys.stderr)
        raise
