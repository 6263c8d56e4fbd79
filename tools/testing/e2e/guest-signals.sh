# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and programs
#
# guest-signals.sh - part of guest.sh: stacks through signal handlers, the vDSO and libraries that come and go, see
# signals.c. The guest records them, and the host judges them.

# Prints "setup START END" of each kernel function that sets up a handler.
setup_functions() {
	sort /proc/kallsyms | awk 'found { print "setup", found, $1; found = "" }
		$3 ~ /^(x64_setup_rt_frame|setup_rt_frame|handle_signal|do_signal|arch_do_signal_or_restart)$/ { found = $1 }'
}

record_signals() {	# record_signals WAY DIR DATA
	local dir=$2 name=$3/$2.$1
	snapshot
	perf record -q -B -e cpu-clock -F 10000 --call-graph="sframe,$1" -o "$scratch/data" \
		"$scratch/$dir/signals" "$signals_ms" "$scratch/$dir/library.so" "$scratch/$dir/other-library.so" >"$name.facts"
	expect "record $dir $1" test $? = 0
	show_grown "$dir $1" '^(walks|stop|frames)'
	setup_functions >>"$name.facts"
	grown '^scan.lost' | sed 's/scan[.]//' >>"$name.facts"
	# Only this machine has the objects with the symbols.
	perf script -i "$scratch/data" --no-inline -F comm,tid,ip,sym,dso >"$name.stacks" 2>/dev/null
}

signals() {	# signals MS DATA
	local way dir
	signals_ms=$1
	umount /proc/kallsyms
	load_module
	for way in $(ways); do
		for dir in $programs/signals; do
			dir=${dir%/signals}
			# Copy the libraries, which are loaded again and again: the host's disk may be slow.
			mkdir -p "$scratch/$dir"
			cp "$dir"/{signals,library.so,other-library.so} "$scratch/$dir/"
			record_signals "$way" "$dir" "$2"
		done
	done
	unload_module
}
