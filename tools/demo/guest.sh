#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh METHOD... - the part of tools/demo/run in the machine: writes METHOD/perf.data, and METHOD/done after that
#
# Only user space is sampled. On x86_64 a timer takes the samples, because QEMU's processor has no counters. On arm64 a
# counter takes them: with a timer, perf's dwarf mode requests a register of SVE that the kernel refuses. sframe comes last.

set -eu
stats=/sys/kernel/debug/sframe_unwind/stats
event=cpu-clock:u rate=999
# arm64's machine reads its profiles itself, which is slow.
[ "$(uname -m)" != aarch64 ] || event=cycles:u rate=499

say() { printf 'demo: in the machine: %s\n' "$*" >&2; }

# load_tables: load the module, and the tables of all programs that will run
load_tables() {
	local names
	modprobe sframe_unwind || { dmesg | tail -n 5 >&2; exit 1; }
	read -ra names < <(./work.sh --programs)
	mapfile -t names < <(type -P "${names[@]}")
	sframectl load --linked "${names[@]}" >sframe/loaded
}

# These are installed. Their tables can be loaded a few seconds later, when it is certain that nobody writes them.
tar -C /usr/local -xf programs.tar
ldconfig
# perf's limit would take fewer samples with the costlier way, as the machine is slow.
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
# Record once without a use: the first run in a fresh machine is slower.
perf record -q -e $event --call-graph fp -o /tmp/perf.data true
for method; do
	mkdir "$method"
	if [ "$method" = sframe ]; then
		say "making the tables of the programs"
		load_tables
		cat $stats >sframe/before
	fi
	say "recording $method"
	perf record -q -e $event -F $rate --call-graph="$method" -o /tmp/perf.data -- ./work.sh /tmp/work \
		>/tmp/output 2>&1 || { cat /tmp/output >&2; say "perf record --call-graph=$method failed, see above"; exit 1; }
	[ "$method" != sframe ] || cat $stats >sframe/after
	cp /tmp/perf.data "$method/"
	[ "$(uname -m)" != aarch64 ] || { say "reading $method"; bash ./read.sh perf "$method"; }
	: >"$method/done"
done
