#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # what guest.sh sets
#
# guest-bounds.sh - part of guest.sh: what a walk costs at most, with sections made to cost much (costly.py)

ns_per_instruction=2		# tools/vm --icount

# The program calls the kernel every so many instructions, always the same: the time between two samples, in ns.
time_of_sample() {	# time_of_sample NAME
	perf record -q -B -e raw_syscalls:sys_enter --call-graph=fp -o "$scratch/data" "$scratch/costly/$1" 200 >&2
	[ $? = 42 ] || return
	perf script -i "$scratch/data" -F comm,time --ns 2>/dev/null | awk -v comm="${1::15}" '
		$1 == comm { time = $2 * 1e9; if (last) print int(time - last); last = time }' |
		sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

# The reasons for which walks ended, since the snapshot, but for those at the start of a program.
reasons() { grown '^stop[.]' | sed 's/^stop[.]//; s/ .*//' | grep -vxE 'exec|unscanned|section-fault' | sort | xargs; }

bounds() {	# bounds MOST: instructions
	local name expected got off on cost least
	check 'module loads' modprobe sframe_unwind || exit
	# On a disk of its own, and read: a look-up touches twenty pages, and each may be late on a host that is busy.
	cp -r costly "$scratch/"
	cat "$scratch/costly"/* >/dev/null
	# Once for nothing: the first run of everything in a fresh machine is not like the others.
	time_of_sample fdes-million >/dev/null
	while read -r name expected; do
		echo 0 >"$parameters/enabled"
		off=$(time_of_sample "$name")
		echo 1 >"$parameters/enabled"
		snapshot
		on=$(time_of_sample "$name")
		got=$(reasons)
		show_grown "$name"
		cost=$(((on - off) / ns_per_instruction))
		echo "     $name: a walk costs $cost instructions"
		check "$name: walks end as $expected ($got)" test "$got" = "$expected"
		check "$name: nothing is wrong with the section" no_defect
		# Where most walks find in the cache what there is, next to nothing.
		least=-1000
		[[ $expected != budget ]] || least=1000
		check "$name: at most $1 instructions" test "$cost" -gt $least -a "$cost" -le "$1"
	done <costly/table
	check 'stop reasons sum to walks' reasons_sum_to_walks
	check 'module unloads' rmmod sframe_unwind
	check 'kernel log' log_is_clean
}
