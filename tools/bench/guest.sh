#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh cost|samples|large|memory|harm - a part of the benchmark in the virtual machine; prints a line for each figure

set -eu
stats=/sys/kernel/debug/sframe_unwind/stats
enabled=/sys/module/sframe_unwind/parameters/enabled

[ -e /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing

value() { sed -n "s/^$1 //p" $stats; }

# ---- samples: "samples WAY DEPTH NS ns BYTES bytes HITS MISSES" --------------------------------------------------

# take WAY Y|N PROGRAM HOW DEPTH [cold|new]: print one figure, with the module enabled (Y) or not (N)
take() {
	local hits misses figures
	echo "$2" >$enabled
	hits=$(value cache.hits) misses=$(value cache.misses)
	figures=$("$3" "$4" "$5" 2000 ${6:+"$6"})
	echo "samples $1 $5 $figures $(($(value cache.hits) - hits)) $(($(value cache.misses) - misses))"
}

# samples_at WITH_PEERS DEPTH...: with frame pointers and dwarf beside them if WITH_PEERS is not empty
samples_at() {
	local peers=$1 depth fp=/tmp/samples-fp sframe=/tmp/samples-sframe plain=/tmp/samples-plain
	local bare=/tmp/samples-bare
	shift
	# "cold" has 4096 return addresses: more than the row cache has room for.
	modprobe sframe_unwind row_cache=2048
	# Of files on the share nothing is read ahead: their sections may never be in memory.
	cp samples-fp samples-sframe samples-plain samples-bare /tmp
	# The time of its last change must be over.
	sleep 3
	# Run once without a use: the first run in a fresh machine is slower.
	take warm-up N $plain none 1 >/dev/null
	sframectl load --linked $plain >&2
	take none-new N $sframe none 20 new
	[ -z "$peers" ] || take fp-new N $fp chain 20 new
	take sframe-new Y $sframe chain 20 new
	take sframe-resident-new Y $plain chain 20 new
	for depth; do
		take none N $fp none "$depth"
		take none-sframe N $sframe none "$depth"
		take none-cold N $sframe none "$depth" cold
		take fp N $fp chain "$depth"
		take sframe Y $sframe chain "$depth"
		take sframe-cold Y $sframe chain "$depth" cold
		take none-resident N $plain none "$depth" cold
		take sframe-resident Y $plain chain "$depth" cold
		take none-habit N $bare none "$depth"
		take sframe-habit Y $bare chain "$depth"
		[ -z "$peers" ] || take dwarf N $sframe copy "$depth"
	done
}

# cost: print the figures that tools/bench/cost compares with its limits
cost() { samples_at '' 1 48; }

samples() { samples_at peers 1 8 32 127; }

# ---- large: "large PROGRAM WAY HZ SECONDS STACKS FRAMES HITS MISSES" ---------------------------------------------

# No table is made while a program runs.
export SFU_TABLES=no

# Each run of Python does the same. Addresses do not differ, either: run_large() has them fixed.
export PYTHONHASHSEED=0

# run_large PROGRAM WAY HZ COMMAND...: print its processor time, and what the module counted. Its samples are taken on that
# time; perf's own work and the disk are not in it, which differ from run to run by as much as samples cost. Only the program is
# sampled. Without -B, perf would link its files into a cache, and they would lose their tables.
run_large() {
	local name=$1 way=$2 hz=$3 perf=() key keys=(walks frames.sframe cache.hits cache.misses)
	local -A before=()
	shift 3
	[ "$way" = none ] || perf=(perf record -q -B -e "$event" -F "$hz" --call-graph "$way" -o /tmp/perf.data --)
	for key in "${keys[@]}"; do
		before[$key]=$(value "$key")
	done
	# shellcheck disable=SC2016 # the other shell expands them
	"${perf[@]}" setarch -R bash -c 'exec 2>/tmp/seconds; TIMEFORMAT="%3U %3S"; time "$@" >/dev/null 2>&1' bash "$@"
	for key in "${keys[@]}"; do
		before[$key]=$(($(value "$key") - ${before[$key]}))
	done
	echo "large $name $way $hz $(awk '{ print $1 + $2 }' /tmp/seconds) ${before[walks]} ${before[frames.sframe]}" \
		"${before[cache.hits]} ${before[cache.misses]}"
}

large() {
	local hz=999 name cc1 event=cpu-clock:u
	[ "$(uname -m)" = x86_64 ] || event=cycles:u
	echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate
	cc1=$(gcc -print-prog-name=cc1)
	modprobe sframe_unwind
	sframectl load --linked "$cc1" "$(type -P gdb)" >&2
	local -A commands=([cc1]="$cc1 -quiet -O2 -o /dev/null lemon.i"
		[gdb]='gdb -nx -batch -x large.py')
	for name in cc1 gdb; do
		# shellcheck disable=SC2086 # the words of the command
		run_large $name none 0 ${commands[$name]} >/dev/null
		# shellcheck disable=SC2086
		run_large $name none 0 ${commands[$name]}
		echo N >$enabled
		# shellcheck disable=SC2086
		run_large $name fp $hz ${commands[$name]}
		echo Y >$enabled
		# shellcheck disable=SC2086
		run_large $name sframe $hz ${commands[$name]}
	done
}

# ---- memory: "memory LIBRARIES COUNT PROCESSES processes SECTIONS sections BYTES bytes" ---------------------------

memory() {
	local count
	modprobe sframe_unwind
	ulimit -n 65536
	for count in 1 100 2000; do
		echo "memory 0 $count $(./crowd $count)"
		echo "memory 8 $count $(./crowd $count ./lib[1-8].so)"
	done
}

# ---- harm: "harm COLUMN OPERATION NS" ---------------------------------------------------------------------------

# measure COLUMN [COMMAND...]: measure all operations under COMMAND. All files are on the disk, and in memory after the first
# use: the server of the share runs on the host, in time of its own.
measure() {
	local lines
	lines=$("${@:2}" ./harm ./small ./lib1.so)
	# shellcheck disable=SC2001 # for each line
	sed "s/^/harm $1 /" <<<"$lines"
}

# measure_profiled WAY: measure under a profile of the whole machine. perf neither lowers its rate nor drops samples.
measure_profiled() {
	local hz
	for hz in 99 999; do
		measure "$1-$hz" perf record -q -a -B -N -e cpu-clock -F $hz --call-graph "$1" -o /tmp/perf.data --
	done
}

harm() {
	echo 0 >/proc/sys/kernel/randomize_va_space
	echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
	mkdir /var/tmp/harm
	cp harm small lib1.so /var/tmp/harm/
	cd /var/tmp/harm
	measure_profiled fp >/dev/null
	measure none
	measure_profiled fp
	modprobe sframe_unwind
	# The time of their last change is over.
	sframectl load --linked ./harm ./small ./lib1.so "$(type -P bash)" >&2
	measure_profiled sframe
	[ "$(value walks)" != 0 ] || { echo 'the module has unwound no stack' >&2; exit 1; }
	# The machine is idle meanwhile: its time jumps. Then nobody profiles any more.
	sleep 700
	measure nobody
}

"$1"
