# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # guest.sh and guest-tables.sh set the variables
#
# guest-identity.sh - part of guest.sh: a user makes a file that pretends to be another one, or another content of it. The table
# of the one must not unwind the other. The programs and cases are those of guest-tables.sh; see identity.py.

as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# mount_image TYPE IMAGE OPTION...: at $dir/TYPE
mount_image() {
	mkdir -p "$dir/$1"
	expect "$1 is mounted" mount -t "$1" -o "loop${3:+,$3}" "$2" "$dir/$1" || exit
}

# gets_none FILE WHAT TEXT: it is refused a table, in words
gets_none() {
	! sframectl load "$1" >"$scratch/said" 2>&1
	expect "$2: no table, in words: $(head -n 1 "$scratch/said")" grep -qE ": $3\$" "$scratch/said"
}

elsewhere='it is on a file system whose files get no table: a file can change there unseen'

# works_without FILE WHAT: a program with this library has no table. With a wrong one, too, its stacks may end early.
works_without() {
	begin -- "$1"
	none_is_right "$2"
	expect "$2: no table is used" test "$(is_used "$1"; echo $?)" = 1
	end
}

works_with() {	# works_with FILE WHAT
	begin -- "$1"
	all_are_right "$2"
	end
}

# Each subvolume has a number 257.
btrfs_subvolumes() {
	local system=$dir/btrfs/system/lib.so home=$dir/btrfs/home/lib.so
	tar -C "$dir" -xf btrfs.tar
	mount_image btrfs "$dir/btrfs.image"
	expect "btrfs: a user makes a file that agrees with one of root" python3 identity.py btrfs "$dir/btrfs" tables/one.so tables/two.so
	let_it_age
	loads "$home" 'btrfs, the file of the user'
	works_without "$system" 'btrfs, the file of root with the table of the user'
	loads "$system" 'btrfs, the file of root'
	works_with "$system" 'btrfs, the file of root with its table'
	works_with "$home" 'btrfs, the file of the user keeps its table'
	sframectl load --all >/dev/null
	works_with "$system" 'btrfs, after load --all'
	umount "$dir/btrfs"
	rm "$dir/btrfs.image"
}

# There the owner sets the time of change: it is that of the last write.
vfat_times() {
	local file=$dir/vfat/lib.so
	truncate -s 16M "$dir/vfat.image"
	busybox mkdosfs "$dir/vfat.image" >/dev/null
	mount_image vfat "$dir/vfat.image" uid=65534,gid=65534
	"${as_nobody[@]}" cp tables/one.so "$file"
	"${as_nobody[@]}" touch -d '2026-01-01 00:00:00' "$file"
	gets_none "$file" vfat "$elsewhere"
	"${as_nobody[@]}" dd if=tables/two.so of="$file" conv=notrunc status=none
	"${as_nobody[@]}" touch -d '2026-01-01 00:00:00' "$file"
	works_without "$file" 'vfat, written, and its time set back'
	umount "$dir/vfat"
	rm "$dir/vfat.image"
}

# There a server says what a file is. Root has mounted what nobody serves.
served_by_9p() {
	local file=$dir/9p/lib.so server
	mkdir -p "$dir/9p" "$dir/serves"
	cp tables/one.so "$dir/serves/lib.so"
	chown -R 65534:65534 "$dir/serves"
	"${as_nobody[@]}" python3 identity.py 9p "$dir/serves/socket" "$dir/serves" &
	server=$!
	waits_for test -S "$dir/serves/socket"
	expect '9p is mounted' mount -t 9p -o trans=unix,version=9p2000.L,cache=loose "$dir/serves/socket" "$dir/9p" || return
	# The kernel keeps the inode, and its attributes.
	exec 8<"$file"
	# The server says which file system it is, so only the module knows.
	gets_none "$file" 9p 'it is on 9p, where a file can change unseen'
	"${as_nobody[@]}" dd if=tables/two.so of="$dir/serves/lib.so" conv=notrunc status=none
	echo 1 >/proc/sys/vm/drop_caches
	works_without "$file" '9p, served with other bytes'
	exec 8<&-
	umount "$dir/9p"
	wait $server
}

identity() {
	mkdir -p "$dir"
	chmod 755 "$dir"
	cp tables/tables "$dir/"
	make_work
	let_it_age
	modprobe loop
	load_module
	expect 'load the program and its libraries' sframectl load --linked "$dir/tables"
	btrfs_subvolumes
	vfat_times
	served_by_9p
	unload_module
}
