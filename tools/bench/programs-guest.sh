#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# programs-guest.sh SECONDS WAYS PROGRAM... - the part of tools/bench/programs in the virtual machine
#
# Records each program for so many seconds, by frame pointers and in perf's dwarf mode without the module, then with it: with
# all its ways, and with proved frames only. Writes PROGRAM.WAY, as perf script shows it.

set -eu
seconds=$1 ways=$2
shift 2
parameters=/sys/module/sframe_unwind/parameters
stats=/sys/kernel/debug/sframe_unwind/stats
scratch=/var/tmp/scratch
place=/var/tmp/work		# on the disk, as usual: nothing is read from the share
local=/usr/local
user=65534

say() { printf 'programs: %s\n' "$*" >&2; }

# again WORD...: print a command that runs these words again and again
again() { echo "$place/again $*"; }

# command PROGRAM: print what makes it work for long enough
command() {
	case $1 in
	perl) echo perl "$place/work.pl" ;;
	bash) echo bash "$place/work.bash" ;;
	python3) echo python3 "$place/work.py" ;;
	node) echo node "$place/work.js" ;;
	java) echo "$local/lib/jvm/java-21-openjdk-$arch/bin/java -XX:+UseSerialGC -Xmx256m $place/Work.java" ;;
	java-fp) echo "$local/lib/jvm/java-21-openjdk-$arch/bin/java -XX:+UseSerialGC -Xmx256m -XX:+PreserveFramePointer $place/Work.java" ;;
	hugo) again hugo --quiet --source "$place/site" --destination "$scratch/site" --cacheDir "$scratch/cache" --ignoreCache ;;
	shellcheck) again shellcheck "$place/vm" ;;
	openssl) again openssl speed -seconds 1 sha256 aes-128-gcm rsa2048 ecdsap256 ;;
	dav1d) again dav1d -q -i "$place/film.ivf" -o /dev/null --muxer null ;;
	postgres) echo "$place/work-postgres" "$local/lib/postgresql/17/bin/postgres" "$scratch/data" ;;
	esac
}

# set_up PROGRAM: what a program needs before it is recorded
set_up() {
	[ "$1" = postgres ] || return 0
	say "making a database"
	mkdir "$scratch/data"
	chown $user "$scratch/data"
	as_user "$local/lib/postgresql/17/bin/initdb" -A trust -N --no-locale -U postgres -D "$scratch/data" >"$scratch/initdb" 2>&1 ||
		{ cat "$scratch/initdb" >&2; return 1; }
}

as_user() { setpriv --reuid $user --regid $user --clear-groups env HOME="$scratch" "$@"; }

# load_tables: those of all files that were installed, and of what is in the machine
load_tables() {
	local files
	mapfile -t files < <(find $local/bin $local/lib -type f \( -perm -100 -o -name '*.so*' \) ! -name '*.py')
	sframectl load "${files[@]}" >>loaded 2>&1 || true
	mapfile -t files < <(type -P perl bash python3 env timeout setpriv)
	sframectl load --linked "${files[@]}" >>loaded 2>&1 || true
}

# record PROGRAM WAY CALL_GRAPH: perf takes long for a stack of its dwarf mode, so there are fewer of them
record() {
	local words rate=997
	[[ ,$ways, == *,$2,* ]] || return 0
	[ "$2" != dwarf ] || rate=97
	read -ra words <<<"$(command "$1")"
	say "$1, $2"
	timeout "$((seconds + 900))" perf record -q -B -e "$event" -F "$rate" --call-graph="$3" -o "$scratch/data.perf" -- \
		setpriv --reuid $user --regid $user --clear-groups env HOME="$scratch" timeout "$seconds" "${words[@]}" \
		>"$scratch/log" 2>&1 </dev/null || true
	[ -s "$scratch/data.perf" ] || { cat "$scratch/log" >&2; return 1; }
	tail -n 3 "$scratch/log" >>logs
	perf script -i "$scratch/data.perf" --no-inline -F comm,pid,tid,time,event,ip --show-mmap-events --show-task-events \
		>"$1.$2" 2>/dev/null
	rm "$scratch/data.perf"
}

mkdir -p $scratch $place
tar -C $local -xf local.tar
ldconfig
cp -r work* Work.java site film.ivf vm $place/
cat >$place/again <<'END'
#!/bin/sh
while :; do "$@"; done
END
chmod 755 $place/again
# Programs look for these parts of themselves where Debian puts them.
[ -e /usr/share/nodejs ] || ln -s $local/share/nodejs /usr/share/nodejs
ln -s $local/share/java-21-openjdk /etc/java-21-openjdk
chmod 777 $scratch
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
case $(uname -m) in
aarch64) arch=arm64 event=cycles:u ;;
*) arch=amd64 event=cpu-clock:u ;;
esac
for program; do
	set_up "$program" || continue
	record "$program" kernel fp
	record "$program" dwarf dwarf
	modprobe sframe_unwind
	load_tables
	record "$program" sframe sframe,sync
	grep -E '^(stop|frames|walks|declined)' $stats | grep -v ' 0$' | sed "s/^/$program sframe /" >>counters
	echo Y >$parameters/proved_only
	record "$program" proved sframe,sync
	rmmod sframe_unwind
done
