# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the stacks of a program.

A stack is complete if it ends in the first function of its program or thread and no frame is wrong. A frame is wrong if
libdw finds another one by call frame information in the same sample, if no call precedes it, or if the runtime's own list
of frames has another one. Neither the module nor its converter is asked.
"""

import collections
import re
import statistics
from datetime import date
from pathlib import Path

from stacks import FULL, Code

# What runtimes have in the place of _start. The last one is where an Erlang process returns to.
ROOTS = re.compile(r"_start|(__|runtime\.)?clone3?(\.abi0)?|runtime\.(goexit|mstart|rt0_go)\b.*|\$erts_beamasm:normal_exit/0")
# Go writes these return addresses itself, without a call.
UNCALLED = re.compile(r"runtime\.(goexit|systemstack_switch)\b.*")
# Fewer samples than this say nothing.
LEAST = 200
# A part of the mean depth, and so many standard errors: what two recordings of one program differ by.
NOISE, ERRORS = 0.02, 3
# With as many complete stacks, in percent, there is nothing for a user to do.
ENOUGH = 95

Frame = collections.namedtuple("Frame", "address offset file symbol")


class Stack:
    """A sample: the chain of the kernel, and the frames of libdw. @known of these are found without a guess."""

    def __init__(self, head):
        _, pid, _, self.end = head.split()
        self.pid, self.chain, self.libdw, self.known = int(pid), [], [], 0

    def add(self, line):
        whose, address, offset, rest = line.split(" ", 3)
        file, _, symbol = rest.rpartition(" ")
        frame = Frame(int(address, 16), int(offset, 16), file, symbol)
        (self.chain if whose == "k" else self.libdw).append(frame)
        self.known += whose == "d"


def read_stacks(path):
    found = []
    if path.exists():
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith("sample "):
                found.append(Stack(line))
            else:
                found[-1].add(line)
    return found


def read_map(path):
    """The symbols that a runtime has written for perf, by address: (start, end, name)."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(errors="replace").splitlines():
        words = line.split(maxsplit=2)
        if len(words) == 3:
            start = int(words[0], 16)
            found.append((start, start + int(words[1], 16), words[2]))
    return found


# Go's own rows follow the stack pointer in these functions, which change the stack: libdw's next frame is one that never called
# (systemstack_switch), or data.
CHANGE_STACK = {"runtime.cgocallback.abi0", "runtime.asmcgocall.abi0"}


class Way:
    """All samples of a program with the module off, or on."""

    def __init__(self, program, share, root, way):
        self.program, self.share, self.root = program, share, root
        self.files, self.wrongs = {}, collections.Counter()
        self.map = read_map(share / f"{program.name}.{way}.map")
        log = share / f"{program.name}.{way}.log"
        self.own = re.findall(r"(?m)^frame (.+)$", log.read_text(errors="replace")) if log.exists() else []
        stacks = read_stacks(share / f"{program.name}.{way}.stacks")
        self.nr = len(stacks)
        self.ends, self.examples = collections.Counter(), {}
        self.depths, self.complete, self.by_libdw, self.wrong, self.named = [], 0, 0, 0, 0
        for stack in stacks:
            self.judge(stack)
        self.depth = statistics.fmean(self.depths or [0])

    def judge(self, stack):
        right, problem = self.wrong_frame(stack)
        problem = problem or self.wrong_name(stack.chain)
        is_complete = not problem and (self.is_whole(stack.chain) or stack.end == "whole" and
                                       stack.known == len(stack.libdw) == len(stack.chain))
        self.depths.append(right)
        self.complete += is_complete
        self.by_libdw += self.is_whole(stack.libdw)
        self.wrong += bool(problem)
        if problem:
            self.wrongs[problem] += 1
        elif not is_complete and stack.chain:
            last = stack.chain[-1]
            self.ends[f"{Path(last.file).name} {self.symbol(last)}"] += 1

    def wrong_frame(self, stack):
        """Return how many frames are right before the first one that is wrong, and what is wrong."""
        chain, truth = stack.chain, stack.libdw[:stack.known]
        for nr, frame in enumerate(truth):
            if frame.symbol in CHANGE_STACK:
                truth = truth[:nr + 1]
                break
        interrupted = True
        for nr, frame in enumerate(chain):
            if nr < len(truth) and frame.address != truth[nr].address:
                return nr, f"{frame.symbol} instead of {truth[nr].symbol}"
            if stack.end == "whole" and nr == len(truth) == len(stack.libdw):
                return nr, f"{frame.symbol} after the outermost frame"
            if frame.file == "-":
                return nr, "no code"
            code = self.code(frame.file)
            stub = bool(code and code.is_sigreturn(frame.offset))
            if not (interrupted or stub or not code or UNCALLED.fullmatch(frame.symbol) or code.follows_call(frame.offset)):
                return nr, f"{frame.symbol} of {Path(frame.file).name} without a call"
            interrupted = stub
        return len(chain), ""

    def wrong_name(self, chain):
        """Compare with the runtime's own list, which is that of the program's innermost function. The outer part of the list
        may be missing: then the chain has ended early."""
        if not self.own:
            return ""
        if self.program.memory:
            # Without symbols, only their number is known. The list ends in a call of main(), and begins in a print.
            self.named += sum(bool(re.search(self.program.memory, frame.file)) for frame in chain) >= len(self.own) - 1
        if not self.program.symbol:
            return ""
        names = [match[1] for match in (re.fullmatch(self.program.symbol, self.symbol(frame)) for frame in chain) if match]
        names = [name for name in names if name in self.own]
        if not names or names[0] != self.own[0]:
            return ""
        if self.program.inlines:
            return self.wrong_order(names)
        self.named += names == self.own
        return "" if names == self.own[:len(names)] else f"the runtime has other frames: {' '.join(names[:30])}"

    def wrong_order(self, names):
        """Functions that were inlined have no frame: the others have to come in the order of the list."""
        rest = iter(self.own)
        if any(name not in rest for name in names):
            return f"the runtime has another order: {' '.join(names[:30])}"
        self.named += names[-1] == self.own[-1]
        return ""

    def symbol(self, frame):
        return frame.symbol if frame.symbol != "?" else self.name_of(frame.address)

    def name_of(self, address):
        return next((name for start, end, name in self.map if start <= address < end), "?")

    def is_whole(self, chain):
        if len(chain) >= FULL:
            return True
        if not chain:
            return False
        last = chain[-1]
        code = self.code(last.file)
        return bool(ROOTS.fullmatch(self.symbol(last))) or bool(code and code.is_start(last.offset))

    def code(self, name):
        """Return the file, or None for memory that is no file."""
        if name not in self.files:
            place = self.share / "programs" / name[5:] if name.startswith("/mnt/") else self.root / name[1:]
            if name == "[vdso]":
                place = self.share / "vdso.so"
            try:
                self.files[name] = Code(place)
            except (OSError, ValueError):
                self.files[name] = None
        return self.files[name]

    def variance(self):
        return statistics.variance(self.depths)

    def share_of(self, number):
        return 100 * number / max(self.nr, 1)


class Result:
    """What the recordings of a program show."""

    def __init__(self, program, share, root):
        self.program = program
        self.off, self.on = (Way(program, share, root, way) for way in ("off", "on"))
        # Stacks that the kernel follows by itself are to be as good with the module.
        self.goal = program.goal or self.off.share_of(self.off.complete)
        self.stops = stops(share / f"{program.name}.before", share / f"{program.name}.after")

    def row(self):
        off, on = self.off, self.on
        numbers = (off.depth, on.depth, off.share_of(off.complete), on.share_of(on.by_libdw), on.share_of(on.complete),
                   self.goal, off.share_of(off.wrong), on.share_of(on.wrong))
        has_names = self.program.symbol or self.program.memory
        return (self.program.name, str(on.nr), *(f"{number:.1f}" for number in numbers),
                f"{on.share_of(on.named):.1f}" if has_names else "-",
                ", ".join(f"{name} {nr}" for name, nr in self.stops.most_common(4)))

    def verdict(self):
        """Return the name of the case, and what is wrong."""
        program, off, on = self.program, self.off, self.on
        complete, problems = on.share_of(on.complete), []
        if min(off.nr, on.nr) < LEAST:
            problems.append(f"too few samples: {off.nr} with the module off, {on.nr} with it on")
        else:
            noise = NOISE * off.depth + ERRORS * ((off.variance() + on.variance()) / on.nr) ** 0.5
            if on.depth < off.depth - noise:
                problems.append(f"the mean depth falls with the module: {off.depth:.1f} to {on.depth:.1f}")
            if complete < program.reached:
                problems.append(f"{complete:.1f} % are complete; {program.reached:g} % were")
            problems += [f"{nr} stacks are wrong: {text}" for text, nr in on.wrongs.most_common(3)]
        goal = "" if complete >= self.goal else f", {self.goal - complete:.1f} below the goal"
        return f"{program.name}: {complete:.1f} % are complete{goal}", problems


def stops(before, after):
    """Return how often walks have ended for which reason, by the counters of the module."""
    counts = collections.Counter()
    for path, sign in ((before, -1), (after, 1)):
        for line in path.read_text().splitlines() if path.exists() else []:
            name, value = line.split()[:2]
            if name.startswith(("stop.", "declined.")) and value.isdigit():
                counts[name.removeprefix("stop.")] += sign * int(value)
    return +counts


def columns(rows, right):
    """The rows as lines. The columns of these numbers have their cells at the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.rjust(width) if nr in right else cell.ljust(width)
                        for nr, (cell, width) in enumerate(zip(row, widths))).rstrip()


def table(results):
    """The lines of the table."""
    head = ("program", "samples", "depth off", "on", "complete off", "dw", "on", "goal", "wrong off", "on", "own list",
            "walks ended")
    yield from columns([head, *(result.row() for result in results)], range(1, len(head) - 1))
    for result in results:
        for way in ("off", "on"):
            ends = getattr(result, way).ends.most_common(4)
            if ends:
                yield f"{result.program.name}, {way}, ends in: " + "; ".join(f"{name} {nr}" for name, nr in ends)


def page(results, kernel, known_versions):
    """The lines of the table in Documentation/runtimes.rst."""
    yield from (f"Linux {kernel}, {date.today()}::", "")
    rows = [("program", "version", "fp", "dwarf", "sframe", "wrong", "what to do")]
    for result in results:
        program, off, on = result.program, result.off, result.on
        shares = [off.share_of(off.complete), on.share_of(on.by_libdw), on.share_of(on.complete), on.share_of(on.wrong)]
        advice = "" if shares[2] >= ENOUGH else program.advice.replace("``", "") or "nothing is known"
        rows.append((program.name, known_versions.get(program.version, "?"), *(f"{share:.1f}" for share in shares), advice))
    yield from (f"    {line}" for line in columns(rows, range(2, 6)))


def versions(root):
    """The versions of the packages that are installed in a root, without what Debian adds."""
    status = (root / "var/lib/dpkg/status").read_text(errors="replace")
    found = re.findall(r"^Package: (\S+)$.*?^Version: (?:\d+:)?(\S+?)(?:[-+~]\S*)?$", status, re.M | re.S)
    return dict(found)
