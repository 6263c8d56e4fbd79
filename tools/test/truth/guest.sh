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

# record NAME COMMAND...: twice, for the first run brings the tables and the second one finds them
record() {
	local name=$1
	shift
	./sampler "$name.data" vdso.so "$period" "$@" >/dev/null 2>&1
	./sampler "$name.data" vdso.so "$period" "$@" >"$name.log" 2>&1
}

modprobe sframe_unwind
sframectl serve >serve.log 2>&1 &
serve=$!
record sframe "$@"
sframectl status >status.log
record spoiled ./wrong/spoiled 20000
echo N >/sys/module/sframe_unwind/parameters/enabled
./sampler fp.data vdso.so "$period" "$@" >/dev/null 2>&1
kill $serve
wait $serve || true
