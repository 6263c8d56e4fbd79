# SPDX-License-Identifier: GPL-2.0-or-later
"""Making things once: directories that are named after what they were made of.

A part is the directory NOUN.KEY, where KEY is a hash of its inputs. Other inputs give another name. A part is made
under a lock in a temporary directory and then renamed: no interrupted or concurrent run ever sees half of a part. The
directory with the old name is removed when no run uses it any more.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from contextlib import contextmanager

from .host import Failed, prepare, say

UNUSED_AFTER = 3600  # seconds
FULL = 64 << 20  # bytes: with fewer of them free, a disk counts as full


class NotMade(Failed):
    """A part could not be made; what went wrong has been printed."""


def remove(path):
    """Remove a directory, but nothing that is mounted in it."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(path)], check=True)


def reason(error):
    """Return what went wrong. A command has printed more itself."""
    if isinstance(error, subprocess.CalledProcessError):
        return f"{' '.join(str(word) for word in error.cmd)[:200]}: status {error.returncode}"
    return error


class Cache:
    """The parts in the directory `place`, and their locks in `place`/lock."""

    def __init__(self, place):
        self.place = place

    def path(self, noun, key):
        digest = hashlib.sha256(f"{key}\n".encode()).hexdigest()
        return self.place / f"{noun}.{digest[:12]}"

    def made(self, noun, key, make):
        """Return the path of the part. If it is missing, make(path) fills a directory first."""
        path = self.path(noun, key)
        if not path.exists():
            prepare()
            with self.lock(noun):
                if not path.exists():
                    self._make(noun, path, make)
        return path

    def _make(self, noun, path, make):
        half, began = self.place / f"tmp.{noun}", time.monotonic()
        remove(half)
        try:
            half.mkdir()
            make(half)
            os.utime(half)
            half.rename(path)
            say(f"made {noun} in {time.monotonic() - began:.0f} s")
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            say(reason(error))
            self._explain_full_disk(error)
            remove(half)
            raise NotMade(f"making {noun} failed, see above") from error
        for old in self.place.glob(f"{noun}.????????????"):
            if old != path:
                self._remove_unused(old)

    def _explain_full_disk(self, error):
        """Say so if the disk is full. A command that failed has printed its reason, which may be another one."""
        is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if is_full or shutil.disk_usage(self.place).free < FULL:
            say(f"the disk of {self.place} is full: make room there and run this again. What has been made stays")

    @contextmanager
    def lock(self, name):
        """Hold the lock of that name: one process at a time."""
        with self._lock_file(name) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.set_inheritable(file.fileno(), True)
            yield

    def keep(self, path):
        """Open the part for a long use: it is not removed while the returned file, or a copy in a child, is open."""
        file = self._lock_file(path.name)
        os.set_inheritable(file.fileno(), True)
        fcntl.flock(file, fcntl.LOCK_SH)
        return file

    def _lock_file(self, name):
        folder = self.place / "lock"
        folder.mkdir(parents=True, exist_ok=True)
        return open(folder / name, "a", encoding="ascii")

    def _remove_unused(self, path):
        """Remove the part if it is older than an hour and nobody keeps it. A short use keeps nothing, and ends within
        the hour."""
        try:
            if time.time() - path.stat().st_mtime < UNUSED_AFTER:
                return
            with self._lock_file(path.name) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
        except (BlockingIOError, FileNotFoundError):
            pass
