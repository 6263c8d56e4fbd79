# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch, parameters and short
#
# guest-stock.sh - part of guest.sh: programs that nobody has rebuilt, by tables made of their .eh_frame

# What a shell script and a few programs of the distribution do.
stock_work() {	# stock_work TIMES
	local i
	for ((i = 0; i < $1; i++)); do
		bash -c 'f() { local i; for ((i = 0; i < 8000; i++)); do :; done; }; g() { f; }; g'
		# shellcheck disable=SC2016 # perl expands it
		perl -e 'sub f { my $x = 0; $x += $_ for 1 .. 100000; } f() for 1 .. 5;'
		date
		ls -lR /usr/share/doc
		echo 'int main(void) { return 0; }' | gcc -O2 -x c -c -o "$scratch/stock.o" -
	done >/dev/null
}

# Prints how many of 1000 stacks are whole, since the snapshot. A task in execve() has no stack.
whole_of_1000() {
	grown '^(walks|stop[.](complete|start|full|exec))' | awk '
		{ if ($1 == "walks") all += $2; else if ($1 == "stop.exec") all -= $2; else whole += $2 }
		END { print (all >= 500 ? int(whole * 1000 / all) : 0) }'
}

# Prints the stacks since the snapshot that ended for want of a table. The first one of a process may come before a scan: unscanned.
wanting() { grown '^(stop[.](nodata|section-fault)|declined[.]no-section)' | awk '{ n += $2 } END { print n + 0 }'; }

# Tables are there before the recording begins: of COMMAND and what it links, of a process, and of all that runs.
stock_known() {	# stock_known WAY
	local way=$1 pid
	sframectl tables --drop
	snapshot
	# shellcheck disable=SC2016 # perl expands it
	perf record -q -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" \
		perl -e 'sub f { my $x = 0; $x += $_ for 1 .. 200000; } f() for 1 .. 5;' >/dev/null
	expect "$way: COMMAND loses no stack for want of a table, of $(grown '^walks' | awk '{ print $2 }')" test "$(wanting)" = 0
	perl -e '1 while 1' &
	pid=$!
	sleep 1
	sframectl tables --drop
	snapshot
	perf record -q -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" -p $pid sleep 1
	expect "$way: a process loses none" test "$(wanting)" = 0
	show_grown "$way, known before"
	sframectl tables --drop
	snapshot
	# perf itself starts after that: its few stacks want its table.
	perf record -q -a -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" sleep 1
	show_grown "$way, all that run"
	expect "$way: all that run lose next to none" test "$(($(wanting) * 50))" -lt "$(grown '^walks' | awk '{ print $2 + 0 }')"
	kill $pid
	wait $pid 2>/dev/null
}

# Where threads are made: the call returns twice, in the thread that makes one, and in the new one, which has another stack.
stock_threads() {	# stock_threads WAY
	local way=$1 share
	snapshot
	perf record -q -B -e sched:sched_process_fork,syscalls:sys_enter_clone3,syscalls:sys_exit_clone3 -c 1 --call-graph="sframe,$way" \
		-o "$scratch/data" python3 -c 'import threading as t; [(s := t.Thread(target=int), s.start(), s.join()) for i in range(300)]'
	share=$(whole_of_1000)
	show_grown "$way, threads"
	expect "$way: of 1000 stacks in clone3() $share are whole" test "$share" = 1000
}

stock_record() {	# stock_record WAY [OPTION...] COMMAND...
	perf record -q -a -e cpu-clock -F 999 --call-graph="sframe,$1" -o "$scratch/data" "${@:2}" >/dev/null
}

# Records, without links to files, until all tables are there: serve loads no more. A short program may end before its file is
# opened, and its table is made in a later run.
stock_tables() {	# stock_tables WAY SERVER COMMAND...
	local way=$1 server=$2 before i
	for ((i = 0; i < 6; i++)); do
		before=$(wc -l <"$scratch/served")
		stock_record "$way" -B "${@:3}"
		wait_for_serve "$server"
		[ "$(wc -l <"$scratch/served")" != "$before" ] || break
	done
	expect "$way: after $i recordings no table is missing" test $i -lt 6
}

# Another kernel has shown the rest.
stock_ways() { ways | if [ "$short" = 1 ]; then tail -n 1; else cat; fi; }

has_tables() { [ "$(value table.bytes)" -gt "$1" ]; }

stock() {	# stock DATA
	local data=$1 way share server work
	work=("$0" --work stock_work $((short ? 1 : 2)))
	# The linker makes no difference here.
	[ "$(uname -m)" != x86_64 ] || programs=v3
	[ "$short" = 1 ] || [ "$(uname -m)" != aarch64 ] || programs='v3*'
	unset SFU_TABLES
	load_module
	for way in $(stock_ways); do
		for version in $programs/chain; do
			version=${version%/chain}
			# The wrapper loads the tables of the program and of what it links.
			expect "record $version $way" perf record -B -e "$(clock "$version")" -F "$sample_rate" \
				--call-graph="sframe,$way" -o "$scratch/data" "./$version/chain" -s 1 2>"$scratch/said"
			expect "the wrapper has loaded tables ($(grep 'tables loaded' "$scratch/said"))" \
				grep -qE '^[4-9] tables loaded' "$scratch/said"
			keep_recording "$data/$version.$way"
		done
	done
	# These run already when the recording begins, or start while it runs.
	expect 'record everything' perf record -q -a -e cpu-clock -F 999 --call-graph=sframe -o "$scratch/data" \
		"${work[@]}"
	expect 'tables are held' has_tables 1000000
	for way in $(stock_ways); do
		stock_known "$way"
		stock_threads "$way"
	done
	sframectl serve -v >"$scratch/served" &
	server=$!
	for way in $(stock_ways); do
		# The first run brings tables. Then perf links the files that it has sampled into its cache, which changes their
		# times: the next run brings tables of these once more.
		stock_record "$way" "${work[@]}"
		wait_for_serve $server
		# A file that has just changed gets no table, and a program that runs for a second may end before.
		sleep 3
		stock_tables "$way" $server "${work[@]}"
		snapshot
		stock_record "$way" -B "${work[@]}"
		show_grown "$way"
		share=$(whole_of_1000)
		expect "$way: of 1000 stacks of the distribution's programs $share are whole" test "$share" -ge 990
		expect "$way: no defect" no_defect
	done
	expect 'sframectl tables lists as many as there are' test "$(sframectl tables | grep -c ' [0-9]*:[0-9]')" -ge 30
	expect 'sframectl tables --drop' sframectl tables --drop
	expect 'no table is listed any more' test "$(sframectl tables | wc -l)" = 1
	kill $server
	wait $server
	expect 'sframectl serve ends by SIGTERM' test $? = 0
	unload_module
}
