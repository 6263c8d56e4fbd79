#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh - the half of the benchmark that runs in the virtual machine: a line "WAY DEPTH NS BYTES" for each figure

set -eu
count=2000
enabled=/sys/module/sframe_unwind/parameters/enabled

[ -e /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing
modprobe sframe_unwind

measure() {	# measure WAY Y|N PROGRAM HOW DEPTH
	echo "$2" >$enabled
	echo "$1 $5 $("./$3" "$4" "$5" $count)"
}

for depth in 1 8 32 120; do
	measure none N samples-fp none "$depth"
	measure fp N samples-fp chain "$depth"
	measure sframe Y samples-sframe chain "$depth"
	measure dwarf N samples-sframe copy "$depth"
done
