# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# guest-idle.sh - part of guest.sh: waiting for `sframectl serve`

# Waits until serve has had nothing to convert for a second: each file has a child of its own.
wait_for_serve() {	# wait_for_serve PID
	local quiet=0
	while [ $quiet -lt 10 ]; do
		quiet=$((quiet + 1))
		! pgrep -P "$1" >/dev/null || quiet=0
		sleep 0.1
	done
}
