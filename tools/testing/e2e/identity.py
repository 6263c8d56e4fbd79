#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Files that pretend to be others, see guest-identity.sh.

identity.py btrfs DIR ONE TWO: in two new subvolumes of DIR, root makes system/lib.so of ONE, and nobody makes home/lib.so of
TWO. Both have one number, generation, size and time of change.
identity.py 9p SOCKET DIR: serves DIR/lib.so, whose bytes may become others while its attributes stay.
"""

import fcntl
import os
import socket
import struct
import sys
import time

NOBODY = 65534
BTRFS_IOC_SUBVOL_CREATE = 0x5000940e
FS_IOC_GETVERSION = 0x80087601


# ---- btrfs ----------------------------------------------------------------------------------------------------------

def make_subvolume(folder, name):
    fd = os.open(folder, os.O_RDONLY)
    fcntl.ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, bytearray(struct.pack("q4088s", 0, name.encode())))
    os.close(fd)


def copy(source, target):
    with open(source, "rb") as src, open(target, "wb") as dst:
        dst.write(src.read())
    os.chmod(target, 0o755)


def nobody(folder, two, line):
    """Make home/lib.so, and change its time until the file of root has got its name."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    make_subvolume(folder, "home")
    mine, system = f"{folder}/home/lib.so", f"{folder}/system/lib.so"
    line.send(b"m")
    line.recv(1)
    copy(two, mine)
    line.send(b"r")
    while line.recv(1) == b"g":
        while not os.access(system, os.F_OK):
            os.chmod(mine, 0o755)
        os.chmod(mine, 0o755)
        line.send(b"r")


def identity(path):
    st, fd = os.stat(path), os.open(path, os.O_RDONLY)
    generation, = struct.unpack("q", fcntl.ioctl(fd, FS_IOC_GETVERSION, bytes(8)))
    os.close(fd)
    return st.st_ino, generation, st.st_size, st.st_ctime_ns


def btrfs(folder, one, two):
    here, there = socket.socketpair()
    make_subvolume(folder, "system")
    os.chmod(folder, 0o777)
    pid = os.fork()
    if not pid:
        nobody(folder, two, there)
        os._exit(0)
    here.recv(1)
    copy(one, f"{folder}/system/new")
    here.send(b"c")
    here.recv(1)
    for nr in range(1000):
        here.send(b"g")
        time.sleep(0.002 * (nr % 9 + 1))
        # As a package manager does.
        os.rename(f"{folder}/system/new", f"{folder}/system/lib.so")
        here.recv(1)
        ours, theirs = identity(f"{folder}/system/lib.so"), identity(f"{folder}/home/lib.so")
        if ours == theirs:
            print(f"     {nr + 1} tries: number {ours[0]}, generation {ours[1]}, {ours[2]} bytes, time {ours[3]}")
            here.send(b"e")
            os.waitpid(pid, 0)
            return 0
        os.rename(f"{folder}/system/lib.so", f"{folder}/system/new")
    return 1


# ---- 9P2000.L -------------------------------------------------------------------------------------------------------

ROOT, FILE = (0x80, 0, 1), (0, 0, 2)     # qids: type, version, path


def qid(value):
    return struct.pack("<BIQ", *value)


def attributes(value, size):
    mode = 0o40755 if value == ROOT else 0o100755
    return struct.pack("<Q13sIIIQQQQQ", 0x7ff, qid(value), mode, NOBODY, NOBODY, 1, 0, size, 4096, (size + 511) // 512) + \
        struct.pack("<8Q", *[10 ** 9, 0] * 4) + bytes(16)


class Server:
    """Answers one connection. Each fid is ROOT or FILE."""

    def __init__(self, path):
        self.path = path
        self.fids = {}

    def answer(self, kind, body):
        if kind == 100:                                 # version
            return struct.pack("<IH8s", min(8192, struct.unpack_from("<I", body)[0]), 8, b"9P2000.L")
        if kind == 108:                                 # flush
            return b""
        fid, = struct.unpack_from("<I", body)
        if kind == 104:                                 # attach
            self.fids[fid] = ROOT
            return qid(ROOT)
        if kind == 110:                                 # walk
            return self.walk(body)
        if kind == 24:                                  # getattr
            return attributes(self.fids[fid], os.path.getsize(self.path))
        if kind == 12:                                  # lopen
            return qid(self.fids[fid]) + bytes(4)
        if kind == 116:                                 # read
            _, offset, count = struct.unpack_from("<IQI", body)
            with open(self.path, "rb") as file:
                file.seek(offset)
                data = file.read(count)
            return struct.pack("<I", len(data)) + data
        if kind == 120:                                 # clunk
            self.fids.pop(fid, None)
            return b""
        return None

    def walk(self, body):
        fid, new, nr = struct.unpack_from("<IIH", body)
        if nr == 0:
            self.fids[new] = self.fids[fid]
            return struct.pack("<H", 0)
        size, = struct.unpack_from("<H", body, 10)
        if nr != 1 or self.fids[fid] != ROOT or body[12:12 + size] != b"lib.so":
            return 2                                    # ENOENT
        self.fids[new] = FILE
        return struct.pack("<H", 1) + qid(FILE)


def serve_9p(name, folder):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen()
    line, _ = listener.accept()
    stream, server = line.makefile("rb"), Server(f"{folder}/lib.so")
    while head := stream.read(7):
        size, kind, tag = struct.unpack("<IBH", head)
        answer = server.answer(kind, stream.read(size - 7))
        if answer is None:
            answer = 95                                 # EOPNOTSUPP
        if isinstance(answer, int):
            kind, answer = 6, struct.pack("<I", answer)
        line.sendall(struct.pack("<IBH", 7 + len(answer), kind + 1, tag) + answer)
    return 0


if __name__ == "__main__":
    sys.exit({"btrfs": btrfs, "9p": serve_9p}[sys.argv[1]](*sys.argv[2:]))
