#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# read.sh PERF DIR - print the profile DIR/perf.data by that perf, to DIR/script

set -eu
cd "$2"
# With separate debug files for libc, the perf of 6.12 cannot unwind libc, and dwarf would look worse than it is. The root
# has these files, most machines do not: hide them from it.
case $2 in
*dwarf) mount -t tmpfs none /usr/lib/debug ;;
*) ! mountpoint -q /usr/lib/debug || umount /usr/lib/debug ;;
esac
# shellcheck disable=SC2094 # the names only look alike
"$1" script -i perf.data --no-inline --show-lost-events --show-mmap-events --show-task-events \
	-F comm,pid,tid,time,event,ip,sym,dso >script.new 2>script.errors || { cat script.errors >&2; exit 1; }
mv script.new script
