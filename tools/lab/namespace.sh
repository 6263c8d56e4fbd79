#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# namespace.sh TREE ROOT DIR CMD... - run CMD inside ROOT, as process 1 of new mount and pid namespaces
#
# The root is read-only. TREE is mounted at its path on the host, so that paths are the same on both sides.

set -euo pipefail

tree=$1 root=$2 cwd=$3 rc=0
shift 3
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || true
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty; do
	: >"$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
for node in tmp var/tmp run root; do
	mount -t tmpfs -o mode=1777 "$node" "$root/$node"
done
mkdir -p "$root$tree"
mount --bind "$tree" "$root$tree"
mount -o remount,bind,ro "$root"
case $cwd/ in
"$tree"/*) ;;
*) cwd=/ ;;
esac
# The shell stays process 1, because CMD as process 1 would neither reap orphans nor die of its own signals. The shell
# prints nothing when a signal ends CMD: the exit status reports it.
exec 7>&2 2>/dev/null
# SFU_LAB_NAMESPACE: the laboratory that runs inside is prepared.
# shellcheck disable=SC2016 # the other shell expands them
chroot "$root" /usr/bin/env -i SFU_LAB_NAMESPACE=1 HOME=/root TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin \
	${MAKEFLAGS+MAKEFLAGS="$MAKEFLAGS"} ${V+V="$V"} \
	/bin/sh -c 'cd "$1" && shift && exec "$@"' sh "$cwd" "$@" 2>&7 7>&- || rc=$?
exit "$rc"
