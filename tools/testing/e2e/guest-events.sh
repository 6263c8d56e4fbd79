# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # make expands these names; guest.sh sets scratch
#
# guest-events.sh - part of guest.sh: new processes, and processes that run when the module is loaded

# Each process gets a library with a section, because Debian's programs have none to scan.
events_preload=$PWD/v3/libchain.so
walk_event=/sys/kernel/tracing/events/sframe_unwind/sfu_walk

compile_job() {
	local i dir=$scratch/compile
	mkdir -p "$dir"
	{
		echo 'all: $(patsubst %.c,%.o,$(wildcard *.c))'
		echo '%.o: %.c; gcc -O2 -pipe -c -o $@ $<'
	} >"$dir/Makefile"
	for ((i = 0; i < 6; i++)); do
		printf '#include <stdio.h>\n#include <string.h>\nint f%d(char *s) { return printf("%%s", s) + strlen(s); }\n' $i >"$dir/$i.c"
	done
	make -s -B -j2 -C "$dir"
}

shell_script() {
	local i n=0
	for ((i = 0; i < 50; i++)); do
		n=$((n + $(echo "$i" | tr 0-9 a-j | wc -c)))
		(: "$(date)") && [ -e "$(dirname "$scratch")" ]
	done
	echo "     $n characters"
}

# Limits the walks that end in code that is not scanned yet. Only samples in user mode can end there.
few_are_lost() {	# few_are_lost WHAT LIMIT [LOST]: at most one walk in LIMIT; LOST: so many were, and not what is counted
	is_counted stop.unscanned && grown '^(walks|stop[.]unscanned)' | awk -v what="$1" -v limit="$2" -v lost="${3:-}" '
		$1 == "walks" { walks = $2 } $1 == "stop.unscanned" && lost == "" { lost = $2 }
		END { printf "     %s: %d of %d walks ended in code that was not scanned: %.2f %%\n", what, lost, walks, 100 * lost / (walks ? walks : 1)
			exit !(walks > 500 && lost * limit <= walks) }'
}

record_events() {	# record_events WAY JOB
	snapshot
	expect "$1 $2: done" env LD_PRELOAD="$events_preload" perf record -q -B -e cpu-clock -F 3000 \
		--call-graph="sframe,$1" -o "$scratch/data" bash ./guest.sh --work "$2"
	show_grown "$1 $2" '^(walks|stop|declined|scan|section|map)'
}

# Checks that at least LEAST walks were traced, and that each process has them at one instruction only: a late timer takes
# two samples in one interrupt. Prints the trace on failure.
one_each() {	# one_each LEAST
	local trace=/sys/kernel/tracing/trace
	awk -v least="$1" '/sfu_walk/ { n++; if ($1 in at && at[$1] != $6) twice++; at[$1] = $6 }
		END { exit n < least || twice }' $trace || { grep -v '^#' $trace; false; }
}

# The processes start before the module is loaded. Each has one thread, and its program is in memory. Only user mode is
# sampled. The machine has one processor. With two, a page fault on one processor may hold a page of the section. A scan
# on the other processor does not wait for that page.
already_running() {	# already_running WAY
	local i pids=()
	rmmod sframe_unwind
	for ((i = 0; i < 8; i++)); do
		nice -n 19 "$scratch/chain" -s 100000 >/dev/null &
		pids+=($!)
	done
	sleep 0.5
	modprobe sframe_unwind
	echo 'reason == "unscanned" || reason == "section-fault"' >$walk_event/filter
	echo >/sys/kernel/tracing/trace
	echo 1 >$walk_event/enable
	snapshot
	perf record -q -B -e cpu-clock:u -F 2000 --call-graph="sframe,$1" -p "$(IFS=,; echo "${pids[*]}")" \
		-o "$scratch/data" sleep 1
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	show_grown "$1 already running" '^(walks|stop|scan|section|map)'
	expect "$1 already running: each process loses one walk at most" \
		one_each "$([ "$1" = defer ] && echo 0 || echo 1)"
	echo 0 >$walk_event/enable
	expect "$1 already running: they were sampled" few_are_lost "$1 already running" 20
}

# If the first sample had to request the scan, it would be lost. Scans may take a share of the time, and instructions are
# time here: on a busy host, a clock that goes on would take this share away. Code that is used for less time than its
# scan takes, again and again, is not scanned each time: `load` has such code. perf, which is sampled, too, does not
# count: its first sample may come in a system call of 10 ms, and it is scanned when that returns.
new_code() {	# new_code WAY
	start_sampling "$1"
	snapshot
	echo 'reason == "unscanned" && comm != "perf"' >$walk_event/filter
	echo >/sys/kernel/tracing/trace
	echo 1 >$walk_event/enable
	expect "$1 200 short-lived processes" ./churn spawn 200 hostile/good
	expect "$1 200 forks" ./churn fork 200 hostile/good
	expect "$1 libraries that come and go" ./churn use 1500 "$events_preload"
	echo 0 >$walk_event/enable
	show_grown "$1 new code" '^(walks|stop|declined|scan|section|map)'
	expect "$1 new code is scanned before it is sampled" \
		few_are_lost "$1 new code" 200 "$(grep -c sfu_walk /sys/kernel/tracing/trace)"
	stop_sampling
}

running() {
	local way
	load_module
	cp v3/chain v3/libchain.so "$scratch/"
	for way in $(ways); do
		already_running "$way"
		new_code "$way"
	done
	unload_module
}

events() {
	local way
	load_module
	for way in $(ways); do
		record_events "$way" compile_job
		expect "$way compile job: one walk in 200 is lost at most" few_are_lost "$way compile job" 200
		record_events "$way" shell_script
		expect "$way shell script: one walk in 200 is lost at most" few_are_lost "$way shell script" 200
	done
	unload_module
}
