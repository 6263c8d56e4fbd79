# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest-native.sh - part of guest.sh: the steps of README.md, with this machine's own compiler and kernel headers
#
# shellcheck disable=SC2154 # guest.sh sets the variables

native() {
	local share=$PWD project=$scratch/project
	mkdir "$project"
	tar -C "$project" -xf project.tar
	cd "$project" || exit
	# The laboratory has already installed the module and the tools: uninstall them first.
	check 'make uninstall' make -s uninstall
	check 'nothing is left of it' test "$(modprobe -n sframe_unwind 2>&1; command -v sframectl)" = \
		"modprobe: FATAL: Module sframe_unwind not found in directory /lib/modules/$(uname -r)"
	check 'make modules' make -s -j "$(nproc)" modules
	check 'make install' make -s install
	check 'module loads' modprobe sframe_unwind
	check 'perf is our wrapper' cmp "$(command -v perf)" tools/perf
	check 'perf record --call-graph=sframe' \
		perf record -q --call-graph=sframe -o "$scratch/data" "$share/v3/chain" -s 1
	check 'frames were found' test "$(value frames.sframe)" -gt 0
	check 'sframectl check' sframectl check "$share/v3/chain"
	check 'sframectl status' sframectl status
	check 'module unloads' rmmod sframe_unwind
	check 'make uninstall, again' make -s uninstall
	check 'kernel log' log_is_clean
}
