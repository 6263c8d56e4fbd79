# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of sframectl, and its colours."""

import os
import re
import subprocess
from pathlib import Path

from cli import VERSION, run
from stats import STATS


COMMANDS = "status doctor why stats check load serve tables convert dump report".split()


def words_of_commands(cli):
    for command in ([], *([command] for command in COMMANDS)):
        cli(f"help {command}", *command, "--help", out=r"^Usage: sframectl")
    cli("other command", "unwind", status=2, err="unwind: no such command")
    for command in COMMANDS:
        cli(f"{command} bad option", command, "--what", status=2, err="--help")
    cli("dump nothing", "dump", status=2, err="dump: give one FILE$")
    cli("dump two", "dump", "a", "b", status=2, err="dump: give one FILE$")
    cli("check nothing", "check", status=2, err="check: give a FILE or -p PID$")
    cli("dump --stats", "dump", "--stats", "a", "b", status=2, err="no --stats")
    for seconds in "0", "x", "3601", "-1":
        cli(f"load --within {seconds}", "load", "--all", "--within", seconds, status=2,
            err="load: --within takes SECONDS from 1 to 3600$")
        cli(f"why -d {seconds}", "why", "-d", seconds, status=2, err="why: -d takes SECONDS from 1 to 3600$")
    cli("load nothing", "load", status=2, err="load: give a FILE, -p PID or --all$")
    cli("why of two processes", "why", "-p", "100,200", status=2, err="why: -p takes one process, by its PID$")
    for command in ("load", "serve"):
        cli(f"{command} --json", command, "--json", status=2, err=f"{command}: takes no --json")
    cli("serve FILE", "serve", "/bin/sh", status=2, err="serve: /bin/sh: no directory; type: sframectl load FILE$")
    cli("serve from two places", "serve", "--store", "/tmp", "/usr", status=2,
        err="serve: takes --store DIR, or DIRs with programs, not both$")
    cli("convert to two places", "convert", "-o", "a", "--store", "b", "c", status=2, err="convert: takes -o DIR or --store DIR, not both$")
    cli("doctor FILE", "doctor", "a", status=2, err="doctor: a: takes no argument$")
    cli("version", "--version", out=rf"\Asframectl {re.escape(VERSION)}\n\Z")
    cli("--json before the command", "--json", "check", "/bin/sh",
        as_json=lambda value: value["objects"][0]["file"] == "/bin/sh")
    cli("--stats before the command", "--stats", "/missing", "stats", status=1,
        err="/missing: No such file")
    cli("--json without a command", "--json", status=2, err="status: takes no --json; the counters are now: sframectl stats$")
    cli("other option before the command", "--stats", "a", "check", "b", status=2,
        err="check: takes no --stats")
    cli("bad option before the command", "--what", "check", "b", status=2, err="--what: no such")
    cli("bad option with good ones", "check", "--what", "--json", "/bin/sh", status=2, out=r"\A\Z",
        err="--what: no such option")
    cli("option without its value", "stats", "--stats", status=2, err="--stats: takes a value")
    for option in "-d", "-i", "-o", "-p":
        cli(f"{option} without its value", "why", option, status=2, err=f"^sframectl: {option}: takes a value$")
    cli("option with a value too many", "check", "--json=1", "b", status=2, err="takes no value")


def numbers(cli):
    """A number is what its option says, and else the name of a file."""
    for command in "load", "check":
        cli(f"{command} 4194305", command, "4194305", status=1, out="",
            err="4194305: No such file or directory; if it is a process, type: -p 4194305$|the module is not loaded")
        for pids in "x", "12x", "-1", "1,x", "0x10":
            cli(f"{command} -p {pids}", command, "-p", pids, status=2, err="no PID: -p takes digits, such as -p 1234 or -p 1234,5678$")
        cli(f"{command} -p of no process", command, "-p", "", status=2, err="-p takes a PID, and got none: no such process runs$")
    cli("check -p of several", "check", "--json", "-p", f"4194305,4194306 {os.getpid()}\n", "--pid", "4194307", status=1, err="4194306: no such process",
        as_json=lambda value: [entry["pid"] for entry in value["processes"]] == [4194305, 4194306, os.getpid(), 4194307])
    (cli.tmp / "123").write_text("no ELF file")
    ran = subprocess.run([cli.program, "check", "123"], cwd=cli.tmp, capture_output=True, text=True, check=False)
    cli.end("check of a file whose name is a number", [] if "123" in ran.stderr and "process 123" not in ran.stderr else [str(ran)])
    for words in (["5"], ["1234", "30"], ["--", "-1"]):
        cli(f"why {words}", "why", *words, status=2, err="why: .*: give a process by -p PID, a time by -d SECONDS$")


def renamed(cli):
    """What the first version had says what it is now."""
    for words, now in ((["serve", "--from", "/tmp"], "serve --store DIR"), (["serve", "--from=/tmp"], "serve --store DIR"), (["tables", "--drop"], "sframectl tables drop"),
                       (["convert", "--by-content", "-o", "/tmp", "a"], "convert --store DIR")):
        cli(f"{words[0]} {words[1]}", *words, status=2, err=f"^sframectl: {words[1].split('=')[0]}: no such option any more; type: {now}$")
    cli("why -a", "why", "-a", "5", status=2, err="why: takes no --all$")


def without_module(cli):
    if Path("/dev/sframe_unwind").exists():
        cli.tap.skip("commands without the module", "the module is loaded")
        return
    for command in (["load", "/bin/sh"], ["load", "--all", "/bin/sh"], ["serve"], ["tables"], ["tables", "drop"]):
        cli(f"{command} without the module", *command, status=1,
            err="/dev/sframe_unwind: the module is not loaded; type: (sudo )?modprobe sframe_unwind")
    for words in ([], ["-d", "5"], ["-v"], ["--json", "-d", "61"], ["-p", "61"], ["-p", "61", "-d", "5"]):
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
    for command in (["stats", "--stats", stats], ["check", cli.good]):
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
    numbers(cli)
    renamed(cli)
    without_module(cli)
    colors(cli)
