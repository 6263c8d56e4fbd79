/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identities of files; cached facts: where .sframe is, and whether code keeps frame pointers. */
#ifndef SFU_FILE_ID_H
#define SFU_FILE_ID_H

#include <linux/types.h>

struct inode;
struct super_block;

/* Room for the file handle that encode_fh() makes, in words of 32 bits. That of btrfs has five. */
#define SFU_HANDLE_WORDS	6

/*
 * The identity of a file: @size and @changed (ctime) identify its content, the other members its
 * inode. It holds no reference of an inode or file system. For the vDSO, all members are 0. For JIT
 * code, @ino identifies the process (&sfu_process.number), and all other members are 0.
 */
struct sfu_file_id {
	const struct super_block	*sb;	/* super block; compared, never dereferenced */
	u64				medium;	/* number of disk or backing device, never reused */
	u64				ino;
	u32				generation; /* inode's generation: @ino may be reused */
	/* device number. Needed because a new super block may get the address @sb after umount. */
	u32				dev;
	/*
	 * NFS file handle, made by encode_fh(). All zeros: the file system has no encode_fh(). In
	 * btrfs, two files in different subvolumes may have the same @ino, but not the same handle.
	 */
	u32				handle[SFU_HANDLE_WORDS];
	s64				size;
	s64				changed; /* time of the last change (ctime), in ns */
};

/* Identities are hashed and compared as bytes: the structure must have no padding. */
static_assert(sizeof(struct sfu_file_id) == 6 * sizeof(u64) + SFU_HANDLE_WORDS * sizeof(u32));

#define SFU_FILE_INODE_SIZE	offsetof(struct sfu_file_id, size)

/* Identifies a part of a file that a process has mapped executable. */
struct sfu_code_id {
	struct sfu_file_id	file;
	u64			offset;
	u64			size;
};

/* What a scan of a process has found out about a part of a file that is mapped executable. */
struct sfu_code_facts {
	u64	section_off;	/* address of .sframe minus start of mapped code, modulo 2^64 */
	u64	section_size;
	int	err;		/* 0; or the errno that says why .sframe was not found */
	u8	keeps_fp;	/* enum sframe_keeps_fp */
};

/* Functions that compare a file's ctime with the clock: called in any context. */
bool sfu_file_id_has_just_changed(const struct sfu_file_id *id);
bool sfu_file_id_has_settled(const struct sfu_file_id *id);

/* Functions that identify a file, or find or store cached facts: called in task context. */
int sfu_file_id_get(struct inode *inode, struct sfu_file_id *id);
bool sfu_file_id_find_facts(const struct sfu_code_id *code, struct sfu_code_facts *facts);
void sfu_file_id_store_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts);

#endif /* SFU_FILE_ID_H */
