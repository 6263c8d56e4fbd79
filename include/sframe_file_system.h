/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SFRAME_FILE_SYSTEM_H
#define SFRAME_FILE_SYSTEM_H

#include <linux/magic.h>

#include "sframe_types.h"

/*
 * Returns true if each change of a file's content changes its ctime (time of change), on a file
 * system with this super block magic. While a file is mapped for writing, its ctime may stay.
 */
static inline bool sframe_tells_changes(unsigned long magic)
{
	switch (magic) {
	/*
	 * These file systems are read-only, or only the kernel sets ctime, to the present time. So
	 * a changed file does not get its old ctime again, unless the clock is set back.
	 */
	case BTRFS_SUPER_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case EXT4_SUPER_MAGIC:		/* ext2, ext3 and ext4 share this magic */
	case F2FS_SUPER_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case RAMFS_MAGIC:
	case SQUASHFS_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	/*
	 * Not accepted:
	 * - vfat, exfat: the owner of a file can set ctime.
	 * - FUSE, virtiofs, 9p, SMB, NFS etc.: a server sets ctime, and may change files unseen.
	 * - hugetlbfs: stores to a mapping do not set ctime.
	 * - Others, because they have not been examined.
	 */
	default:
		return false;
	}
}

#endif /* SFRAME_FILE_SYSTEM_H */
