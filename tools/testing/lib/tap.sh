# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tap.sh - results of a shell suite, as TAP: source it, call expect, skip and subtest, and end the suite with end_tap

tap_cases=0 tap_failed=0

# report STATUS NAME: a case, which has passed if STATUS is 0. Returns 1 if it has failed.
report() {
	tap_cases=$((tap_cases + 1))
	[ "$1" != 0 ] || { echo "ok $tap_cases - $2"; return 0; }
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_cases - $2"
	return 1
}

# expect NAME COMMAND [ARG...]: a case, which passes if COMMAND succeeds
expect() {
	local status=0
	"${@:2}" || status=$?
	report $status "$1"
}

# skip NAME REASON
skip() {
	tap_cases=$((tap_cases + 1))
	echo "ok $tap_cases - $1 # SKIP $2"
}

# subtest NAME COMMAND [ARG...]: a case for all cases of COMMAND, which prints TAP.
subtest() {
	local status=0
	echo "# Subtest: $1"
	# shellcheck disable=SC2030,SC2031 # the cases of COMMAND are its own
	(set -o pipefail; tap_cases=0 tap_failed=0; "${@:2}" 2>&1 | sed -u 's/^/    /') || status=$?
	report $status "$1"
}

# shellcheck disable=SC2031
# end_tap: prints the plan. Returns 1 if a case has failed, or there was none.
end_tap() {
	echo "1..$tap_cases"
	[ $tap_failed = 0 ] && [ $tap_cases -gt 0 ]
}
