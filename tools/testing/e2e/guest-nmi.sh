# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-nmi.sh - part of guest.sh: stacks taken in NMIs; tools/testing/e2e/nmi sends the NMIs

nmi_module=./nmi_sampler-$(uname -r).ko
tracing=/sys/kernel/tracing

# If the registers or the memory of user mode are not available (see nmi_sampler.c), the hit says nothing about a stack.
known='hit < 2'

sample_nmis() {	# sample_nmis FILTER DATA ARG...
	local filter=$1 data=$2
	shift 2
	perf record -q -B -m 4M -e nmi_sampler:nmi --filter "$filter" --call-graph=sframe,sync -o "$data" "$@"
}

hits() {	# hits DATA: prints "user|kernel|... NUMBER", the hits of each kind in ./chain
	perf script -i "$1" -F comm,trace 2>/dev/null |
		awk '$1 == "chain" { sub(/.*hit=/, ""); count[$1]++ } END { for (kind in count) print kind, count[kind] }'
}

# Counts the traced walks by their context, for nr_walks_in(). The flags of a trace record give it.
# switch: in the scheduler, with interrupts off; task: on the way back to user mode
count_traced() {
	awk '/ sfu_walk: / {
			match($0, /\] [^ ]+ /)
			flag = substr($0, RSTART + 4, 1)
			off = substr($0, RSTART + 2, 1) ~ /[dD]/
			count[flag ~ /[zZ]/ ? "nmi" : flag ~ /[hH]/ ? "irq" : off ? "switch" : "task"]++
		}
		END { for (context in count) print context, count[context] }' "$tracing/trace" >"$scratch/walks"
}

trace_walks() {	# trace_walks 1|0; 0 counts them
	[ "$1" = 0 ] || echo >"$tracing/trace"
	echo "$1" >"$tracing/events/sframe_unwind/sfu_walk/enable"
	[ "$1" = 1 ] || count_traced
}

nr_walks_in() {	# nr_walks_in nmi|irq|switch|task...
	awk -v wanted=" $* " 'index(wanted, " " $1 " ") { count += $2 } END { print count + 0 }' "$scratch/walks"
}

# ---- at every instruction: time is counted in instructions, and the timer's NMI may come at any of them ---------

nmi_everywhere() {	# nmi_everywhere DATA
	load_module
	expect 'NMIs come' insmod "$nmi_module" period_us=125 || exit
	snapshot
	expect 'record by NMI' sample_nmis "$known" "$scratch/data" ./v3/chain -s 1
	show_grown v3
	cp "$scratch/data" "$1/v3.nmi"
	expect 'NMIs end' rmmod nmi_sampler
	unload_module
}

# The same with the NMIs of arm64's PMU, without nmi_sampler.
nmi_of_pmu() {	# nmi_of_pmu DATA
	local version
	expect "the PMU's interrupts are NMIs" sh -c 'dmesg | grep -q "hw perfevents: .*using NMIs"'
	load_module
	for version in v*-pac; do
		snapshot
		trace_walks 1
		expect "record $version by NMI" perf record -q -B -e cycles:u -F "$sample_rate" --call-graph=sframe,sync \
			-o "$scratch/data" "./$version/chain" -s 1
		trace_walks 0
		show_grown "$version"
		expect "$version: walks in NMIs" test "$(nr_walks_in nmi)" -gt 100
		expect "$version: no other walk" test "$(nr_walks_in irq switch task)" = 0
		keep_recording "$1/$version.nmi"
	done
	unload_module
}

# ---- at any time: from another processor ------------------------------------------------------------------------

# Samples a process only by NMIs, without an event before. If an NMI hits user code, the process itself scans before its
# next instruction; else when its system call returns.
nmi_learns() {	# nmi_learns user|kernel FILTER PID
	snapshot
	trace_walks 1
	expect "$1 mode hit: record" sample_nmis "$2" "$scratch/$1" -p "$3" -- sleep 3
	trace_walks 0
	show_grown "$1 mode hit"
	echo "     walks: $(nr_walks_in nmi) in NMIs, $(nr_walks_in irq) in interrupts, $(nr_walks_in switch task) in tasks"
	expect "$1 mode hit: walks in NMIs" test "$(nr_walks_in nmi)" -gt 100
	expect "$1 mode hit: no other walk" test "$(nr_walks_in irq switch task)" = 0
	expect "$1 mode hit: no other hit" test "$(hits "$scratch/$1" | cut -d ' ' -f 1)" = "$1"
	expect "$1 mode hit: a scan was requested, and ran" test "$(grown '^scan[.](requests|runs)' | wc -l)" = 2
	expect "$1 mode hit: frames were found" test -n "$(grown '^frames.sframe')"
}

# ---- before the registers are stored ----------------------------------------------------------------------------

# Prints "own NUMBER", "foreign NUMBER" and "none NUMBER": the stacks with a frame of the function that made the system call,
# of the function that made the one before, and of neither. A stack may count as both of the first.
frames_of_entries() {	# frames_of_entries DATA
	perf script -i "$1" --no-inline -F comm,trace,ip,sym 2>/dev/null | awk '
		function count() {
			own += has[call]; foreign += has[call == "first" ? "second" : "first"]
			none += call && !has["first"] && !has["second"]
			delete has; call = ""
		}
		/ ax=/ { count(); call = / ax=102 / ? "first" : "second"; next }
		$2 ~ /^(first|second)_level/ { sub(/_level.*/, "", $2); has[$2] = 1 }
		END { count(); print "own", own + 0; print "foreign", foreign + 0; print "none", none + 0 }'
}

has_entries() { [ "$(grown '^stop.entry' | awk '{ print $2 + 0 }')" -gt 20 ]; }

# Records until there are some: a slow machine has fewer in a second.
sample_entries() {
	local seconds=1
	while sample_nmis 'hit == 2 && (ax == 102 || ax == 104)' "$scratch/entries" ./entries "$seconds"; do
		[ "$seconds" -lt 60 ] && ! has_entries || return 0
		seconds=$((seconds * 2))
		snapshot
	done
	return 1
}

nmi_entries() {
	snapshot
	expect 'entries: record' sample_entries
	show_grown entries
	frames_of_entries "$scratch/entries" >"$scratch/frames"
	echo "     entries: stacks by their frames: $(tr '\n' ' ' <"$scratch/frames")"
	expect 'entries: no stack has frames of the entry before' grep -qx 'foreign 0' "$scratch/frames"
	expect 'entries: they are counted' has_entries
	snapshot
	expect 'entries: record the others' sample_nmis 'hit < 2' "$scratch/others" ./entries 1
	show_grown 'entries, others'
	expect 'entries, others: registers are there' test -z "$(grown '^stop.entry')"
}

start_load() {	# programs to sample, and programs that change maps; perf and the module have a higher priority
	load=()
	for _ in 1 2; do
		nice -n 5 ./v3/chain -s 100000 >/dev/null &
		load+=($!)
	done
	nice -n 15 ./churn remap 100000000 hostile/good >/dev/null &
	load+=($!)
	while :; do
		nice -n 15 ./churn spawn 20 hostile/good
		nice -n 15 ./churn fork 20 hostile/good
		nice -n 15 ./churn dlopen 100 ./v3/libchain.so
	done >/dev/null &
	load+=($!)
}

stop_load() {
	kill "${load[@]}"
	wait "${load[@]}" 2>/dev/null
}

have_walks_in() {	# have_walks_in nmi|irq|switch|task...: more than a hundred in each
	local context
	for context; do
		[ "$(nr_walks_in "$context")" -gt 100 ] || return
	done
}

hits_of_both() {	# hits_of_both DATA: more than a hundred in each mode
	hits "$1" | awk '{ print "     hit " $0; count[$1] = $2 } END { exit !(count["user"] > 100 && count["kernel"] > 100) }'
}

# On a slow host NMIs come seldom: record for twice as long until there are enough.
sample_until_hits_of_both() {	# sample_until_hits_of_both DATA
	local seconds=1
	while sample_nmis "$known" "$1" -a -- sleep "$seconds"; do
		[ "$seconds" -lt 60 ] && ! hits_of_both "$1" >/dev/null || return 0
		seconds=$((seconds * 2))
	done
	return 1
}

# Samples processes by interrupt, at each switch and deferred. Once all of these have walks, samples by NMI, too.
nmi_busy() {	# nmi_busy DATA
	local samplers=() contexts=(irq switch) dir=$scratch/busy way
	mkdir -p "$dir"
	start_load
	snapshot
	trace_walks 1
	perf record -q -B -a -m 4M -e cpu-clock -F 2000 --call-graph=sframe,sync -o "$dir/v3.irq" &
	samplers+=($!)
	perf record -q -B -a -m 4M -e context-switches -c 1 --call-graph=sframe,sync -o "$dir/v3.switch" &
	samplers+=($!)
	if [ "$(ways | wc -l)" = 2 ]; then
		perf record -q -B -a -m 4M -e cpu-clock -F 1000 --call-graph=sframe,defer -o "$dir/v3.defer" &
		samplers+=($!)
		contexts+=(task)
	fi
	for _ in {1..60}; do
		count_traced
		! have_walks_in "${contexts[@]}" || break
		sleep 1
	done
	expect 'busy: record' sample_until_hits_of_both "$dir/v3.nmi"
	trace_walks 0
	kill -INT "${samplers[@]}"
	wait "${samplers[@]}"
	stop_load
	show_grown busy
	for way in nmi "${contexts[@]}"; do
		echo "     $way: $(nr_walks_in "$way") walks traced"
		expect "busy: walks, $way" have_walks_in "$way"
	done
	expect 'busy: user and kernel mode were hit' hits_of_both "$dir/v3.nmi"
	mv "$dir"/* "$1/"
	expect 'busy: stop reasons sum to walks' reasons_sum_to_walks
}

# Unloads and loads the module while NMIs come.
nmi_cycles() {	# nmi_cycles COUNT
	local i sampler failed=0 walked=0
	start_load
	perf record -q -B -a -m 4M -e nmi_sampler:nmi --call-graph=fp -o /dev/null &
	sampler=$!
	for ((i = 0; i < $1; i++)); do
		[ $((i % 2)) = 0 ] || waits_for has_walks
		sleep "0.$((i % 3))$((i % 7))"
		[ "$(value walks)" = 0 ] || walked=$((walked + 1))
		rmmod sframe_unwind || failed=$((failed + 1))
		modprobe sframe_unwind || failed=$((failed + 1))
	done
	kill -INT $sampler
	wait $sampler
	stop_load
	echo "     $1 cycles, $walked of them with walks"
	expect "$1 cycles of rmmod and modprobe under NMIs" test $failed = 0
	expect 'half of the cycles saw walks' test $walked -ge $(($1 / 2))
}

nmi() {	# nmi DATA CYCLES
	local old=()
	# khugepaged has the lowest priority. Where the load leaves it no time for 21 s inside of an RCU section, the kernel
	# reports a stall.
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	for _ in 1 2; do
		nice -n 5 ./v3/chain -s 100000 >/dev/null &
		old+=($!)
	done
	sleep 0.2
	load_module
	expect 'NMIs come' insmod "$nmi_module" period_us=500 || exit
	nmi_learns user 'hit == 0' "${old[0]}"
	mv "$scratch/user" "$1/v3.nmi-user"
	nmi_learns kernel 'hit == 1' "${old[1]}"
	kill "${old[@]}"
	wait "${old[@]}" 2>/dev/null
	nmi_entries
	nmi_busy "$1"
	nmi_cycles "$2"
	expect 'no map is left' maps_at_most "$(maps_allowed)"
	expect 'module unloads while NMIs come' rmmod sframe_unwind
	expect 'NMIs end' rmmod nmi_sampler
	expect 'kernel log' log_is_clean
}
