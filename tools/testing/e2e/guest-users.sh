# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh sets scratch and parameters
#
# guest-users.sh - part of guest.sh: what a user does changes no stack of root's programs

# become_user UID COMMAND...: in place of the shell, whose process may be ended as the command's
become_user() { exec setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# stays_so SECONDS COMMAND...
stays_so() {
	local left=$1
	shift
	while "$@"; do
		((left--)) || return 0
		sleep 1
	done
	return 1
}

# more_in_use NUMBER: of tables
more_in_use() { [ "$(nr_in_use)" -gt "$1" ]; }

# A user has as many of root's libraries as he likes mapped as code. Their tables are in use as long as he is sampled. The one
# table of another user, who comes later, finds no room until then.
users_fill_tables() {
	local theirs=/var/tmp/users/theirs ours=/var/tmp/users/ours late=/var/tmp/users/late user root other sampler user_has
	rm -rf /var/tmp/users
	mkdir -p "$theirs" "$ours" "$late"
	cp many /var/tmp/users/
	chmod -R a+rX /var/tmp/users
	echo 2 >"$parameters/table_memory"
	expect 'tables of 1.75 MiB are loaded' ./many fill "$theirs" 14 131072
	become_user 65534 /var/tmp/users/many use "$theirs" 14 &
	user=$!
	perf record -q -B -e cpu-clock:u -F 100 --call-graph=sframe,sync -a -o /dev/null &
	sampler=$!
	waits_for more_in_use 4
	user_has=$(nr_in_use)
	expect "the user has $user_has of the tables" more_in_use 4
	expect 'they take half of the memory at most' test "$user_has" -le 8
	expect 'tables for root find room' ./many fill "$ours" 4 50000
	/var/tmp/users/many use "$ours" 4 &
	root=$!
	waits_for are_in_use $((user_has + 4))
	expect "a program of root has its tables ($user_has, then $(nr_in_use))" are_in_use $((user_has + 4))
	kill "$root"
	wait "$root" 2>/dev/null
	waits_for are_in_use "$user_has"
	expect 'a table of 200 KB is loaded' ./many fill "$late" 1 200000
	become_user 65533 /var/tmp/users/many use "$late" 1 &
	other=$!
	expect 'another user has no room for it' stays_so 3 are_in_use "$user_has"
	kill "$user"
	wait "$user" 2>/dev/null
	expect "it is in use when the first user's program has ended" waits_for are_in_use 1
	kill "$other"
	kill -INT "$sampler"
	wait "$other" "$sampler" 2>/dev/null
	echo 0 >"$parameters/table_memory"
}

# What is no descriptor drops nothing.
mistakes_drop_nothing() {
	expect 'a table is loaded' ./many fill /var/tmp/users/ours 1 65536
	./many drops >"$scratch/said"
	expect 'what SFRAME_DROP says of mistakes' diff - "$scratch/said" <<-END
		a descriptor of -1, first version: Bad file descriptor
		a descriptor of -1: Bad file descriptor
		a descriptor of -2: Bad file descriptor
		a flag with a descriptor: Invalid argument
		an unknown flag: Invalid argument
		both flags: Invalid argument
	END
	expect 'the table is still there' test "$(nr_tables)" -gt 0
	expect 'sframectl tables drop' sframectl tables drop
	expect 'no table is left' waits_for holds_no_table
}

users() {
	load_module
	users_fill_tables
	mistakes_drop_nothing
	unload_module
}
