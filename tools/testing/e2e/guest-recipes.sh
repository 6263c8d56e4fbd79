# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch
#
# guest-recipes.sh - part of guest.sh: the commands of tutorial.rst, debugging-stacks.rst and recipes.rst
#
# A label (`.. _cpu:`) names each recipe. Its commands are in literal blocks, after the prompts "# " and "$ ". Deeper
# lines go on with the command above. "# until KEY" at its end names the key that ends it. The function promise_NAME checks
# what the recipe promises, in the recipe's own directory: `output` has all that was printed. It stays in build/e2e/recipes-KERNEL/,
# where the examples of the documents come from.

# ---- running the commands -----------------------------------------------------------------------------------------

as_user() {	# as_user COMMAND
	setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "$1"
}

# Waits until the module has unwound some stacks since the snapshot, for two minutes at most. Fails if the process ends.
wait_for_stacks() {	# wait_for_stacks PID
	local tries
	for ((tries = 0; tries < 240; tries++)); do
		kill -0 "$1" 2>/dev/null || return
		[ "$(grown '^walks' | awk '{ print $2 }')0" -lt 200 ] || return 0
		sleep 0.5
	done
	return 1
}

has_functions() { grep -qaE 'parse_request|fill_cache' "$1"; }	# has_functions FILE: those of the program

# until_key COMMAND: on a terminal. Ten seconds after the first stacks somebody presses the key.
until_key() {
	local key=$'\003' pid status=0
	[[ $1 != *'# until q' ]] || key=q
	snapshot
	mkfifo keys
	# For reading, too: nobody may be left to read the key.
	exec 4<>keys
	TERM=xterm script -qefc "$1" screen <keys >/dev/null 4>&- &
	pid=$!
	wait_for_stacks $pid || status=1
	sleep 10
	# The screen has room for what counts most. On a slow machine, that is the work of perf itself at first.
	[ "$key" != q ] || until_true 120 has_functions screen
	printf %s "$key" >&4
	ends_within 120 $pid || { kill $pid; status=1; }
	wait $pid || status=1
	exec 4>&-
	rm keys
	# Without what moves the cursor and sets colours.
	tr -d '\r\0' <screen | sed 's/\x1b[^a-zA-Z]*[a-zA-Z]/ /g'
	return $status
}

perform() {	# perform PROMPT-COMMAND
	local command=${1#* }
	case $1 in
	'$ '*) as_user "$command" ;;
	*'# until '*) until_key "$command" ;;
	*) eval "$command" ;;
	esac >>output 2>&1 </dev/null
}

# succeeds PROMPT-COMMAND: what it prints is shown if it fails
succeeds() {
	echo "$1" >>output
	perform "$1" || { tail -n 20 output | sed 's/^/     /'; return 1; }
}

# steps RECIPE: performs its commands
steps() {
	local line here='' command=''
	while IFS= read -r line <&3; do
		case $line in
		".. _$1:") here=y ;;
		'.. _'*:) here='' ;;
		esac
		[ -n "$here" ] || continue
		[[ $line != '     '* || -z $command ]] || { command+=$'\n'$line; continue; }
		[ -z "$command" ] || expect "$1: ${command%%$'\n'*}" succeeds "$command"
		command=''
		[[ $line != '    '[#$]' '* ]] || command=${line#    }
	done 3<"$book"
}

recipe() {	# recipe NAME
	local promise=promise_${1//-/_} place=$scratch/recipes/$1
	expect "$1: the test knows what it promises" test "$(type -t "$promise")" = function
	mkdir -p "$place"
	chmod 1777 "$place"
	subtest "$1" steps_and_promise "$1" "$promise" "$place"
}

# Runs in a process of its own, as all subtests do.
steps_and_promise() {	# steps_and_promise NAME PROMISE DIR
	# shellcheck disable=SC2034 # tap.sh counts in them
	tap_cases=0 tap_failed=0
	cd "$3" || exit
	# shellcheck disable=SC2030 # for these commands only
	PATH=$share/tools:$PATH
	steps "$1"
	expect "$1: has commands" test -s output
	"$2"
	cp output "$share/$1.txt"
	end_tap
}

# ---- what the recipes promise ---------------------------------------------------------------------------------------

# in_turn FILE FUNCTION...: does FILE have lines with these functions, one after the other?
in_turn() {
	local file=$1
	shift
	awk -v names="$*" 'BEGIN { nr = split(names, name, " ") }
		/^[ |]*$/ { next }	# perf draws one above each branch
		{ if ($0 ~ name[at + 1]) at++; else at = $0 ~ name[1] }
		at == nr { found = 1; exit }
		END { exit !found }' "$file"
}

promise_cpu() {
	expect 'cpu: whole stacks' grep -q 'main;handle_request;parse_request' cpu.folded
	expect 'cpu: of both threads' grep -q 'keep_cache;fill_cache;' cpu.folded
	expect 'cpu: perf report has them' in_turn output main handle_request parse_request
	expect 'cpu: so has the page' grep -q parse_request cpu.html
}

promise_top() {
	expect 'top: functions of the program' has_functions output
}

promise_off_cpu() {
	expect 'off-cpu: for the disk' in_turn output save_reply handle_request main
	expect 'off-cpu: for a lock' in_turn output map_buffer handle_request main
	expect 'off-cpu: for the time' in_turn output usleep keep_cache start_thread
}

promise_latency() {
	expect 'latency: who waits' in_turn output fsync save_reply handle_request main
	expect 'latency: how long' grep -q '@@@' output
}

promise_trace() {
	expect 'trace: the call' grep -qE 'ms\): app/[0-9]+ fsync' output
	expect 'trace: its callers' in_turn output fsync save_reply handle_request main
}

promise_lock() {
	expect 'lock: which' grep -qE '^ +[0-9].* ms .*rwsem:W' output
	expect 'lock: who waits' in_turn output main handle_request map_buffer m?map
}

promise_sched() {
	expect 'sched: how long' grep -qE '^  app:.*\| +(avg: +)?[0-9.]+ [mu]s \|' output
	expect 'sched: where it gave the processor up' in_turn output save_reply handle_request main
}

promise_memory() {
	expect 'memory: who allocates' in_turn output make_reply handle_request main
}

promise_container() {
	expect 'container: its program' in_turn output parse_request handle_request main
	expect 'container: the tables of all its processes were loaded before' \
		eval "grep -q '^[0-9]* tables* loaded' output && ! grep -q '^sframectl:' output"
	# It is the first process of its own numbers, which other signals do not end.
	kill -KILL "$(pgrep -f "^$contained ")"
}

promise_fleet() {
	expect 'fleet: the tables are used' in_turn output parse_request handle_request main
	expect 'fleet: no others are held' test "$(grep -cE '^ +[1-9][0-9]* +[1-9][0-9]* +[0-9]+ +[0-9]+  [/[d]' output)" -le 4
}

promise_always() {
	expect 'always: whole stacks' in_turn profile.txt parse_request handle_request main
}

promise_user() {
	expect 'user: whole stacks' in_turn output main handle_request parse_request
	sysctl -q kernel.perf_event_paranoid=-1
}

promise_tutorial() {
	expect 'tutorial: the script and its mended form have run' test "$(grep -c '^real' output)" = 2
	expect 'tutorial: who starts processes' grep -q 'main;.*;command_substitute;.*make_child' count.folded
	expect 'tutorial: the page' grep -q command_substitute count.html
}

promise_stacks() {
	expect 'stacks: the overview' grep -q '^module  *sframe_unwind .*, on' output
	expect 'stacks: where they end' grep -q ' stacks in 5 seconds' output
	expect 'stacks: the tracepoint' grep -q 'stop_ip=[0-9a-f]* .*reason=' output
	expect 'stacks: rows of the table' grep -q 'cfa=sp+16 ' output
	expect 'stacks: rows of the program' grep -q 'rsp+16' output
	expect 'stacks: gdb has its stack' grep -qE '^#[0-9]+ .* main \(' output
	expect 'stacks: the report' grep -q sframe_unwind report.txt
}

# ---- the machine that they are run on -------------------------------------------------------------------------------

install_programs() {
	tar -C "$scratch" -xf "$share/bpftrace.tar"
	mkdir "$scratch/bin"
	cat >"$scratch/bin/bpftrace" <<-'END'
		#!/bin/sh
		dir=${0%/bin/*}/bpftrace
		exec "$dir"/lib/ld-linux-*.so.? --library-path "$dir/lib" "$dir/bpftrace" "$@"
	END
	chmod +x "$scratch/bin/bpftrace"
	cp app /usr/local/bin/
	# shellcheck disable=SC2031 # the other change is over
	PATH=$scratch/bin:$PATH
}

# The machine has no program for containers. So this is what such a program makes: a control group, and a process with a
# root and process numbers of its own. As with Podman's crun, the process is in a group below that one.
contained=/opt/app
start_container() {
	local root=$scratch/container group=/sys/fs/cgroup/container/container file
	mkdir -p "$root/old" "$root/tmp" "$root/opt" "$group"
	cp app "$root$contained"
	for file in $(ldd app | grep -o '/[^ ]*'); do install -D "$file" "$root$file"; done
	(
		echo 0 >"$group/cgroup.procs"
		# shellcheck disable=SC2016 # the other shell expands it
		exec unshare --mount --pid --fork sh -c \
			'mount --bind "$1" "$1" && cd "$1" && pivot_root . old && exec "$2" /tmp/reply' sh "$root" "$contained"
	) &
}

recipes() {	# recipes DATA
	local share=$PWD/$1 book=$PWD/$1/documents.rst name names
	unset SFU_TABLES
	load_module
	install_programs
	mapfile -t names < <(sed -n 's/^[.][.] _\([a-z-]*\):$/\1/p' "$book")
	expect "there are recipes (${#names[@]})" test ${#names[@]} -ge 10
	expect 'each function promise_... belongs to one' test "$(compgen -A function promise_ | wc -l)" = ${#names[@]}
	# The one in the container is not meant by `pidof app`.
	nice app "$scratch/reply" &
	for name in "${names[@]}"; do
		case $name in
		container) start_container ;;
		fleet) sframectl tables drop ;;
		# What the service does.
		tutorial) sframectl load --linked "$(type -P bash)" "$(type -P expr)" "$(type -P app)" ;;
		user) sysctl -q kernel.perf_event_paranoid=3 ;;
		esac
		recipe "$name"
	done
	kill %1
	expect 'module unloads' rmmod sframe_unwind
	expect 'kernel log' log_is_clean
}
