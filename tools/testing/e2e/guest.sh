#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh - the part of the end-to-end tests that runs in the virtual machine, in the directory of the test programs
#
# guest.sh [--short] FUNCTION [ARG...]: runs the function of this file or of guest-*.sh, which reports its cases by tap.sh.
# --short: of the programs with SFrame data, only those with V3, on arm64 with signed return addresses.
# guest.sh --work FUNCTION [ARG...]: runs a function that reports nothing: what perf is to sample.

set -u
# shellcheck source=/dev/null
. ./tap.sh

stats=/sys/kernel/debug/sframe_unwind/stats
parameters=/sys/module/sframe_unwind/parameters
scratch=/var/tmp/e2e
# Most parts test the .sframe sections of programs: the wrapper shall bring no tables in their place.
export SFU_TABLES=no
mkdir -p "$scratch"
# Samples a second of programs whose stacks are known: in a second they hit nearly every instruction. The program itself takes
# most of that second, so more samples of it are cheaper than more seconds.
sample_rate=7993
# shellcheck disable=SC2034 # guest-*.sh use them
short=0 programs='v*'
if [ "$1" = --short ]; then
	short=1 programs=v3
	# shellcheck disable=SC2034
	[ "$(uname -m)" != aarch64 ] || programs=v3-pac
	shift
fi

# until_true SECONDS COMMAND...: waits until it succeeds, at most so long. A busy host takes its time.
until_true() {
	local tries
	for ((tries = 0; tries < 10 * $1; tries++)); do
		! "${@:2}" || return 0
		sleep 0.1
	done
	return 1
}

waits_for() { until_true 60 "$@"; }

has_ended() { ! kill -0 "$1" 2>/dev/null; }

ends_within() { until_true "$1" has_ended "$2"; }	# ends_within SECONDS PID: does this background process end?

# ---- the module's counters ------------------------------------------------------------------------------------

value() {	# value NAME
	awk -v name="$1" '$1 == name { sum += $2; found = 1 } END { print found ? sum : "missing" }' "$stats"
}

has_walks() { [ "$(value walks)" != 0 ]; }

snapshot() { cat "$stats" >"$scratch/stats.before"; }

# grown PATTERN: "NAME BY" of each matching counter that grew since the snapshot
grown() {
	awk -v pattern="$1" 'NR == FNR { before[$1] = $2; next }
		$1 ~ pattern && $2 > before[$1] { print $1, $2 - before[$1] }' "$scratch/stats.before" "$stats"
}

counts() { [ -n "$(grown "$1")" ]; }	# counts PATTERN: the module has, since the snapshot

# Checks that the counter exists: a missing counter would never grow.
is_counted() { [ "$(value "$1")" != missing ]; }

no_defect() { is_counted defect.magic && [ -z "$(grown '^defect')" ]; }

show_grown() { echo "     $1: $(grown "${2:-^(walks|stop|frames|declined|defect)}" | tr '\n' ';' | sed 's/;$//; s/;/, /g')"; }

# Every walk counts one stop reason, and its frames: the sampled one and its callers. Sampling must have stopped, because
# the counters are not read at one time.
reasons_sum_to_walks() {
	awk '$1 == "walks" { walks = $2 } $1 ~ /^stop[.]/ { stops += $2 } $1 ~ /^depth[.]/ { depths += $2 }
		$1 ~ /^frames[.]/ { frames += $2 }
		END { if (walks == stops && depths == walks + frames) exit 0
			print "     walks " walks ", stops " stops ", depths " depths ", frames " frames; exit 1 }' "$stats"
}

# What each part begins and ends with. Nothing is sampled any more when the module is unloaded.
load_module() { expect 'module loads' modprobe sframe_unwind || exit; }

unload_module() {
	expect 'stop reasons sum to walks' reasons_sum_to_walks
	expect 'module unloads' rmmod sframe_unwind
	expect 'kernel log' log_is_clean
}

has_maps() { [ "$(value map.processes)" -le "$1" ]; }	# has_maps MOST

# Maps are freed after a grace period.
maps_at_most() {	# maps_at_most PROCESSES
	waits_for has_maps "$1" || { grep '^map' "$stats"; return 1; }
}

# tools/lab/vm judges the reports of KCSAN.
log_is_clean() {
	! dmesg | grep -av 'BUG: KCSAN: ' | grep -m 5 -aE '\bBUG\b|WARNING:|Oops|Call Trace|general protection|Unable to handle|suspicious RCU'
}

# from_disk FOLDER...: a copy on the disk takes the place of each folder of the share, which is 9p: files there get no table
from_disk() {
	local folder
	for folder; do
		mkdir -p "$scratch/disk/$folder"
		cp -a "$folder/." "$scratch/disk/$folder/"
		mount --bind "$scratch/disk/$folder" "$folder"
	done
}

# ---- sampling -------------------------------------------------------------------------------------------------

ways() {
	echo sync
	case $(cat "$parameters/hooks") in *deferred*) echo defer ;; esac
}

start_sampling() {	# start_sampling WAY: samples all processes until stop_sampling
	perf record -q -B -a -e cpu-clock -F 3000 -m 4M --call-graph="sframe,$1" -o "$scratch/all.data" &
	sampler=$!
	# The tests must run while perf samples.
	wait_for_samples
}

# Waits until a stack is counted.
wait_for_samples() {
	snapshot
	waits_for counts '^(walks|declined)'
}

stop_sampling() {
	kill -INT "$sampler"
	wait "$sampler"
	rm -f "$scratch/all.data"
}

# ---- how far walks come ---------------------------------------------------------------------------------------

# grown_summary: "NAME BY" of each line of the parameter `summary` since the snapshot
snapshot_summary() { cp "$parameters/summary" "$scratch/summary.before"; }

grown_summary() {
	awk 'NR == FNR { before[$1] = $2; next } { print $1, $2 - before[$1] }' \
		"$scratch/summary.before" "$parameters/summary"
}

# most_are NAME: 99 of 100 walks since the snapshots are NAME, by `summary` or, as stop.NAME, by the counters
most_are() {
	{ grown_summary; grown '^stop'; } | awk -v name="$1" '{ by[$1] = $2 }
		END { exit !(by["walks"] >= 500 && by[name] >= 0.99 * by["walks"]) }'
}

none_is_whole() {
	grown_summary | awk '{ by[$1] = $2 }
		END { exit !(by["walks"] >= 500 && by["complete"] <= 0.01 * by["walks"]) }'
}

starts() {	# starts WAY PROGRAM MODE
	snapshot
	snapshot_summary
	# Not from the start of the program, whose stacks end in code without data.
	expect "$1 $2 $3: record" perf record -q -B -e cpu-clock -F 3989 --delay=100 --call-graph="sframe,$1" \
		-o "$scratch/data" "./$2" "$3" 500
	echo "     $2 $3: $(grown_summary | tr '\n' ';'); $(grown '^(stop|first|depth)' | tr '\n' ';')"
}

# The stacks of a program with SFrame data, in a libc without, are whole. Stacks that begin in a callback of libc are not.
all_starts() {	# all_starts WAY
	local program mode names=(starts) modes=(program)
	[ "$short" = 1 ] || names+=(starts-static) modes+=(threads)
	for program in "${names[@]}"; do
		for mode in "${modes[@]}"; do
			starts "$1" "$program" "$mode"
			expect "$1 $program $mode: complete, by the summary" most_are complete
			expect "$1 $program $mode: they end at the code that starts it" most_are stop.start
		done
	done
	starts "$1" starts callback
	expect "$1 starts callback: not whole" none_is_whole
	expect "$1 starts callback: they end in libc" most_are stop.nodata
}

summary_is_for_all() {
	[ "$(stat -c %a "$parameters/summary")" = 444 ] &&
		setpriv --reuid 65534 --clear-groups cat "$parameters/summary" | cut -d ' ' -f 1 | tr '\n' ' ' |
			grep -qx 'walks complete first full sframe fp declined '
}

# says_loaded: and which stacks the module unwinds
says_loaded() {
	local kinds=synchronous
	case $(cat "$parameters/hooks") in *deferred*) kinds='synchronous and deferred' ;; esac
	dmesg | grep -qF "sframe_unwind: user stacks are unwound from SFrame ($kinds)"
}

says_unloaded() {
	dmesg | grep -q "sframe_unwind: unloaded after [1-9][0-9]* stacks"
}

# ---- chains: recorded here, judged on the host ----------------------------------------------------------------

# clock CHAIN: prints the event to sample by. Chains with signed return addresses are arm64's, where QEMU has a PMU.
clock() {
	case $1 in
	*-pac) echo cycles ;;
	*) echo cpu-clock ;;
	esac
}

# keep_recording FILE: saves the recording. On arm64 it saves the output of the guest's own perf script instead.
keep_recording() {
	case $(uname -m) in
	aarch64) perf script -i "$scratch/data" --no-inline -F comm,pid,tid,time,event,ip \
		--show-mmap-events >"$1" 2>/dev/null ;;
	*) cp "$scratch/data" "$1" ;;
	esac
}

chains() {	# chains DATA
	local data=$1 way version
	load_module
	# lld leaves sections unsorted: such a program needs a table.
	[ ! -d v3-lld ] || { from_disk v3-lld; sleep 3; expect 'load v3-lld' sframectl load v3-lld/chain v3-lld/libchain.so; }
	for way in $(ways); do
		for version in $programs/chain; do
			version=${version%/chain}
			snapshot
			expect "record $version $way" perf record -q -B -e "$(clock "$version")" -F "$sample_rate" \
				--call-graph="sframe,$way" -o "$scratch/data" "./$version/chain" -s 1
			# perf falls back to the clock if there is no PMU.
			expect "recorded by $(clock "$version")" \
				test "$(perf evlist -i "$scratch/data" 2>/dev/null | head -n 1)" = "$(clock "$version")"
			show_grown "$version $way"
			keep_recording "$data/$version.$way"
		done
		all_starts "$way"
	done
	expect 'all users may read the summary' summary_is_for_all
	expect 'stop reasons sum to walks' reasons_sum_to_walks
	if [ "$(uname -m)" = aarch64 ]; then
		# perf guesses a caller on arm64. The wrapper prevents the guess, so record without the wrapper, too.
		expect 'record without the wrapper' /usr/bin/perf record -q -B -e cycles -F 3989 --call-graph=fp \
			-o "$scratch/data" ./v3-pac/chain -s 1
		keep_recording "$data-guessed"
	fi
	echo 0 >"$parameters/enabled"
	snapshot
	perf record -q -B -e cpu-clock -F 5000 --call-graph=fp -o "$scratch/data" ./v3/chain -s 1 >/dev/null
	expect 'enabled=0: no walk' test -z "$(grown '^walks')"
	expect 'enabled=0: declined and counted' test -n "$(grown '^declined.disabled')"
	echo 1 >"$parameters/enabled"
	expect 'no map is left' maps_at_most "$(maps_allowed)"
	expect 'module unloads' rmmod sframe_unwind
	expect 'the kernel log says so' says_unloaded
	expect 'kernel log' log_is_clean
}

# ---- hostile sections -----------------------------------------------------------------------------------------

own_counter_grew() {	# own_counter_grew EXPECTED
	case $1 in
	frames) no_defect && [ -n "$(grown '^frames.sframe')" ] ;;
	sound) no_defect && [ -n "$(grown '^scan.runs')" ] ;;
	stop) [ -n "$(grown '^stop[.]bad-cfa')" ] ;;
	defect.*) [ -n "$(grown "^defect[.](${1#defect.})\$")" ] ;;
	*) echo "     '$1' is no expectation"; false ;;
	esac
}

hostile_sections() {	# hostile_sections WAY
	local name expected status ms nr=0
	start_sampling "$1"
	while read -r name expected; do
		[ "$expected" != map ] || continue
		# A program runs again until its counter has grown: on a busy host, all the time of a program may pass between two
		# samples.
		ms=40
		[ "$expected" != any ] || ms=120
		snapshot
		for _ in {1..15}; do
			"./hostile/$name" $ms
			status=$?
			[ $status = 42 ] || break
			[ "$expected" != any ] || break
			! own_counter_grew "${expected//,/|}" || break
		done
		nr=$((nr + 1))
		expect "$1 hostile $name: program unaffected" test $status = 42
		[ "$expected" = any ] ||
			expect "$1 hostile $name: ${expected//,/ or } counted" own_counter_grew "${expected//,/|}"
		show_grown "$name" '^(defect|stop)'
	done <hostile/table
	expect "$1 hostile: at least 120 programs ($nr)" test $nr -ge 120
	for name in protnone unmapped dropped scribble truncated header-gone; do
		snapshot
		expect "$1 changing section: $name" ./churn "$name" 800 hostile/good
		show_grown "$name"
	done
	snapshot
	expect "$1 a thousand segments, more than exec takes" ./churn remap 500 hostile/segment-1000-times
	show_grown segment-1000-times
	stop_sampling
	expect "$1 hostile: stop reasons sum to walks" reasons_sum_to_walks
}

# ---- processes, libraries and mappings that come and go ---------------------------------------------------------

# The number of processes that may have a map. Tasks of the kernel have no memory.
maps_allowed() { cat /proc/[0-9]*/statm 2>/dev/null | awk '$1 { n++ } END { print n + 0 }'; }

churn() {	# churn WAY PROCESSES
	start_sampling "$1"
	snapshot
	expect "$1 $2 short-lived processes" ./churn spawn "$2" hostile/good
	expect "$1 200 forks" ./churn fork 200 hostile/good
	expect "$1 dlopen and dlclose" ./churn dlopen 2000 ./v3/libchain.so
	expect "$1 mmap and munmap" ./churn remap 2000 hostile/good
	if [ -e ./compat ]; then
		expect "$1 32-bit task" test "$(./compat >/dev/null; echo $?)" = 42
		expect "$1 32-bit task: declined and counted" test -n "$(grown '^declined.compat')"
	fi
	stop_sampling
	show_grown "$1 churn"
	expect "$1 churn: sframe frames were found" test -n "$(grown '^frames.sframe')"
	expect "$1 churn: stop reasons sum to walks" reasons_sum_to_walks
	expect "$1 churn: maps of dead processes are freed" maps_at_most "$(maps_allowed)"
}

# ---- loading and unloading under load ---------------------------------------------------------------------------

# Prints kB of kernel memory of the kinds that a module can leak. Other users vary, so the least of three values counts.
kernel_memory() {
	for _ in 1 2 3; do
		sync
		echo 3 >/proc/sys/vm/drop_caches
		sleep 0.5
		awk '$1 ~ /^(SUnreclaim|Percpu|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo
	done | sort -n | head -n 1
}

without_ftrace() {
	# Some kernels do not turn it off: 7.3 does not.
	if ! sysctl -q -w kernel.ftrace_enabled=0 2>"$scratch/said"; then
		expect "the kernel keeps ftrace on: $(cat "$scratch/said")" grep -q 'Operation not supported' "$scratch/said"
		return
	fi
	expect 'without ftrace the module does not load' test "$(modprobe sframe_unwind 2>/dev/null || echo refused)" = refused
	expect 'and says why' sh -c 'dmesg | grep -q "sframe_unwind: cannot hook [a-z_]*(): ftrace is turned off"'
	expect 'nothing of it stays' test ! -e /sys/module/sframe_unwind
	sysctl -q -w kernel.ftrace_enabled=1
	expect 'then it loads' modprobe sframe_unwind
	expect 'and ftrace stays on' test "$(sysctl -q -w kernel.ftrace_enabled=0 2>/dev/null; sysctl -n kernel.ftrace_enabled)" = 1
	expect 'module unloads' rmmod sframe_unwind
}

# end_all PID...: ends processes, and fails if one of them had ended before. kill alone succeeds if one is left.
end_all() {
	local pid status=0
	for pid; do
		kill "$pid" || status=1
	done
	return $status
}

cycles() {	# cycles COUNT
	local i load=() failed=0 walked=0
	without_ftrace
	for i in 1 2; do
		nice ./v3/chain -s 100000 >/dev/null &
		load+=($!)
	done
	nice ./churn remap 100000000 hostile/good >/dev/null &
	load+=($!)
	perf record -q -B -a -e cpu-clock -F 3000 -m 4M --call-graph=fp -o /dev/null &
	sampler=$!
	sleep 1
	for ((i = 0; i < $1; i++)); do
		modprobe sframe_unwind || { failed=$((failed + 1)); continue; }
		# Unload the module at different times: at once, or up to some hundred samples later.
		[ $((i % 2)) = 0 ] || waits_for has_walks
		sleep "0.$((i % 3))$((i % 7))"
		[ "$(value walks)" = 0 ] || walked=$((walked + 1))
		rmmod sframe_unwind || failed=$((failed + 1))
	done
	kill -INT "$sampler"
	wait "$sampler"
	expect 'the load has lasted' end_all "${load[@]}"
	wait "${load[@]}" 2>/dev/null
	echo "     $walked of $1 cycles saw walks"
	expect "$1 cycles of modprobe and rmmod under load" test "$failed" = 0
	expect "half of the cycles saw walks" test "$walked" -ge $(($1 / 2))
	expect 'the kernel log says that it was unloaded in the middle of a recording' says_unloaded
	expect 'module is gone' test ! -e /sys/module/sframe_unwind
	expect 'kernel log' log_is_clean
}

load() {	# load PROCESSES
	local way
	load_module
	expect 'the kernel log says that it was loaded' says_loaded
	for way in $(ways); do
		hostile_sections "$way"
		churn "$way" "$1"
	done
	unload_module
}

for more in ./guest-*.sh; do
	# shellcheck source=/dev/null
	[ ! -e "$more" ] || . "$more"
done
if [ "$1" = --work ]; then
	shift
	"$@"
	exit
fi

# When perf record ends, it waits up to a second for its thread that follows BPF programs. The recipes show perf as it is.
if [ "$1" != recipes ]; then
	mkdir -p "$scratch/bin"
	cat >"$scratch/bin/perf" <<-END
		#!/bin/sh
		[ "\$1" != record ] || { shift; set -- record --no-bpf-event "\$@"; }
		exec $(command -v perf) "\$@"
	END
	chmod +x "$scratch/bin/perf"
	PATH=$scratch/bin:$PATH
fi
# perf must not lower its rate because an emulated machine is slow.
sysctl -q -w kernel.perf_cpu_time_max_percent=0
"$@"
end_tap
