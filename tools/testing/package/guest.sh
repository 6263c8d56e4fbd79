#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest.sh - what tools/testing/package/run tests in its machine, as root, when systemd has started everything else
#
# The kernel's command line names the start: package_test=installs or package_test=upgraded. The results go to the host by a
# virtio port.

exec >/dev/virtio-ports/out 2>&1 </dev/null
cd /root || exit
export HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Each start of perf record reads this list three times, see tools/lab/vm --help.
grep -m 1 ' T _text$' /proc/kallsyms >/run/kallsyms
mount --bind /run/kallsyms /proc/kallsyms

# shellcheck source=tools/testing/lib/tap.sh
. /debs/tap.sh

# serves: systemctl returns before the service has opened the device
serves() {
	local try
	for ((try = 0; try < 600; try++)); do
		! systemctl is-active --quiet sframe-unwind.service || [ ! -e /sys/module/sframe_unwind/refcnt ] ||
			[ "$(</sys/module/sframe_unwind/refcnt)" = 0 ] || return 0
		sleep 0.2
	done
	systemctl --no-pager status sframe-unwind.service
	return 1
}

# are_complete SUMMARY: most of the stacks, by the line after a recording
are_complete() {
	cat "$1"
	[[ $(<"$1") =~ ([0-9]+)\ stacks,\ (over\ )?([0-9]+)\ %\ complete ]] && ((BASH_REMATCH[1] >= 50 && BASH_REMATCH[3] >= 80))
}

# records: stacks of Debian's own programs, whose tables the first recording has brought
records() {
	local record=(perf sframe record -o /tmp/perf.data -e cpu-clock -F 499
		bash -c 'for ((i = 0; i < 100000; i++)); do :; done; gzip -9 </bin/bash | sha256sum')
	"${record[@]}" && "${record[@]}" 2>/tmp/summary || return 1
	are_complete /tmp/summary && perf script -i /tmp/perf.data -F ip,sym | grep -q __libc_start
}

# link_records: by the name perf, which needs no more than a link
link_records() {
	local output='' status=0 command
	# apt has given dpkg a terminal, whose lines end with CR, too.
	command=$(tr -d '\r' </tmp/said | sed -n 's/^To have perf record --call-graph=sframe as well, type: //p')
	[ -n "$command" ] && eval "$command" && output=$(perf record -o /tmp/link.data -e cpu-clock -F 499 --call-graph=sframe \
		bash -c 'for ((i = 0; i < 30000; i++)); do :; done' 2>&1) || status=$?
	rm -f /usr/local/bin/perf
	hash -r
	echo "$output"
	[[ $status = 0 && $output =~ sframe_unwind:\ meanwhile\ on\ this\ machine:\ [0-9]+\ stacks ]]
}

# records_as_readme: the first recording of README.md. To a pipe, perf record would write its data.
records_as_readme() {
	bash /debs/recording >/tmp/recorded 2>&1 || { cat /tmp/recorded; return 1; }
	cat /tmp/recorded
	grep -qE 'sframe_unwind: meanwhile on this machine: [0-9]+ stacks' /tmp/recorded
}

# draws: a flame graph of what has been recorded, as the manual says
draws() {
	perf script -i /tmp/perf.data | sframe-flamegraph --fold >/tmp/folded && sframe-flamegraph /tmp/folded >/tmp/graph.html &&
		grep -q __libc_start /tmp/graph.html
}

# Messages of install.rst, and the remedy for one.
kernel_notes_taint() {
	dmesg | grep 'sframe_unwind: module verification failed: .*tainting kernel'
}

perf_knows_no_sframe() {
	! perf record -o /tmp/perf.data --call-graph=sframe true 2>/tmp/said || return 1
	grep 'Unknown --call-graph option value: sframe' /tmp/said
}

user_records() {
	(cd /tmp && setpriv --reuid nobody --regid nogroup --clear-groups \
		perf sframe record -o /tmp/user.data -e cpu-clock:u -F 499 "$@") 2>/tmp/said
}

users_may_not_profile() {
	! user_records true || return 1
	grep 'Access to performance monitoring and observability operations is limited' /tmp/said
}

# users_have_stacks: once root allows it; newer kernels want an option, too
users_have_stacks() {
	local work=(bash -c 'for ((i = 0; i < 100000; i++)); do :; done')
	sysctl kernel.perf_event_paranoid=2
	user_records "${work[@]}" || { grep 'this kernel wants one more word from users: --user-callchains' /tmp/said &&
		user_records --user-callchains "${work[@]}"; } || { cat /tmp/said; return 1; }
	are_complete /tmp/said && perf script -f -i /tmp/user.data -F ip,sym | grep -q __libc_start
}

unloads() {
	systemctl stop sframe-unwind.service && rmmod sframe_unwind
}

# starts_by_trigger: the service starts when DKMS has built the module after it
starts_by_trigger() {
	dpkg-trigger --by-package=sframe-unwind-dkms --no-await /usr/src && dpkg --triggers-only --pending && serves
}

is_rejected() {
	local output
	! output=$(modprobe sframe_unwind 2>&1) && [[ $output = *'Key was rejected by service'* ]]
}

# is_refused: without the module, a start of the service fails, and the service has not failed
is_refused() {
	! systemctl start sframe-unwind.service 2>/tmp/said || return 1
	grep 'Assertion failed on job for sframe-unwind.service' /tmp/said && ! systemctl is-active --quiet sframe-unwind.service &&
		! systemctl is-failed --quiet sframe-unwind.service
}

# waits_for_module: headers of a kernel that bring no module do not start the service
waits_for_module() {
	local status=0
	unloads && dpkg-trigger --by-package=sframe-unwind-dkms --no-await /usr/src || return 1
	MODPROBE_OPTIONS='-d /nowhere' dpkg --triggers-only --pending >/tmp/said 2>&1 || status=$?
	cat /tmp/said
	[ $status = 0 ] || return 1
	! grep -qi fail /tmp/said && ! systemctl is-active sframe-unwind.service && [ ! -e /sys/module/sframe_unwind ]
}

# purges: both, in one call, without an error of a command that their scripts call
purges() {
	apt-get -qq -y purge sframe-unwind sframe-unwind-dkms >/tmp/said 2>&1 || { cat /tmp/said; return 1; }
	cat /tmp/said
	! grep -iE 'fail|error|not loaded' /tmp/said
}

kernel_is_quiet() {
	! dmesg | grep -E '\bBUG\b|WARNING:|Oops|Call Trace|general protection|Kernel panic|detected stall|blocked for more'
}

# nothing_is_left: but what perf keeps in /root of its recordings. Of the packages, of what DKMS has built, and of the running service
nothing_is_left() {
	local left
	left=$(find / -xdev \( -path /debs -o -path /root -o -path /tmp -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \) -prune -o \
		\( -name '*sframe[-_]unwind*' -o -name '*sframectl*' \) -print; find /lib/modules -name dkms; systemctl list-unit-files --no-legend '*sframe*'
		grep -rlIE 'sframe[-_]unwind|sframectl' /etc /var/lib --exclude-dir=apt --exclude='*-old'; find /usr/*bin/perf-sframe /usr/local/bin/perf 2>/dev/null)
	[ -z "$left$(grep sframe /proc/modules)" ] || { echo "$left"; return 1; }
}

# installs_tools: and apt says what can be typed now
installs_tools() {
	apt-get -qq -y install /debs/build/dist/sframe-unwind_*.deb >/tmp/said 2>&1 || { cat /tmp/said; return 1; }
	cat /tmp/said
	grep 'To record complete stacks, type: perf sframe record' /tmp/said
}

# tables_are_small: those of all that runs, and of what is installed as far as the service has come
tables_are_small() {
	local bytes files
	sframectl load --all || return
	bytes=$(awk '$1 == "table.bytes" { print $2 }' /sys/kernel/debug/sframe_unwind/stats)
	files=$(sframectl tables -v | grep -c ' [0-9]*:[0-9]')
	echo "# $files files have tables, of $bytes bytes in all"
	[ "$bytes" -gt 100000 ] && [ "$bytes" -le $((files * (32 << 10))) ]
}

installs() {
	local began=$SECONDS
	expect 'apt installs the tools, and says how to record' installs_tools
	expect 'the service has loaded the module' serves
	expect 'perf sframe record works' records
	expect 'so does perf record --call-graph=sframe, by the command that apt named' link_records
	expect 'so does the recording of README.md' records_as_readme
	expect 'sframe-flamegraph draws what it has recorded' draws
	echo "# $((SECONDS - began)) s from apt install to the flame graph, of a machine that QEMU emulates"
	expect 'the kernel notes that it does not know the key' kernel_notes_taint
	expect "the distribution's perf does not know sframe" perf_knows_no_sframe
	expect 'users may not profile' users_may_not_profile
	expect 'with perf_event_paranoid=2 they have complete stacks' users_have_stacks
	expect 'the service does not start when other sources come' waits_for_module
	expect 'the service starts when the module comes later' starts_by_trigger
	expect 'the module is unloaded' unloads
	# From here on, and until the machine ends, only modules with a known key.
	echo 1 >/sys/module/module/parameters/sig_enforce
	expect 'a kernel that does not know the key of DKMS rejects the module' is_rejected
	expect 'the service says then that it cannot start' is_refused
	expect 'the kernel is quiet' kernel_is_quiet
}

upgraded() {
	expect 'the machine has Secure Boot on' grep -q '\[integrity\]' /sys/kernel/security/lockdown
	expect 'the service runs after the upgrade, with the key of DKMS' serves
	expect 'perf sframe record works after the upgrade' records
	expect 'a table takes 32 KiB at most, in the mean' tables_are_small
	expect 'the kernel is quiet' kernel_is_quiet
	expect 'apt purges both while the module is in use' purges
	expect 'nothing is left' nothing_is_left
	expect "perf is the distribution's" perf --version
}

read -r words </proc/cmdline
[[ $words =~ package_test=([a-z]+) ]] && "${BASH_REMATCH[1]}"
end_tap
systemctl poweroff
