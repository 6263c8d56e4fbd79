# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-habit.sh - part of guest.sh: stacks of programs without SFrame data, next to a small library with it. See habit.c.
# The guest records them, and the host judges them.

record_habit() {	# record_habit CALL_GRAPH DIR FILE
	expect "record $2 $1" perf record -q -B -e cpu-clock -F 3989 --call-graph="$1" -o "$scratch/data" "./habit/$2/habit" 1
	# Only this machine has the objects with the symbols.
	perf script -i "$scratch/data" --no-inline -F comm,ip,sym >"$3" 2>/dev/null
}

habit() {	# habit DATA
	local data=$1 way dir
	load_module
	for way in $(ways); do
		for dir in keeps mixed drops; do
			snapshot
			record_habit "sframe,$way" "$dir" "$data/$dir.$way"
			show_grown "$dir $way" '^(walks|stop|frames|scan)'
			[ "$dir" = drops ] || expect "$dir $way: frames by habit are counted" test -n "$(grown '^frames[.]fp-habit')"
		done
	done
	echo Y >"$parameters/proved_only"
	snapshot
	record_habit fp keeps /dev/null
	expect 'proved_only: no frame by habit' test -z "$(grown '^frames[.]fp-habit')"
	expect 'proved_only: walks end there' test -n "$(grown '^stop[.]nodata')"
	unload_module
}
