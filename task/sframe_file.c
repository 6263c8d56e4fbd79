// SPDX-License-Identifier: GPL-2.0-or-later
/* The identity of a file. */
#include <linux/fs.h>

#include "compat.h"
#include "sframe_file.h"

/**
 * sfu_file_id() - the identity of a file at this moment
 * @inode: of the file that holds the bytes; not that of an overlay
 *
 * Context: Any.
 * Return: The identity.
 */
struct sfu_file_id sfu_file_id(const struct inode *inode)
{
	struct timespec64 ctime = inode_get_ctime(inode);

	return (struct sfu_file_id){
		.ino = inode->i_ino,
		.size = i_size_read(inode),
		.ctime = ctime.tv_sec,
		.ctime_nsec = ctime.tv_nsec,
		.dev = inode->i_sb->s_dev,
		.generation = inode->i_generation,
	};
}
