# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-bounds.sh - part of guest.sh: the largest cost of a walk, with costly sections (costly.py)

ns_per_instruction=2		# tools/lab/vm --icount

# Prints the median time between two samples, in ns, and the fourth-longest one. The program makes system calls at
# equal distances in instructions. Timer interrupts make some times longer, by less than the costliest walks do. No
# other process interrupts it.
times_of_samples() {	# times_of_samples NAME
	chrt -f 1 perf record -q -B -e raw_syscalls:sys_enter --call-graph=fp -o "$scratch/data" "$scratch/costly/$1" 200 >&2
	[ $? = 42 ] || return
	perf script -i "$scratch/data" -F comm,time --ns 2>/dev/null | awk -v comm="${1::15}" '
		$1 == comm { time = $2 * 1e9; if (last) print int(time - last); last = time }' |
		sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)], all[NR - 3] }'
}

# Prints the stop reasons since the snapshot, except those at the start of a program.
reasons() { grown '^stop[.]' | sed 's/^stop[.]//; s/ .*//' | grep -vxE 'exec|unscanned|section-fault' | sort | xargs; }

bounds() {	# bounds MOST: instructions
	local name expected got off on longest cost
	load_module
	# Copy the programs to the guest's disk and read them: a busy host may bring in the pages of a section late. Nothing
	# is left to be written while they run.
	cp -r costly "$scratch/"
	sync
	cat "$scratch/costly"/* >/dev/null
	# One run is not measured: the first run in a fresh machine differs from later runs.
	times_of_samples fdes-million >/dev/null
	# Without the module no program reads its section: all take the same time.
	echo 0 >"$parameters/enabled"
	read -r off longest < <(times_of_samples fdes-million)
	echo 1 >"$parameters/enabled"
	while read -r name expected; do
		snapshot
		read -r on longest < <(times_of_samples "$name")
		got=$(reasons)
		show_grown "$name"
		cost=$(((longest - off) / ns_per_instruction))
		echo "     $name: the costliest walks cost $cost instructions, most walks $(((on - off) / ns_per_instruction))"
		expect "$name: walks end as $expected ($got)" test "$got" = "$expected"
		expect "$name: nothing is wrong with the section" no_defect
		# Each walk that the budget ends costs as much as a walk may.
		if [ "$expected" = budget ]; then
			expect "$name: at most $1 instructions" test "$cost" -gt 40000 -a "$cost" -le "$1"
		else
			expect "$name: at most $1 instructions" test "$cost" -le "$1"
			expect "$name: most walks cost little" test $(((on - off) / ns_per_instruction)) -le 5000
		fi
	done <costly/table
	unload_module
}
