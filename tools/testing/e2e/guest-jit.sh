# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh and guest-tables.sh set scratch, dir, victim, right, early and wrong
#
# guest-jit.sh - part of guest.sh: tables for code that a process makes while it runs. See jit.c: its frames have a layout. A stack
# that is read by another layout has a frame that is not there.

loader=0

begin_to_load() {	# begin_to_load HOW
	./jit "$1" >"$scratch/loaded" 9>&- &
	loader=$!
}

end_loading() {
	kill "$loader"
	wait "$loader"
}

# tell COMMAND: the program does it
tell() {
	local nr
	nr=$(grep -c '^done' "$dir/facts")
	echo "$1" >&9
	until [ "$(grep -c '^done' "$dir/facts")" -gt "$nr" ]; do sleep 0.02; kill -0 "$victim" || return 1; done
}

# is_loaded PID LAYOUT: the last table of the process has this layout
is_loaded() { [ "$(grep "^$1 " "$scratch/loaded" | tail -n 1)" = "$1 $2 0" ]; }

# asks_and_gets LAYOUT: the stacks of the program end early, until the loader has been asked and has answered
asks_and_gets() {
	local try
	for try in {1..10}; do
		record_work "$work_ms"
		! until_true 2 is_loaded "$victim" "$1" || return 0
		echo "     not asked after $try recordings; the loader said last: $(tail -n 1 "$scratch/loaded")"
	done
	return 1
}

has_tables() { [ "$(value table.processes)" = "$1" ]; }

loaded_and_changed() {
	local sampler
	begin -- run 1
	none_is_right 'without a loader'
	begin_to_load load
	# Without a profiler, the table ends ten seconds after the last sample. On a slow host, to judge takes as long.
	perf record -q -B -e cpu-clock:u -F 20 --call-graph=sframe,sync -p "$victim" -o /dev/null &
	sampler=$!
	expect 'the loader is asked' asks_and_gets 1
	all_are_right 'with a table'
	expect 'the module counts one table' has_tables 1
	tell 'change 5'
	expect 'other code at the same place: the loader replaces the table' waits_for is_loaded "$victim" 5
	all_are_right 'other code at the same place'
	expect 'one table' has_tables 1
	kill -INT $sampler
	wait $sampler
	end_loading
	tell 'remap 2'
	none_is_right 'the code was unmapped, and other code is there'
	expect 'no table' has_tables 0
	begin_to_load load
	expect 'the loader is asked again' asks_and_gets 2
	all_are_right 'other code, with a table'
}

# The program of loaded_and_changed() goes on.
execs() {
	tell 'exec 6'
	end_loading
	none_is_right 'after execve()'
	begin_to_load load
	expect 'after execve(): the loader is asked' asks_and_gets 6
	all_are_right 'after execve(), with a table'
}

forks() {
	local parent=$victim
	tell fork
	victim=$(sed -n 's/^child //p' "$dir/facts")
	sample 'a child'
	expect 'a child: no frame that is not there' test "$wrong" = 0
	tell 'remap 3'
	sample 'a child with code of its own'
	expect 'a child with code of its own: no frame that is not there' test "$wrong" = 0
	expect 'a child with code of its own: the loader is asked' asks_and_gets 3
	all_are_right 'a child, with a table'
	victim=$parent
	end
	end_loading
	expect 'no table is left' waits_for has_tables 0
}

# The mm of a process is not the first thread's when that has ended.
first_thread_ends() {
	begin_to_load load
	begin -- run 1
	tell thread
	expect 'the first thread has ended: the loader is asked' asks_and_gets 1
	all_are_right 'the first thread has ended'
	end
	end_loading
}

# A table that was made for one program is not loaded for the next one with the same PID.
stale() {
	mkfifo "$dir/stale"
	./jit stale <"$dir/stale" >"$scratch/stale" &
	loader=$!
	exec 8>"$dir/stale"
	begin -- run 1
	record_work "$work_ms"
	expect 'stale: loaded' waits_for grep -q '^0$' "$scratch/stale"
	all_are_right 'stale: loaded'
	tell 'exec 4'
	record_work "$work_ms"
	echo >&8
	expect 'stale: the loader has tried again' ends_within 10 "$loader"
	wait "$loader"
	exec 8>&-
	expect 'stale: refused after execve()' test "$(tail -n 1 "$scratch/stale")" = ESRCH
	none_is_right 'stale'
	end
}

may_not_load() {
	setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace ./jit stale </dev/null >"$scratch/stale" &
	loader=$!
	begin -- run 1
	for _ in {1..5}; do
		record_work "$work_ms"
		! ends_within 3 "$loader" || break
	done
	end
	kill "$loader" 2>/dev/null
	wait "$loader"
	expect 'without CAP_SYS_PTRACE: refused' test "$(cat "$scratch/stale")" = EPERM
}

# The kernel's copy of a section takes memory of the group of the process that passes it.
copy_is_charged() {
	local group=/sys/fs/cgroup/jit
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	mkdir $group
	(echo $BASHPID >$group/cgroup.procs && exec ./jit zeros) >"$scratch/zeros"
	expect "64 MiB of zeros: refused ($(cat "$scratch/zeros"))" grep -q '^ESRCH' "$scratch/zeros"
	expect "their copy is charged ($(cat $group/memory.peak) bytes)" test "$(cat $group/memory.peak)" -ge $((64 << 20))
	rmdir $group
}

# The code comes and goes while tables for it are loaded, replaced and removed.
storm_of_tables() {
	local before
	begin_to_load storm
	begin -- run 1
	before=$(value walks)
	perf record -q -B -e cpu-clock:u -F 2000 --call-graph=sframe,sync -p "$victim" -o "$scratch/data" \
		-- "$0" --work churn_for 5000
	expect 'code that comes and goes: it is sampled' test "$(value walks)" -gt $((before + 300))
	expect 'code that comes and goes: the program lives' kill -0 "$victim"
	expect 'code that comes and goes: the loader lives' kill -0 "$loader"
	expect 'code that comes and goes: it was asked' grep -q "^$victim " "$scratch/loaded"
	end
	end_loading
	expect 'code that comes and goes: no table is left' waits_for has_tables 0
}

churn_for() {
	local nr
	nr=$(grep -c '^done' "$dir/facts")
	echo "churn $1" >"$dir/in"
	until [ "$(grep -c '^done' "$dir/facts")" -gt "$nr" ]; do sleep 0.1; done
}

jit() {
	mkdir -p "$dir"
	cp jit "$dir/"
	# shellcheck disable=SC2034 # of guest-tables.sh
	program=jit
	make_work
	load_module
	loaded_and_changed
	execs
	forks
	first_thread_ends
	stale
	may_not_load
	copy_is_charged
	storm_of_tables
	unload_module
}
