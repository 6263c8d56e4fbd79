# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
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

# perf samples each 1001 us. That and the tick, each 4 ms, meet in all ways.
sample_us=1001

# Wakes up by the highest priority that is not the kernel's own, and adds the histogram of the microseconds from the
# timer's time to user mode to FILE.
wake_up() {	# wake_up SECONDS INTERVAL FILE OPTION...
	LD_LIBRARY_PATH=. ./cyclictest --quiet --mlockall --priority=90 --interval="$2" --loops=$(($1 * 1000000 / $2)) \
		--histogram=5000 "${@:4}" >>"$3"
}

# timers FUNCTION: the time now, and when each timer of this function expires, in ns
timers() {
	awk -v function_name=" $1," '/^now at / { print $3 }
		index($0, function_name) { getline; sub(/.* expires at /, ""); sub(/-.*/, ""); print }' /proc/timer_list
}

# follows SAMPLE: does a timer of a task always expire 1 to 2 us after one of the samples, of which one comes at SAMPLE?
follows() {
	timers hrtimer_wakeup | awk -v sample="$1" -v period=$((sample_us * 1000)) 'NR > 1 {
		after = ($1 - sample) % period
		if (after < 0) after += period
		if (after >= 1000 && after <= 2000) found = 1
	} END { exit !found }'
}

# Each wake-up comes 1 to 2 us after a sample, so it waits for all that the interrupt of the sample does.
wake_up_with_samples() {	# wake_up_with_samples SECONDS FILE
	local at sample full pid tries status=1 period=$((sample_us * 1000))
	: >"$2"
	# The programs shall not keep this from starting in time.
	chrt -f -p 50 $BASHPID
	for ((tries = 0; tries < 5; tries++)); do
		mapfile -t at < <(timers perf_swevent_hrtimer)
		# perf does not sample: start_perf has said so.
		[ ${#at[@]} = 2 ] || return 1
		# cyclictest begins with the next full second, plus an offset.
		if [ $((at[0] % 1000000000)) -gt 500000000 ]; then
			sleep 0.6
			continue
		fi
		full=$(((at[0] / 1000000000 + 1) * 1000000000))
		# The first sample from then on.
		sample=$((full + period - 1 - (full - at[1] + period - 1) % period))
		: >"$2.new"
		wake_up "$1" $sample_us "$2.new" --secaligned=$(((sample - full + 999) / 1000 + 1)) &
		pid=$!
		sleep 1.5
		follows "$sample"
		status=$?
		wait $pid
		[ $status != 0 ] || break
	done
	cat "$2.new" >>"$2"
	return $status
}

# latest FILE: the latest wake-up, in us. Wake-ups beyond the histogram are there, too.
latest() { awk '/^# Max Latencies:/ && $4 + 0 > most { most = $4 + 0 } END { print most }' "$1"; }

# latest_few FILE: the eight latest wake-ups, in us
latest_few() {
	sort -rn "$1" | awk '/^[0-9]/ { for (i = $2 + 0; i > 0 && nr < 8; i--) printf "%s%d", nr++ ? " " : "", $1 }'
}

# 99.9 of 100 wake-ups are not later.
quantile() {
	sort -n "$1" | awk '/^[0-9]/ { us[++nr] = $1 + 0; by[nr] = $2 + 0; all += $2 }
		END { for (i = 1; i <= nr; i++) if ((sum += by[i]) >= 0.999 * all) { print us[i]; exit } }'
}

round() {	# round NAME SECONDS: adds the latest wake-up to the list NAME
	local kind file status=0
	rm -f "$latency_dir"/histogram*
	# Among the programs, perf would need more time to begin than the round has.
	start_perf -a -e cpu-clock -c $((sample_us * 1000)) -m 4M --call-graph=fp -o /dev/null
	start_programs
	# Everything is on its way, and the module has scanned the first processes.
	sleep 1
	# These come at any time: 1 us earlier from sample to sample.
	wake_up "$2" $((sample_us - 1)) "$latency_dir/histogram-any"
	(wake_up_with_samples "$2" "$latency_dir/histogram-sample") || status=1
	kill -INT "$sampler"
	wait "$sampler"
	stop_programs
	for kind in any sample; do
		file=$latency_dir/histogram-$kind
		echo "     $1: $2 s, wake-ups at $kind time: $(quantile "$file") us (99.9 %); the latest: $(latest_few "$file") us"
		latest "$file" >>"$latency_dir/$1"
	done
	echo "     $1: $(wc -l <"$latency_dir/done") programs"
	[ ! -e "$latency_dir/failed" ] || { head -n 5 "$latency_dir/failed"; return 1; }
	[ $status = 0 ] || { echo '     no wake-ups at the time of samples'; return 1; }
}

most() { sort -n "$latency_dir/$1" | tail -n 1; }

latency() {	# latency ROUNDS SECONDS
	local nr walks=0 sampler load
	check 'the kernel is preempted everywhere' grep -q PREEMPT_RT /proc/version
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
