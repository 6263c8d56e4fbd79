# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-tables.sh - part of guest.sh: a table belongs to one file with one content, and nobody can give it to another. See
# tables.c: its stacks are known, and the frames of its two libraries differ in nothing but their size.

dir=/var/tmp/tables
program=tables
victim=0
work_ms=120

# ---- a program that works in a library when it is told to -----------------------------------------------------------

begin() {	# begin [WRAPPER...] -- [memfd] LIBRARY
	local wrapper=()
	while [ "$1" != -- ]; do wrapper+=("$1"); shift; done
	shift
	rm -f "$dir/in"
	mkfifo "$dir/in"
	: >"$dir/facts"
	"${wrapper[@]}" "$dir/$program" "$@" <"$dir/in" >"$dir/facts" 9>&- &
	victim=$!
	exec 9>"$dir/in"
	until grep -q ready "$dir/facts"; do sleep 0.02; kill -0 "$victim" || return 1; done
}

end() {
	exec 9>&-
	wait "$victim"
}

# Makes a program that tells the program to work so many milliseconds, and waits until it has. perf starts it in less time than
# this script.
make_work() {
	cat >"$dir/work" <<-END
		#!/bin/sh
		nr=\$(grep -c '^done' $dir/facts)
		echo "\$1" >$dir/in
		until [ "\$(grep -c '^done' $dir/facts)" -gt "\$nr" ]; do sleep 0.02; done
	END
	chmod 755 "$dir/work"
}

# Prints how many stacks are right, end too early, and have a frame that is not there.
judge() {
	perf script -i "$scratch/data" --no-inline -F ip 2>/dev/null | awk -v facts="$dir/facts" '
		function is_in(i) { return stack[i] >= start[i] && stack[i] < end[i] }
		function add(  i) {
			if (!depth || !is_in(1)) return
			for (i = 2; i <= nr; i++) {
				if (i > depth) { short++; return }
				if (!is_in(i)) { wrong++; return }
			}
			right++
		}
		BEGIN {
			while ((getline line <facts) > 0)
				if (split(line, word, " ") == 3) {
					start[++nr] = sprintf("%16s", word[2])
					end[nr] = sprintf("%16s", word[3])
				}
		}
		NF { stack[++depth] = sprintf("%16s", $1); next }
		{ add(); depth = 0 }
		END { add(); print right + 0, short + 0, wrong + 0 }'
}

# Samples the program for so many milliseconds.
record_work() {
	perf record -q -B -e cpu-clock:u -F 2000 --call-graph=sframe,sync -p "$victim" -o "$scratch/data" -- "$dir/work" "$1"
}

# Sets right, early and wrong. A busy machine takes few samples in a time: then longer.
sample() {
	local ms=$work_ms
	while true; do
		record_work $ms
		read -r right early wrong < <(judge)
		((right + early + wrong < 60 && ms < 16 * work_ms)) || break
		ms=$((2 * ms))
	done
	echo "     $1: $right right, $early short, $wrong wrong"
}

all_are_right() {	# all_are_right WHAT
	sample "$1"
	expect "$1: stacks are right" test "$right" -ge 30 -a $((early * 30)) -le "$right" -a "$wrong" = 0
}

none_is_right() {	# none_is_right WHAT
	sample "$1"
	expect "$1: no table, and no frame that is not there" test "$early" -ge 30 -a "$right" = 0 -a "$wrong" = 0
}

# ---- tables ---------------------------------------------------------------------------------------------------------

# A file that has changed a moment ago gets no table.
let_it_age() { sleep 2.5; }

fresh() {	# fresh FILE: one.so and two.so in an empty directory
	rm -rf "${dir:?}/files"
	mkdir "$dir/files"
	cp tables/one.so tables/two.so "$dir/files"
	let_it_age
}

loads() { expect "$2: load" sframectl load "$1"; }	# loads FILE WHAT

# has_table FILE: the module holds a table of this file
has_table() {
	sframectl tables -v | awk -v ino="$(stat -L -c %i "$1")" '$6 == ino && $2 { found = 1 } END { exit !found }'
}

# is_used FILE: a process uses the table of this file, whatever it was when the table was loaded
is_used() {
	sframectl tables -v | awk -v ino="$(stat -L -c %i "$1")" '$6 == ino && $4 { found = 1 } END { exit !found }'
}

# A map is valid for one second. The next sample requests a scan.
loses_table() {	# loses_table FILE
	sleep 1.2
	record_work $work_ms
	! is_used "$1"
}

gets_table() { waits_for has_table "$1"; }	# gets_table FILE

# ---- the cases ------------------------------------------------------------------------------------------------------

same_build_id() {
	fresh
	loads "$dir/files/one.so" 'build-id'
	begin -- "$dir/files/two.so"
	none_is_right 'another file with this build-id'
	loads "$dir/files/two.so" 'build-id'
	all_are_right 'another file with this build-id, loaded'
	end
	begin -- "$dir/files/one.so"
	all_are_right 'the first file'
	end
}

renamed_over() {
	fresh
	loads "$dir/files/one.so" rename
	begin -- "$dir/files/one.so"
	all_are_right 'before rename()'
	mv "$dir/files/two.so" "$dir/files/one.so"
	# To lose its name changes a file's time of change, as write() does. Its table has to be loaded again.
	sleep 1.2
	sample 'after rename(), at first'
	expect 'after rename(), at first: no frame that is not there' test "$wrong" = 0
	none_is_right 'after rename(), the program that runs'
	let_it_age
	expect 'after rename(): load of the process' sframectl load -p "$victim"
	all_are_right 'after rename(), the program that runs, loaded'
	end
	begin -- "$dir/files/one.so"
	none_is_right 'after rename(), the next program'
	loads "$dir/files/one.so" rename
	all_are_right 'after rename(), loaded'
	end
}

# One of the next files gets the number of the inode that was removed, in most cases the first.
inode_again() {
	local ino
	fresh
	loads "$dir/files/one.so" 'inode'
	ino=$(stat -c %i "$dir/files/one.so")
	cp "$dir/files/two.so" "$dir/files/next.so"
	rm "$dir/files/one.so"
	for _ in {1..50}; do
		cp "$dir/files/two.so" "$dir/files/one.so"
		[ "$(stat -c %i "$dir/files/one.so")" != "$ino" ] || break
		mv "$dir/files/one.so" "$(mktemp "$dir/files/XXXXXX")"
	done
	expect "the new file has the old one's number ($ino)" test "$(stat -c %i "$dir/files/one.so")" = "$ino"
	begin -- "$dir/files/one.so"
	none_is_right 'a new file with an old number'
	end
}

changed_in_place() {
	fresh
	loads "$dir/files/one.so" 'write()'
	begin -- "$dir/files/one.so"
	all_are_right 'before write()'
	dd if="$dir/files/two.so" of="$dir/files/one.so" conv=notrunc status=none
	expect 'after write(): the table goes' loses_table "$dir/files/one.so"
	none_is_right 'after write()'
	let_it_age
	loads "$dir/files/one.so" 'write()'
	all_are_right 'after write(), loaded'
	end
}

changed_by_mapping() {
	fresh
	loads "$dir/files/one.so" 'shared mapping'
	begin -- "$dir/files/one.so"
	all_are_right 'before a store by a shared mapping'
	"$dir/tables" store "$dir/files/two.so" "$dir/files/one.so"
	expect 'after a store: the table goes' loses_table "$dir/files/one.so"
	none_is_right 'after a store by a shared mapping'
	end
}

# A store to a page that is written already changes no time: a file gets no table while it is mapped for that.
changed_by_old_mapping() {
	local holder status=0
	fresh
	mkfifo "$dir/hold"
	"$dir/tables" hold "$dir/files/two.so" "$dir/files/one.so" <"$dir/hold" >"$scratch/held" &
	holder=$!
	exec 8>"$dir/hold"
	expect 'a mapping for writing: it has been written' waits_for grep -q held "$scratch/held"
	let_it_age
	sframectl load "$dir/files/one.so" >"$scratch/said" 2>&1 || status=$?
	expect "a mapping for writing: no table, in words: $(tail -n 1 "$scratch/said")" \
		test "$status $(grep -c 'one.so: a process may write to it' "$scratch/said")" = '1 1'
	begin -- "$dir/files/one.so"
	echo >&8
	exec 8>&-
	wait "$holder"
	none_is_right 'after a store by an old mapping'
	loads "$dir/files/one.so" 'the mapping for writing has gone'
	all_are_right 'the mapping for writing has gone'
	end
}

# The program works before and after the change, and perf samples it all the time.
changed_under_perf() {
	fresh
	loads "$dir/files/one.so" 'write() under perf'
	begin -- "$dir/files/one.so"
	perf record -q -B -e cpu-clock:u -F 2000 --call-graph=sframe,sync -p "$victim" -o "$scratch/data" \
		-- "$0" --work work_change_work
	read -r right early wrong < <(judge)
	echo "     write() under perf: $right right, $early short, $wrong wrong"
	expect 'write() under perf: stacks are right before' test "$right" -ge 30
	expect 'write() under perf: and end early after' test "$early" -ge 30
	expect "write() under perf: at most two with a frame that is not there" test "$wrong" -le 2
	expect 'write() under perf: the table has gone' test "$(is_used "$dir/files/one.so"; echo $?)" = 1
	end
}

work_change_work() {
	"$dir/work" 60
	dd if="$dir/files/two.so" of="$dir/files/one.so" conv=notrunc status=none
	sleep 1.2
	"$dir/work" 60
}

# A program that serves a file system says what it likes about its files. See guest-identity.sh for other file systems.
on_fuse() {
	local status=0
	mkdir -p "$dir/fuse"
	./cold-fs tables/one.so 0 0 0 "$dir/fuse"
	sframectl load -v "$dir/fuse/file" >"$scratch/said" || status=$?
	expect 'load says by its status that it has failed' test "$status" = 1
	expect "FUSE is refused, in words: $(grep fuse/file "$scratch/said")" \
		grep -q 'file: it is on a file system whose files get no table: a file can change there unseen$' "$scratch/said"
	expect 'the same without -v, of a file that is named' \
		grep -q 'file: it is on a file system whose files get no table' <<<"$(sframectl load "$dir/fuse/file" 2>&1)"
	umount "$dir/fuse"
}

bind_mounted() {
	fresh
	loads "$dir/files/one.so" 'bind mount'
	mount --bind "$dir/files/two.so" "$dir/files/one.so"
	begin -- "$dir/files/one.so"
	none_is_right 'a bind mount over the name'
	loads "$dir/files/one.so" 'bind mount'
	all_are_right 'a bind mount over the name, loaded'
	end
	umount "$dir/files/one.so"
	begin -- "$dir/files/one.so"
	all_are_right 'without the bind mount'
	end
}

mount_overlay() {	# mount_overlay NAME OPTION...
	mkdir -p "$dir/files/$1"/{upper,work,merged}
	mount -t overlay overlay "$dir/files/$1/merged" \
		-o "lowerdir=$dir/files/lower,upperdir=$dir/files/$1/upper,workdir=$dir/files/$1/work$2"
}

overlaid() {
	local merged=$dir/files/a/merged
	fresh
	mkdir "$dir/files/lower"
	cp "$dir/files/one.so" "$dir/files/lower/lib.so"
	mount_overlay a ''
	mount_overlay b ''
	let_it_age
	loads "$merged/lib.so" overlay
	begin -- "$merged/lib.so"
	all_are_right 'overlay, lower file'
	# The program has mapped the lower file, which stays.
	dd if="$dir/files/two.so" of="$merged/lib.so" conv=notrunc status=none
	all_are_right 'overlay, copied up, the program that runs'
	end
	begin -- "$merged/lib.so"
	none_is_right 'overlay, upper file'
	let_it_age
	loads "$merged/lib.so" overlay
	all_are_right 'overlay, upper file, loaded'
	end
	begin -- "$dir/files/b/merged/lib.so"
	all_are_right 'another overlay of the same lower file'
	end
	chmod 700 "$dir/files/b/merged/lib.so"
	begin -- "$dir/files/b/merged/lib.so"
	none_is_right 'overlay, copied up for its mode'
	let_it_age
	loads "$dir/files/b/merged/lib.so" overlay
	all_are_right 'overlay, copied up for its mode, loaded'
	end
	umount "$dir/files/a/merged" "$dir/files/b/merged"
}

served() {
	local server leased root=$dir/root
	fresh
	sframectl serve -v >"$scratch/served" &
	server=$!
	begin -- memfd "$dir/files/one.so"
	record_work $work_ms
	expect 'memfd: serve makes a table' comes_to_say "$scratch/served" '/memfd:tables' 
	all_are_right memfd
	end
	begin -- "$dir/files/one.so"
	rm "$dir/files/one.so"
	record_work $work_ms
	expect 'deleted: serve makes a table' comes_to_say "$scratch/served" 'one.so (deleted)'
	all_are_right 'deleted file'
	end
	mkdir -p "$root"/{usr,lib,lib64,var/tmp}
	for name in usr lib lib64; do mount --bind "/$name" "$root/$name"; done
	fresh
	mkdir -p "$root$dir/files"
	cp "$dir/tables" "$root$dir/tables"
	cp "$dir/files/two.so" "$root$dir/files/one.so"
	loads "$dir/files/one.so" chroot
	let_it_age
	begin chroot "$root" -- "$dir/files/one.so"
	record_work $work_ms
	expect 'chroot: serve makes a table' gets_table "$root$dir/files/one.so"
	all_are_right chroot
	end
	for name in usr lib lib64; do umount "$root/$name"; done
	served_overlays
	fresh
	echo 600 >/proc/sys/fs/lease-break-time
	./many lease "$dir/files/two.so" >"$scratch/leased" &
	leased=$!
	perf record -q -B -e cpu-clock:u -F 1000 --call-graph=sframe,sync -p $leased -o "$scratch/data" sleep 1
	expect 'lease: serve has asked for the file' comes_to_say "$scratch/leased" asked
	begin -- "$dir/files/one.so"
	record_work $work_ms
	expect 'lease: nobody waits for it, and another file gets its table' gets_table "$dir/files/one.so"
	all_are_right 'lease on another file'
	end
	kill $leased
	kill "$server"
	wait "$server"
	expect 'serve ends by SIGTERM' test $? = 0
	cat "$scratch/served"
}

# The path of an overlay's file is that of its layer, from 6.8 on. Before, it is the overlay's: what serve does there, the
# overlay may ask of a layer on FUSE, if a user has mounted it. Then serve does not get the file.
served_overlays() {
	local merged=$dir/files/merged served=yes expected=yes
	fresh
	mkdir "$merged" "$dir/files/one" "$dir/files/empty"
	mv "$dir/files/one.so" "$dir/files/one/lib.so"
	let_it_age
	# Tables of files that have gone have numbers that are used again.
	sframectl tables drop
	# shellcheck disable=SC2016 # the other shell expands them
	begin unshare -Urm sh -euc 'mount -t overlay overlay "$1" -o "lowerdir=$2/one:$2/empty"; shift 2; exec "$@"' sh "$merged" "$dir/files" \
		-- "$merged/lib.so"
	record_work $work_ms
	expect 'overlay of a user: the program runs' grep -q '^done' "$dir/facts"
	end
	begin -- "$dir/files/two.so"
	record_work $work_ms
	expect 'overlay of a user: another file gets its table' gets_table "$dir/files/two.so"
	end
	has_table "$dir/files/one/lib.so" || served=no
	[ "$(printf '%s\n' 6.8 "$(uname -r)" | sort -V | head -n1)" = 6.8 ] || expected=no
	expect "overlay of a user: is its file served: $served" test "$served" = "$expected"
	fresh
	mkdir "$dir/files/lower"
	mv "$dir/files/one.so" "$dir/files/lower/lib.so"
	mount_overlay a ''
	mount_overlay b ''
	let_it_age
	begin -- "$dir/files/a/merged/lib.so"
	chmod 700 "$dir/files/a/merged/lib.so"
	record_work $work_ms
	end
	begin -- "$dir/files/b/merged/lib.so"
	record_work $work_ms
	expect 'overlay, copied up while serve gets the lower file: that is served' gets_table "$dir/files/lower/lib.so"
	all_are_right 'overlay, lower file, served'
	end
	umount "$dir/files/a/merged" "$dir/files/b/merged"
}

comes_to_say() { waits_for grep -qF "$2" "$1"; }	# comes_to_say FILE TEXT

# ---- who may ask ----------------------------------------------------------------------------------------------------

refused_to() {	# refused_to WHAT COMMAND...
	local what=$1 status=0
	shift
	"$@" >"$scratch/said" 2>&1 || status=$?
	expect "$what is refused, in words" test "$status" = 1 -a "$(grep -c 'only root may' "$scratch/said")" = 1
	echo "     $what: $(cat "$scratch/said")"
}

unprivileged() {
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups) command
	chmod 755 "$dir"
	fresh
	for command in "load $dir/files/one.so" tables 'tables drop' serve; do
		# shellcheck disable=SC2086 # words of a command
		refused_to "nobody's sframectl $command" "${nobody[@]}" sframectl $command
	done
	chmod 666 /dev/sframe_unwind
	refused_to 'with the right to open the device, it' "${nobody[@]}" sframectl load "$dir/files/one.so"
	refused_to 'with a user namespace of its own, it' "${nobody[@]}" unshare -Ur sframectl load "$dir/files/one.so"
	chmod 600 /dev/sframe_unwind
	expect 'nothing was loaded' test "$(sframectl tables | wc -l)" = 1
}

# Whatever runs sframectl passes limits and ignored signals on.
load_under_limits() {
	fresh
	expect 'load, with low limits' bash -c "ulimit -v 1000000; ulimit -n 40; ulimit -t 10; exec sframectl load $dir/files/one.so"
	script -qec "sframectl load --linked $dir/files/one.so" /dev/null >"$scratch/said"
	# arm64's vDSO has no .eh_frame.
	expect 'load, on a terminal: shows progress' \
		grep -qE $'\r[1-9][0-9]* tables? loaded; (0 files|1 file) without one' "$scratch/said"
	expect 'load, on a terminal: and says the result at the end' \
		grep -qE $'\x1b\\[K[1-9][0-9]* tables? loaded, [0-9]+ KiB' "$scratch/said"
	cp tables/one.so "$dir/files/new.so"
	expect 'load, of a file that was written just now' sframectl load "$dir/files/new.so"
	expect 'written just now: the table is there' has_table "$dir/files/new.so"
	expect 'load, with SIGCHLD ignored' bash -c "trap '' CHLD; exec sframectl load $dir/files/two.so"
	expect 'low limits: the table is there' has_table "$dir/files/one.so"
	expect 'SIGCHLD ignored: the table is there' has_table "$dir/files/two.so"
}

shows_overview() { sframectl >"$scratch/said"; }

names_are_hidden() {	# names_are_hidden FILE
	grep -qE "  device [0-9]+:[0-9]+ inode $(stat -c %i "$1")\$" "$scratch/report" && ! grep -qF "$1" "$scratch/report"
}

# What a user sees of the module and its tables, and what a report says of them.
front_door() {
	local file=$dir/files/one.so version
	version=$(cat /sys/module/sframe_unwind/version)
	fresh
	expect 'front door: load' sframectl load "$file"
	begin -- "$file"
	expect 'tables: the name of a file that runs' grep -qE "^ +[1-9][0-9]* .*  $file\$" <<<"$(sframectl tables)"
	expect 'status: the module is on' shows_overview
	expect 'report' sframectl report -o "$scratch/report"
	end
	cat "$scratch/said"
	expect 'status: version, hooks, tables' test "$(grep -cE "^(module +sframe_unwind $version, on|hooks +synchronous|tables +[1-9][0-9]* (file has|files have) one, [0-9.]+ [KM]iB;)" "$scratch/said")" = 3
	expect 'tables: device and inode of a file that does not run' \
		grep -qE "  device [0-9]+:[0-9]+ inode $(stat -c %i "$file")\$" <<<"$(sframectl tables)"
	expect 'report: the name of a table of no package is not in it' names_are_hidden "$file"
	expect "report: the kernel's log of the module" grep -q 'sframe_unwind: user stacks are unwound from SFrame' "$scratch/report"
	expect 'report: parameters and counters' test "$(grep -cE '^(hooks	sync|(map|table)\.bytes +[1-9])' "$scratch/report")" = 3
	expect 'doctor: nothing serves tables' grep -q '^Problem: Nothing serves tables: sframectl serve does not run\.$' <<<"$(sframectl doctor)"
	sframectl serve &
	waits_for sframectl doctor
	expect 'doctor: ready, once something does' sframectl doctor
	kill $!
	wait $!
}

# A converter makes none of these tables. Whoever writes another one, or has an old one, is told what is wrong.
wrong_tables() {
	local memory
	fresh
	memory=$(cat "$parameters/table_memory")
	echo 1 >"$parameters/table_memory"
	./many refusals "$dir/files/wrong" >"$scratch/said"
	expect 'wrong tables are not loaded' test $? = 0
	echo "$memory" >"$parameters/table_memory"
	expect 'the module says what is wrong with each' diff - "$scratch/said" <<-END
		the file has changed a moment ago: convert it again in two seconds
		a table needs the executable segments of the file
		segment 0 lies beyond user memory
		the table lies beyond user memory
		the file has changed since it was read: convert it again
		the header of the table: version is not 1, 2 or 3
		the table is for another machine
		the functions of the table are not sorted
		the table describes no function
		function 0 of the table: row's word size is undefined
		larger than all tables may be, 1 MiB: raise table_memory
	END
}

tables() {
	mkdir -p "$dir"
	cp tables/tables "$dir/"
	make_work
	let_it_age
	load_module
	unprivileged
	load_under_limits
	front_door
	wrong_tables
	expect 'load the program and its libraries' sframectl load --linked "$dir/tables"
	same_build_id
	renamed_over
	inode_again
	changed_in_place
	changed_by_mapping
	changed_by_old_mapping
	changed_under_perf
	on_fuse
	bind_mounted
	overlaid
	served
	unload_module
}
