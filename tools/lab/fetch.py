# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that fetch from the archive. A command that stands still is ended: apt itself waits for ever if the archive
sends a byte now and then."""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .host import say

LOOKS_EVERY = 300  # seconds
# A command that uses less than this, and writes less than this, between two looks stands still.
LITTLE_WORK = 1.0  # seconds of a processor
LITTLE_DATA = 1 << 20  # bytes

PARENT, USER_TIME, CHILDREN_SYSTEM_TIME = 1, 11, 14  # in /proc/PID/stat, after the name


class Progress(NamedTuple):
    """What a process and its descendants have done."""

    pids: frozenset
    work: float  # seconds of a processor, with those of descendants that have ended
    data: int  # bytes written

    def is_still_at(self, earlier):
        return (self.pids == earlier.pids and self.work - earlier.work < LITTLE_WORK
                and self.data - earlier.data < LITTLE_DATA)


def fetch(*command, cwd=None, stdin="", env=None):
    """Run a command and return whether it succeeded. Its output goes to stderr; stdin is a text. It inherits the locks of
    cache.py, like those that host.run() starts."""
    with tempfile.TemporaryFile("w+") as file:
        file.write(stdin)
        file.seek(0)
        with subprocess.Popen([str(word) for word in command], cwd=cwd, env=env, stdout=sys.stderr, stderr=sys.stderr,
                              stdin=file, close_fds=False) as process:
            try:
                return _wait(process) == 0
            except BaseException:
                _end(process)
                raise


def _wait(process):
    """Return the status of the process once it ends, or stands still and is ended."""
    progress = _progress(process.pid)
    while True:
        try:
            return process.wait(LOOKS_EVERY)
        except subprocess.TimeoutExpired:
            earlier, progress = progress, _progress(process.pid)
        name = " ".join(process.args[:2])
        if progress.is_still_at(earlier):
            say(f"{name} stands still: the archive has sent next to nothing for {LOOKS_EVERY} seconds. Ending it")
            _end(process)
            process.wait()
            return 1  # its own status may be 0 if its children end before it
        say(f"{name} is still at work: {progress.data >> 20} MiB written so far")


def _end(process):
    for pid in _progress(process.pid).pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _progress(root):
    """Return the progress of the process and its descendants. A process that has just ended has none."""
    fields, children = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(folder.name)
        fields[pid] = words
        children.setdefault(int(words[PARENT]), []).append(pid)
    pids = [root] if root in fields else []
    for pid in pids:  # grows
        pids += children.get(pid, [])
    ticks = sum(int(word) for pid in pids for word in fields[pid][USER_TIME:CHILDREN_SYSTEM_TIME + 1])
    return Progress(frozenset(pids), ticks / os.sysconf("SC_CLK_TCK"), sum(_written_by(pid) for pid in pids))


def _written_by(pid):
    """Return how many bytes the process has written, to files or elsewhere."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))
