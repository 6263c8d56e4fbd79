#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh PERIOD SAMPLES - samples each program of the file `commands` with the module off, then on
#
# Runs in the shared directory, with the sampler. The second disk has the runtimes. What is written for each program:
# NAME.off.data and NAME.on.data, for live.c; NAME.WAY.log, what it has printed; NAME.before and NAME.after, the module's
# counters; NAME.WAY.map, if the runtime has written a list of its symbols for perf.

set -u

period=$1 samples=$2
root=/runtimes
stats=/sys/kernel/debug/sframe_unwind/stats

mkdir $root
mount -o noatime /dev/vdb $root || exit
mount --bind /proc $root/proc
mount --bind /sys $root/sys
mount --rbind /dev $root/dev
mount -t tmpfs -o mode=1777 tmp $root/tmp
# The programs have the same names for the judge. On the share, which is 9p, files get no table.
cp -a programs/. $root/mnt/

record() {	# record NAME WAY COMMAND SKIPPED [SAMPLES]
	local status=0 map
	rm -f $root/tmp/perf-*.map
	timeout -k 5 400 ./sampler -r -s "$4" -n "${5:-$samples}" "$1.$2.data" vdso.so "$period" \
		chroot $root sh -c "cd /mnt; $3" >"$1.$2.log" 2>"$1.$2.err" </dev/null || status=$?
	for map in "$root"/tmp/perf-*.map; do
		[ ! -e "$map" ] || cp "$map" "$1.$2.map"
	done
	echo "$1, $2: status $status, after $SECONDS s"
}

while IFS=$'\t' read -r name skipped command; do
	record "$name" off "$command" "$skipped"
done <commands
modprobe sframe_unwind || exit
sframectl serve -v >serve.log 2>&1 &
serve=$!
# Waits until no more tables come, and no child of serve makes one.
tables_are_there() {
	local nr=-1
	while [ "$(sframectl tables | wc -l)" != "$nr" ] || pgrep -P $serve >/dev/null; do
		nr=$(sframectl tables | wc -l)
		sleep 1
	done
}

while IFS=$'\t' read -r name skipped command; do
	# The first samples of a program bring its tables.
	record "$name" on "$command" 0 20 >/dev/null
	tables_are_there
	cat $stats >"$name.before"
	record "$name" on "$command" "$skipped"
	cat $stats >"$name.after"
done <commands
kill $serve
wait $serve
