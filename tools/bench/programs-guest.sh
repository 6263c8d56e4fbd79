#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# programs-guest.sh SECONDS PROGRAM... - the part of tools/bench/programs in the virtual machine
#
# Records each program for so many seconds, three times: without the module; with it; and with it, proved frames only. Each has
# one small library with .sframe in its memory. Writes PROGRAM.WAY, as perf script shows it.

set -eu
seconds=$1
shift
parameters=/sys/module/sframe_unwind/parameters
stats=/sys/kernel/debug/sframe_unwind/stats
scratch=/var/tmp/scratch
place=/var/tmp/programs		# on the disk, as usual: nothing is read from the share
user=65534

say() { printf 'programs: %s\n' "$*" >&2; }

# command PROGRAM: print what makes it work for long enough
command() {
	case $1 in
	perl) echo perl "$place/work.pl" ;;
	bash) echo bash "$place/work.bash" ;;
	python3) echo python3 "$place/work.py" ;;
	node) echo "$place/node" "$place/work.js" ;;
	postgres) echo "$place/work-postgres" "$place/usr/lib/postgresql/17/bin/postgres" "$scratch/data" ;;
	esac
}

# set_up PROGRAM: what a program needs before it is recorded
set_up() {
	[ "$1" = postgres ] || return 0
	say "making a database"
	mkdir "$scratch/data"
	chown $user "$scratch/data"
	as_user "$place/usr/lib/postgresql/17/bin/initdb" -A trust -N --no-locale -U postgres -D "$scratch/data" >"$scratch/initdb" 2>&1 ||
		{ cat "$scratch/initdb" >&2; return 1; }
}

as_user() { setpriv --reuid $user --regid $user --clear-groups env LD_LIBRARY_PATH="$place/lib" HOME="$scratch" "$@"; }

# record PROGRAM WAY CALL_GRAPH
record() {
	local words
	read -ra words <<<"$(command "$1")"
	say "$1, $2"
	timeout "$((seconds + 600))" perf record -q -B -e cpu-clock:u -F 997 --call-graph="$3" -o "$scratch/data.perf" -- \
		setpriv --reuid $user --regid $user --clear-groups env HOME="$scratch" LD_LIBRARY_PATH="$place/lib" \
		LD_PRELOAD="$place/libsmall.so" timeout "$seconds" "${words[@]}" >"$scratch/log" 2>&1 </dev/null || tail -n 5 "$scratch/log" >&2
	[ -s "$scratch/data.perf" ] || { cat "$scratch/log" >&2; return 1; }
	perf script -i "$scratch/data.perf" -F comm,pid,tid,time,event,ip --show-mmap-events >"$1.$2" 2>/dev/null
	rm "$scratch/data.perf"
}

mkdir -p $scratch
cp -r programs $place
cp libsmall.so work* $place/
# Debian's node reads a part of its own library there.
[ ! -e $place/usr/share/nodejs ] || ln -s $place/usr/share/nodejs /usr/share/nodejs
chmod 777 $scratch
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
for program; do
	set_up "$program" || continue
	record "$program" kernel fp
	modprobe sframe_unwind
	record "$program" sframe sframe,sync
	grep -E '^(stop|frames|walks|declined)' $stats | grep -v ' 0$' | sed "s/^/$program sframe /" >>counters
	echo Y >$parameters/proved_only
	record "$program" proved sframe,sync
	rmmod sframe_unwind
done
