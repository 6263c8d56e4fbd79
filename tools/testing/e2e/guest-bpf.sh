# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# guest-bpf.sh - part of guest.sh: stacks of ./chain taken by BPF programs, and at tracepoints, uprobes and uretprobes.
# The guest records them, and the host judges them.
#
# shellcheck disable=SC2154 # guest.sh sets scratch and short

# These functions are on the stack at the system call or before it. recurse calls itself. tail_calls ends with a jump to
# tail_called, which then returns for both. No call returns to noreturn_callee.
returning=(first frame_over_64k all_pushes after_lib tail_calls tail_called noreturn_callee recurse nested_parent
	frame_pointer shrink_wrapped enters_kernel)

offset_of() {	# offset_of FUNCTION
	nm "$dir/chain" | awk -v name="$1" '$3 == name { print "0x" $1 }'
}

# Does the kernel replace the first instruction of catches() by a call? Older kernels refuse a uprobe there. Those that have
# deferred stacks here do.
replaces_nop() { [[ $(ways) == *defer* ]]; }

# Prints the mappings of the process in the format of perf script.
mappings() {
	local span access offset path
	while read -r span access offset _ _ path; do
		[[ $access == *x* && $path == [/[]* ]] || continue
		printf 'PERF_RECORD_MMAP2 %d/%d: [0x%s(%#x) @ %#x 00:00 0 0]: r-xp %s\n' "$pid" "$pid" "${span%-*}" \
			$((0x${span#*-} - 0x${span%-*})) "0x$offset" "$path"
	done <"/proc/$pid/maps"
}

# A uretprobe is removed only after a timer of each task with pending ones has run out. The timer takes a tenth of a
# second and starts again at each hit (ri_timer() in kernel/events/uprobes.c of 7.2). With twelve uretprobes that may take many turns of the
# program. So the program is stopped before perf or the BPF program ends.
#
# One recording has all events that perf can sample, so that all uretprobes are pending in all samples. The rate is low,
# because some thousand samples a second fill an emulated processor on a busy host.
by_perf() {	# by_perf WAY
	expect "$version $1: perf record" perf record -q -B -p "$pid" --call-graph="sframe,$1" -m 4M -o "$scratch/data" \
		-e cpu-clock/freq=599/ -e sched:sched_switch -e syscalls:sys_enter_nanosleep -e 'sfu:*' -- \
		sh -c "sleep $((short ? 1 : 4)); kill -STOP $pid"
	kill -CONT "$pid"
	keep_recording "$data/$version.$1.data"
	{
		printf '%s=50\n' cpu-clock sched:sched_switch syscalls:sys_enter_nanosleep sfu:leaf
		# longjmp() leaves noreturn_callee, which never returns.
		printf 'sfu:%s_return=50\n' "${returning[@]}" | grep -v noreturn
		! replaces_nop || echo sfu:optimized=50
	} >"$data/$version.$1.events"
}

# Takes stacks by both BPF helpers, in each kind of BPF program.
by_bpf() {
	local event name=$data/$version.bpf
	mappings >"$name.txt"
	while read -r event; do
		# shellcheck disable=SC2086 # words of an event
		./bpf-stacks "$pid" 200 $event >"$scratch/stacks"
		expect "$version: BPF, ${event/"$dir/"/}" test $? = 0
		kill -CONT "$pid"
		cat "$scratch/stacks" >>"$name.txt"
	done <<-END
		tracepoint syscalls/sys_enter_nanosleep
		tracepoint sched/sched_switch
		uprobe $dir/chain $(offset_of enters_kernel)
		uretprobe $dir/chain $(offset_of with_cold_part)
		clock 999
	END
	# Of 200 by the clock, up to 16 were seen that a uretprobe had just struck: neither whole nor wrong.
	{
		printf '%s:get_stack=180\n%s:get_stackid=180\n' {tracepoint,uprobe,uretprobe}{,}
		printf 'clock:%s=150\n' get_stack get_stackid
	} >"$name.events"
}

bpf() {	# bpf DATA
	local data=$1 version versions=(v3 v2) way function dir pid stat probes
	[ "$(uname -m)" != aarch64 ] || versions=(v3-pac v2-pac)
	[ "$short" = 0 ] || versions=("${versions[0]}")
	load_module
	snapshot
	umount /proc/kallsyms
	grep ' [tTwW] ' /proc/kallsyms >"$data/kallsyms"
	for version in "${versions[@]}"; do
		dir=$scratch/$version
		mkdir -p "$dir"
		cp "$version/chain" "$version/libchain.so" "$dir/"
		# The second version goes by tables, which come before the sections of the files.
		[ "$version" = "${versions[0]}" ] || expect "$version: it gets tables" \
			sframectl load "$dir/chain" "$dir/libchain.so"
		nice -n 19 "$dir/chain" -p 100000 &
		pid=$!
		probes=(--add sfu:leaf=enters_kernel)
		! replaces_nop || probes+=(--add "sfu:optimized=$(offset_of catches)")
		for function in "${returning[@]}"; do
			probes+=(--add "sfu:${function}_return=$function%return")
		done
		expect "$version: perf probe" perf probe -q -x "$dir/chain" "${probes[@]}"
		for way in $(ways); do
			by_perf "$way"
		done
		# From here on perf stat keeps the uretprobes pending.
		perf stat -p "$pid" -e 'sfu:*' sleep 1000 2>/dev/null &
		stat=$!
		by_bpf
		kill "$stat" "$pid"
		wait "$stat" "$pid" 2>/dev/null
		perf probe -q -d 'sfu:*'
	done
	show_grown 'all' '^(stop|declined)'
	unload_module
}
