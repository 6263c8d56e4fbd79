# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of sframectl, and its colours."""

import os
import re
import subprocess
from pathlib import Path

from cli import VERSION, run
from status import STATS


def words_of_commands(cli):
    for command in ([], ["dump"], ["check"], ["status"], ["why"], ["load"], ["serve"], ["tables"]):
        cli(f"help {command}", *command, "--help", out=r"^Usage: sframectl")
    cli("no command", status=2, err="no command given\nTry 'sframectl --help'\\.$")
    cli("other command", "unwind", status=2, err="unwind: no such command")
    for command in ("dump", "check", "status", "why", "load", "serve", "tables"):
        cli(f"{command} bad option", command, "--what", status=2, err="--help")
    cli("dump nothing", "dump", status=2, err="dump: give one FILE$")
    cli("dump two", "dump", "a", "b", status=2, err="dump: give one FILE$")
    cli("check nothing", "check", status=2, err="check: give a FILE or a PID$")
    cli("dump --stats", "dump", "--stats", "a", "b", status=2, err="no --stats")
    for seconds in "0", "x", "3601", "-1":
        cli(f"load --within {seconds}", "load", "--all", "--within", seconds, status=2,
            err="load: --within takes SECONDS from 1 to 3600$")
    cli("load nothing", "load", status=2, err="load needs --all, a PID or a FILE$")
    for words in (["0"], ["1x"], ["5", "6", "7"], ["-a", "100", "5"], ["3601", "3601"], ["--", "-1"]):
        cli(f"why {words}", "why", *words, status=2, err="why: takes -a or a PID, and SECONDS from 1 to 3600")
    for command in ("load", "serve"):
        cli(f"{command} --json", command, "--json", status=2, err=f"{command}: takes no --json")
    cli("serve FILE", "serve", "a", status=2, err="serve takes no FILE; try: sframectl load$")
    cli("tables FILE", "tables", "a", status=2, err="tables takes no FILE: it lists all tables, or drops all$")
    cli("version", "--version", out=rf"\Asframectl {re.escape(VERSION)}\n\Z")
    cli("--json before the command", "--json", "check", "/bin/sh",
        as_json=lambda value: value["objects"][0]["file"] == "/bin/sh")
    cli("--stats before the command", "--stats", "/missing", "status", status=1,
        err="/missing: No such file")
    cli("other option before the command", "--stats", "a", "check", "b", status=2,
        err="check: takes no --stats")
    cli("bad option before the command", "--what", "check", "b", status=2, err="--what: no such")
    cli("bad option with good ones", "check", "--what", "--json", "/bin/sh", status=2, out=r"\A\Z",
        err="--what: no such option")
    cli("option without its value", "status", "--stats", status=2, err="--stats: takes a value")
    cli("option with a value too many", "check", "--json=1", "b", status=2, err="takes no value")


def without_module(cli):
    if Path("/dev/sframe_unwind").exists():
        cli.tap.skip("commands without the module", "the module is loaded")
        return
    for command in (["load", "/bin/sh"], ["load", "--all", "/bin/sh"], ["serve"], ["tables"], ["tables", "--drop"]):
        cli(f"{command} without the module", *command, status=1,
            err="/dev/sframe_unwind: the module is not loaded; type: (sudo )?modprobe sframe_unwind")
    for words in ([], ["5"], ["-a"], ["--all", "61"], ["--json", "61"], ["61", "5"]):
        cli(f"why {words} without the module", "why", *words, status=1,
            err="the module is not loaded; type: (sudo )?modprobe sframe_unwind")


def on_terminal(*command, **environment):
    """Runs a command on a terminal. Returns what it writes there."""
    ours, theirs = os.openpty()
    subprocess.run([str(word) for word in command], stdin=theirs, stdout=theirs, check=False,
                   env=os.environ | {"TERM": "xterm"} | environment)
    os.close(theirs)
    written = b""
    with open(ours, "rb", buffering=0) as terminal:
        try:
            while part := terminal.read(4096):
                written += part
        # The end of a terminal is an error.
        except OSError:
            pass
    return written.decode()


def colors(cli):
    """Colours are for a terminal, and for a reader who wants them."""
    stats = cli.tmp / "stats"
    stats.write_text(STATS)
    for command in (["status", "--stats", stats], ["check", cli.good]):
        plain = run(cli.program, *command).stdout
        text = on_terminal(cli.program, *command)
        cli.end(f"{command[0]} on a terminal", [] if "\033[32m" in text else [f"no colour: {text!r}"])
        cli.end(f"{command[0]}: colours only are different",
                [] if re.sub(r"\033\[\d*m|\r", "", text) == plain else [f"{text!r}, not {plain!r}"])
        for what, environment in (("NO_COLOR", {"NO_COLOR": "1"}), ("TERM=dumb", {"TERM": "dumb"})):
            text = on_terminal(cli.program, *command, **environment)
            cli.end(f"{command[0]} with {what}", ["coloured"] if "\033" in text else [])
        cli.end(f"{command[0]} in a pipe", ["coloured"] if "\033" in plain else [])


def tests(cli):
    words_of_commands(cli)
    without_module(cli)
    colors(cli)
