# SPDX-License-Identifier: GPL-2.0-or-later
"""What sframectl says of each counter of the module, and of each defect of .sframe."""

CHECK_OBJECT = "`sframectl check -p PID` names the object and its defect. Build it again with newer binutils."
FIND_PLACE = "The data is wrong, or the program changes its stack by itself. `sframectl why` shows where."
SHOW_COURSE = "Normal at the beginning. `sframectl stats -i 5` shows whether it goes on"

# From the name of a counter to its text, and the advice or "".
MEANINGS = {
    "stop.complete": ("the outermost frame was reached", ""),
    "stop.start": ("the program's or thread's first function was reached", ""),
    "stop.full": ("perf has no room for more frames",
                  "For more: sysctl kernel.perf_event_max_stack=512, while no perf runs."),
    "stop.nodata": ("no table or .sframe covers it, no frame pointer leads on",
                    "`sframectl why` names the objects while they run, and says for each what to do."),
    "stop.unscanned": ("the code was not known yet; a scan was requested", SHOW_COURSE + "."),
    "stop.exec": ("sampled in execve(): the old program's stack is gone, the new one has none", "This is normal."),
    "stop.task-switch": ("sampled in a task switch: the memory was not that of the task any more", "This is normal."),
    "stop.entry": ("sampled where the kernel is entered: the registers were not stored yet, no frame",
                   "This is normal."),
    "stop.stack-fault": ("a word of the stack was not in memory", "Does the machine swap? `vmstat 5` shows it."),
    "stop.section-fault": ("a page of .sframe was not in memory; it was requested",
                           SHOW_COURSE + ": then memory is short."),
    "stop.bad-section": ("the section contradicts itself, and is not used again", CHECK_OBJECT),
    "stop.refused": ("the row must not be followed", CHECK_OBJECT),
    "stop.budget": ("the walk would have cost more work than one walk may",
                    "New code needs a few samples, because rows that were looked up are remembered. If it goes on, "
                    "`sframectl load` the files: look-ups in tables cost a fifth."),
    "stop.bad-cfa": ("the row leads down the stack", FIND_PLACE),
    "stop.bad-ra": ("the row leads to an address that is not code", FIND_PLACE),
    "stop.register": ("the row needs a register that is known only in the sampled frame, or where a signal struck",
                      "This is normal where functions realign the stack, and in OCaml."),
    "stop.bad-signal": ("the signal frame leads to no code, or there are too many of them", FIND_PLACE),
    "declined.disabled": ("the module was off, or not ready yet",
                          "Nothing to do if it is on. Else: echo Y > /sys/module/sframe_unwind/parameters/enabled"),
    "declined.kthread": ("kernel threads, which have no user stack", ""),
    "declined.guest": ("processors of virtual machines", ""),
    "declined.compat": ("32-bit programs", ""),
    "declined.no-section": ("processes without any table or .sframe",
                            "`sframectl load --all` loads tables of what runs; `sframectl why` names what has none."),
    "frames.sframe": ("SFrame 62.5 %, other 37.5 %", ""),
    "frames.fp": ("frame pointer 62.5 %, other 37.5 %", ""),
    "frames.fp-habit": ("frame-pointer heuristic 62.5 %, other 37.5 %", ""),
    "frames.signal": ("signal frame 62.5 %, other 37.5 %", ""),
    "section.bad": ("sections that contradict themselves and are not used any more", ""),
    "defect.segment": ("the segment was not in readable, loaded memory",
                       "Normal now and then: the process was just being loaded."),
}

# From the name of a defect to its text. That of "segment" says more in the summary.
DEFECTS = {
    "segment": "segment does not lie in readable, loaded memory",
    "short": "shorter than its 28-byte header",
    "empty": "all zero: nothing is described here",
    "magic": "does not begin with the magic 0xdee2",
    "version": "version is not 1, 2 or 3",
    "flags": "undefined flag bits are set",
    "endian": "byte order of another machine",
    "abi": "ABI identifier is unknown or contradicts the byte order",
    "foreign": "made for another architecture",
    "unlinked": "linked without regard to its format: all starts are wrong",
    "fixed-offsets": "fixed FP or RA offset is not the ABI's",
    "fdeoff": "FDE table does not lie between header and FREs",
    "freoff": "FRE sub-section begins beyond the end",
    "fre-len": "FRE sub-section runs past the end",
    "num-fdes": "more FDEs than the table has room for",
    "fde-order": "FDEs are marked sorted but are not",
    "fde-range": "FDE's function is not in user memory",
    "stale": "FDE's function is not in the file's code: the linker has discarded it",
    "fre-off": "FDE's rows begin past the end",
    "fre-type": "row address type is undefined",
    "fde-type": "FDE type is undefined",
    "rep-size": "repetitive FDE has block size 0",
    "fre-cut": "row runs past the end",
    "fre-order": "rows do not ascend",
    "word-size": "row's word size is undefined",
    "nr-words": "row's word count does not fit its form",
    "flex-cfa": "flexible row's CFA is not based on a register",
    "regnum": "row names a register that cannot be known",
    "offset": "row's CFA offset does not fit 32 bits",
    "costly": "functions take too much work to compile",
}


def said_of(name):
    """Returns how the summary begins to explain the counter, and the words that follow."""
    group, member = name.split(".")
    text, advice = MEANINGS[name]
    begin = {"stop": f"100.0 % {member}: ", "frames": "callers found by: "}.get(group, f"5 {member}: ")
    return f"{begin}{text} {advice}".strip()


def tests(cli, stats, names):
    """Each counter of the module's tables, which names lists, is explained, in these words."""
    for name in [*MEANINGS, *(name for name in names if name not in MEANINGS)]:
        stats.write_text(f"{name} 5\nframes.other 3\n")
        cli(f"stats explains {name}", "stats", "--stats", stats,
            said=said_of(name) if name in MEANINGS else "a meaning, in meanings.py")
    for defect, text in DEFECTS.items():
        if f"defect.{defect}" in MEANINGS:
            continue
        stats.write_text(f"walks 1\ndefect.{defect} 5\n")
        cli(f"stats explains defect.{defect}", "stats", "--stats", stats, said=f"5 {defect}: {text}")
