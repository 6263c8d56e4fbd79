# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch
#
# guest-cold.sh - part of guest.sh: sections whose pages are not in memory, and stacks in special memory; see cold.c

# sample_cold WAY MODE MS LIBRARY: sets turns, whole, short and wrong
sample_cold() {
	local way=$1 mode=$2 ms=$3 library=$4 counts
	snapshot
	turns=$(perf record -q -B -e cpu-clock -F 2000 --call-graph="sframe,$way" -o "$scratch/data" \
		./cold "$mode" "$ms" "$library")
	cold_status=$?
	counts=$(perf script -i "$scratch/data" -F comm,ip,sym 2>/dev/null | awk '
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
	echo "     $way $mode${5:+ ($5)}: $turns turns; $whole stacks whole, $short short, $wrong wrong"
	show_grown "$mode" '^(stop|defect|scan|section|map)'
}

unaffected() {	# unaffected WHAT
	check "$1: program unaffected" test "$cold_status" = 0
	check "$1: no wrong stack" test "$wrong" = 0
}

# Each turn removes the pages. A sample that misses a page requests a scan, which brings the page in. If the page has to
# be read, the scan is repeated after one or two ticks of 4 ms. At 2000 Hz a tick has eight samples.
costs_few() {	# costs_few WHAT SAMPLES: at most SAMPLES short stacks a turn
	check "$1: most stacks are whole" test "$whole" -gt "$short"
	check "$1: at most $2 samples each time" test "$short" -le $(($2 * turns))
}

cold_way() {	# cold_way WAY
	local way=$1 library=$scratch/libcold.so first size
	cp ./libcold.so "$library"
	cp ./libcold.so /dev/shm/libcold.so
	# The kernel does not reclaim dirty pages, so write them first.
	sync

	sample_cold "$way" plain 1000 "$library"
	unaffected "$way plain"
	check "$way plain: all stacks are whole" test "$whole" -gt 30 -a "$short" = 0
	sample_cold "$way" pageout 2000 "$library"
	unaffected "$way pages reclaimed"
	costs_few "$way pages reclaimed" 24
	sample_cold "$way" drop 2000 "$library"
	unaffected "$way page cache dropped"
	costs_few "$way page cache dropped" 24
	[ "$way" != sync ] || check "$way page cache dropped: counted" test -n "$(grown '^stop.section-fault')"
	sample_cold "$way" secret 1000 "$library"
	unaffected "$way secret memory over the section"
	sample_cold "$way" secret-stack 1000 "$library"
	unaffected "$way stack in secret memory"
	check "$way stack in secret memory: all stacks are whole" test "$whole" -gt 30 -a "$short" = 0

	# Deferred stacks are not tested here: the task itself would read the memory, and wait without end.
	[ "$way" = sync ] || return 0
	sample_cold "$way" never 1500 /dev/shm/libcold.so
	unaffected "$way userfaultfd that never answers"
	check "$way userfaultfd that never answers: counted" test -n "$(grown '^stop.section')"

	read -r first size <<<"$cold_section"
	mkdir -p "$scratch/fs"
	./cold-fs ./libcold.so "$first" "$size" 700 "$scratch/fs"
	sample_cold "$way" plain 3000 "$scratch/fs/file" 'file system answers late'
	unaffected "$way file system that answers late"
	check "$way file system that answers late: whole at last" test "$whole" -gt "$short"
	umount "$scratch/fs"
	./cold-fs ./libcold.so "$first" "$size" 0 "$scratch/fs"
	sample_cold "$way" plain 1500 "$scratch/fs/file" 'file system never answers'
	unaffected "$way file system that never answers"
	check "$way file system that never answers: counted" test -n "$(grown '^stop.section')"
	umount -l "$scratch/fs"
}

cold() {	# cold "START SIZE": the whole pages of libcold.so's section
	local way
	cold_section=$1
	check 'module loads' modprobe sframe_unwind || exit
	for way in $(ways); do
		cold_way "$way"
	done
	# No scan may still run, although some reads of pages never ended.
	check 'module unloads' timeout 20 rmmod sframe_unwind
	pkill cold-fs
	check 'kernel log' log_is_clean
}
