# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-harm.sh - part of guest.sh: nobody is harmed by being profiled; see harm.c

# ---- harm_costs: what a profiled process pays. Instructions are time (tools/lab/vm --icount) --------------------------

# cost FILE MODE ARG...: stores the lines of harm, "OPERATION MICROSECONDS", while all is sampled
cost() {
	perf record -q -B -a -e cpu-clock -F 99 --call-graph=fp -o /dev/null ./harm "${@:2}" >"$1"
}

# within SHARE FILE OTHER: no line of OTHER is more than 1 + SHARE/100 times that of FILE
within() {
	paste "$2" "$3" | awk -v share="$1" '
		{ print "     " $1 ": " $2 " us without the module, " $4 " us with it: " $4 / $2 }
		$4 > $2 * (1 + share / 100) { over = 1 }
		END { exit over || !NR }'
}

# paid_with_module WHAT MODE ARG...: at most a tenth more than without
paid_with_module() {
	local what=$1
	shift
	cost "$scratch/with" "$@"
	expect "$what: at most 10 % more with the module" within 10 "$scratch/without.$1.$2" "$scratch/with"
}

# Prints the processor time of all kernel workers in ns.
workers_time() {
	local dir name sum=0 time
	for dir in /proc/[0-9]*; do
		read -r name <"$dir/comm" && [[ $name == kworker* ]] && read -r time _ <"$dir/schedstat" && sum=$((sum + time))
	done 2>/dev/null
	echo "$sum"
}

scans_at_most() {	# scans_at_most MOST, since the snapshot
	is_counted scan.runs || return
	set -- "$1" "$(grown '^scan[.]runs' | cut -d ' ' -f 2)"
	echo "     ${2:-0} scans"
	[ "${2:-0}" -le "$1" ]
}

turns_of() {	# turns_of MODE MS ARG...: prints how often it has run its code in that time
	perf record -q -B -a -e cpu-clock -F 3000 --call-graph=fp -o /dev/null ./harm "$@" | cut -d ' ' -f 1
}

# What is quadratic would take hours for many mappings.
many_mappings() {
	paid_with_module '2000 mappings of code' regions 2000 "$scratch/plain" || return
	paid_with_module '37000 mappings of code' regions 37000 "$scratch/plain"
}

harm_costs() {
	local mode turns with before
	# Nothing is read from the share: its server runs on the host, in time of its own. A disk has workers that write.
	mkdir /dev/shm/costs
	cp -r harm hostile /dev/shm/costs/
	cd /dev/shm/costs || exit
	head -c 4096 /dev/zero >"$scratch/plain"
	# The first run in a fresh machine costs more.
	cost /dev/null regions 2000 "$scratch/plain"
	for mode in "regions 2000 $scratch/plain" "regions 37000 $scratch/plain" 'remap 20000 hostile/zeros' 'traced 1000 hostile/zeros'; do
		# shellcheck disable=SC2086 # words
		set -- $mode
		cost "$scratch/without.$1.$2" "$@"
	done
	turns=$(turns_of dontneed 500 1500 hostile/good)
	load_module

	many_mappings

	snapshot
	paid_with_module 'mmap() in a process with a malformed section' remap 20000 hostile/zeros
	expect 'such a process is not scanned each time' scans_at_most 100

	before=$(workers_time)
	cost "$scratch/with" traced 1000 hostile/zeros
	with=$((($(workers_time) - before) / 1000))
	echo "     workers ran $with us, of $(cut -d ' ' -f 2 "$scratch/with")"
	expect 'workers do nothing for a traced process' test $((20 * with)) -le "$(cut -d ' ' -f 2 "$scratch/with")"

	before=$(workers_time)
	with=$(turns_of dontneed 500 1500 hostile/good)
	before=$((($(workers_time) - before) / 1000))
	echo "     $turns turns without the module, $with with it; workers ran $before of 500000 us"
	expect 'a process that drops its section goes on' test $((100 * with)) -ge $((90 * turns))
	expect 'workers do nothing for it' test $before -le 25000

	snapshot
	before=$(workers_time)
	perf record -q -B -e raw_syscalls:sys_enter -c 10 --call-graph=fp -o /dev/null ./harm dontneed-own 500 1500 hostile/good
	before=$((($(workers_time) - before) / 1000))
	echo "     $(grown '^scan' | tr '\n' ' '); workers ran $before of 500000 us"
	expect 'its system calls are sampled, and miss the section' test -n "$(grown '^stop.section-fault')"
	expect 'workers do nothing for it either' test $before -le 25000

	expect 'no allocation has failed' sh -c '! dmesg | grep -m 1 -i "allocation failure"'
	unload_module
}

# ---- harm_waits: nobody waits for a process ----------------------------------------------------------------------

# start_perf RECORD-OPTION...: returns when perf samples
start_perf() {
	local control acknowledged answer=
	[ -e "$scratch/control" ] || mkfifo "$scratch/control" "$scratch/acknowledged"
	exec {control}<>"$scratch/control" {acknowledged}<>"$scratch/acknowledged"
	perf record -q -B --delay=-1 --control="fifo:$scratch/control,$scratch/acknowledged" "$@" &
	sampler=$!
	echo enable >&"$control"
	read -r -t 120 answer <&"$acknowledged"
	exec {control}>&- {acknowledged}>&-
	[ -n "$answer" ] || report 1 'perf samples'
}

sample_all() { start_perf -a -e cpu-clock -F 2000 --call-graph="${1:-fp}" -o /dev/null; }

says() { grep -q "$1" "$scratch/said"; }	# says WORD: the last program of start_harm

has_said() { [ "$(grep -c "$2" "$scratch/said")" -ge "$1" ]; }	# has_said TIMES WORD

# start_harm WORD MODE ARG...: starts the program, and waits until it says WORD
start_harm() {
	: >"$scratch/said"
	./harm "${@:2}" >"$scratch/said" &
	harmed=$!
	until_true 20 says "$1" || report 1 "$2: it begins"
}

unloads() {	# unloads WHAT
	rmmod sframe_unwind &
	unloading=$!
	expect "$1: module unloads" ends_within 20 "$unloading"
}

# Ends all that wait; what the module has left is then unloaded.
release() {
	abort_fuse
	kill -KILL ${harmed:+"$harmed"} 2>/dev/null
	kill -INT "$sampler" 2>/dev/null
	wait "$sampler" ${harmed:+"$harmed"} ${unloading:+"$unloading"} 2>/dev/null
	harmed='' unloading=''
	[ ! -e /sys/module/sframe_unwind ] || rmmod sframe_unwind
}

mount_silent() {
	mount_cold 0
	! [ -e "$fs/silent" ]
}

# ---- tasks that sleep in a system call --------------------------------------------------------------------------

probe=harm/sleep

# A kprobe by a breakpoint, at the first place in read() of a pipe where that is possible.
set_probe() {
	local function offset
	function=$(grep -m 1 -owE '(anon_)?pipe_read' /proc/kallsyms)
	sysctl -q -w debug.kprobes-optimization=0
	for ((offset = 9; offset < 60; offset++)); do
		echo "p:$probe $function+$offset" >/sys/kernel/tracing/kprobe_events && break
	done 2>/dev/null
	[ -e /sys/kernel/tracing/events/$probe ]
}

nr_hits() { awk -v name="${probe#*/}" '$1 == name { print $2 }' /sys/kernel/tracing/kprobe_profile; }

sample_probe() { start_perf -a -e "${probe/\//:}" --call-graph=fp -o "$scratch/probe.data"; }

# All readers return from read(), and sleep again.
wake_readers() {
	local hits
	hits=$(nr_hits)
	printf x >&"$wake"
	until_true 20 have_hit $((hits + nr_readers))
}
have_hit() { [ "$(nr_hits)" -ge "$1" ]; }

readers_sleep() { [ "$(pgrep -c -x -r S,D harm)" -gt "$nr_readers" ]; }

another_has_walked() { [ "$(grown_summary | awk '$1 == "walks" { print $2 }')" -ge "$1" ]; }

another_is_whole_too() {
	snapshot_summary
	perf record -q -B -e cpu-clock:u -F 2000 --call-graph=fp -p "$another" -o "$scratch/data" &
	until_true 60 another_has_walked 300
	kill -INT $!
	wait $!
	grown_summary | awk '{ by[$1] = $2 } END { print "     another process: " by["complete"] " of " by["walks"] " stacks are whole"
		exit !(by["walks"] >= 300 && by["complete"] >= 0.9 * by["walks"]) }'
}

# Their parent reads, too: where code keeps frame pointers, its stack is whole as well.
nr_whole() {	# nr_whole PARENT: its children with a stack that reaches main()
	perf script -i "$scratch/probe.data" -F comm,pid,ip,sym 2>/dev/null | awk -v parent="$1" '
		$1 == "harm" && $2 != parent { pid = $2 } NF == 0 { pid = "" } $2 == "main" && pid != "" { whole[pid] }
		END { for (pid in whole) n++; print n + 0 }'
}

# The module has room for 128 processes at a time that it has not scanned yet. Those beyond are scanned a round later.
sleeping_readers() {	# sleeping_readers COUNT ROUNDS: they return from read() so often
	local nr_readers=$1 wake another readers whole i
	[ -e "$scratch/wake" ] || mkfifo "$scratch/wake"
	./harm readers "$nr_readers" <"$scratch/wake" &
	readers=$!
	exec {wake}>"$scratch/wake"
	"$scratch/starts" program 1000000 &
	another=$!
	until_true 20 readers_sleep || report 1 'readers: they begin'
	expect 'a kprobe in read()' set_probe

	modprobe sframe_unwind
	sample_probe
	expect "readers are sampled" wake_readers
	expect "$nr_readers sampled processes sleep: another's stacks are whole" another_is_whole_too
	unloads "$nr_readers sampled processes sleep"
	wake_readers
	kill -INT $sampler
	wait $sampler $unloading

	modprobe sframe_unwind
	sample_probe
	# Their parent's hits count, too: on a busy host the last readers come after a round. So there is one more.
	for ((i = 0; i <= $2 + 1; i++)); do
		wake_readers
	done
	kill -INT $sampler
	wait $sampler
	whole=$(nr_whole $readers)
	expect "sampled while it sleeps, a process is scanned once it returns ($whole of $nr_readers)" \
		test "$whole" = "$nr_readers"
	kill $another
	exec {wake}>&-
	wait $another $readers 2>/dev/null
	echo >/sys/kernel/tracing/kprobe_events
	rmmod sframe_unwind
}

# ---- tasks that wait for ever -----------------------------------------------------------------------------------

stopped_task() {
	modprobe sframe_unwind
	sample_all
	start_harm ready stopped hostile/good
	unloads 'a traced task is stopped at the end of mmap()'
	release
}

populating_task() {
	modprobe sframe_unwind
	sample_all
	mount_silent
	start_harm ready populate "$fs/file"
	sleep 1
	unloads 'a task waits in mmap(MAP_POPULATE)'
	release
}

# perf begins first: to begin, it reads the mappings of all processes.
sibling_task() {
	mount_silent
	sample_all
	start_harm turn sibling "$fs" "${cold_section% *}" hostile/good
	until_true 20 has_said 3 turn || report 1 'sibling: it runs without the module'
	modprobe sframe_unwind
	waits_for has_walks
	expect 'a thread waits in mmap(): its sibling runs on' until_true 30 has_said $(($(grep -c turn "$scratch/said") + 3)) turn
	unloads 'a thread waits in mmap()'
	release
}

missing_stack() {
	modprobe sframe_unwind
	[[ $(ways) == *defer* ]] || { rmmod sframe_unwind; return; }
	sample_all fp,defer
	snapshot
	start_harm ready stack 60000
	expect 'a walk meets the page' until_true 20 counts '^stop[.]stack-fault'
	expect 'the program runs on' kill -0 "$harmed"
	unloads 'a page of a stack never comes'
	release
}

permission() {
	cp hostile/good /dev/shm/
	modprobe sframe_unwind
	sample_all
	snapshot
	start_harm ready permission 3000 /dev/shm/good
	expect 'a listener must allow each access to the file: its section is used' until_true 20 counts '^frames[.]sframe'
	expect 'the program runs on' ends_within 30 $harmed
	expect 'and is asked nothing' test -z "$(grep access "$scratch/said")"
	unloads 'the same'
	release
}

# ---- memory ------------------------------------------------------------------------------------------------------

in_group() {	# in_group COMMAND...: in a memory cgroup, on one CPU: the kernel keeps a stock of charges for each
	(echo $BASHPID >"$group/cgroup.procs" && exec taskset -c 0 "$@")
}

nr_events() { awk -v name="$1" '$1 == name { print $2 }' "$group/memory.events"; }	# nr_events NAME: of memory

limited_memory() {
	local group=/sys/fs/cgroup/harm met turn
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	echo 64M >$group/memory.max
	# To read a page of the share again needs memory of the group.
	cp hostile/good /dev/shm/
	sample_all
	expect 'a process with no more memory runs on, without the module' in_group ./harm limit $group 1000 20000 /dev/shm/good
	modprobe sframe_unwind
	met=$(nr_events max)
	# How much is left of its last pages, and of the stock, is chance.
	for turn in 1 2 3; do
		expect "a process with no more memory runs on ($turn)" in_group ./harm limit $group 2000 20000 /dev/shm/good
	done
	expect "it has met the limit ($met, then $(nr_events max))" test "$(nr_events max)" -gt "$met"
	expect "nobody is killed for the module's memory" test "$(nr_events oom_kill)" = 0
	release
	rmdir $group
}

# Memory that RCU frees late counts for the process, and RCU is late if the host does not run a CPU. So instructions are time here.
harm_memory() {
	local fs=$scratch/fs sampler harmed='' unloading=''
	limited_memory
	expect 'kernel log' log_is_clean
}

# ---- a section that nobody may read --------------------------------------------------------------------------------

protected_section() {
	# Only x86_64 has them.
	[ "$(uname -m)" = x86_64 ] || return
	expect 'the processor has protection keys' grep -qw pku /proc/cpuinfo || return
	modprobe sframe_unwind
	./harm pkey 100000 hostile/good >/dev/null &
	harmed=$!
	start_perf -e cpu-clock -F 2000 --call-graph=fp -p "$harmed" -o /dev/null
	sleep 2
	snapshot
	sleep 3
	expect 'a section with a protection key is not looked at all the time' scans_at_most 30
	unloads 'the same'
	release
}

harm_waits() {	# harm_waits "START SIZE": the whole pages of libcold.so's section
	local fs=$scratch/fs sampler harmed='' unloading=''
	cold_section=$1
	cp starts "$scratch/"
	sleeping_readers 50 1
	sleeping_readers 200 4
	stopped_task
	populating_task
	sibling_task
	missing_stack
	permission
	protected_section
	expect 'kernel log' log_is_clean
}
