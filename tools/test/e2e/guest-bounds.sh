#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-bounds.sh - part of guest.sh: the largest cost of a walk, with costly sections (costly.py)

ns_per_instruction=2		# tools/vm --icount

# Prints the median time between two samples, in ns. The program makes system calls at equal distances in instructions.
time_of_sample() {	# time_of_sample NAME
	perf record -q -B -e raw_syscalls:sys_enter --call-graph=fp -o "$scratch/data" "$scratch/costly/$1" 200 >&2
	[ $? = 42 ] || return
	perf script -i "$scratch/data" -F comm,time --ns 2>/dev/null | awk -v comm="${1::15}" '
		$1 == comm { time = $2 * 1e9; if (last) print int(time - last); last = time }' |
		sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

# Prints the stop reasons since the snapshot, except those at the start of a program.
reasons() { grown '^stop[.]' | sed 's/^stop[.]//; s/ .*//' | grep -vxE 'exec|unscanned|section-fault' | sort | xargs; }

bounds() {	# bounds MOST: instructions
	local name expected got off on cost least
	check 'module loads' modprobe sframe_unwind || exit
	# Copy the programs to the guest's disk and read them: a busy host may bring in the pages of a section late.
	cp -r costly "$scratch/"
	cat "$scratch/costly"/* >/dev/null
	# One run is not measured: the first run in a fresh machine differs from later runs.
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
		# If rows are found, most walks find them in the cache and cost little: only a lower bound for noise.
		least=-1000
		[[ $expected != budget ]] || least=1000
		check "$name: at most $1 instructions" test "$cost" -gt $least -a "$cost" -le "$1"
	done <costly/table
	check 'stop reasons sum to walks' reasons_sum_to_walks
	check 'module unloads' rmmod sframe_unwind
	check 'kernel log' log_is_clean
}
