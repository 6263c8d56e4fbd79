# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-habit.sh - part of guest.sh: stacks of programs without SFrame data, next to a small library with it. See habit.c.
# The guest records them, and the host judges them.

record_habit() {	# record_habit SECONDS CALL_GRAPH DIR FILE
	check "record $3 $2" perf record -q -B -e cpu-clock -F 3989 --call-graph="$2" -o "$scratch/data" "./habit/$3/habit" "$1"
	# Only this machine has the objects with the symbols.
	perf script -i "$scratch/data" --no-inline -F comm,ip,sym,symoff >"$4" 2>/dev/null
}

habit() {	# habit SECONDS DATA
	local seconds=$1 data=$2 way dir
	for dir in keeps mixed drops; do record_habit "$seconds" fp "$dir" "$data/$dir.kernel"; done
	check 'module loads' modprobe sframe_unwind || exit
	for way in $(ways); do
		for dir in keeps mixed drops; do
			snapshot
			record_habit "$seconds" "sframe,$way" "$dir" "$data/$dir.$way"
			show_grown "$dir $way" '^(walks|stop|frames|scan)'
			[ "$dir" = drops ] || check "$dir $way: frames by habit are counted" test -n "$(grown '^frames[.]fp-habit')"
		done
	done
	check 'stop reasons sum to walks' reasons_sum_to_walks
	echo Y >"$parameters/proved_only"
	snapshot
	record_habit 1 fp keeps /dev/null
	check 'proved_only: no frame by habit' test -z "$(grown '^frames[.]fp-habit')"
	check 'proved_only: walks end there' test -n "$(grown '^stop[.]nodata')"
	check 'module unloads' rmmod sframe_unwind
	check 'kernel log' log_is_clean
}
