# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-switch.sh - part of guest.sh: stacks taken in the middle of a task switch, see siblings.c

# Prints "own NUMBER" and "foreign NUMBER" of a recording: the stacks with a frame of the process, or of its sibling.
whose_frames() {	# whose_frames DATA
	perf script -i "$1" --no-inline -F comm,ip,sym 2>/dev/null | awk '
		function count() { own += has_own; foreign += has_foreign; has_own = has_foreign = 0 }
		/^[^ \t]/ { count(); comm = $1; next }
		comm ~ /^(first|second)$/ && $2 ~ /^(first|second)_level/ {
			if (index($2, comm) == 1) has_own = 1; else has_foreign = 1
		}
		END { count(); print "own", own + 0; print "foreign", foreign + 0 }'
}

# At each event one of the siblings is current. Its memory is in place, or that of the other.
sample_siblings() {	# sample_siblings WHAT EVENT
	snapshot
	expect "$1: record" perf record -q -B -a -m 4M -e "$2" -c 1 --call-graph=sframe,sync -o "$scratch/data" ./siblings 2
	show_grown "$1"
	whose_frames "$scratch/data" >"$scratch/whose"
	echo "     $1: stacks with frames: $(tr '\n' ' ' <"$scratch/whose")"
	expect "$1: no stack has a frame of the other process" grep -qx 'foreign 0' "$scratch/whose"
}

# Places after switch_mm() and before current is the next task.
places_in_switch() {
	case $(uname -m) in
	x86_64) echo x86_fpu:x86_fpu_regs_deactivated tlb:tlb_flush ;;
	*) echo 'p:in_switch hw_breakpoint_thread_switch' >"$tracing/kprobe_events" && echo kprobes:in_switch ;;
	esac
}

switch() {
	local event nr=0
	load_module
	# The memory is that of the task: the stacks are there.
	sample_siblings 'before a switch' sched:sched_switch
	expect 'before a switch: stacks have frames of their own' test "$(awk '$1 == "own" { print $2 }' "$scratch/whose")" -gt 1000
	for event in $(places_in_switch); do
		nr=$((nr + 1))
		sample_siblings "$event" "$event"
		expect "$event: came in switches" test "$(grown '^stop.task-switch' | awk '{ sum += $2 } END { print sum + 0 }')" -gt 1000
	done
	expect "there are places in a switch ($nr)" test $nr -gt 0
	echo >"$tracing/kprobe_events"
	unload_module
}
