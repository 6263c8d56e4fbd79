#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# make-image.sh DIR KERNEL RELEASE DRIVER... - fill DIR/disk from DIR/stage, and make DIR/initrd of DIR/initrd.d and
# drivers
#
# Runs inside the laboratory's root. The disk needs no journal, because every boot discards its changes.

set -eu

dir=$1 kernel=$2 release=$3
shift 3
mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1,nodiscard -m 0 -d "$dir/stage" "$dir/disk"
modprobe -d "$kernel" -S "$release" --show-depends -a "$@" >/tmp/drivers
sed -n 's/^insmod //p' /tmp/drivers | awk '!seen[$1]++' | while read -r module _; do
	nr=$((${nr:-100} + 1))
	file=$dir/initrd.d/modules/$nr-$(basename "${module%%.ko*}").ko
	case $module in
	*.xz) xz -dc "$module" >"$file" ;;
	*.zst) zstd -qdc "$module" >"$file" ;;
	*) cp "$module" "$file" ;;
	esac
done
cd "$dir/initrd.d"
find . | cpio --quiet -o -H newc >../initrd
