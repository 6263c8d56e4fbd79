# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what sframectl says to a user without the rights that it needs.

Mount namespaces show files of a module that is not there. The tests run as root.
"""

import os
import struct
import subprocess

from cli import IS_ROOT
from processes import NOBODY, Child, reachable

SYSFS = """
    mount -t tmpfs none /sys/module
    mkdir -p /sys/module/sframe_unwind/parameters
    echo N >/sys/module/sframe_unwind/parameters/enabled
"""
DEBUGFS = "mount -t tmpfs none /sys/kernel; mkdir /sys/kernel/debug; chmod 700 /sys/kernel/debug"
DEVICE = "mount -t tmpfs none /dev; touch /dev/sframe_unwind; chmod 600 /dev/sframe_unwind"
AS_NOBODY = f"setpriv --reuid {NOBODY} --clear-groups"
# Root of a container.
WITHOUT_CAPABILITIES = "setpriv --bounding-set=-all --inh-caps=-all"

PT_INTERP = 3


def run(program, prepare, *words):
    """Runs sframectl in a mount namespace of its own, after some commands."""
    return subprocess.run(["unshare", "-m", "sh", "-ec", f'{prepare} "$@"', "sh", program, *words],
                          capture_output=True, text=True, check=False)


def modules_files(cli):
    user = f"\nexec {AS_NOBODY}"
    for words in (["load", "--all"], ["tables"], ["serve"]):
        cli.judge(f"{words[0]}, not root", run(cli.program, DEVICE + user, *words), status=1,
                  err="/dev/sframe_unwind: only root may load, list or drop tables; put sudo before the command$")
    cli.judge("why, not root", run(cli.program, SYSFS + user, "why", "-d", "1"), status=1,
              err="only root may sample; put sudo before the command$")
    cli.judge("stats, not root", run(cli.program, f"{SYSFS}{DEBUGFS}{user}", "stats"), status=1,
              err="only root may read the counters; put sudo before the command$")
    # Root of a user namespace, who has no rights over the machine: sudo gives none.
    as_container = f"\nexec {WITHOUT_CAPABILITIES}"
    outside = "it needs CAP_SYS_ADMIN outside of all containers$"
    for words in (["load", "--all"], ["tables"], ["serve"]):
        cli.judge(f"{words[0]}, root of a container",
                  run(cli.program, f"{DEVICE}; chown {NOBODY} /dev/sframe_unwind{as_container}", *words), status=1,
                  err=f"/dev/sframe_unwind: only root may load, list or drop tables; {outside}")
    cli.judge("stats, root of a container",
              run(cli.program, f"{SYSFS}{DEBUGFS}; chown {NOBODY} /sys/kernel/debug{as_container}", "stats"), status=1,
              err=f"only root may read the counters; {outside}")
    cli.judge("load of a process that is not there", run(cli.program, f"{DEVICE}\nexec", "load", "-p", "4194305"), status=1,
              out="0 tables loaded, 0 KiB; 1 file without one$", err="4194305: no such process")
    cli.judge("why, no tracefs", run(cli.program, f"{SYSFS}\nmount -t tmpfs none /sys/kernel\nexec", "why", "-d", "1"), status=1,
              err="tracefs is not mounted; type: mount -t tracefs none /sys/kernel/tracing$")
    cli.judge("why, no tracepoint", run(cli.program, f"{SYSFS}\nmount -t tracefs none /sys/kernel/tracing\nexec",
                                        "why", "-d", "1"), status=1,
              err="this kernel has no tracepoints, so sfu_walk is missing: use another kernel$")


def processes(cli, tmp):
    with Child(lambda: None) as pid:
        cli.judge("check PID, root of a container", run(cli.program, f"exec {WITHOUT_CAPABILITIES}", "check", "-p", pid),
                  status=1, err=f"process {pid}: only its user and root may see its mappings; "
                  "it needs CAP_SYS_ADMIN outside of all containers$")
        maps = tmp / "odd-maps"
        maps.write_text("no mapping\n")
        cli.judge("check PID, odd mappings",
                  run(cli.program, f"mount --bind {maps} /proc/{pid}/task/{pid}/maps\nexec", "check", "-p", pid), status=1,
                  err=f"process {pid}: the kernel's list of its mappings is not understood; report it$")


def without_proc(cli, good):
    """As in a chroot where programs are built. The sanitizer needs the rest of /proc."""
    cli.judge("check FILE without /proc/self/fd", run(cli.program, "mount -t tmpfs none /proc/$$/fd\nexec", "check", good))


def converting(cli, tmp):
    """A file is anybody's: the child that reads it has to give up the rights of root."""
    program, out = cli.build / "test_sha256", tmp / "converted"
    out.mkdir()
    for key in ("-o",), ("--store",):
        cli.judge(f"convert {' '.join(key)}, root of a container",
                  run(cli.program, f"exec {WITHOUT_CAPABILITIES}", "convert", *key, out, program), status=1, out="CODE",
                  err="test_sha256: its converter cannot give up its rights: it needs CAP_SETUID, CAP_SETGID$")
    cli.judge("convert [vdso], root of a container",
              run(cli.program, f"exec {WITHOUT_CAPABILITIES}", "convert", "-o", out, "[vdso]"), status=1, out="CODE",
              err=r"\[vdso\]: its converter cannot give up its rights")
    # The namespace has no other user: its root has the rights of the user who made it.
    cli.judge("convert, root of a user namespace without nobody",
              run(cli.program, "exec unshare -U -r", "convert", "-o", out, program), out="test_sha256$")
    cli.judge("convert without /proc/self/fd",
              run(cli.program, "mount -t tmpfs none /proc/$$/fd\nexec", "convert", "-o", out, program), out="test_sha256$")
    cli.end("convert leaves table files alone", [f"{file}" for file in out.iterdir() if file.name != "test_sha256.sframe"])


def linked(cli, tmp, good):
    """The loader's name is beyond the end of the file."""
    elf = bytearray(good.read_bytes())
    segments, = struct.unpack_from("<Q", elf, 32)
    struct.pack_into("<IIQQQQQ", elf, segments, PT_INTERP, 4, 1 << 40, 0, 0, 16, 16)
    path = tmp / "loaderless"
    path.write_bytes(elf)
    cli.judge("load --linked of a damaged program", run(cli.program, f"{DEVICE}\nexec", "load", "--linked", path),
              status=1, out="0 tables loaded", err="loaderless: ends too early")


def users_program(cli, tmp, good):
    """It names a loader, which tells who runs it."""
    tmp.chmod(0o755)
    loader, path = tmp / "loader", tmp / "users-program"
    loader.write_text("""#!/bin/sh
        while read -r key id _; do case $key in Uid:) uid=$id ;; Gid:) gid=$id ;; esac; done </proc/self/status
        echo "/uid-$uid-$gid-$SECRET-$LD_LIBRARY_PATH (0x0)"
        echo noise >&2
    """)
    loader.chmod(0o755)
    elf = bytearray(good.read_bytes())
    name = bytes(loader) + b"\0"
    segments, = struct.unpack_from("<Q", elf, 32)
    struct.pack_into("<IIQQQQQ", elf, segments, PT_INTERP, 4, len(elf), 0, 0, len(name), len(name))
    path.write_bytes(elf + name)
    prepare = f"{DEVICE}\nmknod /dev/null c 1 3\nexport SECRET=x LD_LIBRARY_PATH=/y\nexec"
    for owner, mode, of_dir, who in ((0, 0o755, 0o755, 0), (NOBODY, 0o755, 0o755, NOBODY), (7, 0o755, 0o755, 7),
                                     (0, 0o757, 0o755, NOBODY), (0, 0o775, 0o755, NOBODY), (0, 0o755, 0o777, NOBODY), (0, 0o755, 0o1777, 0)):
        os.chown(path, owner, owner + 1 if owner else 0)
        path.chmod(mode)
        tmp.chmod(of_dir)
        cli.judge(f"load --linked of a program of {owner}, {mode:o} in {of_dir:o}",
                  run(cli.program, prepare, "load", "--linked", path), status=1,
                  err=rf"\Asframectl: {path}: [^\n]*\nsframectl: /uid-{who}-{f'{NOBODY}-' if who else '0-x'}-/y: No such file[^\n]*\n\Z")
    tmp.chmod(0o755)
    # A file system that a user has made, and that a service of root's has mounted: its files seem to be root's.
    cli.judge("load --linked of root's program on a file system without setuid programs",
              run(cli.program, f"mount --bind {tmp} {tmp}\nmount -o remount,bind,nosuid {tmp}\n{prepare}", "load", "--linked", path),
              status=1, err=f"/uid-{NOBODY}-{NOBODY}--/y: No such file")
    for what, script, said in (("fails", "exit 127", "its loader lists nothing: load a process that runs it, by -p PID"),
                               ("lists without end", "yes | tr -d '\\n'", "its loader lists more than any program needs"),
                               ("does not end", "sleep 1000", "its loader takes too long: it is no loader, or the disk is slow")):
        loader.write_text(f"#!/bin/sh\n{script}\n")
        cli.judge(f"load --linked, the loader {what}",
                  run(cli.program, f"{DEVICE}\nmknod /dev/null c 1 3\nexec", "load", "--linked", path), status=1,
                  err=f"users-program: {said}$")


def scripts(cli, tmp):
    """What counts is the program that runs a script."""
    bin_dir = tmp / "path of scripts"
    bin_dir.mkdir()
    (bin_dir / "runs-it").symlink_to("/bin/sh")
    (tmp / "dir of scripts/runs-it").mkdir(parents=True)
    (bin_dir / "script").write_text("#!/bin/sh\n")
    (bin_dir / "script").chmod(0o755)
    path, prepare = tmp / "script", f"{DEVICE}\nmknod /dev/null c 1 3\nexport PATH='{tmp}/dir of scripts::{bin_dir}':$PATH\nexec"
    for line, program in (("#!/bin/sh -e", "/bin/sh"), ("#! /bin/sh", "/bin/sh"),
                          ("#!/usr/bin/env runs-it", f"{bin_dir}/runs-it"),
                          ("#!/usr/bin/env -S A=b runs-it -x", f"{bin_dir}/runs-it"),
                          ("#!/usr/bin/env -Sruns-it -x", f"{bin_dir}/runs-it"),
                          ("#!/usr/bin/env -S -u A runs-it", f"{bin_dir}/runs-it"),
                          ("#!/usr/bin/env script", "/bin/sh"),
                          ("#!/usr/bin/env /bin/sh", "/bin/sh")):
        path.write_text(f"{line}\necho\n")
        cli.judge(f"load --linked, {line}", run(cli.program, prepare, "load", "-v", "--linked", path), status=1,
                  out=rf"^ +-  {program}: (?s:.)*^ +-  /.*/libc\.so\.6: ")
    path.write_text(f"#!{path}\n")
    cli.judge("load --linked, a script of itself", run(cli.program, prepare, "load", "--linked", path), status=1,
              err="script: too many scripts are interpreters of each other$")
    for line in "#!/usr/bin/env missing", "#!/usr/bin/env", "#!", "echo":
        path.write_text(f"{line}\n")
        cli.judge(f"load --linked, {line}", run(cli.program, prepare, "load", "-v", "--linked", path), status=1,
                  out=rf"\A +-  \[vdso\]: [^\n]*\n +-  {path}: [^\n]*\n0 tables loaded")


def directories(cli, tmp, good):
    """Programs and shared objects below a directory, the smallest first. The device is none: each is refused."""
    top = tmp / "programs"
    (top / "of" / "it").mkdir(parents=True)
    program = cli.build / "test_sha256"
    for name, size, mode in (("of/it/large", 3000, 0o755), ("libsmall.so.1", 1000, 0o644), ("middle", 2000, 0o700),
                             ("data", 0, 0o644)):
        (top / name).write_bytes(program.read_bytes() + bytes(size))
        (top / name).chmod(mode)
    (top / "script").write_text("#!/bin/sh\n")
    (top / "script").chmod(0o755)
    (top / "link").symlink_to(good)
    (top / "away").symlink_to(cli.build)
    os.mkfifo(top / "pipe.so", 0o755)
    lines = "".join(rf" +-  {top}/{name}: [^\n]*\n" for name in ("libsmall.so.1", "middle", "of/it/large"))
    cli.judge("load DIR", run(cli.program, f"{DEVICE}\nexec", "load", "-v", top), status=1,
              out=rf"\A +-  \[vdso\]: [^\n]*\n{lines}0 tables loaded, 0 KiB; 4 files without one\n\Z")
    (top / "of" / "it" / "large").unlink()
    cli.judge("load FILE and DIRs", run(cli.program, f"{DEVICE}\nexec", "load", "-v", top / "of", top, program), status=1,
              out=rf"\[vdso\]: [^\n]*\n +-  {program}: [^\n]*\n +-  {top}/libsmall.so.1: [^\n]*\n +-  {top}/middle: ")


def without_memory(cli):
    """The copy of the vDSO is a file in memory."""
    cli.judge("load without memory for a file", run(cli.program, f"{DEVICE}\ntrap '' XFSZ; ulimit -f 0\nexec",
                                                    "load", "-v", "--linked", "/none"),
              status=1, out=r"^ +-  \[vdso\]: cannot be copied to memory$", err="/none: No such file")


def store(cli, tmp):
    """Only root may say what the stacks of a program look like."""
    path = tmp / "store"
    path.mkdir()
    path.chmod(0o777)
    cli("serve --store, for all", "serve", "--store", path, status=1, err="store: others than its owner may write it$")
    path.chmod(0o755)
    os.chown(path, NOBODY, NOBODY)
    cli("serve --store, of a user", "serve", "--store", path, status=1, err="store: is not root's$")


def tests(cli):
    tmp, good = cli.tmp, cli.good
    if not IS_ROOT:
        cli.tap.skip("what sframectl says of rights", "not root, who can lack some of them")
        return
    reachable(cli)
    tmp.chmod(0o755)
    modules_files(cli)
    processes(cli, tmp)
    without_proc(cli, good)
    converting(cli, tmp)
    linked(cli, tmp, good)
    users_program(cli, tmp, good)
    scripts(cli, tmp)
    directories(cli, tmp, good)
    without_memory(cli)
    store(cli, tmp)
