#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""perf-sframe-terminal.py COMMAND... - record in a terminal: Ctrl-Z, fg and Ctrl-C reach all that runs, as if it were one

COMMAND writes "started" and, some time after Ctrl-C, "interrupted"; then it ends with 7, or by SIGINT."""
import os
import re
import select
import sys
import time

seen = b""


def expect(text, seconds=15):
    """Read the terminal until TEXT has appeared in it; return what comes before."""
    global seen
    end = time.monotonic() + seconds
    while text not in seen:
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit(f"no {text!r} in {seen!r}")
        seen += os.read(terminal, 4096)
    before, _, seen = seen.partition(text)
    return before


def type_in(text):
    os.write(terminal, text)


def await_foreground(group):
    """Wait until that group has the terminal: before, Ctrl-C would reach another one."""
    while os.tcgetpgrp(terminal) != group:
        time.sleep(0.01)


def terminal_settings():
    """The settings while a command runs. At its prompt, the shell has others."""
    type_in(b"echo settings=$(stty -g)=end\n")
    expect(b"settings=")
    settings_seen = expect(b"=end")
    expect(b"ready> ")
    return settings_seen


pid, terminal = os.forkpty()
if not pid:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
type_in(b"PS1='ready''> '; stty -echo\n")
expect(b"ready> ")
settings = terminal_settings()
command = " ".join(sys.argv[1:]).encode()
type_in(command + b"\n")
expect(b"started")
leader = os.tcgetpgrp(terminal)
type_in(b"\x1a")
expect(b"Stopped")
expect(b"ready> ")
type_in(b"fg\n")
expect(command)
await_foreground(leader)
# perf has continued, or it would not see this.
type_in(b"\x03")
if b"ready> " in expect(b"interrupted"):
    sys.exit("the shell went on before the end of the recording")
expect(b"ready> ")
if b"interrupted" in seen:
    sys.exit("interrupted twice")
type_in(b"echo status=$?\n")
expect(b"status=")
if not re.fullmatch(rb"(7|130)\s*", expect(b"\n")):
    sys.exit("another status")
if settings != terminal_settings():
    sys.exit("the terminal's settings have changed")
type_in(b"exit\n")
