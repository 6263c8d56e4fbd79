# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest-latency.sh - part of guest.sh: how late a real-time task wakes up in a sampled storm, with and without the module
#
# shellcheck disable=SC2154 # guest.sh sets the variables

latency_dir=/var/tmp/latency

repeat() {	# repeat COMMAND...: until the end of the round; COMMAND must succeed each time
	while [ ! -e "$latency_dir/over" ]; do
		"$@" >"$latency_dir/output.$BASHPID" 2>&1 ||
			echo "$* ended with status $?: $(cat "$latency_dir/output.$BASHPID")" >>"$latency_dir/failed"
		echo "${*:1:2}" >>"$latency_dir/done"
	done
}

start_programs() {
	load=()
	rm -f "$latency_dir"/{over,failed,done,output.*}
	while read -r command; do
		# shellcheck disable=SC2086 # words of a command
		repeat $command &
		load+=($!)
	done <<-END
		./churn storm 500 hostile/good v3/libchain.so
		./churn kill 500 hostile/good
		./churn remap 500 hostile/segment-1000-times
		./churn dlopen 500 v2/libchain.so
		./churn spawn 10 hostile/good
		./churn bomb 3 hostile/good
		./crowded 500 3000 hostile/good
		./v3/chain -s 1
	END
}

stop_programs() {
	touch "$latency_dir/over"
	wait "${load[@]}"
}

# Wakes up every millisecond, 1000 * SECONDS times, by the highest priority that is not the kernel's own. The file gets a
# histogram of the microseconds from the timer's time to user mode.
wake_up() {	# wake_up SECONDS FILE
	LD_LIBRARY_PATH=. ./cyclictest --quiet --mlockall --priority=90 --interval=1000 --loops=$(($1 * 1000)) \
		--histogram=5000 >"$2"
}

# latest FILE: the latest wake-up, in us. Wake-ups beyond the histogram are there, too.
latest() { awk '/^# Max Latencies:/ { print $4 + 0 }' "$1"; }

# 99.9 of 100 wake-ups are not later.
quantile() {
	awk '/^# Total:/ { all = $3 + 0 } /^[0-9]/ { us[++nr] = $1 + 0; by[nr] = $2 + 0 }
		END { for (i = 1; i <= nr; i++) if ((sum += by[i]) >= 0.999 * all) { print us[i]; exit } }' "$1"
}

round() {	# round NAME SECONDS: adds the latest wake-up to the list NAME
	local us
	# Among the programs, perf would need more time to begin than the round has.
	start_perf -a -e cpu-clock -F 999 -m 4M --call-graph=fp -o /dev/null
	start_programs
	# Everything is on its way, and the module has scanned the first processes.
	sleep 1
	wake_up "$2" "$latency_dir/histogram"
	kill -INT "$sampler"
	wait "$sampler"
	stop_programs
	us=$(latest "$latency_dir/histogram")
	echo "     $1: $2 s; $(quantile "$latency_dir/histogram") us (99.9 %), $us us at most; $(wc -l <"$latency_dir/done") programs"
	[ ! -e "$latency_dir/failed" ] || { head -n 5 "$latency_dir/failed"; return 1; }
	echo "$us" >>"$latency_dir/$1"
}

most() { sort -n "$latency_dir/$1" | tail -n 1; }

latency() {	# latency ROUNDS SECONDS
	local nr walks=0 sampler load
	check 'the kernel is preempted everywhere' test "$(cat /sys/kernel/realtime)" = 1
	mkdir -p "$latency_dir/programs"
	# Copy the programs: the files that the load maps must be on the guest's own disk.
	cp -a churn chain crowded cyclictest lib*.so* hostile v2 v3 "$latency_dir/programs/" 2>/dev/null
	cd "$latency_dir/programs" || exit
	for ((nr = 0; nr < $1; nr++)); do
		check 'without the module: every program did what it should' round without "$2"
		check 'module loads' modprobe sframe_unwind || exit
		check 'with the module: every program did what it should' round with "$2"
		walks=$((walks + $(value walks)))
		check 'module unloads' rmmod sframe_unwind
	done
	check "stacks were unwound ($walks walks)" test $walks -gt $((100 * $1 * $2))
	check "latest wake-up, of $1 rounds: $(most with) us with the module, $(most without) us without" \
		test "$(most with)" -le "$(most without)"
	check 'kernel log' log_is_clean
}
