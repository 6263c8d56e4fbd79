# SPDX-License-Identifier: GPL-2.0-or-later
"""Usage: tools/lab/lab COMMAND [ARG...]

  root [arm64]           print the path of the Debian 13 root; the arm64 root is for virtual machines only
  run [--] CMD [ARG...]  run CMD inside the root; the project is at the same path there
  kernels                print the names of all kernels that the commands below accept, each with its release
  release KERNEL         print the kernel release, such as 6.12.107+deb13-amd64
  kdir KERNEL            print the kernel headers' directory as seen inside the root
  kernel KERNEL          print the directory with that kernel's unpacked packages: vmlinuz, modules, perf
  module KERNEL          build sframe_unwind.ko against that kernel's headers, print its path
  image KERNEL           print the directory with vmlinuz, initrd and disk for tools/lab/vm
  additions KERNEL       print the directory with the files added to that disk: the module, perf, sframectl
  machine KERNEL         print the directories for tools/lab/vm: those of qemu, image and additions, and that of virtiofsd
                         for the cloud kernels, which have no 9p
  toolchain v1|v2|v3 [amd64|arm64]
                         print a directory for `gcc -B<dir>/ -Wa,--gsframe` whose assembler writes that version
  toolchain clang        print a directory with the newest clang and lld of unstable, for amd64 and arm64
  btrfs                  print a directory with the image of an empty btrfs
  bpftrace               print a directory with Debian 13's bpftrace, as a tar file with the libraries beside it
  programs [amd64|arm64] print a directory with programs of Debian 13 and their libraries, for /usr/local: what the demo
                         profiles (sqlite3, git, ...)
  perf 12|13|backports|sid
                         print a directory with that Debian's newest perf for amd64; it runs inside the root
  qemu                   print the directory of Debian 13's QEMU, which runs here: qemu-system-x86_64 and -aarch64
  qemu-user              print the directory of Debian 13's qemu-aarch64, which runs single programs of arm64
  checkpatch             print a directory with the kernel's scripts/checkpatch.pl
  linux KERNEL           print the directory of that kernel's source, as in the package linux-source-*
  kunit KERNEL           print a directory for kunit/run: linux/ has that source, with the project in it
  kernel-run CMD...      run CMD as "run" does, inside a second root, which can build kernels and boot arm64
  kernel-root            print the path of that root
  clang-run CMD...       run CMD as "run" does, inside a third root, which has clang and its sanitizers
  oracle-run CMD...      run CMD as "run" does, inside a fourth root, which has compilers for amd64 and arm64
  oracle-root            print the path of that root
  module-run KERNEL CMD...
                         run CMD as "run" does, inside the root with the compiler for that kernel's modules
  truth-run CMD...       run CMD as "run" does, inside a fifth root, which has libdw and programs to be stepped
  truth-root [arm64]     print the path of that root; the programs of the arm64 root run with qemu-user
  runtimes-run CMD...    run CMD as "run" does, inside a root with the runtimes whose stacks are judged
  runtimes-root          print the path of that root
  runtimes-disk          print a directory with a disk of it, for tools/lab/vm --disk
  doc-run CMD...         run CMD as "run" does, inside a root which has Sphinx
  package-run 12|13|testing CMD...
                         run CMD as "run" does, inside a root of that Debian where its packages are built
  fresh-machine 12|13|testing
                         print the directory of a fresh machine of that Debian, in root/. apt has fetched what a package
                         of ours needs, and a second kernel, so the machine can install them without a network
  firmware               print a directory with UEFI firmware for QEMU, and Debian's signed shim and GRUB
  source PKG             print the directory of Debian 13's unpacked source package PKG
  need [PACKAGE...]      install those Debian packages on this machine if they are missing, after a question; without PACKAGE,
                         those that the laboratory itself needs
  as-root CMD...         run CMD on this machine as root: for a user, as the root of a namespace
  update                 fetch the package lists again: parts made later use the newer packages
  clean                  remove build/lab

KERNEL is a name that "kernels" prints: with arm64-, and with -cloud or -rt (PREEMPT_RT), such as arm64-6.12-rt; "newest"
is the newest of backports, "unstable" that of unstable. A name with debug-, such as debug-6.12 or arm64-debug-6.12, is a
kernel built from that source with the kernel's debug checks (tools/lab/configs/debug*.config): debug-6.12-rt with PREEMPT_RT,
debug-6.12-kcsan with KCSAN.

Progress goes to stderr, the answer to stdout. SFU_MIRROR=URI names the Debian archive when apt does not. With --yes before
COMMAND, or SFU_YES=1 in the environment, missing packages of this machine are installed without a question. A user needs no
root, if there are user namespaces, and subordinate ids for that user (package uidmap).
"""

import inspect
import os
import signal
import sys

from . import debians, images, kernels, machine, module, programs, roots, sources, toolchains
from .archive import archive
from .cache import NotMade, remove
from .host import LAB, Failed, prepare, say


def of_kernel(function):
    return lambda kernel="": function(archive.kernel(kernel))


def run_in(root):
    def run(*command):
        if command[:1] == ("--",):
            command = command[1:]
        if not command:
            raise Failed("no command is given: tools/lab/lab run [--] CMD [ARG...]")
        roots.become(root, command)
    return run


def package_run(debian="", *command):
    debians.suite_of(debian)
    run_in(lambda: debians.package_root(debian))(*command)


def module_run(kernel="", *command):
    run_in(module.root_of_module(archive.kernel(kernel)))(*command)


def root(arch=""):
    return roots.arm64_root() if arch == "arm64" else roots.root()


def truth_root(arch=""):
    if arch not in ("", "arm64"):
        raise Failed(f"no root of '{arch}': choose arm64, or nothing")
    return roots.truth_arm64_root() if arch else roots.truth_root()


def source(package=""):
    if not package:
        raise Failed("no package is named: tools/lab/lab source PKG")
    return sources.source(package)


def as_root(*command):
    if not command:
        raise Failed("no command is given: tools/lab/lab as-root CMD [ARG...]")
    prepare()
    os.execvp(command[0], command)


def clean():
    if LAB.exists():
        prepare()
        say("removing build/lab")
        remove(LAB)


COMMANDS = {
    "root": root,
    "run": run_in(roots.root),
    "kernels": lambda: tuple(archive.kernels()),
    "release": of_kernel(kernels.release),
    "kdir": of_kernel(kernels.kdir),
    "kernel": of_kernel(kernels.packages),
    "module": of_kernel(module.module),
    "image": of_kernel(images.image),
    "additions": of_kernel(images.additions),
    "machine": of_kernel(machine.machine),
    "toolchain": lambda version="", arch="amd64": toolchains.toolchain(version, arch),
    "btrfs": programs.btrfs,
    "bpftrace": programs.bpftrace,
    "programs": lambda arch="amd64": programs.programs(arch),
    "perf": lambda debian="": programs.perf(debian),
    "qemu": programs.qemu,
    "qemu-user": programs.qemu_user,
    "checkpatch": sources.checkpatch,
    "linux": lambda series="": sources.linux(archive.kernel(series)),
    "kunit": lambda series="": sources.kunit(archive.kernel(series)),
    "kernel-run": run_in(roots.kernel_root),
    "kernel-root": roots.kernel_root,
    "clang-run": run_in(roots.clang_root),
    "oracle-run": run_in(roots.oracle_root),
    "oracle-root": roots.oracle_root,
    "module-run": module_run,
    "runtimes-run": run_in(roots.runtimes_root),
    "runtimes-disk": images.runtimes_disk,
    "runtimes-root": roots.runtimes_root,
    "doc-run": run_in(roots.doc_root),
    "truth-run": run_in(roots.truth_root),
    "truth-root": truth_root,
    "package-run": package_run,
    "fresh-machine": lambda debian="": debians.fresh_machine(debian),
    "firmware": debians.firmware,
    "source": source,
    "update": archive.update,
    "as-root": as_root,
    "clean": clean,
}


def answer(name, args):
    """Run a command, and print what it returns."""
    if os.uname().machine != "x86_64":
        raise Failed("the laboratory needs an amd64 machine (it emulates arm64). The module itself builds and runs "
                     "here: make modules tools, see Documentation/install.rst")
    if not accepts(name, args):
        print(__doc__, end="", file=sys.stderr)
        return 2
    result = COMMANDS[name](*args)
    if result is not None:
        print(*(result if isinstance(result, tuple) else [result]), sep="\n")
    return 0


def accepts(name, args):
    try:
        inspect.signature(COMMANDS[name]).bind(*args)
    except (KeyError, TypeError):
        return False
    return True


def retry():
    """Start the command again with newer package lists, once. Packages leave the archive when newer ones arrive."""
    if archive.are_old() and not os.environ.get("SFU_LAB_RETRY"):
        say("trying again with fresh package lists")
        archive.update()
        os.environ["SFU_LAB_RETRY"] = "1"
        os.execv(sys.executable, [sys.executable, "-B", *sys.argv])


def status_of(work):
    """Call work(), which returns an exit status, and turn errors into messages."""
    try:
        try:
            return work()
        except NotMade as error:
            say(error)
            retry()
            raise Failed("to start from scratch: tools/lab/lab clean") from error
    except Failed as error:
        say(error)
        return 1
    except KeyboardInterrupt:
        say("interrupted: the next run goes on where this one ended")
        return 130


def main():
    # Commands inside the roots get the usual dispositions.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    name, *args = sys.argv[1:] or [""]
    if name in ("help", "-h", "--help"):
        print(__doc__, end="")
        return 0
    return status_of(lambda: answer(name, args))
