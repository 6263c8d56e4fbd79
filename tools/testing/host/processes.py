# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of `sframectl check -p PID` with processes that map code of many kinds.

Each process is a child that maps its code and waits. It runs as a user without rights,
and sframectl as that user, or as root. A user runs both as itself, and no test that
needs another root directory or mounts.
"""

import ctypes
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import traceback

from cli import IS_ROOT

NOBODY = 65534
# The users that run sframectl.
USERS = (0, NOBODY) if IS_ROOT else (os.geteuid(),)
PR_SET_DUMPABLE, IPC_CREAT, IPC_RMID, SHM_EXEC, CLONE_NEWNS = 4, 0o1000, 0, 0o100000, 0x20000
MS_REC, MS_PRIVATE, MS_BIND = 0x4000, 1 << 18, 0x1000
CODE = mmap.PROT_READ | mmap.PROT_EXEC

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def call(name, *args):
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)


def map_code(path):
    fd = os.open(path, os.O_RDONLY)
    keep.append(mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=CODE))
    os.close(fd)


def end_first_thread():
    """Lets the first thread of this process end where it would wait, and another one live on."""
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    signal.pause = lambda: libc.syscall(93 if os.uname().machine == "aarch64" else 60, 0)


keep = []


def wait_for_zombie(pid):
    state = ""
    while state != "Z":
        time.sleep(0.01)
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]


class Child:
    """A process that has run prepare(), waits as a user without rights, and ends after the test."""

    def __init__(self, prepare, user=NOBODY):
        ready, told = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                prepare()
                if IS_ROOT:
                    os.setgid(user)
                    os.setuid(user)
                # Otherwise /proc/PID belongs to root.
                libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
                os.write(told, b"1")
                signal.pause()
            except Exception:
                traceback.print_exc()
            os._exit(1)
        os.close(told)
        if not os.read(ready, 1):
            raise RuntimeError("a child of the tests did not begin")
        os.close(ready)

    def __enter__(self):
        return str(self.pid)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def as_user(user):
    """Returns how subprocess starts a program of this user."""
    return {"user": user, "group": user, "extra_groups": []} if IS_ROOT else {}


def check(cli, pid, *options, user=0):
    return subprocess.run([cli.program, "check", *options, "-p", pid], capture_output=True,
                          text=True, errors="surrogateescape", check=False, **as_user(user))


def expect(cli, name, pid, user=0, status=0, objects=(), no_elf=(), errors=()):
    """Checks what check --json says of a process: ends of names of objects that were read, of code
    in no ELF file, and (name, error) of objects that were not read."""
    ran = check(cli, pid, "--json", user=user)
    try:
        value = json.loads(ran.stdout)
    except ValueError:
        cli.end(name, [ran.stdout + ran.stderr])
        return
    read = {entry["file"] for entry in value["objects"] if "error" not in entry}
    failed = {entry["file"]: entry["error"] for entry in value["objects"] if "error" in entry}
    other = {entry["name"] for entry in value.get("processes", [{}])[0].get("no_elf", [])}
    wrong = [f"{file} was not read: {failed}" for file in objects if not any(name.endswith(str(file)) for name in read)]
    wrong += [f"{file} is not among {other}" for file in no_elf if str(file) not in other]
    wrong += [f"{text!r} is not said of {file}: {failed}" for file, text in errors
              if not any(name.endswith(str(file)) and text in failed[name] for name in failed)]
    if ran.returncode != status:
        wrong.append(f"status {ran.returncode}, not {status}: {ran.stderr}")
    if len(failed) != len(errors):
        wrong.append(f"errors: {failed}")
    cli.end(name, wrong)


def memory(cli, tmp):
    """Code that is in no ELF file is no fault."""
    text = tmp / "text.code"
    text.write_text("This is no ELF file.\n" * 400)

    def prepare():
        fd = os.memfd_create("jit\x1b[2J")
        os.ftruncate(fd, 4096)
        keep.append(mmap.mmap(fd, 4096, prot=CODE))
        keep.append(mmap.mmap(-1, 8192, prot=CODE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        fd = os.open("/dev/zero", os.O_RDWR)
        keep.append(mmap.mmap(fd, 4096, flags=mmap.MAP_SHARED, prot=CODE))
        segment = libc.shmget(0, 4096, IPC_CREAT | 0o700)
        libc.shmat(segment, None, SHM_EXEC)
        libc.shmctl(segment, IPC_RMID, None)
        map_code(text)

    names = ("/memfd:jit\x1b[2J (deleted)", "[anonymous]", "/dev/zero (deleted)",
             "/SYSV00000000 (deleted)", text)
    with Child(prepare) as pid:
        for user in USERS:
            expect(cli, f"code in no ELF file, user {user}", pid, user=user, no_elf=names)
        ran = check(cli, pid)
        cli.end("note of code in no ELF file", [] if
                f"process {pid} has code in no ELF file" in ran.stdout and
                "4096 bytes  /memfd:jit\\x1b[2J (deleted)\n" in ran.stdout and
                "8192 bytes  [anonymous]\n" in ran.stdout else [ran.stdout])


def odd_files(cli, tmp, good):
    newline = tmp / "new\nline"
    gone, replaced = tmp / "gone", tmp / "replaced"
    for path in (newline, gone, replaced):
        shutil.copyfile(good, path)

    def prepare():
        for path in (newline, gone, replaced):
            map_code(path)
        gone.unlink()
        # Another file has the name of the mapped one, even with what the kernel adds to it.
        for name in ("replaced", "replaced (deleted)"):
            shutil.copyfile(good, tmp / "other")
            os.rename(tmp / "other", tmp / name)

    sudo = "deleted: only root can still read it; type: sudo sframectl check -p "
    names = (f"{gone} (deleted)", f"{replaced} (deleted)")
    with Child(prepare) as pid:
        if IS_ROOT:
            expect(cli, "deleted files, root", pid, objects=(newline, *names))
        expect(cli, "deleted files", pid, user=NOBODY, status=1, objects=(newline,),
               errors=[(name, sudo + pid) for name in names])


def deleted_program(cli, tmp):
    """Each user can read the program of an own process, even when it is deleted."""
    path = tmp / "program"
    shutil.copy(shutil.which("sleep"), path)
    with subprocess.Popen([path, "1000"], **as_user(NOBODY)) as process:
        path.unlink()
        expect(cli, "deleted program", str(process.pid), user=NOBODY,
               objects=(f"{path} (deleted)",))
        process.kill()


def mount_tmpfs(path):
    """Mounts a file system that only this process sees."""
    call("unshare", CLONE_NEWNS)
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", b"none", bytes(path), b"tmpfs", 0, None)
    path.chmod(0o755)


def other_roots(cli, tmp, good):
    root = tmp / "elsewhere"
    root.mkdir()
    shutil.copyfile(good, root / "inside")

    def chrooted():
        os.chroot(root)
        map_code("/inside")

    def without_first_thread():
        chrooted()
        end_first_thread()

    def in_own_namespace():
        mount_tmpfs(root)
        shutil.copyfile(good, root / "mounted")
        map_code(root / "mounted")

    def overlay():
        """stat() reports the device of the lower file, and maps that of the overlay."""
        mount_tmpfs(root)
        for name in ("lower", "upper", "merged"):
            (root / name).mkdir()
            (root / name).chmod(0o755)
        call("mount", b"none", bytes(root / "upper"), b"tmpfs", 0, None)
        for name in ("data", "work"):
            (root / "upper" / name).mkdir()
        shutil.copyfile(good, root / "lower/layered")
        options = f"lowerdir={root}/lower,upperdir={root}/upper/data,workdir={root}/upper/work"
        call("mount", b"none", bytes(root / "merged"), b"overlay", 0, options.encode())
        map_code(root / "merged/layered")

    def covered():
        mount_tmpfs(root)
        for name in ("file", "other"):
            shutil.copyfile(good, root / name)
        map_code(root / "file")
        call("mount", bytes(root / "other"), bytes(root / "file"), None, MS_BIND, None)

    for user in (0, NOBODY):
        with Child(overlay) as pid:
            expect(cli, f"file of an overlay, user {user}", pid, user=user,
                   objects=("/merged/layered",))
    with Child(covered) as pid:
        expect(cli, "file that another covers, root", pid, objects=("/elsewhere/file",))
        expect(cli, "file that another covers", pid, user=NOBODY, status=1,
               errors=[("/elsewhere/file", "another file has this name now")])
    for user in (0, NOBODY):
        with Child(chrooted) as pid:
            expect(cli, f"file in a chroot, user {user}", pid, user=user,
                   objects=(root / "inside",))
        with Child(without_first_thread) as pid:
            wait_for_zombie(pid)
            expect(cli, f"process whose first thread has ended, user {user}", pid, user=user,
                   objects=(root / "inside",))
        with Child(in_own_namespace) as pid:
            expect(cli, f"file in a mount namespace, user {user}", pid, user=user,
                   objects=("/elsewhere/mounted",))


def another_mapping(cli, tmp, good):
    """After its mappings were listed, the process maps another file at the same address."""
    listed, mapped, maps = tmp / "listed", tmp / "mapped", tmp / "maps"
    shutil.copyfile(good, mapped)
    with Child(lambda: map_code(mapped)) as pid:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            text = re.sub(rf" [0-9]+ +{mapped}$", f" 1 {listed}", file.read(), flags=re.MULTILINE)
        maps.write_text(text)
        script = f'mount --bind {maps} /proc/{pid}/task/{pid}/maps && exec "$0" check -p {pid}'
        ran = subprocess.run(["unshare", "-m", "sh", "-c", script, cli.program],
                             capture_output=True, text=True, check=False)
        cli.end("another file at the same address", [] if ran.returncode == 1 and
                f"{listed}: its mapping is gone: the process changed" in ran.stderr else
                [str(ran.returncode), ran.stdout + ran.stderr])


def without_code(cli):
    """A zombie has no code, as a kernel thread has none."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    wait_for_zombie(pid)
    cli("check zombie", "check", "-p", str(pid), status=1,
        err=f"process {pid}: has no code: it is a kernel thread, or has ended")
    cli("check --json zombie", "check", "--json", "-p", str(pid), status=1, err="has no code",
        as_json=lambda value: "has no code" in value["processes"][0]["error"])
    os.waitpid(pid, 0)
    cli("check a number beyond all PIDs", "check", "-p", str(2 ** 32 + os.getpid()), status=1, err="no such process")


def unreadable(cli):
    with Child(lambda: None, user=0) as pid:
        for options in ((), ("--json",)):
            ran = check(cli, pid, *options, user=NOBODY)
            sudo = f"only its user and root may see its mappings; type: sudo sframectl check -p {pid}"
            said = sudo in ran.stderr and ran.returncode == 1
            if options:
                value = json.loads(ran.stdout)
                said = said and sudo in value["processes"][0].get("error", "")
            cli.end(f"process of another user {options}", [] if said else
                    [ran.stdout + ran.stderr])

        # Address 0 of a process cannot be read: EIO.
        script = f'mount --bind /proc/{pid}/mem /proc/{pid}/task/{pid}/maps && exec "$0" check -p {pid}'
        ran = subprocess.run(["unshare", "-m", "sh", "-c", script, cli.program],
                             capture_output=True, text=True, check=False)
        cli.end("mappings with a read error", [] if ran.returncode == 1 and
                f"process {pid}: Input/output error" in ran.stderr else
                [str(ran.returncode), ran.stdout + ran.stderr])


def reachable(cli):
    """The user without rights has to reach the files, and sframectl, which may be in a directory of root's."""
    cli.tmp.chmod(0o777)
    cli.program = shutil.copy(cli.program, cli.tmp / "sframectl")


def tests(cli):
    reachable(cli)
    memory(cli, cli.tmp)
    odd_files(cli, cli.tmp, cli.good)
    deleted_program(cli, cli.tmp)
    without_code(cli)
    if not IS_ROOT:
        cli.tap.skip("processes of another user, or with other roots and mounts", "not root, who can make them")
        return
    other_roots(cli, cli.tmp, cli.good)
    another_mapping(cli, cli.tmp, cli.good)
    unreadable(cli)
