# SPDX-License-Identifier: GPL-2.0-or-later
"""sframectl status, doctor, tables and report, on a machine that mount namespaces make up."""

import json
import os
import platform
import re
import subprocess
import sys

from cli import IS_ROOT, TOP, VERSION, run

# Processes of others are not seen. The program is $1, the directory with what is made up is $2.
UNSHARE = ["unshare", *([] if IS_ROOT else ["-Ur"]), "-m", "-p", "-f", "--mount-proc"]

MACHINE = """
    set -e
    cd "$2"
    export PATH="$2/wrapper:$2/real:$2/tools:$PATH" TABLES="$2/tables"
    mount -t tmpfs none /sys/module
    mount -t tmpfs none /sys/kernel
    mount -t tmpfs none /sys/firmware
    mount -t tmpfs none /run
    echo 2 >paranoid
    mount --bind paranoid /proc/sys/kernel/perf_event_paranoid
    release=lib/modules/$(uname -r)
    rm -rf lib boot
    mkdir -p "$release/build" boot
    touch "$release/build/Makefile"
    echo updates/dkms/sframe_unwind.ko.xz: >"$release/modules.dep"
    printf 'CONFIG_PERF_EVENTS=y\\nCONFIG_DYNAMIC_FTRACE_WITH_ARGS=y\\nCONFIG_IRQ_WORK=y\\nCONFIG_KPROBES=y\\n' >"boot/config-$(uname -r)"
    module() {
        OLDDIR=$PWD
        mkdir -p /sys/module/sframe_unwind/parameters /sys/kernel/debug/sframe_unwind
        cd /sys/module/sframe_unwind
        echo "$VERSION" >version
        cd parameters
        echo Y >enabled; echo sync,deferred >hooks; echo 64 >table_memory
        printf 'walks 1000\\ncomplete 950\\nfirst 2\\nfull 0\\nsframe 9\\nfp 0\\ndeclined 0\\n' >summary
        cd "$OLDDIR"
        cat >/sys/kernel/debug/sframe_unwind/stats
    }
    serve() {
        bash -c 'exec -a sframectl "$0" -c "import time; time.sleep(1000)" serve' "$PYTHON" &
        while ! grep -qa ^sframectl /proc/$!/cmdline; do sleep 0.1; done
        cp /proc/$!/cgroup cgroup; echo "0::/system.slice$1" >>cgroup
        mount --bind cgroup /proc/$!/cgroup
    }
    # loaded NODATA LEFT: the module, and what it has counted
    loaded() {
        printf 'stop.complete 30\\nstop.start 970\\nstop.nodata %s\\nstop.full 1\\ndeclined.no-section %s\\ndeclined.kthread 5000\\ntable.bytes 1572864\\n' \
            "$1" "$2" | module
    }
"""
ALL_WELL = "loaded 1 2; serve /sframe-unwind.service"

WHAT = re.escape(f"{platform.release()}, {platform.machine()}")
OVERVIEW = rf"""module    sframe_unwind {re.escape(VERSION)}, on
kernel    {WHAT}
hooks     synchronous and deferred stacks
service   sframe-unwind\.service runs, PID \d+
tables    2 files have one, 1\.5 MiB; 64\.0 MiB at most
perf      \S+/wrapper/perf, which knows --call-graph=sframe
users     may profile their own programs \(kernel\.perf_event_paranoid is 2\)
stacks    1004 since the module was loaded, 99\.6 % complete
others    0\.2 % left to the kernel: programs without a table
next      Nothing to do: all is well
"""

READY = "This machine is ready to unwind stacks.\n"
RELEASE = platform.release()


class Machine:
    def __init__(self, cli, program="sframectl-tables"):
        self.cli = cli
        self.dir = cli.tmp / "machine"
        self.program = cli.build / program
        self.renew()

    def renew(self):
        """Make the programs in PATH, and the tables."""
        marker = re.search(r'#define MARKER "(.*)"', (TOP / "tools/perf-sframe/real.c").read_text())[1]
        for name, text in (("wrapper/perf", marker), ("real/perf", ""), ("tools/sframectl", "")):
            path = self.dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n# {text}\necho perf version 1.2.3\n")
            path.chmod(0o755)
        (self.dir / "tables").write_text("0 0 0 300 7 1 9\n250 7 77 1000 8 1 0\n250 7 78 0 0 1 0\n")

    def run(self, prepare, *words, before=""):
        env = os.environ | {"PYTHON": sys.executable, "VERSION": VERSION}
        return subprocess.run([*before.split(), *UNSHARE, "bash", "-c", f'{MACHINE}\n{prepare}\nshift 2; "$0" "$@"', self.program, "-", self.dir, *words],
                              capture_output=True, text=True, check=False, env=env)


# What is wrong, how it comes about, and what doctor says: kind, what it is, what to do.
FINDINGS = (
    ("another architecture", "", "setarch i686", "Problem: This machine is i686.", "Profile on another machine."),
    ("an old kernel", "", "setarch --uname-2.6", "Problem: The kernel 2.6.", "Boot a newer kernel."),
    ("a kernel option", "sed -i /KPROBES/d boot/*", "", f"Problem: The kernel {RELEASE} is built without CONFIG_KPROBES.",
     "Boot a kernel that has it, such as Debian's (on arm64 from 6.12 on)."),
    ("no headers", ": >$release/modules.dep; rm -r $release/build", "", f"Problem: The headers of the kernel {RELEASE} are not installed.",
     f"Type: apt install linux-headers-{RELEASE} (kernel-devel or linux-headers elsewhere)."),
    ("not built", ": >$release/modules.dep", "", f"Problem: The module is not installed for the kernel {RELEASE}.",
     "With the packages, type: dkms autoinstall. With the sources: make install"),
    ("Secure Boot", "efi=/sys/firmware/efi/efivars; mkdir -p $efi; printf '\\6\\0\\0\\0\\1' >$efi/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "",
     "Note: The kernel loads signed modules only (Secure Boot).",
     "If modprobe says `Key was rejected by service`, type: mokutil --import /var/lib/dkms/mok.pub, reboot, and choose Enroll MOK."),
    ("signatures", "mkdir -p /sys/module/module/parameters; echo Y >/sys/module/module/parameters/sig_enforce", "",
     "Note: The kernel loads signed modules only (Secure Boot).", "choose Enroll MOK."),
    ("no ftrace", "echo 0 >ftrace; mount --bind ftrace /proc/sys/kernel/ftrace_enabled", "",
     "Problem: ftrace is switched off: kernel.ftrace_enabled is 0.", "Type: sysctl kernel.ftrace_enabled=1; modprobe sframe_unwind"),
    ("not loaded", "", "", "Problem: The module is not loaded.", "Type: modprobe sframe_unwind"),
    ("off", f"{ALL_WELL}; echo N >/sys/module/sframe_unwind/parameters/enabled", "", "Problem: The module is switched off.",
     "Type: echo Y > /sys/module/sframe_unwind/parameters/enabled"),
    ("another version", f"{ALL_WELL}; echo 0.0.9 >/sys/module/sframe_unwind/version", "",
     f"Problem: The loaded module has version 0.0.9, and sframectl has {VERSION}.",
     "Type: systemctl stop sframe-unwind; rmmod sframe_unwind; modprobe sframe_unwind; systemctl start sframe-unwind"),
    ("no service", "loaded 1 2", "", "Problem: Nothing serves tables: sframectl serve does not run.", "Type: sframectl serve &"),
    ("users", f"{ALL_WELL}; echo 3 >paranoid", "", "Note: Only root may profile: kernel.perf_event_paranoid is 3.",
     "To let users profile their own programs, type: sysctl kernel.perf_event_paranoid=2"),
    ("no perf", f"{ALL_WELL}; rm wrapper/perf real/perf; export PATH=$2/tools", "", "Note: There is no perf in PATH.",
     "Type: apt install linux-perf"),
    ("no perf-sframe", f"{ALL_WELL}; PATH=$2/real:$2/tools", "", "Note: perf-sframe is not in PATH.",
     "Install the package sframe-unwind, or type in the sources: make install-tools"),
    ("the wrapper alone", f"{ALL_WELL}; PATH=$2/wrapper:$2/tools", "", "/wrapper/perf is the wrapper of perf, and PATH has no perf that it can run.",
     "Type: apt install linux-perf"),
    ("no sframectl", f"{ALL_WELL}; PATH=$2/wrapper:$2/real", "", "Note: sframectl is not in PATH.",
     "Install it beside perf-sframe, or add its directory to PATH."),
)


def doctor(machine):
    cli = machine.cli
    cli.judge("doctor, all is well", machine.run(ALL_WELL, "doctor"), out=rf"\A{re.escape(READY)}\Z")
    for name, prepare, before, what, action in FINDINGS:
        machine.renew()
        ran = machine.run(prepare, "doctor", before=before)
        said = " ".join(ran.stdout.split())
        is_problem = "Problem: " in ran.stdout
        errors = [f"{words!r} is not in {ran.stdout!r}" for words in (what, action) if words not in said]
        # A finding has three parts, and there is no other finding.
        others = len(re.findall("^(?:Problem|Note): ", ran.stdout, re.M)) - 1 - name.count("ignatures") - name.count("Secure")
        if others or ran.returncode != is_problem or ran.stderr or (READY in ran.stdout) == is_problem:
            errors.append(f"status {ran.returncode}, {ran.stdout!r} {ran.stderr!r}")
        cli.end(f"doctor, {name}", errors)
    machine.renew()


def overview(machine):
    """In ten lines, and what to do next."""
    cli = machine.cli
    for words in ["status"], []:
        cli.judge(f"{words} of a healthy machine", machine.run(ALL_WELL, *words), out=rf"\A{OVERVIEW}\Z")
    for name, prepare, status, lines in (
            ("off", f"{ALL_WELL}; echo N >/sys/module/sframe_unwind/parameters/enabled", 1,
             [r"module    sframe_unwind \S+, switched off",
              r"next      Type: echo Y > /sys/module/sframe_unwind/parameters/enabled \(sframectl\n +doctor: 1 problem\)"]),
            ("synchronous", f"{ALL_WELL}; echo sync >/sys/module/sframe_unwind/parameters/hooks", 0, ["hooks     synchronous stacks; none are deferred"]),
            ("sframectl serve by hand", "loaded 1 2; serve /user.slice", 0, [r"service   sframectl serve runs, PID \d+"]),
            ("users and the kernel", f"{ALL_WELL}; echo 1 >paranoid", 0, [r"users     may profile their own programs, and the kernel below them\n +\(kernel\.perf_event_paranoid is 1\)"]),
            ("the whole machine", f"{ALL_WELL}; echo -1 >paranoid", 0, [r"users     may profile the whole machine \(kernel\.perf_event_paranoid is -1\)"]),
            ("perf alone", f"{ALL_WELL}; PATH=$2/real:$2/tools", 0, [r"perf      \S+/real/perf, for\s+complete\s+stacks,\s+type\s+perf\s+record\s+-g"]),
            ("perf and perf-sframe", f"{ALL_WELL}; mkdir -p sub; cp wrapper/perf sub/perf-sframe; PATH=$2/real:$2/tools:$2/sub", 0,
             [r"perf      \S+/real/perf, for\s+complete\s+stacks,\s+type\s+perf\s+sframe\s+record", "next      Nothing to do: all is well"]),
            ("no service", "loaded 1 2", 0, ["service   none runs: new programs get no tables", r"next      Type: sframectl serve & \(sframectl doctor: 1 problem\)"]),
            ("no stacks", "echo stop.start 0 | module; serve /x", 0, ["stacks    none since the module was loaded", "next      Record something: perf record -g ./app"]),
            ("short stacks", "loaded 500 2; serve /x", 0,
             [r"stacks    1503 since the module was loaded, 66\.5 % complete", r"others    33\.3 % nodata: no table or \.sframe covers it, no frame pointer leads\n +on",
              "next      `sframectl why` names the objects while they run, and says for each"]),
            ("left to the kernel", "loaded 1 998; serve /x", 0, [r"others    49\.9 % left to the kernel: programs without a table",
                                                                  "next      `sframectl load --all` loads tables of what runs; .*"]),
            ("the last recording", f"{ALL_WELL}; printf 'stop.start 960\\n' >/run/sframe_unwind.before; "
             "printf 'stop.start 965\\nstop.full 5\\n' >/run/sframe_unwind.after", 0,
             [r"stacks    10 in root's last perf sframe recording, 50\.0 % complete", r"others    50\.0 % full: perf has no room for more frames", r"next      For more: sysctl kernel\.perf_event_max_stack=512.*"]),
            ("a table since that recording", f"{ALL_WELL}; printf 'table.bytes 0\\n' >/run/sframe_unwind.before; "
             "printf 'table.bytes 1024\\n' >/run/sframe_unwind.after", 0, [r"tables    2 files have one, 1\.5 MiB; 64\.0 MiB at most"]),
            ("while tables are preloaded", f"{ALL_WELL}; touch /run/sframe_unwind.preloading", 0,
             [r"tables    2 files have one, 1\.5 MiB; 64\.0 MiB at most; more are being preloaded"]),
            ("a preloading that was killed", "touch /run/sframe_unwind.preloading; loaded 1 2", 0,
             [r"tables    2 files have one, 1\.5 MiB; 64\.0 MiB at most"]),
            ("a recording that runs", f"{ALL_WELL}; printf 'stop.start 960\\n' >/run/sframe_unwind.before", 0, ["stacks    44 in root's last perf sframe recording, .*"]),
            ("a recording before the module was loaded again", f"{ALL_WELL}; printf 'stop.start 980\\n' >/run/sframe_unwind.before", 0,
             ["stacks    1004 since the module was loaded, .*"]),
            ("counters that only root may read", f"{ALL_WELL}; rm /sys/kernel/debug/sframe_unwind/stats", 0,
             [r"tables    64\.0 MiB at most; only root sees them", r"stacks    1000 since the module was loaded, 95\.0 % complete", "next      To see why: sudo sframectl stats"]),
            ("without the module", "", 1, ["module    sframe_unwind is not loaded", f"kernel    {WHAT}", "service   none runs: .*", "next      Type: modprobe sframe_unwind .*"])):
        ran = machine.run(prepare, "status")
        errors = [f"no line {line!r} in {ran.stdout!r}" for line in lines if not re.search(f"^{line}$", ran.stdout, re.M)]
        if ran.returncode != status or ran.stderr or len(ran.stdout.splitlines()) > 12:
            errors.append(f"status {ran.returncode}, {ran.stdout!r} {ran.stderr!r}")
        cli.end(f"status, {name}", errors)
    cli("status with a number", "status", "5", status=2,
        err="^sframectl: status: 5: takes no argument; counters: sframectl stats -i SECONDS$")
    for option in "--last", "--json", "--all":
        cli(f"status {option}", "status", option, status=2, err=f"status: takes no {option}; the counters are now: sframectl stats$")


def tables(machine):
    """Names are those of files that processes have mapped: here, of this program."""
    cli = machine.cli
    line = next(line.split() for line in open("/proc/self/maps", encoding="utf-8") if " r-xp " in line and "python" in line)
    path, (major, minor), ino = line[5], (int(number, 16) for number in line[3].split(":")), line[4]
    listed = (machine.dir / "tables").read_text()
    env = {"TABLES": str(machine.dir / "tables")}
    (machine.dir / "tables").write_text(f"{listed}{major} {minor} {ino} 123456 789 1 2\n")

    def said(*words):
        return subprocess.run([machine.program, *words], capture_output=True, text=True, check=False, env=os.environ | env)

    name = re.escape(path)
    cli.judge("tables", said("tables"), out=rf"""\A     BYTES FUNCTIONS  FILES   USED  NAME
       300         7      1      9  \[vdso\]
    123456       789      1      2  {name}
      1000         8      1      0  device 250:7 inode 77
         0         0      1      0  device 250:7 inode 78
\Z""" if (major, minor) < (250, 7) else name)
    cli.judge("tables -v", said("tables", "-v"), out=rf"^ +123456 +789 +1 +2  {major}:{minor} +{ino}  {name}$")
    cli.judge("tables --json", said("tables", "--json"), as_json=lambda value: {
        (entry["name"], entry["inode"], entry["table_bytes"]) for entry in value["tables"]} == {
            ("[vdso]", 0, 300), (path, int(ino), 123456), (None, 77, 1000), (None, 78, 0)})
    cli.judge("tables drop", said("tables", "drop"))
    cli.judge("tables, dropped", said("tables"), out=r"\A.*NAME\n\Z")
    cli("tables --drop", "tables", "--drop", status=2, err="--drop: no such option any more; type: sframectl tables drop$")
    cli("tables FILE", "tables", "a", status=2, err="tables: a: the one word that it takes is drop$")
    (machine.dir / "tables").write_text(listed)


SECTIONS = ["system", "versions", "status", "doctor", "stats", "parameters", "tables", "kernel log"]


def report(machine):
    cli = machine.cli
    private = cli.tmp / "private name"
    # A program in a directory of a user's has a table, too.
    prepare = f"""{ALL_WELL}
        cp /bin/sleep "{private}"; "{private}" 1000 &
        while ! grep -q "{private}" /proc/$!/maps; do sleep 0.1; done
        read -r _ _ _ dev ino _ < <(grep "r-xp.*private" /proc/$!/maps)
        echo "$((16#${{dev%:*}})) $((16#${{dev#*:}})) $ino 4321 1 1 1" >>tables"""
    path = cli.tmp / "a-report"
    cli.judge("report", machine.run(prepare, "report", "-o", path), out=rf"\AWritten: {re.escape(str(path))}\nPlease read it before you send it\.\n\Z")
    text = path.read_text()
    parts = dict(zip(SECTIONS, re.split("^== .*\n", text, flags=re.M)[1:]))
    wanted = {"system": platform.release(), "versions": f"sframectl {VERSION}\nsframe_unwind {VERSION}\nperf version 1.2.3\n",
              "status": f"module    sframe_unwind {VERSION}, on", "doctor": READY, "stats": "declined.kthread                   5000",
              "parameters": "hooks\tsync,deferred\n", "tables": "[vdso]\n"}
    errors = [f"no {words!r} in part {part!r}: {parts.get(part)}" for part, words in wanted.items() if words not in parts.get(part, "")]
    if re.findall("^== (.*)$", text, re.M) != SECTIONS:
        errors.append(text)
    errors += [f"{word!r} is private" for word in (platform.node(), "private name") if word in re.sub("^.*/.*perf.*$", "", text, flags=re.M)]
    if "4321" not in parts["tables"]:
        errors.append(f"the private file has no line: {parts['tables']}")
    errors += [f"a line of others: {line!r}" for line in parts["kernel log"].splitlines() if "sframe_unwind" not in line and "cannot be read" not in line]
    cli.end("report: what is in it, and what is not", errors)
    cli.judge("report to a file that is there", machine.run(ALL_WELL, "report", "-o", path), status=1,
              err=f"^sframectl: {re.escape(str(path))}: File exists; give another name by -o FILE$")
    cli("report FILE", "report", "a", status=2, err="report: a: give the name of the file by -o FILE$")
    ran = subprocess.run([cli.program, "report"], cwd=machine.dir, capture_output=True, text=True, check=False)
    made = [file.name for file in machine.dir.glob("sframectl-report-*.txt")]
    cli.end("report without a name", [] if len(made) == 1 and f"Written: {made[0]}\n" in ran.stdout else [str(ran)])


def tests(cli):
    machine = Machine(cli)
    tables(machine)
    if run(*UNSHARE, "true").returncode:
        cli.tap.skip("sframectl status, doctor and report", "no namespaces for a user")
        return
    overview(machine)
    doctor(machine)
    report(machine)
