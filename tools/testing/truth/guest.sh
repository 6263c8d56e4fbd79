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

# record NAME COMMAND...: again as long as there are new tables. A program that ends before its file is opened brings none.
record() {
	local name=$1 nr=-1 round
	shift
	for round in {1..8}; do
		./sampler "$name.data" vdso.so "$period" "$@" >"$name.log" 2>&1
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
./sampler fp.data vdso.so "$period" "$@" >/dev/null 2>&1
kill $serve
wait $serve || true
