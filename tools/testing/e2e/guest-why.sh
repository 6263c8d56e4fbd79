# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-why.sh - part of guest.sh: does `sframectl why` name the cause where it is known? See ends.c.

# most_end PID CAUSE OBJECT: do most of the stacks of the process end in OBJECT, for this cause?
most_end() {
	sframectl why --json -p "$1" -d 4 >"$scratch/why.json" || return
	python3 - "$@" "$scratch/why.json" <<'END'
import json, sys
pid, cause, name, path = sys.argv[1:]
why = json.load(open(path))
most = why["endings"][0] if why["endings"] else {}
# A slow host loses some: samples come while the program that reads them does not run.
if not (why["pid"] == int(pid) and why["stacks"] >= 50 and why["lost"] <= why["stacks"] / 10 and most.get("cause") == cause and name in most["object"] and
        most["stacks"] >= 0.9 * why["stacks"] and most["advice"]):
    print("    ", json.dumps(why))
    sys.exit(1)
END
}

# says_why_no_table: the last JSON names it
says_why_no_table() { grep -q '"error": "has no .eh_frame: nothing describes its stack frames"' "$scratch/why.json"; }

# nearly_whole PID: and are they whole?
nearly_whole() {
	sframectl why --json -p "$1" -d 4 >"$scratch/why.json" || return
	python3 -c 'import json, sys; why = json.load(sys.stdin); sys.exit(why["complete"] < 0.95 * max(why["stacks"], 50))' \
		<"$scratch/why.json" || { cat "$scratch/why.json"; return 1; }
}

# unwound_by WHAT FILE|-p PID: what does sframectl check say of ends/ends?
unwound_by() {
	sframectl check "${@:2}" | tee "$scratch/check.txt" | awk -v what="$1" '$NF ~ /ends\/ends$/ && $(NF - 1) == what { found = 1 }
		END { exit !found }' || { cat "$scratch/check.txt"; return 1; }
}

says_elsewhere() {	# says_elsewhere PID
	sframectl check -p "$1" | grep -A 1 'ends/ends$' | grep -q 'note: it is on a file system whose files get no table: a file can change there unseen'
}

why_elsewhere() {
	local pid
	modprobe loop
	truncate -s 16M "$scratch/image"
	busybox mkdosfs "$scratch/image" >/dev/null
	mkdir "$scratch/vfat"
	mount -o loop "$scratch/image" "$scratch/vfat"
	cp -r ends "$scratch/vfat/"
	"$scratch/vfat/ends/ends" plain 1000 &
	pid=$!
	sframectl load -p $pid
	expect 'a file system whose files get no table: elsewhere' most_end $pid elsewhere ends/ends
	expect 'sframectl check says so' says_elsewhere $pid
	kill $pid
	wait $pid 2>/dev/null
	umount "$scratch/vfat"
}

# why_of MODE CAUSE OBJECT [PROGRAM]: of ./ends/ends MODE
why_of() {
	local pid
	"./ends/${4:-ends}" "$1" 1000 &
	pid=$!
	expect "$1: $2, in $3" most_end $pid "$2" "$3"
	kill $pid
	wait $pid 2>/dev/null
}

# same_share: in the last JSON and in what sframectl check says of the file with its table, CODE is as much, and COVERED, too
same_share() {
	local why check
	why=$(python3 -c 'import json, sys; print("{covered_bytes}/{code_bytes}".format(**json.load(sys.stdin)["endings"][0]))' <"$scratch/why.json")
	check=$(sframectl check ends/ends | awk '$NF ~ /ends\/ends$/ { print $7 }')
	[ "$why" = "$check" ] || { echo "     why: $why, check: $check"; return 1; }
}

# has_walked NR: since the snapshot
has_walked() { [ "$(grown '^walks' | cut -d ' ' -f 2)0" -ge "${1}0" ]; }

# has_events PID: has it begun to sample?
has_events() { readlink "/proc/$1/fd/"* | grep -q perf_event; }

# Ended by a signal, it says what it has seen, and leaves nothing.
why_interrupted() {
	local pid busy
	./ends/ends plain 1000 &
	busy=$!
	snapshot
	sframectl why -d 1000 >"$scratch/why.txt" &
	pid=$!
	waits_for has_walked 500
	kill -TERM $pid
	expect 'SIGTERM ends it' ends_within 60 $pid
	wait $pid
	expect 'with status 0' test $? = 0
	kill $busy
	wait $busy 2>/dev/null
	expect 'and it says what it has seen' grep -qE '^[1-9][0-9]* stacks in [0-9]+ seconds?$' "$scratch/why.txt"
	# The kernel closes its events; then the module has no work.
	expect 'module unloads at once' rmmod sframe_unwind
	modprobe sframe_unwind
}

# While it is stopped, its buffers overflow: another recording fills them.
why_overtaken() {
	local pid busy
	./ends/ends plain 1000 &
	busy=$!
	start_sampling sync
	sframectl why -p $busy -d 12 >"$scratch/why.txt" &
	pid=$!
	waits_for has_events $pid
	kill -STOP $pid
	snapshot
	waits_for has_walked 8000
	kill -CONT $pid
	wait $pid
	stop_sampling
	kill $busy
	wait $busy 2>/dev/null
	cat "$scratch/why.txt"
	expect 'it says how many stacks it has lost' \
		grep -qE '^[1-9][0-9]* more are not counted: they came too fast; end other recordings$' "$scratch/why.txt"
}

# sleeps PID: has it become the program, and gone to sleep?
sleeps() { [ "$(cat "/proc/$1/comm")" = sleep ] && grep -q '^State:.S' "/proc/$1/status"; }

# A program that has no right name does nothing to the terminal.
why_of_hostile_name() {
	local pid name
	name=$scratch/$'a\e[31m\nb'
	cp ends/ends "$name"
	LD_LIBRARY_PATH=ends "$name" asm 1000 &
	pid=$!
	sframectl why -p $pid -d 2 >"$scratch/why.txt"
	expect 'a hostile name is escaped' grep -qF 'a\x1b[31m\x0ab' "$scratch/why.txt"
	kill $pid
	wait $pid 2>/dev/null
}

why() {
	local pid
	expect 'without the module: says so' \
		grep -q 'the module is not loaded; type: modprobe sframe_unwind' <<<"$(sframectl why -d 1 2>&1)"
	load_module
	expect 'the kernel log says that it was loaded' says_loaded
	why_elsewhere
	from_disk ends
	./ends/ends plain 1000 &
	pid=$!
	expect 'plain, no table in the process: not-loaded' most_end $pid not-loaded ends/ends
	expect 'sframectl check: none' unwound_by none -p $pid
	expect 'and says what to do' grep -qE '^[1-9][0-9]* have neither; type: sframectl load -v -p PID$' "$scratch/check.txt"
	sframectl load --linked "$PWD/ends/ends"
	expect 'sframectl check: table' unwound_by table -p $pid
	expect 'and counts tables' grep -qE '^0 of [0-9]+ objects carry SFrame data, [1-9][0-9]* have a table$' "$scratch/check.txt"
	expect 'the same of the file' unwound_by table ends/ends
	expect 'it says how much the table covers' grep -qE ' [1-9][0-9]*/[0-9]+ +[1-9][0-9]\.[0-9]% .* table ' "$scratch/check.txt"
	expect 'and names what it leaves out' \
		grep -qE '^ *not covered: 0x[0-9a-f]+, [0-9]+ bytes: spin_asm$' <<<"$(sframectl check -v ends/ends)"
	expect 'plain, after sframectl load: whole' nearly_whole $pid
	# As perf does after a recording.
	ln ends/ends ends/link
	expect 'plain, after a hard link: changed' most_end $pid changed ends/ends
	expect 'sframectl check: none any more' unwound_by none -p $pid
	expect 'and says why' grep -q 'note: it was written, renamed or linked, and so has lost its table' "$scratch/check.txt"
	sframectl load -p $pid
	expect 'plain, loaded once more: whole' nearly_whole $pid
	kill $pid
	wait $pid 2>/dev/null
	why_of asm not-described ends/ends
	expect 'it says how much of the code a table describes, as sframectl check does' same_share
	why_of jit no-file '[anonymous]'
	expect 'its runtime is not known' grep -q '"runtime": null' "$scratch/why.json"
	cp ends/ends ends/luajit
	why_of jit no-file '[anonymous]' luajit
	expect 'it names the runtime' grep -q '"runtime": "luajit"' "$scratch/why.json"
	expect 'and says what helps there' grep -q '"advice": "[^"]*luajit -joff' "$scratch/why.json"
	why_of lib no-table ends/libends.so
	expect 'and says why' says_why_no_table
	# A 0 does not make it the outermost frame.
	why_of zero-leaf bad-ra ends/ends
	why_of zero bad-ra ends/ends
	why_of_hostile_name
	expect 'and says in words how much of the code a table describes' \
		grep -qE '^ +A table of the file describes [1-9][0-9]\.[0-9] % of its code\.$' "$scratch/why.txt"
	sleep 1000 &
	waits_for sleeps $!
	expect 'a process that sleeps: says so' \
		grep -q '^The process did not run in this time: give it something to do' <<<"$(sframectl why -p $! -d 1)"
	kill $!
	# Processes that end before they can be named are counted, too.
	(while :; do ./ends/ends plain 0; done) &
	pid=$!
	sframectl why -v -d 5 | tee "$scratch/why.txt"
	expect 'of processes that end at once' \
		grep -q 'the process had ended before its code could be named' "$scratch/why.txt"
	kill $pid
	why_overtaken
	why_interrupted
	unload_module
}
