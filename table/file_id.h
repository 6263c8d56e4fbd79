/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities of files, and cached facts: where the section is, are frame pointers kept. */
#ifndef SFU_FILE_ID_H
#define SFU_FILE_ID_H

#include <linux/types.h>

struct inode;
struct super_block;

/* Maximum size of a file handle, in words of 32 bits. The handle of btrfs has five. */
#define SFU_HANDLE_WORDS	6

/*
 * The identity of a file and its content. The members before @size identify the inode, @size and
 * @changed its content. An identity keeps neither an inode nor a file system alive. It has no
 * padding: it is hashed and compared as bytes. @sb is NULL in two other identities: the vDSO's is
 * all zeros, and a process with JIT code has &sfu_process.number as @ino.
 */
struct sfu_file_id {
	const struct super_block	*sb;	/* super block; compared, never dereferenced */
	u64				medium;	/* number of the disk; or of the backing device */
	u64				ino;
	u32				generation; /* as inode numbers are used again */
	u32				dev;	/* device number: addresses @sb are used again */
	/* NFS file handle, or zeros: in subvolumes, two files may have one inode number */
	u32				handle[SFU_HANDLE_WORDS];
	s64				size;	/* length of the file in bytes */
	s64				changed; /* time of the last change (ctime), in ns */
};

static_assert(sizeof(struct sfu_file_id) == 6 * sizeof(u64) + SFU_HANDLE_WORDS * sizeof(u32));

#define SFU_FILE_INODE_SIZE	offsetof(struct sfu_file_id, size)

/* A part of a file that is mapped executable. */
struct sfu_code_id {
	struct sfu_file_id	file;
	u64			offset;	/* bytes from the start of the file to the part */
	u64			size;	/* length of the part in bytes */
};

/* What a scan has found about a part of a file that is mapped executable. */
struct sfu_code_facts {
	u64	section_off;	/* bytes from the start of the part to the section, modulo 2^64 */
	u64	section_size;	/* length of the section in bytes */
	int	err;		/* 0; or no section was found: an error of map/elf.c */
	u8	keeps_fp;	/* whether the code keeps frame pointers: enum sframe_keeps_fp */
};

/* These functions may be called in any context. */
bool sfu_file_id_has_just_changed(const struct sfu_file_id *id);
bool sfu_file_id_has_settled(const struct sfu_file_id *id);

/* These functions are called in task context. */
bool sfu_file_id_get(struct inode *inode, struct sfu_file_id *id);
bool sfu_file_id_find_facts(const struct sfu_code_id *code, struct sfu_code_facts *facts);
void sfu_file_id_store_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts);

#endif /* SFU_FILE_ID_H */
