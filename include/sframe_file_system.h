/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file systems that update ctime with each change of a file. Also for user space. */
#ifndef SFRAME_FILE_SYSTEM_H
#define SFRAME_FILE_SYSTEM_H

#include <linux/magic.h>

#include "sframe_types.h"

/*
 * Returns true if each change of a file's content changes its time of change (ctime).
 *
 * On these file systems the kernel alone sets ctime, to the present time, with every write() and
 * the first store to each page of a mapping; or they are read-only. On vfat and exfat, ctime equals
 * mtime, which the owner can set. On FUSE, virtiofs, 9p, SMB, NFS and other network file systems, a
 * server sets ctime, and may change the file unseen. On hugetlbfs, a store changes no time. Other
 * file systems have not been examined.
 */
static inline bool sframe_tells_changes(unsigned long magic)
{
	switch (magic) {
	case BTRFS_SUPER_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case EXT4_SUPER_MAGIC:		/* also ext2 and ext3 */
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
