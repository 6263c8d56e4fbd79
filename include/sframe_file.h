/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The identity of a file: what a table was made of. See task/sframe_file.c.
 */
#ifndef SFU_FILE_H
#define SFU_FILE_H

#include <linux/types.h>

struct inode;

/**
 * struct sfu_file_id - the identity of a file and of its content
 * @ino: inode number
 * @size: bytes
 * @ctime: seconds of the last change of the inode
 * @ctime_nsec: and nanoseconds
 * @dev: device number of the file system
 * @generation: of the inode: its number may be used again
 * @zero: no padding, for the structure is hashed
 *
 * A table belongs to an identity, never to a name or a build-id: nobody can choose what the
 * stacks of other users look like. No program can set the time of the last change.
 */
struct sfu_file_id {
	u64	ino;
	u64	size;
	s64	ctime;
	u32	ctime_nsec;
	u32	dev;
	u32	generation;
	u32	zero;
};

struct sfu_file_id sfu_file_id(const struct inode *inode);

#endif /* SFU_FILE_H */
