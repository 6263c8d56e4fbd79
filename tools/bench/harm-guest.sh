#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# harm-guest.sh ROUNDS MAPPINGS LINE... - the part of `make harm` in the virtual machine
#
# Prints "harm LINE COLUMN NS" for each measurement. All columns are measured in one machine, ROUNDS times.

set -eu
rounds=$1 mappings=$2
shift 2
lines=("$@")

# shellcheck source=/dev/null
. ./guest-idle.sh

say() { printf 'harm: %s\n' "$*" >&2; }

# Programs and sources are on the disk, as usual, and all of it is in the page cache after the first use. Nothing is read
# from the share: its server runs on the host, in time of its own.
set_up() {
	local source nr=0
	mkdir /var/tmp/harm
	cp -r . /var/tmp/harm
	cd /var/tmp/harm
	for source in source/*.c; do
		mv "$source" "source/job$nr.c"
		nr=$((nr + 1))
	done
	echo 0 >/proc/sys/kernel/randomize_va_space
	# perf neither lowers the rate of samples nor drops samples because they take long.
	echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

# operation LINE: print the arguments of harm for that line
operation() {
	case $1 in
	mmap | mmap-code | munmap) echo "$1 20000 ./lib.so" ;;
	mprotect) echo "mprotect 60000 ./lib.so" ;;
	many-*) echo "$1 $mappings ./lib.so" ;;
	fork) echo "fork 500" ;;
	exec) echo "exec 200 ./small" ;;
	exec-large) echo "exec 200 ./large" ;;
	dlopen) echo "dlopen 1000 ./lib.so" ;;
	switch) echo "switch 20000" ;;
	build) echo "jobs 5 cc -std=gnu11 -D_GNU_SOURCE -O2 -c -iquote source -o /tmp/job%d.o source/job%d.c" ;;
	build-sframe) echo "jobs 10 ./job --size 1 --memdb" ;;
	esac
}

# The stacks that the module has unwound
walks() { sed -n 's/^walks //p' /sys/kernel/debug/sframe_unwind/stats; }

# measure COLUMN LINE [COMMAND...]: measure a line under COMMAND
measure() {
	local column=$1 line=$2 arguments
	shift 2
	read -ra arguments < <(operation "$line")
	"$@" ./harm "${arguments[@]}" >/tmp/ns 2>/tmp/errors || { cat /tmp/errors >&2; exit 1; }
	echo "harm $line $column $(tail -n 1 /tmp/ns)"
}

# measure_all COLUMN [COMMAND...]: measure all lines under COMMAND
measure_all() {
	local line
	for line in "${lines[@]}"; do
		measure "$1" "$line" "${@:2}"
	done
}

# profiled HZ VALUE: the command that samples the whole machine
profiled() { echo "perf record -q -a -B -N -e cpu-clock -F $1 --call-graph $2 -o /tmp/perf.data --"; }

# Starts what the package's service runs. Each file is converted once in its life: that is done before anything is measured.
start_server() {
	sframectl serve >/tmp/served 2>&1 &
	server=$!
	# shellcheck disable=SC2046 # words
	measure_all warm-up $(profiled 99 sframe) >/dev/null
	wait_for_serve $server
}

stop_server() {
	kill $server
	wait $server || { cat /tmp/served >&2; say "sframectl serve ended with status $?"; exit 1; }
}

set_up
for ((round = 1; round <= rounds; round++)); do
	say "round $round of $rounds, without the module"
	[ $round != 1 ] || measure_all warm-up >/dev/null
	measure_all none
	for hz in 99 999; do
		say "round $round of $rounds, without the module, $hz Hz"
		# shellcheck disable=SC2046 # words
		measure_all fp-$hz $(profiled $hz fp)
	done
	modprobe sframe_unwind
	start_server
	for hz in 99 999; do
		say "round $round of $rounds, with the module, $hz Hz"
		# shellcheck disable=SC2046 # words
		measure_all sframe-$hz $(profiled $hz sframe)
		[ "$(walks)" != 0 ] || { say "the module has unwound no stack"; exit 1; }
	done
	say "round $round of $rounds, with the module, a moment after samples"
	for line in "${lines[@]}"; do
		# shellcheck disable=SC2046 # words
		$(profiled 99 sframe) ./harm jobs 4 ./small >/dev/null
		measure recent "$line"
	done
	# The machine is idle meanwhile: its time jumps.
	sleep 700
	say "round $round of $rounds, with the module, long after samples"
	measure_all nobody
	stop_server
	rmmod sframe_unwind
done
