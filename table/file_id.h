/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities of files, and cached facts: where is .sframe, does the code keep frame pointers. */
#ifndef SFU_FILE_ID_H
#define SFU_FILE_ID_H

#include <linux/types.h>

struct inode;
struct super_block;

/* Maximum size of an NFS file handle, in words of 32 bits. Handles of btrfs have five. */
#define SFU_HANDLE_WORDS	6

/*
 * The identity of a file and its content. The members before @size identify the inode, @size and
 * @changed its content. An identity holds no reference of an inode or file system. It has no
 * padding: it is hashed and compared as bytes. @sb is NULL in two other identities: the vDSO's is
 * all zeros, and a process with JIT code has &sfu_process.number as @ino.
 */
struct sfu_file_id {
	const struct super_block	*sb;	/* super block; compared, never dereferenced */
	u64				medium;	/* diskseq of the disk; if none: ID of its bdi */
	u64				ino;
	u32				generation; /* tells apart inodes that reuse @ino */
	u32				dev;	/* device number: the address @sb may be reused */
	/* NFS file handle, or zeros: in two subvolumes (btrfs), files may have the same @ino */
	u32				handle[SFU_HANDLE_WORDS];
	s64				size;	/* length of the file in bytes */
	s64				changed; /* time of the last change (ctime), in ns */
};

static_assert(sizeof(struct sfu_file_id) == 6 * sizeof(u64) + SFU_HANDLE_WORDS * sizeof(u32));

#define SFU_FILE_INODE_SIZE	offsetof(struct sfu_file_id, size)

/* Identifies a part of a file that is mapped executable. */
struct sfu_code_id {
	struct sfu_file_id	file;
	u64			offset;	/* bytes from the start of the file to the part */
	u64			size;	/* length of the part in bytes */
};

/* What a scan of a process has found out about a part of a file that is mapped executable. */
struct sfu_code_facts {
	u64	section_off;	/* bytes from the start of the part to .sframe, modulo 2^64 */
	u64	section_size;	/* length of the section in bytes */
	int	err;		/* 0; or the error of map/elf.c if .sframe was not found */
	u8	keeps_fp;	/* whether the code keeps frame pointers: enum sframe_keeps_fp */
};

/* These functions may be called in any context. */
bool sfu_file_id_has_just_changed(const struct sfu_file_id *id);
bool sfu_file_id_has_settled(const struct sfu_file_id *id);

/* These functions are called in task context. */
int sfu_file_id_get(struct inode *inode, struct sfu_file_id *id);
bool sfu_file_id_find_facts(const struct sfu_code_id *code, struct sfu_code_facts *facts);
void sfu_file_id_store_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts);

#endif /* SFU_FILE_ID_H */
