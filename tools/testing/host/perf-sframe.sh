# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# perf-sframe.sh - what perf-sframe and perf-sframe-real share: the wrapper, and a module that is a directory

set -u

test=$(dirname "$(readlink -f "$0")")
# shellcheck source=tools/testing/lib/tap.sh
. "$test/../lib/tap.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset PERF_REAL PERF_CONFIG PERF_CONFIG_NOSYSTEM PERF_CONFIG_NOGLOBAL
mkdir -p "$tmp/bin" "$tmp/wrapper" "$tmp/home" "$tmp/run" "$tmp/sys/module/sframe_unwind/parameters"
parameters=$tmp/sys/module/sframe_unwind/parameters
export SFU_SYSFS=$tmp/sys SFU_RUN=$tmp/run SFU_MACHINE=x86_64 HOME=$tmp/home
# The status of the wrapper in the last call.
rc=0
export wrapped=$tmp/wrapper/perf
make -s --no-print-directory -C "$test/../../perf-sframe" O="$tmp/wrapper" all || exit 1

state() { # state Y|N HOOKS
	printf '%s\n' "$1" >"$parameters/enabled"
	printf '%s\n' "$2" >"$parameters/hooks"
}

counters() { # counters NAME VALUE...: the module's counters
	printf '%s %s\n' "$@" >"$parameters/summary"
}

say() { # say TEXT...: why a case has failed
	printf '%s\n' "$@" | sed 's/^/# /'
}

# has_ended STATUS COMMAND...: so it has, and COMMAND succeeds
has_ended() {
	[ "$rc" = "$1" ] && "${@:2}"
}
