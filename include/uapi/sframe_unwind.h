/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * /dev/sframe_unwind: SFrame tables for files that were built without .sframe.
 *
 * Each structure begins with its size. A program that knows fewer members than the module
 * passes the smaller size; the module takes what is missing as zero. A program that knows
 * more members gets E2BIG, unless what the module does not know is zero.
 *
 * A command that is refused returns -1 with errno. If @message is set, SFRAME_LOAD also stores a
 * text there, terminated by a zero byte: why, and what to do. Where errno says it all, the text is
 * empty.
 */
#ifndef _UAPI_SFRAME_UNWIND_H
#define _UAPI_SFRAME_UNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct sframe_segment - a part of the file that is loaded
 * @offset: in the file, in bytes: p_offset of a PT_LOAD
 * @size: bytes in the file: p_filesz
 * @addr: address that it was linked at: p_vaddr
 */
struct sframe_segment {
	__u64	offset;
	__u64	size;
	__u64	addr;
};

/* So many segments of a file at most. */
#define SFRAME_SEGMENTS_MAX	128

/**
 * struct sframe_load - load the table of a file
 * @size: sizeof(struct sframe_load)
 * @fd: the file, open for reading; -1 with SFRAME_LOAD_VDSO
 * @section: pointer to the .sframe section: native byte order, sorted
 * @section_size: its bytes; 0: the file has no table, and nobody shall be asked for one again
 * @section_addr: address that the section was linked at, in the address space of the file
 * @segments: pointer to the file's executable segments, struct sframe_segment
 * @nr_segments: how many: 1 to SFRAME_SEGMENTS_MAX; 0 without a section
 * @flags: SFRAME_LOAD_VDSO, or 0
 * @file_size: of the file, as fstat() gave it before the file was read
 * @ctime: its st_ctim.tv_sec, from the same fstat()
 * @ctime_nsec: its st_ctim.tv_nsec
 * @message_size: bytes of @message
 * @message: pointer to room for a text, or 0
 */
struct sframe_load {
	__u32	size;
	__s32	fd;
	__u64	section;
	__u64	section_size;
	__u64	section_addr;
	__u64	segments;
	__u32	nr_segments;
	__u32	flags;
	__u64	file_size;
	__s64	ctime;
	__u32	ctime_nsec;
	__u32	message_size;
	__u64	message;
};

/*
 * open() wants CAP_SYS_ADMIN: EPERM.
 *
 * SFRAME_LOAD fails with EAGAIN: the file has changed a moment ago, read it again in two seconds;
 * ESTALE: it has changed since fstat(); EOPNOTSUPP: its file system does not tell each change;
 * EBADMSG: the section has a defect, which @message names; ENOSPC: there is no room for the table;
 * EFBIG: it is larger than 256 MiB; EINTR, ENOMEM, EBADF, EINVAL, EFAULT.
 *
 * SFRAME_DROP fails with ENOENT: the file has no table. read() fails with EINVAL: there is no room
 * for one structure; EAGAIN, with O_NONBLOCK: no file is wanted; EMFILE, ENFILE, ENOMEM: no file
 * was taken.
 */

/* The table is for the code that the kernel maps into each process, and not for a file. */
#define SFRAME_LOAD_VDSO	1

/**
 * struct sframe_drop - forget the table of a file
 * @size: sizeof(struct sframe_drop)
 * @fd: the file; -1 with a flag
 * @flags: 0; SFRAME_DROP_ALL: forget all tables; SFRAME_DROP_TABLELESS: forget which files are
 *	known to have no table
 * @reserved: 0
 *
 * Without a flag, a descriptor that open() has not given is EBADF, and drops nothing.
 * Processes that have mapped the file use the table until they are scanned again.
 */
struct sframe_drop {
	__u32	size;
	__s32	fd;
	__u32	flags;
	__u32	reserved;
};

#define SFRAME_DROP_ALL		1
#define SFRAME_DROP_TABLELESS	2

/**
 * struct sframe_wanted - a file that a sampled process has mapped, without a table: read()
 * @size: bytes of this structure; read() returns a multiple of it
 * @fd: the file, open for reading; the reader closes it
 * @pid: a process that has mapped it
 * @reserved: 0
 *
 * read() returns at least one of them, or waits; poll() reports POLLIN. Each file is
 * reported once, to one reader, and again after a reader has closed the device without
 * an answer: see &sframe_load.
 */
struct sframe_wanted {
	__u32	size;
	__s32	fd;
	__s32	pid;
	__u32	reserved;
};

/**
 * struct sframe_file - a file that has a table: SFRAME_LIST
 * @size: sizeof(struct sframe_file)
 * @nr_functions: of its table; 0: it is known to have none
 * @next: in: 0, or what the last call has set; out: for the next call. ENOENT: there is no more
 * @dev_major: of the device with the file system
 * @dev_minor: likewise
 * @ino: inode number
 * @table_size: bytes of the table
 * @nr_users: ranges of code of processes that use the table
 * @nr_files: files that share the table
 * @ctime: of the file when its table was loaded: st_ctim.tv_sec
 * @ctime_nsec: likewise st_ctim.tv_nsec. If fstat() reports another time, the file has lost the
 *	table
 * @reserved: 0
 */
struct sframe_file {
	__u32	size;
	__u32	nr_functions;
	__u64	next;
	__u32	dev_major;
	__u32	dev_minor;
	__u64	ino;
	__u64	table_size;
	__u32	nr_users;
	__u32	nr_files;
	__s64	ctime;
	__u32	ctime_nsec;
	__u32	reserved;
};

#define SFRAME_LOAD	_IOW(0xb7, 1, struct sframe_load)
#define SFRAME_DROP	_IOW(0xb7, 2, struct sframe_drop)
#define SFRAME_LIST	_IOWR(0xb7, 3, struct sframe_file)

#endif /* _UAPI_SFRAME_UNWIND_H */
