# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# guest-storm.sh - part of guest.sh: all operations at the same time, sampled without a pause; see storm() at the end
#
# shellcheck disable=SC2154 # guest.sh sets the variables

storm_dir=/var/tmp/storm
tracing=/sys/kernel/tracing
kmemleak=/sys/kernel/debug/kmemleak

progress() { printf '     %4d s: %s\n' "$SECONDS" "$*"; }

# ---- sampling -------------------------------------------------------------------------------------------------

# Prints the samples per second on each processor. Some thousands more would fill an emulated processor: see burst().
rate() { if [ -e $kmemleak ]; then echo 1000; else echo 3000; fi; }

# Prints the event to sample by. On arm64 the debug kernel has NMIs by the PMU; Debian's kernels have no NMIs.
has_nmis() { grep -q 'gicv3_pseudo_nmi=1' /proc/cmdline; }
event() { if has_nmis; then echo cycles; else echo cpu-clock; fi; }

stacks_in_nmis() {
	trace_walks 1
	perf record -q -B -a -e "$(event)" -F "$(rate)" -m 4M --call-graph=fp -o /dev/null -- ./churn remap 300 hostile/good
	trace_walks 0
	echo "     walks: $(nr_walks_in nmi) in NMIs, $(nr_walks_in irq) in interrupts, $(nr_walks_in switch task) in tasks"
	[ "$(nr_walks_in nmi)" -gt 100 ]
}

# Prints the kernel's own mode: the perf wrapper needs the module for sframe.
kernels_way() { if [ "$1" = sync ]; then echo fp; else echo fp,defer; fi; }

record() {	# record WAY: samples all processors, with or without the module
	perf record -q -B -a -e "$(event)" -F "$(rate)" -m 4M --call-graph="$(kernels_way "$1")" -o /dev/null &
	sampler=$!
}

# Samples at a higher rate for a moment. At `-F max`, which is 100,000, an emulated processor makes no progress.
burst() {	# burst WAY
	perf record -q -B -a -e "$(event)" -F $((5 * $(rate))) -m 4M --call-graph="$(kernels_way "$1")" -o /dev/null -- sleep 0.5 &&
		sleep 5.5
}

# ---- the load --------------------------------------------------------------------------------------------------

# keep COMMAND...: runs COMMAND again and again until the storm is over; COMMAND must succeed each time
keep() {
	local output=$storm_dir/output.$BASHPID
	# A lower priority leaves time to load and unload the module.
	renice -n 10 $BASHPID >/dev/null
	while [ ! -e "$storm_dir/over" ]; do
		"$@" >"$output" 2>&1 || echo "$* ended with status $?: $(cat "$output")" >>"$storm_dir/failed"
		echo "${*:1:2}" >>"$storm_dir/done"
	done
}

# In the mount namespace a path is another file. The first process of the PID namespace ends the others.
in_namespaces() {
	unshare --mount --pid --fork --mount-proc bash -c '
		mount --bind v3/libchain.so v2/libchain.so &&
			{ ./churn remap 100000 hostile/good & } &&
			./churn dlopen 200 v2/libchain.so && ./churn spawn 3 hostile/good && ./churn bomb 3 hostile/good'
}

all_at_once() {	# all_at_once WAY
	load=()
	rm -f "$storm_dir"/{over,failed,done,output.*}
	while read -r command; do
		# shellcheck disable=SC2086 # words of a command
		keep $command &
		load+=($!)
	done <<-END
		./copies -a $1 5000 hostile/copied
		./churn storm 5000 hostile/good v3/libchain.so
		./churn kill 5000 hostile/good
		./churn remap 3000 hostile/good
		./churn dlopen 3000 v2/libchain.so
		./churn scribble 3000 hostile/good
		./churn bomb 5 hostile/good
		./churn spawn 20 hostile/good
		in_namespaces
		burst $1
	END
}

over() {
	touch "$storm_dir/over"
	wait "${load[@]}"
	kill -INT "$sampler"
	wait "$sampler"
}

# With another tracer on the functions that the module hooks, ftrace calls the module with preemption off. If the module is
# alone there, it may be preempted. The tracer records nothing.
trace_hooked() {	# trace_hooked 0|1
	local functions
	functions=$(cut -d ' ' -f 1 $tracing/enabled_functions)
	if [ "$1" = 0 ]; then
		echo nop >$tracing/current_tracer
	elif [ -n "$functions" ]; then	# an empty filter would be all functions
		echo 0 >$tracing/tracing_on
		echo "$functions" >$tracing/set_ftrace_filter
		echo function >$tracing/current_tracer
		hooks_shared=$(grep -c '([2-9])' $tracing/enabled_functions)
	fi
}

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# timed COMMAND...: stores the time of COMMAND in $ms
timed() {
	local began status=0
	began=$(now_ms)
	"$@" || status=$?
	ms=$(($(now_ms) - began))
	return $status
}

# Loads, disables and unloads the module for SECONDS, and at least twice. At the end the module is loaded.
reload() {	# reload WAY SECONDS
	local end=$((SECONDS + $2)) nr=0 failed=0 ms loading=0 unloading=0 told=$SECONDS hooks_shared=0
	while
		timed modprobe sframe_unwind || failed=$((failed + 1))
		[ "$ms" -lt $loading ] || loading=$ms
		trace_hooked $((nr % 2))
		[ $SECONDS -lt $end ] || [ $nr -lt 2 ]
	do
		sleep "0.$((nr % 10))"
		echo N >"$parameters/enabled"
		sleep "0.$((nr % 3))"
		echo Y >"$parameters/enabled"
		# Every fourth time the module stays long enough to scan all processes.
		sleep $((nr % 4 == 3 ? 5 : 0)).3
		add_up
		timed rmmod sframe_unwind || failed=$((failed + 1))
		[ "$ms" -lt $unloading ] || unloading=$ms
		nr=$((nr + 1))
		if [ $((SECONDS - told)) -ge 30 ]; then
			told=$SECONDS
			progress "$1: $nr times loaded, disabled, unloaded; $walks walks, $frames frames by SFrame"
		fi
	done
	progress "$1: $nr times loaded (in $loading ms at most), disabled, unloaded (in $unloading ms)"
	trace_hooked 0
	expect "$1: the module comes and goes" test $failed = 0
	expect "$1: another tracer was on its hooks ($hooks_shared of them)" test "$hooks_shared" -ge 4
}

# Adds up the counters before the module is unloaded: the next module begins at 0.
add_up() {
	walks=$((walks + $(value walks)))
	frames=$((frames + $(value frames.sframe)))
}

# ---- after the storm -------------------------------------------------------------------------------------------

nobody_failed() {
	[ ! -e "$storm_dir/failed" ] || { head -n 5 "$storm_dir/failed"; return 1; }
}

all_ran() {	# each command has ended at least once
	sort "$storm_dir/done" | uniq -c | awk '{ $1 = $1; printf "%s%s", (NR > 1 ? ", " : "     "), $0 } END { print "" }'
	[ "$(sort -u "$storm_dir/done" | wc -l)" = ${#load[@]} ]
}

# kmemleak lists memory that has no pointer to it. An address without a name belongs to a module that was unloaded.
nothing_leaked() {
	echo scan >$kmemleak
	# kmemleak reports memory that is older than five seconds, and that two scans find.
	sleep 6
	echo scan >$kmemleak
	if grep -qE 'sfu_|sframe|\] 0x' $kmemleak; then
		head -n 60 $kmemleak
		return 1
	fi
}

# lockdep turns itself off after a report, and when its tables are full.
lockdep_works() { grep -q '^ *debug_locks: *1' /proc/lockdep_stats; }

quiet() {	# quiet WAY: after the storm, with nothing sampled
	expect "$1: every program did what it should" nobody_failed
	expect "$1: all of them ran" all_ran
	expect "$1: stacks were unwound ($walks walks, $frames frames by SFrame)" test "$frames" -gt 0
	expect "$1: stop reasons sum to walks" reasons_sum_to_walks
	expect "$1: maps of dead processes are freed" maps_at_most "$(maps_allowed)"
	[ ! -e $kmemleak ] || expect "$1: nothing leaked" nothing_leaked
	expect "$1: module unloads" rmmod sframe_unwind
	[ ! -e $kmemleak ] || expect "$1: nothing leaked by what is unloaded" nothing_leaked
	[ ! -e /proc/lockdep_stats ] || expect "$1: lockdep still looks" lockdep_works
	expect "$1: kernel log" log_is_clean
}

# Threads map, unmap, move and protect code, fork, execute, exit, and load and unload libraries. Processes are killed
# while they are scanned, have different copies of one section, and run in namespaces. perf samples all processors, and
# the module is loaded and unloaded meanwhile.
storm() {	# storm SECONDS
	local way walks frames load sampler
	mkdir -p "$storm_dir/programs"
	# Copy the programs: the files that the storm maps must be on the guest's own disk.
	cp -a churn copies hostile v2 v3 "$storm_dir/programs/"
	cd "$storm_dir/programs" || exit
	# KCSAN's reports count as warnings there, also those of the kernel itself.
	[ -e /sys/kernel/debug/kcsan ] || sysctl -q -w kernel.panic_on_warn=1
	sysctl -q -w kernel.panic_on_oops=1
	[ ! -e $kmemleak ] || echo scan=off >$kmemleak
	load_module
	! has_nmis || expect 'stacks are taken in NMIs' stacks_in_nmis
	for way in $(ways); do
		walks=0 frames=0
		expect "$way: differing copies of one section" ./copies "$way" 3000 hostile/copied
		rmmod sframe_unwind
		record "$way"
		all_at_once "$way"
		reload "$way" "$1"
		sleep 3
		over
		add_up
		quiet "$way"
		modprobe sframe_unwind
	done
	expect 'module unloads' rmmod sframe_unwind
}
