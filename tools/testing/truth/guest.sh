#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh PERIOD COMMAND... - record stock programs in a virtual machine, for live.c
#
# Runs in the shared directory, with the sampler. PERIOD is in nanoseconds, COMMAND does the work. Files of the result:
# vdso.so; sframe.data, with tables loaded; spoiled.data, of a program whose table is wrong; fp.data, of the kernel alone.

set -euo pipefail

period=$1
shift

# take NAME COMMAND...: the sampler writes to memory. The share is as slow as the host, and samples would be lost meanwhile.
take() {
	./sampler "/dev/shm/$1.data" vdso.so "$period" "${@:2}"
	mv "/dev/shm/$1.data" .
}

# record NAME COMMAND...: again as long as there are new tables. A program that ends before its file is opened brings none.
record() {
	local name=$1 nr=-1 round
	shift
	for round in {1..8}; do
		take "$name" "$@" >"$name.log" 2>&1
		[ "$(sframectl tables | wc -l)" != "$nr" ] || break
		nr=$(sframectl tables | wc -l)
	done
	echo "$name: $round rounds"
}

# On the share, which is 9p, files get no table.
mkdir /var/tmp/wrong
cp wrong/spoiled /var/tmp/wrong
mount --bind /var/tmp/wrong wrong

modprobe sframe_unwind
sframectl serve -v >serve.log 2>&1 &
serve=$!
record sframe "$@"
sframectl stats >status.log
record spoiled ./wrong/spoiled 20000
echo N >/sys/module/sframe_unwind/parameters/enabled
take fp "$@" >/dev/null 2>&1
kill $serve
wait $serve || true
