# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets the variables
#
# guest-hooks.sh - part of guest.sh: which functions are hooked, and the end of ftrace; the modules are tools/testing/e2e/ftrace

hooked=/sys/kernel/tracing/enabled_functions

# Some hooks are set only while somebody profiles.
start_profiling() {
	perf record -q -B -a -e cpu-clock -F 500 -m 4M --call-graph=fp -o /dev/null &
	sampler=$!
	wait_for_samples
}

stop_profiling() {
	kill -INT "$sampler"
	wait "$sampler"
}

hooks_function() {	# hooks_function NAME: the kernel's function of this name is hooked by sframe_unwind
	grep -q "^$1 (.*sframe_unwind" "$hooked"
}

# Static functions of a module have the names of the functions that are hooked. The module is there first.
hooks_namesakes() {
	local name
	expect 'a module has functions of these names' insmod "./namesakes-$(uname -r).ko"
	load_module
	start_profiling
	for name in perf_callchain_user unlink_anon_vmas exit_mmap perf_event_mmap perf_event_fork get_callchain_buffers put_callchain_buffers; do
		expect "the kernel's $name() is hooked" hooks_function "$name"
	done
	case $(cat "$parameters/hooks") in
	*deferred*) expect "the kernel's unwind_user() is hooked" hooks_function unwind_user ;;
	esac
	expect 'no function of a module is hooked' test -z "$(grep -F '[namesakes]' "$hooked" | tee /dev/stderr)"
	expect 'the functions of the module can be called' sh -c 'echo 1 >/sys/module/namesakes/parameters/call'
	stop_profiling
	expect 'module unloads' rmmod sframe_unwind
	expect 'no hook is left' test -z "$(grep -F sframe_unwind "$hooked")"
	expect 'it loads again' modprobe sframe_unwind
	expect 'and unloads' rmmod sframe_unwind
	expect 'kernel log' log_is_clean
}

# unwind_user() has one owner: a live patch that came before, or the module. Where the kernel lacks it, nothing is to test.
hooks_owned() {
	load_module
	case $(cat "$parameters/hooks") in
	*deferred*) ;;
	*) expect 'module unloads' rmmod sframe_unwind; return ;;
	esac
	expect 'nobody else can own unwind_user()' test "$(insmod "./owner-$(uname -r).ko" 2>&1 | grep -c busy)" = 1
	expect 'and nobody does' test ! -e /sys/module/owner
	expect 'module unloads' rmmod sframe_unwind
	expect 'a live patch owns it' insmod "./owner-$(uname -r).ko"
	expect 'module loads' modprobe sframe_unwind
	expect 'the kernel log says who owns it' test "$(logged 'another user of ftrace owns unwind_user(): no stack is deferred')" = 1
	expect 'no stack is deferred' test "$(cat "$parameters/hooks")" = sync
	snapshot
	start_profiling
	stop_profiling
	expect 'stacks are taken with the samples' test -n "$(grown '^walks')"
	expect 'module unloads' rmmod sframe_unwind
	expect 'the live patch ends' rmmod owner
	expect 'module loads' modprobe sframe_unwind
	expect 'stacks are deferred again' grep -q deferred "$parameters/hooks"
	unload_module
}

hooks() {
	hooks_namesakes
	hooks_owned
	hooks_of_dead_ftrace
}

# After ftrace_kill() the kernel goes on to call hooks, and none of them can be taken off.
kill_ftrace() {
	expect 'ftrace dies' insmod "./ftrace_killer-$(uname -r).ko" || exit
}

machine_works() {
	local pid
	for _ in {1..50}; do sh -c ':' || return; done
	sh -c 'exit 42' &
	pid=$!
	wait $pid
	[ $? = 42 ] && perf record -q -B -a -e cpu-clock -F 500 --call-graph=fp -o /dev/null sleep 1
}

logged() { dmesg | grep -c "sframe_unwind: $1"; }

says_shut_down() { [ "$(logged 'ftrace has shut itself down')" != 0 ]; }

# ftrace dies, and the module is unloaded at once. Unloading cannot be refused any more.
hooks_killed_unnoticed() {
	load_module
	start_profiling
	kill_ftrace
	# The virtual machine ends while this waits: it must not use the shared directory.
	(cd / && exec rmmod sframe_unwind) </dev/null >/dev/null 2>&1 &
	waits_for says_shut_down
	expect 'the module is not freed: its hooks may be called' test -e /sys/module/sframe_unwind
	expect 'the kernel log says once why' test "$(logged 'ftrace has shut itself down: stacks are left to the kernel until the next boot')" = 1
	expect 'the module does not say that it was unloaded' test "$(logged 'unloaded')" = 0
	stop_profiling
	expect 'the machine works' machine_works
	expect 'other modules load and unload' sh -c "rmmod ftrace_killer && insmod './namesakes-$(uname -r).ko' && rmmod namesakes"
	expect 'kernel log' log_is_clean
}

# ftrace dies, and the module has the time to notice it.
hooks_killed() {
	load_module
	start_profiling
	kill_ftrace
	waits_for says_shut_down
	expect 'the kernel log says it once' test "$(logged 'ftrace has shut itself down')" = 1
	snapshot
	machine_works
	expect 'no stack is unwound any more' test -z "$(grown '^walks')"
	expect 'they are left to the kernel' test -n "$(grown '^declined.disabled')"
	expect 'no process is known any more' maps_at_most 0
	expect 'the module cannot be unloaded' test "$(rmmod sframe_unwind 2>/dev/null || echo refused)" = refused
	stop_profiling
	expect 'the machine works' machine_works
	expect 'the kernel log still says it once' test "$(logged 'ftrace has shut itself down')" = 1
	expect 'kernel log' log_is_clean
}

# Where ftrace is dead, the module does not load, and nothing of it stays.
hooks_of_dead_ftrace() {
	kill_ftrace
	expect 'the module does not load' test "$(modprobe sframe_unwind 2>/dev/null || echo refused)" = refused
	expect 'and says that ftrace has shut itself down' test "$(logged 'cannot hook .*(): ftrace has shut itself down')" = 1
	expect 'nothing of it stays' test ! -e /sys/module/sframe_unwind
	expect 'kernel log' log_is_clean
}
