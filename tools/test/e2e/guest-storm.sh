# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest-storm.sh - everything at the same time, sampled without a pause: see storm, at the end
#
# shellcheck disable=SC2154 # guest.sh sets what is not set here

storm_dir=/var/tmp/storm
kmemleak=/sys/kernel/debug/kmemleak

progress() { printf '     %4d s: %s\n' "$SECONDS" "$*"; }

# ---- sampling -------------------------------------------------------------------------------------------------

# Samples a second on each processor, all the time. At some thousands more an emulated one does nothing else: see burst().
rate() { if [ -e $kmemleak ]; then echo 1000; else echo 3000; fi; }

# The event that samples. On arm64 the PMU's interrupt is an NMI on the debug kernel; Debian's kernels have no NMIs.
has_nmis() { grep -q 'gicv3_pseudo_nmi=1' /proc/cmdline; }
event() { if has_nmis; then echo cycles; else echo cpu-clock; fi; }

stacks_in_nmis() {
	trace_walks 1
	perf record -q -B -a -e "$(event)" -F "$(rate)" -m 4M --call-graph=fp -o /dev/null -- ./churn remap 300 hostile/good
	trace_walks 0
	echo "     walks: $(nr_walks_in nmi) in NMIs, $(nr_walks_in irq) in interrupts, $(nr_walks_in switch task) in tasks"
	[ "$(nr_walks_in nmi)" -gt 100 ]
}

# Our wrapper wants the module to be there.
kernels_way() { if [ "$1" = sync ]; then echo fp; else echo fp,defer; fi; }

record() {	# record WAY: all processors, whether the module is there or not
	perf record -q -B -a -e "$(event)" -F "$(rate)" -m 4M --call-graph="$(kernels_way "$1")" -o /dev/null &
	sampler=$!
}

# More of them, for a moment: as long as an emulated processor stands it. At `-F max`, which is 100,000, it stands still.
burst() {	# burst WAY
	perf record -q -B -a -e "$(event)" -F $((5 * $(rate))) -m 4M --call-graph="$(kernels_way "$1")" -o /dev/null -- sleep 0.5 &&
		sleep 5.5
}

# ---- what is going on -----------------------------------------------------------------------------------------

# keep COMMAND...: over and over until the storm is over; it must succeed
keep() {
	local output=$storm_dir/output.$BASHPID
	# The module has to come and go, too.
	renice -n 10 $BASHPID >/dev/null
	while [ ! -e "$storm_dir/over" ]; do
		"$@" >"$output" 2>&1 || echo "$* ended with status $?: $(cat "$output")" >>"$storm_dir/failed"
		echo "${*:1:2}" >>"$storm_dir/done"
	done
}

# The same path is another file in here; the processes end with the first of them.
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
		# shellcheck disable=SC2086 # its words
		keep $command &
		load+=($!)
	done <<-END
		./copies -a $1 20000 hostile/copied
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

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# timed COMMAND...: what it took is in $ms
timed() {
	local began status=0
	began=$(now_ms)
	"$@" || status=$?
	ms=$(($(now_ms) - began))
	return $status
}

# Loads, disables and unloads the module for that long, and twice at least; leaves it loaded.
reload() {	# reload WAY SECONDS
	local end=$((SECONDS + $2)) nr=0 failed=0 ms loading=0 unloading=0 told=$SECONDS
	while
		timed modprobe sframe_unwind || failed=$((failed + 1))
		[ "$ms" -lt $loading ] || loading=$ms
		[ $SECONDS -lt $end ] || [ $nr -lt 2 ]
	do
		sleep "0.$((nr % 10))"
		echo N >"$parameters/enabled"
		sleep "0.$((nr % 3))"
		echo Y >"$parameters/enabled"
		# Every fourth has the time to know everybody.
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
	check "$1: the module comes and goes" test $failed = 0
}

# The counters go with the module.
add_up() {
	walks=$((walks + $(value walks)))
	frames=$((frames + $(value frames.sframe)))
}

# ---- and what is left of it -----------------------------------------------------------------------------------

nobody_failed() {
	[ ! -e "$storm_dir/failed" ] || { head -n 5 "$storm_dir/failed"; return 1; }
}

all_ran() {	# each of them, to its end
	sort "$storm_dir/done" | uniq -c | awk '{ $1 = $1; printf "%s%s", (NR > 1 ? ", " : "     "), $0 } END { print "" }'
	[ "$(sort -u "$storm_dir/done" | wc -l)" = ${#load[@]} ]
}

# kmemleak lists memory that has no pointer to it. An address without a name belongs to a module that was unloaded.
nothing_leaked() {
	echo scan >$kmemleak
	# Only what is older than five seconds counts, and only what is found twice.
	sleep 6
	echo scan >$kmemleak
	if grep -qE 'sfu_|sframe|\] 0x' $kmemleak; then
		head -n 60 $kmemleak
		return 1
	fi
}

# lockdep stops looking at the first complaint, and when it has no room left.
lockdep_works() { grep -q '^ *debug_locks: *1' /proc/lockdep_stats; }

quiet() {	# quiet WAY: after the storm, with nothing sampled
	check "$1: every program did what it should" nobody_failed
	check "$1: all of them ran" all_ran
	check "$1: stacks were unwound ($walks walks, $frames frames by SFrame)" test "$frames" -gt 0
	check "$1: stop reasons sum to walks" reasons_sum_to_walks
	check "$1: maps of dead processes are freed" maps_at_most "$(maps_allowed)"
	[ ! -e $kmemleak ] || check "$1: nothing leaked" nothing_leaked
	check "$1: module unloads" rmmod sframe_unwind
	[ ! -e $kmemleak ] || check "$1: nothing leaked by what is unloaded" nothing_leaked
	[ ! -e /proc/lockdep_stats ] || check "$1: lockdep still looks" lockdep_works
	check "$1: kernel log" log_is_clean
}

# Threads that map, unmap, move and protect code, fork, execute, exit, and load and unload libraries; processes that are
# killed while they are scanned, with differing copies of one section, in namespaces; all sampled on every processor,
# while the module comes and goes.
storm() {	# storm SECONDS
	local way walks frames load sampler
	mkdir -p "$storm_dir/programs"
	# A file that is mapped here is on a disk of our own, not on the host's.
	cp -a churn copies hostile v2 v3 "$storm_dir/programs/"
	cd "$storm_dir/programs" || exit
	sysctl -q -w kernel.panic_on_warn=1 kernel.panic_on_oops=1
	[ ! -e $kmemleak ] || echo scan=off >$kmemleak
	check 'module loads' modprobe sframe_unwind || exit
	! has_nmis || check 'stacks are taken in NMIs' stacks_in_nmis
	for way in $(ways); do
		walks=0 frames=0
		check "$way: differing copies of one section" ./copies "$way" 3000 hostile/copied
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
	check 'module unloads' rmmod sframe_unwind
}
