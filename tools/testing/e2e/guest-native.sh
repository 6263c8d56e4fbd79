# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# guest-native.sh - part of guest.sh: the steps of README.md, with this machine's own compiler and kernel headers
#
# shellcheck disable=SC2154 # guest.sh sets the variables

# nothing_is_left: neither modprobe nor the shell finds what was installed
nothing_is_left() {
	hash -r
	[ "$(modprobe -n sframe_unwind 2>&1; command -v sframectl)" = \
		"modprobe: FATAL: Module sframe_unwind not found in directory /lib/modules/$(uname -r)" ]
}

uninstall_without_headers() { make -s uninstall KDIR=/nowhere >"$scratch/uninstall"; }

native() {
	local share=$PWD project=$scratch/project
	mkdir "$project"
	tar -C "$project" -xf project.tar
	cd "$project" || exit
	# The laboratory has already installed the module and the tools: uninstall them first.
	check 'make uninstall' make -s uninstall
	check 'nothing is left of it' nothing_is_left
	check 'make modules' make -s -j "$(nproc)" modules
	check 'make install' make -s install
	check 'module loads' modprobe sframe_unwind
	check 'perf is our wrapper' cmp "$(command -v perf)" build/host/perf
	check 'perf record --call-graph=sframe' \
		perf record -q --call-graph=sframe -o "$scratch/data" "$share/v3/chain" -s 1
	check 'frames were found' test "$(value frames.sframe)" -gt 0
	check 'sframectl check' sframectl check "$share/v3/chain"
	check 'sframectl status' sframectl status
	check 'make uninstall, without headers' uninstall_without_headers
	check 'it says what is loaded' grep -q '^The module is still loaded' "$scratch/uninstall"
	check 'module unloads' rmmod sframe_unwind
	check 'nothing is left of it, again' nothing_is_left
	check 'kernel log' log_is_clean
}
