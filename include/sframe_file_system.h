/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SFRAME_FILE_SYSTEM_H
#define SFRAME_FILE_SYSTEM_H

#include <linux/magic.h>

#include "sframe_types.h"

/*
 * Returns true if, on a file system with this super block magic, each change of a file's content
 * changes its ctime (time of change). For the kernel and programs.
 *
 * The file systems listed are read-only, or only the kernel sets ctime: to the present time, with
 * every write() and the first store to each page of a mapping. On vfat and exfat, the owner can set
 * it. On FUSE, virtiofs, 9p and network file systems such as SMB and NFS, a server sets it, and may
 * change files unseen. On hugetlbfs, a store does not change it. Others have not been examined.
 */
static inline bool sframe_tells_changes(unsigned long magic)
{
	switch (magic) {
	case BTRFS_SUPER_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case EXT4_SUPER_MAGIC:		/* also the magic of ext2 and ext3 */
	case F2FS_SUPER_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case RAMFS_MAGIC:
	case SQUASHFS_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

#endif /* SFRAME_FILE_SYSTEM_H */
