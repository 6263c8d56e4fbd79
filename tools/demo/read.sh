#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# read.sh PERF DIR [FLAMEGRAPH] - print the profile DIR/perf.data by that perf, to DIR/script; fold it to DIR/folded
#
# Where the programs are, FLAMEGRAPH (tools/sframe-flamegraph) names the functions that have no symbol.

set -eu
cd "$2"
# With separate debug files for libc, the perf of 6.12 cannot unwind libc, and dwarf would look worse than it is. The root
# has these files, most machines do not: hide them from it.
case $2 in
*dwarf) mount -t tmpfs none /usr/lib/debug ;;
*) ! mountpoint -q /usr/lib/debug || umount /usr/lib/debug ;;
esac
fields=comm,pid,tid,time,event,ip,sym,symoff,dso
[ $# -lt 3 ] || fields+=,dsoff
# shellcheck disable=SC2094 # the names only look alike
"$1" script -i perf.data --no-inline --show-lost-events --show-mmap-events --show-task-events \
	-F $fields >script.new 2>script.errors || { cat script.errors >&2; exit 1; }
[ $# -lt 3 ] || "$3" --fold script.new >folded
mv script.new script
