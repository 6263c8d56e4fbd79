# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch
#
# guest-cold.sh - part of guest.sh: sections whose pages are not in memory, and stacks in special memory; see cold.c

cold_data=$scratch/data

# sample_cold WAY MODE MS LIBRARY [WHAT]: sets turns, whole, short and wrong
sample_cold() {
	record_cold "$@"
	judge_cold "$@"
}

record_cold() {
	snapshot
	turns=$(perf record -q -B -e cpu-clock -F 2000 --call-graph="sframe,$1" -o "$cold_data" ./cold "$2" "$3" "$4")
	cold_status=$?
}

judge_cold() {
	local counts
	counts=$(perf script -i "$cold_data" --no-inline -F comm,ip,sym 2>/dev/null | awk '
		function judge(    i) {
			if (stack[1] != "cold_leaf")
				return
			for (i = 1; i <= n && i <= 4; i++)
				if (stack[i] !~ want[i]) { wrong++; print "     wrong: " text > "/dev/stderr"; return }
			if (n >= 4) { full++; return }
			if (cut++ < 2) print "     short: " text > "/dev/stderr"
		}
		BEGIN { split("^cold_leaf$ ^cold_[0-9]+$ ^cold_run$ ^worker$", want) }
		NF == 0 { judge(); n = 0; stack[1] = text = ""; next }
		$1 ~ /^[0-9a-f]+$/ { stack[++n] = $2; text = text " " $2; next }
		{ n = 0; stack[1] = ""; text = "" }
		END { judge(); print full + 0, cut + 0, wrong + 0 }')
	read -r whole short wrong <<<"$counts"
	echo "     $1 $2${5:+ ($5)}: $turns turns; $whole stacks whole, $short short, $wrong wrong"
	show_grown "$2" '^(stop|defect|scan|section|map)'
}

unaffected() {	# unaffected WHAT
	expect "$1: program unaffected" test "$cold_status" = 0
	expect "$1: no wrong stack" test "$wrong" = 0
}

# Each turn removes the pages. A sample that misses a page requests a scan, which brings the page in. If the page has to
# be read, the scan is repeated after one or two ticks of 4 ms. At 2000 Hz a tick has eight samples.
costs_few() {	# costs_few WHAT SAMPLES: at most SAMPLES short stacks a turn
	expect "$1: most stacks are whole" test "$whole" -gt "$short"
	expect "$1: at most $2 samples each time" test "$short" -le $(($2 * turns))
}

# The disk of the library is memory: the host's disk may take longer than a turn. arm64's root cannot make a file system:
# there, it is the host's disk.
mount_disk() {	# mount_disk DIRECTORY
	mkdir -p "$1"
	[ "$(uname -m)" = x86_64 ] || return 0
	modprobe loop
	truncate -s 32M /dev/shm/disk
	mkfs.ext4 -q /dev/shm/disk
	expect 'a disk in memory is mounted' mount -o loop /dev/shm/disk "$1"
}

cold_way() {	# cold_way WAY
	local way=$1 library=$scratch/disk/libcold.so
	mountpoint -q "$scratch/disk" || mount_disk "$scratch/disk"
	cp ./libcold.so "$library"
	cp ./libcold.so /dev/shm/libcold.so
	# The kernel does not reclaim dirty pages, so write them first.
	sync

	sample_cold "$way" plain 1000 "$library"
	unaffected "$way plain"
	expect "$way plain: all stacks are whole" test "$whole" -gt 30 -a "$short" = 0
	sample_cold "$way" pageout 2000 "$library"
	unaffected "$way pages reclaimed"
	costs_few "$way pages reclaimed" 24
	sample_cold "$way" drop 2000 "$library"
	unaffected "$way page cache dropped"
	costs_few "$way page cache dropped" 24
	[ "$way" != sync ] || expect "$way page cache dropped: counted" test -n "$(grown '^stop.section-fault')"
	sample_cold "$way" secret 1000 "$library"
	unaffected "$way secret memory over the section"
	sample_cold "$way" secret-stack 1000 "$library"
	unaffected "$way stack in secret memory"
	expect "$way stack in secret memory: all stacks are whole" test "$whole" -gt 30 -a "$short" = 0

	# Deferred stacks are not tested here: the task itself would read the memory, and wait without end.
	[ "$way" = sync ] || return 0
	sample_cold "$way" never 1500 /dev/shm/libcold.so
	unaffected "$way userfaultfd that never answers"
	expect "$way userfaultfd that never answers: counted" test -n "$(grown '^stop.section')"

	swapped "$way"
	slow_file_system "$way"
}

vm_counter() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }

# Pages of memory files, and pages that the process has changed, are reclaimed to the swap file. The program does not touch
# them: whoever does so, reads them in. A scan leaves them there.
swapped() {	# swapped WAY
	local library=/dev/shm/libswapped.so mode out in
	(umask 077 && fallocate -l 64M "$scratch/swap") && mkswap -q "$scratch/swap" && swapon "$scratch/swap"
	for mode in pageout pageout-copy; do
		[ $mode = pageout ] || library=$scratch/libcold.so
		cp ./libcold.so "$library"
		sync
		out=$(vm_counter pswpout) in=$(vm_counter pswpin)
		record_cold "$1" $mode 1500 "$library"
		out=$(($(vm_counter pswpout) - out)) in=$(($(vm_counter pswpin) - in))
		judge_cold "$1" $mode 1500 "$library" swapped
		unaffected "$1 $mode to swap"
		expect "$1 $mode to swap: counted" test -n "$(grown '^stop.section')"
		expect "$1 $mode to swap: nothing is read in ($out pages out, $in in)" test "$out" -ge 8 -a "$in" = 0
	done
	swapoff "$scratch/swap"
}

mount_cold() {	# mount_cold MS: the section is late by MS; 0: it never comes, once it is `silent`
	mkdir -p "$fs"
	# shellcheck disable=SC2086 # two words
	./cold-fs ./libcold.so $cold_section "$1" "$fs"
}

# Ends all FUSE file systems: all who wait for them go on. pkill would wait for a process that waits in mmap().
abort_fuse() {
	local connection
	mountpoint -q /sys/fs/fuse/connections || mount -t fusectl fusectl /sys/fs/fuse/connections
	for connection in /sys/fs/fuse/connections/*/abort; do
		[ ! -e "$connection" ] || echo 1 >"$connection"
	done
	umount -l "$fs" 2>/dev/null
}

# perf finds the symbols in a copy.
unmount_cold() {
	abort_fuse
	cp ./libcold.so "$fs/file"
}

# The module asks no file system of a user for a page. It takes those that somebody else has read.
slow_file_system() {	# slow_file_system WAY
	local mode reader watchdog
	mount_cold 100
	(sleep 1; cat "$fs/file" >/dev/null) &
	reader=$!
	record_cold "$1" plain 5000 "$fs/file"
	wait $reader
	unmount_cold
	judge_cold "$1" plain 5000 "$fs/file" 'file system answers late'
	unaffected "$1 file system that answers late"
	expect "$1 file system that answers late: whole once somebody has read the section" test "$whole" -gt 100

	for mode in silent marked; do
		mount_cold 0
		cat "$fs/file" >/dev/null
		(sleep 40; abort_fuse) &
		watchdog=$!
		record_cold "$1" $mode 1500 "$fs/file"
		expect "$1 file system that never answers, $mode: the program runs on" kill $watchdog
		unmount_cold
		judge_cold "$1" $mode 1500 "$fs/file"
		unaffected "$1 file system that never answers, $mode"
		expect "$1 file system that never answers, $mode: counted" test -n "$(grown '^stop.section')"
	done
}

# The module is unloaded while the program runs, and after samples have met the pages that are missing.
unload_while_silent() {	# unload_while_silent MODE
	local sampled unloading
	mount_cold 0
	cat "$fs/file" >/dev/null
	snapshot
	perf record -q -B -e cpu-clock -F 2000 --call-graph=fp -o "$cold_data" ./cold "$1" 60000 "$fs/file" >/dev/null &
	sampled=$!
	waits_for counts '^stop.section'
	sleep 1
	expect "$1: another program's stacks are whole" another_is_whole
	rmmod sframe_unwind &
	unloading=$!
	expect "$1: module unloads" ends_within 20 $unloading
	kill $sampled
	unmount_cold
	wait $unloading $sampled
	expect "$1: module is gone" test ! -e /sys/module/sframe_unwind
}

another_is_whole() {
	local cold_data=$scratch/another turns whole short wrong
	sample_cold sync plain 1000 "$scratch/libcold.so" 'another program'
	[ "$whole" -gt 30 ] && [ "$short" = 0 ]
}

cold() {	# cold "START SIZE": the whole pages of libcold.so's section
	local way mode fs=$scratch/fs
	cold_section=$1
	for way in $(modprobe sframe_unwind; ways; rmmod sframe_unwind); do
		load_module
		cold_way "$way"
		expect 'module unloads' timeout 20 rmmod sframe_unwind
	done
	for mode in silent marked; do
		load_module
		unload_while_silent $mode
	done
	expect 'kernel log' log_is_clean
}
