# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters, guest-tables.sh dir
#
# guest-serve.sh - part of guest.sh: many tables, hostile files, and a `sframectl serve` that ends at any time

files=/var/tmp/serve
server=0

start_server() {	# start_server [OPTION...]: its report is in $scratch/served
	# A program that runs waits for the end of its input, which only this shell may hold open.
	sframectl serve -v "$@" >>"$scratch/served" 2>"$scratch/server.errors" 9>&- &
	server=$!
	# The vDSO is the first that it has a table for.
	comes_to_say "$scratch/served" '[vdso]'
}

stop_server() {
	kill "$server"
	wait "$server"
	expect "$1: serve ends by SIGTERM" test $? = 0
}

nothing_runs() { ! pgrep -x sframectl >/dev/null; }

no_child_is_left() { waits_for nothing_runs || { pgrep -ax sframectl; return 1; }; }

holds_no_table() { [ "$(value table.bytes)" = 0 ]; }

nr_tables() { sframectl tables -v | grep -c ' [0-9]*:[0-9]'; }

# A program that nobody has seen before gets its table, whatever happened.
new_program_is_served() {	# new_program_is_served WHAT
	fresh
	begin -- "$dir/files/one.so"
	sample "$1, at first"
	expect "$1: a new program gets its table" gets_table "$dir/files/one.so"
	all_are_right "$1, a new program"
	end
}

# ---- many tables ----------------------------------------------------------------------------------------------------

# Memory that the kernel holds, without what is being freed.
held_memory() {
	sleep 1
	kernel_memory
}

nr_in_use() { sframectl tables -v | awk '$4 > 0' | grep -c ' [0-9]*:[0-9]'; }

are_in_use() { [ "$(nr_in_use)" = "$1" ]; }

many_tables() {	# many_tables NR BYTES
	local user sampler before began=$SECONDS all=$(($1 * $2)) listed
	rm -rf "$files"
	mkdir "$files"
	before=$(held_memory)
	echo 300 >"$parameters/table_memory"
	expect "$1 files get tables of $((all >> 20)) MiB" ./many fill "$files" "$1" "$2"
	expect 'as many are listed' test "$(nr_tables)" -ge "$1"
	expect 'they are counted' test "$(value table.bytes)" -ge "$all"
	echo "     $1 tables in $((SECONDS - began)) s, $(value table.bytes) bytes"

	./many use "$files" 500 &
	user=$!
	# As long as it is sampled, its map has the tables of what it has mapped.
	perf record -q -B -e cpu-clock:u -F 100 --call-graph=sframe,sync -p $user -o /dev/null &
	sampler=$!
	waits_for are_in_use 500
	expect "tables of 500 mapped files are in use ($(nr_in_use))" are_in_use 500

	echo 2 >/proc/sys/vm/drop_caches
	listed=$(nr_tables)
	expect "the shrinker leaves those that are in use ($listed of $1)" test "$listed" -ge 500 -a "$listed" -le 600
	expect 'and frees the rest' test "$(value table.bytes)" -le $((600 * $2 + 1000000))

	echo 1 >"$parameters/table_memory"
	rm -f "$files/$1"
	mkdir -p "$files/more"
	# Of another size: a table that another file has needs no room.
	! ./many fill "$files/more" 1 $(($2 * 2)) 2>"$scratch/said"
	expect "above the limit a table is refused: $(cat "$scratch/said")" grep -qE 'tables take all of [0-9]+ MiB, and are in use: raise table_memory' "$scratch/said"
	echo 0 >"$parameters/table_memory"
	expect 'with the limit raised it is loaded' ./many fill "$files/more" 1 $(($2 * 2))
	kill -INT $sampler
	wait $sampler
	kill $user
	wait $user 2>/dev/null
	expect 'sframectl tables drop' sframectl tables drop
	expect 'no table is listed' test "$(nr_tables)" = 0
	rm -rf "$files"
	expect 'none is held' waits_for holds_no_table
	local after
	after=$(held_memory)
	expect "memory is given back ($before kB, then $after kB)" test $((after - before)) -le 4096
}

# ---- hostile files --------------------------------------------------------------------------------------------------

hostile_loaded() {	# hostile_loaded NR
	local seed=1 left=$1 some began=$SECONDS loaded=0 refused=0 status
	mkdir -p "$files"
	while [ "$left" -gt 0 ]; do
		some=$((left < 500 ? left : 500))
		./many mutate tables/one.so "$files" "$some" "$seed"
		seed=$((seed + some)) left=$((left - some))
		status=0
		seq 0 $((some - 1)) | sed "s|^|$files/|" | xargs sframectl load -v >"$scratch/loaded" 2>&1 || status=$?
		[ "$status" -le 1 ] || [ "$status" = 123 ] || expect "load of hostile files: status $status" false
		loaded=$((loaded + $(grep -c '^ *[0-9][0-9]*  /' "$scratch/loaded")))
		refused=$((refused + $(grep -cE "^ *-  /|^sframectl: $files" "$scratch/loaded")))
	done
	echo "     $1 hostile files in $((SECONDS - began)) s: $loaded tables, $refused refused"
	expect 'hostile files: each is loaded, or refused in words' test $((loaded + refused)) = "$1"
	expect 'hostile files: both happen' test "$loaded" -ge 1 -a "$refused" -ge $(($1 / 10))
	sed -E 's/^ *-  [^:]*: //; /^ *[0-9]+  /d' "$scratch/loaded" | sort | uniq -c | sort -rn | head -n 12
	load_within "$files"/*
	rm -rf "$files"
}

# Its time has begun when it has the device. It is stopped while the time passes.
load_within() {	# load_within FILE...
	local pid status=0
	sframectl load --within 1 "$@" >"$scratch/loaded" 2>&1 &
	pid=$!
	until [ /proc/$pid/fd/3 -ef /dev/sframe_unwind ] || ! kill -0 $pid; do :; done
	kill -STOP $pid
	sleep 2
	kill -CONT $pid
	wait $pid || status=$?
	expect "load --within: $(head -n 1 "$scratch/loaded")" grep -q \
		'^sframectl: no time for all files: sframectl serve makes what is wanted later$' "$scratch/loaded"
	expect "load --within: status $status" test $status = 1
}

# A program maps them as code, and is sampled: so the module wants tables for them.
hostile_served() {	# hostile_served NR
	local seed=77 left=$1 some began=$SECONDS answered
	mkdir -p "$files"
	: >"$scratch/served"
	start_server
	while [ "$left" -gt 0 ]; do
		some=$((left < 2000 ? left : 2000))
		./many mutate tables/one.so "$files" "$some" "$seed"
		seed=$((seed + some)) left=$((left - some))
		let_it_age
		perf record -q -B -e cpu-clock:u -F 1000 --call-graph=sframe,sync -o "$scratch/data" -- ./many map "$files" "$some"
	done
	answered=$(grep -c "$files" "$scratch/served")
	echo "     serve has answered for $answered of $1 in $((SECONDS - began)) s"
	expect 'hostile files: serve answers for them' test "$answered" -ge $(($1 / 4))
	expect 'hostile files: serve runs on' kill -0 "$server"
	new_program_is_served 'after hostile files'
	stop_server 'hostile files'
	rm -rf "$files"
}

# The module, and the program that judges.
prepare_service() {
	mkdir -p "$dir"
	cp tables/tables "$dir/"
	make_work
	let_it_age
	load_module
}

hostile() {	# hostile NR: as many files are served; load is slow, so it gets a part of them
	prepare_service
	expect 'load the program and its libraries' sframectl load --linked "$dir/tables"
	hostile_loaded $(($1 < 1000 ? 100 : $1 / 10))
	hostile_served "$1"
	unload_module
}

# ---- a server that ends at any time ---------------------------------------------------------------------------------

bombed() {	# bombed NR
	: >"$scratch/served"
	start_server
	perf record -q -B -a -e cpu-clock:u -F 1000 --call-graph=sframe,sync -o "$scratch/all.data" -- ./many bomb ./many "$1"
	expect "$1 new programs, as fast as they come" test $? = 0
	rm -f "$scratch/all.data"
	expect 'new programs: serve runs on' kill -0 "$server"
	echo "     serve has answered for $(grep -c memfd:bomb "$scratch/served") of $1 new programs"
	new_program_is_served 'after many new programs'
	stop_server 'new programs'
}

# At each start the module asks again for what the one before has not answered.
killed() {	# killed TIMES
	local i bomb
	: >"$scratch/served"
	sframectl tables drop
	perf record -q -B -a -e cpu-clock:u -F 1000 --call-graph=sframe,sync -o "$scratch/all.data" -- ./many bomb ./many 1000000 &
	bomb=$!
	for ((i = 0; i < $1; i++)); do
		sframectl serve >/dev/null &
		server=$!
		sleep "0.$((i % 4))$((i * 7 % 10))"
		kill -KILL "$server"
		wait "$server" 2>/dev/null
	done
	expect "serve was killed $1 times: no child of it is left" no_child_is_left
	start_server
	new_program_is_served "serve was killed $1 times"
	stop_server "killed $1 times"
	pkill -x -INT perf
	wait $bomb
	pkill -x many
	rm -f "$scratch/all.data"
}

# Two share the work: each file is converted once.
two_servers() {
	local first
	sframectl tables drop
	rm -rf "$files"
	mkdir "$files"
	for i in {0..39}; do
		cp tables/one.so "$files/$i"
	done
	let_it_age
	: >"$scratch/served"
	start_server
	first=$server
	sframectl serve -v >"$scratch/served.too" &
	server=$!
	comes_to_say "$scratch/served.too" '[vdso]'
	perf record -q -B -e cpu-clock:u -F 1000 --call-graph=sframe,sync -o "$scratch/data" -- ./many map "$files" 40
	grep -h "$files" "$scratch/served" "$scratch/served.too" | sort >"$scratch/both"
	echo "     the first made $(grep -c "$files" "$scratch/served"), the other $(grep -c "$files" "$scratch/served.too")"
	expect 'two servers: all files are served' test "$(sort -u "$scratch/both" | wc -l)" = 40
	expect 'two servers: each once' test "$(wc -l <"$scratch/both")" = 40
	kill -KILL $first
	wait $first 2>/dev/null
	new_program_is_served 'one of two servers was killed'
	stop_server 'one of two'
	# As nohup(1) starts it.
	trap '' HUP
	start_server
	trap - HUP
	kill -HUP "$server"
	new_program_is_served 'its terminal has gone'
	stop_server 'its terminal has gone'
	rm -rf "$files"
}

# serve looks for new tables after a few seconds. Then the next sample asks for them.
sampled_until_table() {	# sampled_until_table FILE
	local tries
	for ((tries = 0; tries < 30; tries++)); do
		record_work "$work_ms"
		! has_table "$1" || return 0
		sleep 1
	done
	return 1
}

silently() { "$@" >/dev/null; }

# A store has tables by content. What it does not have is not converted.
from_store() {
	local store=$dir/store
	rm -rf "$store"
	mkdir "$store"
	fresh
	sframectl tables drop
	expect 'convert --store' silently sframectl convert --store "$store" '[vdso]' "$dir/files/one.so" "$dir/tables" \
		/lib/*-linux-gnu/libc.so.6
	expect 'each file has its key as its name' test -e "$store/$(sha256sum <"$dir/files/one.so" | cut -d ' ' -f 1).sframe"
	: >"$scratch/served"
	start_server --store "$store"
	begin -- "$dir/files/one.so"
	sample 'from a store, at first'
	expect 'from a store: a table is found by content' gets_table "$dir/files/one.so"
	all_are_right 'from a store'
	end
	# What others may write is no table.
	chmod 666 "$store"/*
	cp "$dir/files/one.so" "$dir/files/three.so"
	begin -- "$dir/files/three.so"
	sample 'from a store, a table that others may write'
	expect 'from a store: such a table is refused' comes_to_say "$scratch/served" 'three.so: others than root may write its table'
	end
	# Nor is a directory.
	cp "$dir/files/one.so" "$dir/files/four.so"
	echo >>"$dir/files/four.so"
	mkdir "$store/$(sha256sum <"$dir/files/four.so" | cut -d ' ' -f 1).sframe"
	begin -- "$dir/files/four.so"
	sample 'from a store, a table that is none'
	expect 'from a store: that is refused, too' comes_to_say "$scratch/served" 'four.so: its table is not a regular file'
	end
	# Nor is a text.
	cp "$dir/files/one.so" "$dir/files/six.so"
	echo six >>"$dir/files/six.so"
	echo text >"$store/$(sha256sum <"$dir/files/six.so" | cut -d ' ' -f 1).sframe"
	begin -- "$dir/files/six.so"
	sample 'from a store, a text'
	expect 'from a store: so is a text' comes_to_say "$scratch/served" 'six.so: its table file has no .sframe'
	end
	# A table that comes into the store later counts, too.
	cp "$dir/files/four.so" "$dir/files/five.so"
	echo >>"$dir/files/five.so"
	begin -- "$dir/files/five.so"
	sample 'from a store, too early'
	expect 'from a store: there is no table yet' comes_to_say "$scratch/served" 'five.so: has no table there'
	expect 'convert --store into the store that is served' \
		silently sframectl convert --store "$store" "$dir/files/five.so"
	expect 'from a store: then there is one' sampled_until_table "$dir/files/five.so"
	end
	chmod 775 "$store"
	expect 'from a store that others may write now' \
		comes_to_say "$scratch/server.errors" 'others than its owner may write it: going on with what it was'
	chmod 755 "$store"
	begin -- "$dir/files/two.so"
	sample 'from a store, another file with the same build-id'
	expect 'from a store: nothing is converted' comes_to_say "$scratch/served" 'two.so: has no table there'
	none_is_right 'from a store, another file with the same build-id'
	stop_server 'from a store'
	# Another run asks again for what this one had nothing for.
	start_server
	sample 'without a store, at first'
	expect 'without a store: it is converted' gets_table "$dir/files/two.so"
	all_are_right 'without a store'
	end
	stop_server 'without a store'
	chmod 777 "$store"
	! sframectl serve --store "$store" 2>"$scratch/said"
	expect "a store that others may write is refused: $(cat "$scratch/said")" grep -q 'others than its owner may write it' "$scratch/said"
	chmod 755 "$store"
	chown 1 "$store"
	! sframectl serve --store "$store" 2>"$scratch/said"
	expect "a store of another user is refused: $(cat "$scratch/said")" grep -q "is not root's" "$scratch/said"
}

# A program that has the device open keeps the module loaded. Several of them do not disturb each other.
many_readers() {
	local i readers=()
	: >"$scratch/served"
	for ((i = 0; i < 200; i++)); do
		exec {fd}</dev/sframe_unwind
		readers+=("$fd")
	done
	start_server
	new_program_is_served '200 others have the device open'
	stop_server '200 others'
	expect 'the module is in use' test "$(rmmod sframe_unwind 2>&1 | grep -c 'in use')" = 1
	for fd in "${readers[@]}"; do exec {fd}<&-; done
}

unloaded() {	# unloaded TIMES: under all of it
	local i bomb
	perf record -q -B -a -e cpu-clock:u -F 1000 --call-graph=sframe,sync -o "$scratch/all.data" -- ./many bomb ./many 1000000 &
	bomb=$!
	for ((i = 0; i < $1; i++)); do
		modprobe sframe_unwind
		sframectl serve >/dev/null &
		server=$!
		sleep "1.$((i * 3 % 10))"
		expect "unload $i: the module is in use while serve runs" test "$(rmmod sframe_unwind 2>&1 | grep -c 'in use')" = 1
		kill -KILL "$server"
		wait "$server" 2>/dev/null
		expect "unload $i" rmmod sframe_unwind
	done
	pkill -x -INT perf
	wait $bomb
	pkill -x many
	rm -f "$scratch/all.data"
}

serve() {	# serve NR TIMES: as many new programs; serve is killed so many times
	prepare_service
	many_tables 10000 26900
	expect 'load the program and its libraries' sframectl load --linked "$dir/tables"
	bombed "$1"
	two_servers
	from_store
	many_readers
	killed "$2"
	expect 'stop reasons sum to walks' reasons_sum_to_walks
	expect 'module unloads' rmmod sframe_unwind
	unloaded 3
	expect 'kernel log' log_is_clean
}
