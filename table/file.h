/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The identity of files, and what scans have found out about their code. See table/file.c. */
#ifndef SFU_FILE_H
#define SFU_FILE_H

#include <linux/types.h>

struct inode;
struct super_block;

/* The size of a file handle, in words of 32 bits. The handle of btrfs has five. */
#define SFU_HANDLE_WORDS	6

/**
 * struct sfu_file_id - the identity of a file and its content
 * @sb: its super block; only compared, never used
 * @medium: number of its disk: another medium in the same drive, or another image on the same loop
 *	device, has another; of a file system without a disk, number of its backing device
 * @ino: number of its inode
 * @generation: of the inode: numbers of inodes are used again
 * @dev: device number of the super block: its address may be used again
 * @handle: the name that the file system gives the file for NFS, or zeros: a file system with
 *	subvolumes uses a number of an inode once in each
 * @size: its bytes
 * @changed: time of the last change of the inode, which follows each write, in ns
 *
 * The members before @size name the inode, the others its content.
 * All members are values. So an identity keeps neither an inode nor a file system alive. There is
 * no padding: identities are hashed, and compared by their bytes.
 */
struct sfu_file_id {
	const struct super_block	*sb;
	u64				medium;
	u64				ino;
	u32				generation;
	u32				dev;
	u32				handle[SFU_HANDLE_WORDS];
	s64				size;
	s64				changed;
};

static_assert(sizeof(struct sfu_file_id) == 6 * sizeof(u64) + SFU_HANDLE_WORDS * sizeof(u32));

#define SFU_FILE_INODE_SIZE	offsetof(struct sfu_file_id, size)

/* A part of a file that is mapped as code. */
struct sfu_code_id {
	struct sfu_file_id	file;
	u64			offset;	/* of the part in the file, in bytes */
	u64			size;	/* of the part, in bytes */
};

/* What is known about a part of a file that is mapped as code. */
struct sfu_code_facts {
	u64	section_off;	/* bytes from the start of the part to the section, modulo 2^64 */
	u64	section_size;	/* bytes of the section */
	int	err;		/* 0, or why there is no section: an error of map/elf.c */
	u8	keeps_fp;	/* enum sframe_keeps_fp */
};

/* Any context. */
bool sfu_file_has_just_changed(const struct sfu_file_id *id);
bool sfu_file_has_settled(const struct sfu_file_id *id);

/* Task context. */
bool sfu_file_identify(struct inode *inode, struct sfu_file_id *id);
bool sfu_file_find(const struct sfu_code_id *code, struct sfu_code_facts *facts);
void sfu_file_remember(const struct sfu_code_id *code, const struct sfu_code_facts *facts);

#endif /* SFU_FILE_H */
