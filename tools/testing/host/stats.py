# SPDX-License-Identifier: GPL-2.0-or-later
"""sframectl stats, with counters that a file has."""

import json
import re
import subprocess
from decimal import Decimal
from pathlib import Path
from random import Random

import meanings
from cli import IS_ROOT, TOP, UNSHARE, VERSION, can_unshare, run

STATS = """walks 123
stop.complete 100
stop.nodata 23
frames.sframe 999
frames.fp 1
declined.kthread 5
surprise 7
map.bytes 18446744073709551615
stop.late 0
"""

STATS_TABLE = """walks                               123
stop.complete                       100
stop.nodata                          23
frames.sframe                       999
frames.fp                             1
declined.kthread                      5
surprise                              7
map.bytes                18446744073709551615
stop.late                             0
"""

# This module is an older one: it does not count where the stacks ended.
STATS_SUMMARY = """stacks since the module was loaded: 123
  81.3 %  complete
          81.3 %  complete: the outermost frame was reached
  18.7 %  ended early
          18.7 %  nodata: no table or .sframe covers it, no frame pointer leads
                  on
                  `sframectl why` names the objects while they run, and says for
                  each what to do.
callers found by: SFrame 99.9 %, frame pointer 0.1 %
stacks left to the kernel's own code
               5  kthread: kernel threads, which have no user stack
counters that this sframectl does not know
               7  surprise
"""

HEALTHY = """walks 10001
stop.complete 50
stop.start 9500
stop.full 250
stop.nodata 150
stop.unscanned 49
stop.bad-ra 2
stop.exec 0
first.complete 0
first.nodata 100
first.unscanned 49
first.bad-ra 0
depth.complete 400
depth.start 95000
depth.full 31750
depth.nodata 600
depth.unscanned 49
depth.bad-ra 20
frames.sframe 116700
frames.fp 1170
frames.signal 7
cache.hits 117000
declined.kthread 3
declined.no-section 400
defect.fde-order 2
defect.magic 0
section.bad 1
scan.runs 12
map.bytes 12345
"""

HEALTHY_SUMMARY = """stacks since the module was loaded: 10001
  95.5 %  complete, 10.0 frames on average
          95.0 %  start: the program's or thread's first function was reached
           0.5 %  rare: complete 50
   3.0 %  ended on the way, 106.9 frames on average
           2.5 %  full: perf has no room for more frames
                  For more: sysctl kernel.perf_event_max_stack=512, while no
                  perf runs.
           0.5 %  nodata: no table or .sframe covers it, no frame pointer leads
                  on
                  `sframectl why` names the objects while they run, and says for
                  each what to do.
          <0.1 %  rare: bad-ra 2
   1.5 %  ended in the first frame
           1.0 %  nodata
           0.5 %  rare: unscanned 49
callers found by: SFrame 99.0 %, frame pointer 1.0 %, signal frame <0.1 %
stacks left to the kernel's own code
             400  no-section: processes without any table or .sframe
                  `sframectl load --all` loads tables of what runs; `sframectl
                  why` names what has none.
               3  kthread: kernel threads, which have no user stack
defects of .sframe; `sframectl check -p PID` names the objects
               2  fde-order: FDEs are marked sorted but are not
               1  bad: sections that contradict themselves and are not used any
                  more
"""

# Values that no module has.
HOSTILE = f"""walks 0
stop.complete {2**64 - 1}
stop.nodata {2**64 - 1}
stop.budget 5
stop. 6
first.nodata 7
first.budget 9
first {2**64 - 1}
depth.complete {2**64 - 1}
depth.nodata 3
frames. {2**64 - 1}
frames.sframe {2**64 - 1}
declined.{"x" * 54} {2**64 - 1}
defect.none {2**64 - 1}
. 1
"""


def module_names():
    """Returns the names of the counters in the module's tables, as "stop.complete"."""
    groups = {"stop": "stop", "method": "frames", "decline": "declined"}
    source = (TOP / "sframe_names.c").read_text()
    names = []
    for table, group in groups.items():
        body = re.search(rf"sfu_{table}_names\[\] = {{(.*?)}}", source, re.S)[1]
        names += [f"{group}.{name}" for name in re.findall('= "(.+)"', body)]
    return [name for name in names if name != "stop.none"]


def explained(cli, stats):
    """Each counter of the module's tables is explained."""
    names = module_names()
    cli.enough("counters in the module's tables", len(names), 22)
    meanings.tests(cli, stats, names)


def shares(cli, stats):
    """Shares of parts have the sum 100.0 %, and those of reasons the share of their part."""
    random = Random(1)
    names = ["start", "complete", "nodata", "exec", "bad-ra", "budget"]
    errors = []
    for _ in range(50):
        stops = {name: random.randrange(1000) for name in names}
        stats.write_text("".join(
            f"stop.{name} {count}\nfirst.{name} {random.randrange(count + 1)}\n"
            for name, count in stops.items()))
        text = run(cli.program, "stats", "--all", "--stats", stats).stdout
        text = text.split("\n\n")[0]
        parts = [Decimal(part) for part in re.findall(r"^ {0,5}([\d.]+) %", text, re.M)]
        reasons = [Decimal(part) for part in re.findall(r"^ {10,}([\d.]+) %", text, re.M)]
        if "<" not in text and not sum(parts) == sum(reasons) == 100:
            errors.append(f"{stops}: {sum(parts)}, {sum(reasons)}")
    cli.end("stats shares add up", errors)


def summary(cli, stats):
    stats.write_text(HEALTHY)
    cli("stats healthy", "stats", "--stats", stats,
        out=rf"\A{re.escape(HEALTHY_SUMMARY)}\Z")
    cli("stats --all healthy", "stats", "--all", "--stats", stats,
        out=r"^ {10}<0.1 %  bad-ra: .*\n.* {18}The data is wrong")
    stats.write_text("walks 0\nstop.complete 0\nfirst.complete 0\n")
    cli("stats nothing taken", "stats", "--stats", stats,
        out=r"loaded: 0\nNo stack .*; type: perf record -g \./app\n\Z")
    stats.write_text("walks 0\ndeclined.disabled 1\n")
    cli("stats all left", "stats", "--stats", stats,
        out=r"loaded: 0\nstacks left .*\n +1  disabled: .*\n +Nothing to do if it is on. Else: echo Y >\n +/sys/")
    stats.write_text("stop.new 3\nfirst.new 1\ndepth.new 6\n")
    cli("stats new reason", "stats", "--stats", stats,
        out=r"^  66\.7 %  ended on the way, 2\.5 frames on average\n +66\.7 %  new\n"
        r"  33\.3 %  ended in the first frame\n +33\.3 %  new\n\Z")
    stats.write_text(HOSTILE)
    for option in ([], ["--all"], ["--json"]):
        cli(f"stats hostile {option}", "stats", *option, "--stats", stats,
            out="[0-9]")


def write_at_once(path, text):
    """A reader finds the old text or the new one."""
    path.with_name("new").write_text(text)
    path.with_name("new").replace(path)


class Intervals:
    """Runs "sframectl stats -i 1" on a file, and reads its lines."""

    def __init__(self, cli, stats, *options):
        self.process = subprocess.Popen(
            [cli.program, "stats", "--stats", stats, *options, "-i", "1"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def next_line(self, unwanted="$^"):
        """Returns the next line. The host may be slow: lines of an idle interval are unwanted."""
        for line in self.process.stdout:
            if not re.search(unwanted, line):
                return line
        return ""

    def end(self):
        """Returns what remains: status, standard output and standard error."""
        out, err = self.process.communicate()
        return self.process.returncode, out, err


BEFORE = "walks 9\nstop.start 5\nstop.nodata 4\nfirst.nodata 4\nframes.sframe 9\nmap.bytes 8\n"
AFTER = ("walks 19\nstop.start 12\nstop.nodata 7\nfirst.nodata 6\nframes.sframe 19\n"
         "map.bytes 6\ndeclined.kthread 3\n")
TITLES = "      STACKS COMPLETE   ON-WAY    FIRST   SFRAME     LEFT  ENDED-BY\n"
ROW = "          10   70.0 %   10.0 %   20.0 %  100.0 %        3  nodata\n"
ROW_AGAIN = "           9   55.6 %    0.0 %   44.4 %  100.0 %        0  nodata\n"
DIFFERENCE = {"walks": 10, "stop.start": 7, "stop.nodata": 3, "first.nodata": 2,
              "frames.sframe": 10, "map.bytes": 6, "declined.kthread": 3}


def rows(cli, stats):
    write_at_once(stats, BEFORE)
    ran = Intervals(cli, stats)
    got = [ran.next_line()]
    write_at_once(stats, AFTER)
    got.append(ran.next_line("^ +0 "))
    write_at_once(stats, BEFORE)
    got.append(ran.next_line("^ +0 "))
    stats.unlink()
    status, out, err = ran.end()
    errors = [f"{line!r}, not {want!r}"
              for line, want in zip(got, (TITLES, ROW, ROW_AGAIN)) if line != want]
    if status != 1 or not re.search("the module was loaded again; these numbers count from then.*\n.*No such file", err):
        errors.append(f"status {status}: {out!r} {err!r}")
    cli.end("stats 1", errors)


def json_lines(cli, stats):
    write_at_once(stats, BEFORE)
    ran = Intervals(cli, stats, "--json")
    idle = json.loads(ran.next_line())["counters"]
    write_at_once(stats, AFTER)
    line = ran.next_line('"walks": 0')
    ran.process.terminate()
    ran.end()
    errors = [] if not any(idle[name] for name in idle if name != "map.bytes") else [str(idle)]
    if json.loads(line)["counters"] != DIFFERENCE:
        errors.append(line)
    cli.end("stats --json 1", errors)


def interval(cli, stats):
    for text in ("0", "x", "1.5", "1s", "", " 1", "86401", "9" * 30):
        cli(f"stats interval {text!r}", "stats", "-i", text, status=2,
            err="stats: -i takes SECONDS from 1 to 86400$")
    cli("stats 5", "stats", "5", status=2, err="stats: 5: give an interval by -i SECONDS$")
    cli("stats --json --all", "stats", "--json", "--all", status=2, err="stats: --json has all counters; omit --all$")
    rows(cli, stats)
    json_lines(cli, stats)
    stats.write_text(BEFORE)
    with open("/dev/full", "w", encoding="ascii") as full:
        ran = subprocess.run([cli.program, "stats", "--stats", stats, "-i", "1"], text=True,
                             stdout=full, stderr=subprocess.PIPE)
    cli.end("stats 1, full disk", []
                if ran.returncode == 1 and "standard output: cannot write" in ran.stderr else [str(ran)])


# Mount namespaces show files of a module that is not there.
NAMESPACE = """
    mount -t tmpfs none /sys/module
    mkdir -p /sys/module/sframe_unwind/parameters
    echo "$3" >/sys/module/sframe_unwind/parameters/enabled
    echo "$4" >/sys/module/sframe_unwind/version
"""
LOADED = """
    mount -t tmpfs none /sys/kernel
    mkdir -p /sys/kernel/debug/sframe_unwind
    cp "$2" /sys/kernel/debug/sframe_unwind/stats
"""
NO_DEBUGFS = "mount -t tmpfs none /sys/kernel; mkdir /sys/kernel/debug"
# The files of the module vanish before the module does.
UNLOADING = "mount -t debugfs none /sys/kernel/debug"


def module(cli, stats):
    if not can_unshare():
        cli.tap.skip("stats with the files of a module", "no mount namespaces for a user")
        return
    stats.write_text(BEFORE)
    switched_off = "the module is switched off, and takes no stack; type: echo Y > /sys/module/sframe_unwind/parameters/enabled$"
    for name, script, enabled, version, status, out, err in (
            ("switched on", LOADED, "Y", VERSION, 0, "^stacks since", None),
            ("switched off", LOADED, "N", VERSION, 0, "^stacks since", switched_off),
            ("without debugfs", NO_DEBUGFS, "Y", VERSION, 1, "", "debugfs is not mounted; type: mount"),
            ("while unloading", UNLOADING, "Y", VERSION, 1, "", "not loaded; type: modprobe")):
        if script == UNLOADING and not IS_ROOT:
            cli.tap.skip(f"sframectl stats {name}", "not root, who alone may mount debugfs")
            continue
        ran = run(*UNSHARE, "sh", "-ec", f'{NAMESPACE}{script}\nexec "$1" stats', "sh",
                  cli.program, stats, enabled, version)
        cli.judge(f"stats {name}", ran, status, out, err)


LAST = """
    mount -t tmpfs none /run
    for when in before after; do [ ! -e "$2-$when" ] || cp "$2-$when" "/run/sframe_unwind.$when"; done
"""


def last(cli, stats):
    """What the wrapper of perf has kept of root's last recording."""
    if not can_unshare():
        cli.tap.skip("stats --last", "no mount namespaces for a user")
        return
    title = "stacks on this machine during root's last recording: "
    again = "the module was loaded again; these numbers count from then$"
    for name, before, after, now, status, out, err in (
            ("", 5, 7, 9, 0, rf"\A{title}2\n 100.0 %  complete\n", None),
            ("meanwhile", 5, None, 9, 0, rf"\A{title}4\n", None),
            ("module loaded again", 5, 3, 9, 0, rf"\A{title}3\n", again),
            ("no recording", None, None, 9, 1, r"\A\Z",
             "root has recorded nothing by perf sframe yet$")):
        for kept, value in (("-before", before), ("-after", after), ("", now)):
            path = Path(f"{stats}{kept}")
            path.unlink(missing_ok=True)
            if value is not None:
                path.write_text(f"walks {value}\nstop.complete {value}\n")
        ran = run(*UNSHARE, "sh", "-ec", f'{NAMESPACE}{LOADED}{LAST}\nexec "$1" stats --last', "sh",
                  cli.program, stats, "Y", VERSION)
        cli.judge(f"stats --last {name}", ran, status, out, err)
    for words in (["--stats", stats], ["-i", "5"]):
        cli(f"stats --last {words[0]}", "stats", "--last", *words, status=2,
            err="stats: --last takes neither --stats nor an interval")


def limits(cli, stats):
    """A file that is not the module's costs little, and gives no JSON with a key twice."""
    stats.write_text("walks 1\nstop.full 2\nwalks 3\n")
    for json_option in ([], ["--json"]):
        cli(f"stats same name twice {json_option}", "stats", *json_option, "--stats",
            stats, status=1, out=r"\A\Z", err="line 3: has a name that an earlier line")
    longest = "".join(f"{number:063} 18446744073709551615\n" for number in range(256))
    stats.write_text(longest)
    cli("stats 256 counters", "stats", "--json", "--stats", stats,
        as_json=lambda status: len(status["counters"]) == 256)
    stats.write_text(f"{longest}last 1")
    cli("stats 257 counters", "stats", "--stats", stats, status=1,
        err="line 257: is one more than sframectl reads")
    stats.write_text("walks 1")
    cli("stats no newline", "stats", "--json", "--stats", stats,
        as_json=lambda status: status["counters"] == {"walks": 1})
    cli("stats nothing", "stats", "--stats", "/dev/null", status=1,
        err="/dev/null: has no counters")
    cli("stats without end", "stats", "--stats", "/dev/zero", status=1,
        err="/dev/zero: line 1: is not a name and a number")
    cli("stats directory", "stats", "--stats", stats.parent, status=1,
        err="Is a directory")


def tests(cli):
    tmp = cli.tmp
    stats = tmp / "stats"
    stats.write_text(STATS)
    cli("stats", "stats", "--stats", stats, out=rf"\A{re.escape(STATS_SUMMARY)}\Z")
    cli("stats --all", "stats", "--all", "--stats", stats,
        out=rf"\A{re.escape(STATS_SUMMARY)}\n{re.escape(STATS_TABLE)}\Z")
    cli("stats --json", "stats", "--json", "--stats", stats,
        as_json=lambda status: status["counters"]["stop.nodata"] == 23 and
        status["counters"]["map.bytes"] == 2**64 - 1)
    cli("stats no file", "stats", "--stats", tmp / "no-stats", status=1,
        err="no-stats: No such file")
    for number, line in enumerate((
            "walks", "walks x", "walks 1 2", "walks -1", "walks 18446744073709551616", "",
            " walks 1", "walks  1", "walks +1", "walks\t1", "w\0lks 1", "walks 1\0",
            "\033[31mwalks 1", "w\xe4lks 1", "w" * 64 + " 1", "w " + "0" * 84 + "1")):
        stats.write_text(f"first 1\n{line}\n")
        cli(f"stats bad line {number}", "stats", "--stats", stats, status=1,
            err="line 2: is not a name and a number$")
    limits(cli, stats)
    explained(cli, stats)
    shares(cli, stats)
    summary(cli, stats)
    interval(cli, stats)
    module(cli, stats)
    last(cli, stats)
    if not Path("/sys/module/sframe_unwind").exists():
        cli("stats without module", "stats", status=1,
            err="type: (sudo )?modprobe sframe_unwind")
