# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch, parameters and short
#
# guest-stock.sh - part of guest.sh: programs that nobody has rebuilt, by tables made of their .eh_frame. truth/live judges
# what they do, stack by stack, with `sframectl serve`.

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
	sframectl tables drop
	snapshot
	# shellcheck disable=SC2016 # perl expands it
	perf record -q -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" \
		perl -e 'sub f { my $x = 0; $x += $_ for 1 .. 200000; } f() for 1 .. 5;' >/dev/null
	expect "$way: COMMAND loses no stack for want of a table, of $(grown '^walks' | awk '{ print $2 }')" test "$(wanting)" = 0
	perl -e '1 while 1' &
	pid=$!
	sleep 1
	sframectl tables drop
	snapshot
	perf record -q -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" -p $pid sleep 1
	expect "$way: a process loses none" test "$(wanting)" = 0
	show_grown "$way, known before"
	sframectl tables drop
	snapshot
	# perf itself starts after that: its few stacks want its table.
	perf record -q -a -e cpu-clock:u -F 1999 --call-graph="sframe,$way" -o "$scratch/data" sleep 1
	show_grown "$way, all that run"
	expect "$way: all that run lose next to none" test "$(($(wanting) * 50))" -lt "$(grown '^walks' | awk '{ print $2 + 0 }')"
	expect "$way, all that run: no defect" no_defect
	kill $pid
	wait $pid 2>/dev/null
}

# Prints, of the last recording, how many samples of each event have how many frames, and the first samples.
show_frames() {
	perf script -i "$scratch/data" -F tid,time,event,ip 2>/dev/null | awk 'BEGIN { RS = "" } { print $1, $2, $3, NF - 3 }' >"$scratch/frames"
	cut -d ' ' -f 3,4 "$scratch/frames" | sort | uniq -c
	head -n 12 "$scratch/frames" | sed 's/^/     the first: /'
}

# Where threads are made: the call returns twice, in the thread that makes one, and in the new one, which has another stack.
stock_threads() {	# stock_threads WAY
	local way=$1 share
	snapshot
	perf record -q -B -e sched:sched_process_fork,syscalls:sys_enter_clone3,syscalls:sys_exit_clone3 -c 1 --call-graph="sframe,$way" \
		-o "$scratch/data" python3 -c 'import threading as t; [(s := t.Thread(target=int), s.start(), s.join()) for i in range(300)]'
	share=$(whole_of_1000)
	show_grown "$way, threads" '^(walks|stop|first|frames|declined|defect|scan)'
	[ "$share" = 1000 ] || show_frames
	expect "$way: of 1000 stacks in clone3() $share are whole" test "$share" = 1000
	expect "$way, threads: no defect" no_defect
}

# Under --icount it takes a minute to look at all libraries.
has_loaded() { until_true 900 grep -qE '^[1-9][0-9]* tables? loaded' "$scratch/preloaded"; }

# The service has made the tables of what is installed: plain perf loses no stack of a program that runs for the first time.
stock_plain() {
	local program server installed=$scratch/installed
	sframectl tables drop
	rm -rf "$installed"
	mkdir "$installed"
	for program in perl gzip sort; do cp -L "$(type -P $program)" "$installed/"; done
	let_it_age
	: >"$scratch/preloaded"
	sframectl serve "$installed" /usr/lib/*-linux-gnu >>"$scratch/preloaded" 2>&1 9>&- &
	server=$!
	expect 'plain: serve has made the tables of what is installed' has_loaded
	cat "$scratch/preloaded"
	: >"$scratch/preloaded"
	record_plainly 'plain' "$installed"
	# At its end, perf has made a hard link to each file, which changes it.
	expect 'plain: serve makes the tables of what perf has linked' has_loaded
	cat "$scratch/preloaded"
	record_plainly 'plain, once more' "$installed"
	# One more is installed, as dpkg does it.
	: >"$scratch/preloaded"
	mkdir "$installed/new"
	cp -L "$(type -P perl)" "$installed/new/perl"
	echo >>"$installed/new/perl"
	mv "$installed/new/perl" "$installed/perl"
	expect 'plain: serve makes the table of what comes later' has_loaded
	cat "$scratch/preloaded"
	record_plainly 'plain, installed later' "$installed"
	kill $server
	wait $server
	expect 'plain: serve ends by SIGTERM' test $? = 0
	rm -rf "$installed"
}

record_plainly() {	# record_plainly WHAT DIR
	snapshot
	# shellcheck disable=SC2016 # perl expands it
	perf record -q -g -e cpu-clock:u -F 1999 -o "$scratch/data" \
		"$2/perl" -e 'my @x = map { $_ * 7 % 1009 } 1 .. 300000; print "$_\n" for @x; exec @ARGV' "$2/gzip" -9c "$2/perl" >/dev/null
	show_grown "$1"
	expect "$1: no stack ends for want of a table, of $(grown '^walks' | awk '{ print $2 }')" test "$(wanting)" = 0
	expect "$1: there are stacks" test "$(grown '^walks' | awk '{ print $2 }')" -gt 100
}

# Another kernel has shown the rest.
stock_ways() { ways | if [ "$short" = 1 ]; then tail -n 1; else cat; fi; }

stock() {	# stock DATA
	local data=$1 way
	# The linker makes no difference here.
	[ "$(uname -m)" != x86_64 ] || programs=v3
	[ "$short" = 1 ] || [ "$(uname -m)" != aarch64 ] || programs='v3*'
	unset SFU_TABLES
	load_module
	for version in $programs/chain; do from_disk "${version%/chain}"; done
	for way in $(stock_ways); do
		for version in $programs/chain; do
			version=${version%/chain}
			# The wrapper loads the tables of the program and of what it links.
			expect "record $version $way" perf record -B -e "$(clock "$version")" -F "$sample_rate" \
				--call-graph="sframe,$way" -o "$scratch/data" "./$version/chain" -s 1 2>"$scratch/said"
			expect "the wrapper has loaded tables ($(grep 'tables loaded' "$scratch/said"))" \
				grep -qE '^[4-9] tables loaded' "$scratch/said" || cat "$scratch/said"
			keep_recording "$data/$version.$way"
		done
	done
	for way in $(stock_ways); do
		stock_known "$way"
		stock_threads "$way"
	done
	stock_plain
	unload_module
}
