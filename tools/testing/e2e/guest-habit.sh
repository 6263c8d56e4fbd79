# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-habit.sh - part of guest.sh: stacks of programs without SFrame data, next to a small library with it. See habit.c.
# The guest records them, and the host judges them.

walked() { grown '^walks$' | awk -v nr="$1" '{ found = $2 } END { exit !(found >= nr) }'; }	# walked NUMBER

# However slow the machine is, the program runs until so many stacks are counted since the snapshot.
record_habit() {	# record_habit CALL_GRAPH DIR FILE [STACKS]
	local perf
	perf record -q -B -e cpu-clock -F 3989 --call-graph="$1" -o "$scratch/data" "./habit/$2/habit" 600 &
	perf=$!
	expect "$2 $1: ${4:-3000} stacks" until_true 300 walked "${4:-3000}"
	pkill -ALRM -x habit
	expect "record $2 $1" wait "$perf"
	# Only this machine has the objects with the symbols.
	perf script -i "$scratch/data" --no-inline -F comm,ip,sym >"$3" 2>/dev/null
}

# A user who may read a file of root chooses which of its pages are in the page cache. Of this library, the only one that
# scans read is the one whose functions are not like the others.
choose_page() {	# choose_page DIR
	local library=habit/$1/libplain.so
	setpriv --reuid 65534 --regid 65534 --clear-groups python3 habit-pages.py "$library" 833
	expect "$1: of the library, page $(python3 habit-pages.py "$library") is in the page cache" \
		test "$(python3 habit-pages.py "$library")" = 833
}

# Nothing is remembered of a file that has changed less than three seconds ago: AGE is old or new.
habit_of_chosen_page() {	# habit_of_chosen_page WAY DIR AGE FILE
	# Other files, of which the module remembers nothing. Dirty pages stay in the page cache.
	from_disk "habit/$2"
	sync
	[ "$3" = new ] || sleep 3
	choose_page "$2"
	[ "$3" = old ] || touch "habit/$2/libplain.so"
	snapshot
	record_habit "sframe,$1" "$2" "$4" 6000
	show_grown "$2 $1 $3" '^(walks|stop|frames|scan)'
	umount "habit/$2"
	rm -r "$scratch/disk/habit"
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
		for dir in many-keep many-drop; do
			habit_of_chosen_page "$way" "$dir" old "$data/$dir.$way"
			habit_of_chosen_page "$way" "$dir" new "$data/$dir.$way.new"
		done
	done
	echo Y >"$parameters/proved_only"
	snapshot
	record_habit fp keeps /dev/null
	expect 'proved_only: no frame by habit' test -z "$(grown '^frames[.]fp-habit')"
	expect 'proved_only: walks end there' test -n "$(grown '^stop[.]nodata')"
	unload_module
}
