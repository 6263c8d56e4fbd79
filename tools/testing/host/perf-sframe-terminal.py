#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""perf-sframe-terminal.py - record in a terminal: Ctrl-Z, fg and Ctrl-C reach the wrapper and perf, as if it were one"""
import os
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


def await_foreground():
    """Wait until the shell has given the terminal to a command: before, Ctrl-C would reach the shell."""
    while os.tcgetpgrp(terminal) == pid:
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
type_in(b"perf record --call-graph=sframe x\n")
expect(b"started")
type_in(b"\x1a")
expect(b"Stopped")
expect(b"ready> ")
type_in(b"fg\n")
expect(b"perf record")
await_foreground()
# perf has continued, or it would not see this.
type_in(b"\x03")
expect(b"interrupted")
expect(b"ready> ")
if b"interrupted" in seen:
    sys.exit("interrupted twice")
type_in(b"echo status=$?\n")
expect(b"status=7")
if settings != terminal_settings():
    sys.exit("the terminal's settings have changed")
type_in(b"exit\n")
