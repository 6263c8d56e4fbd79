/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * /dev/sframe_unwind: programs load SFrame tables for files that were built without .sframe. open()
 * fails with EPERM without CAP_SYS_ADMIN.
 *
 * Each structure begins with its size in bytes. If a program passes a smaller size than the module
 * knows, the module takes the other members as zero. If it passes a larger size, the members that
 * the module does not know must be zero: else the call fails with E2BIG.
 *
 * If the module refuses SFRAME_LOAD or SFRAME_PROCESS, it stores a text at @message, unless this is
 * 0. The text gives the reason, maybe a remedy, and ends with a zero byte. Empty: errno says all.
 */
#ifndef _UAPI_SFRAME_UNWIND_H
#define _UAPI_SFRAME_UNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct sframe_segment - an executable PT_LOAD program header of a file
 * @offset: p_offset
 * @size: p_filesz
 * @addr: p_vaddr
 */
struct sframe_segment {
	__u64	offset;
	__u64	size;
	__u64	addr;
};

/* Maximum of segments that SFRAME_LOAD takes for a file. */
#define SFRAME_SEGMENTS_MAX	128

/**
 * struct sframe_load - load the table of a file
 * @size: sizeof(struct sframe_load)
 * @fd: the file, open for reading; -1 with SFRAME_LOAD_VDSO
 * @section: pointer to the .sframe section: in native byte order, with sorted functions
 * @section_size: length of the section in bytes; 0: the file has no table, and the device requests
 *	none for it any more
 * @section_addr: address that the section was linked at, in the address space of the file
 * @segments: pointer to the file's executable segments, struct sframe_segment
 * @nr_segments: 1 to SFRAME_SEGMENTS_MAX; 0 without a section
 * @flags: SFRAME_LOAD_VDSO: the table is for the vDSO; or 0
 * @file_size: size of the file, from an fstat() before the file was read
 * @ctime: st_ctim.tv_sec of the file, from the same fstat()
 * @ctime_nsec: st_ctim.tv_nsec of the file, from the same fstat()
 * @message_size: size of the buffer @message in bytes
 * @message: pointer to a buffer for a text, or 0
 *
 * Errors:
 *
 * - EAGAIN: the file has changed a moment ago, or is mapped for writing; read it again later
 * - ESTALE: the file has changed since the fstat()
 * - EOPNOTSUPP: the file system does not show each change of a file
 * - EBADMSG: the section has a defect, which @message names
 * - ENOSPC: tables have reached their memory limit
 * - EFBIG: the section is larger than 256 MiB
 * - EINTR, ENOMEM, EBADF, EINVAL, EFAULT
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

#define SFRAME_LOAD_VDSO	1

/**
 * struct sframe_drop - forget the table of a file
 * @size: sizeof(struct sframe_drop)
 * @fd: the file; -1 with a flag
 * @flags: 0; SFRAME_DROP_ALL: forget all tables; SFRAME_DROP_TABLELESS: forget which files are
 *	known to have no table
 * @reserved: 0
 *
 * Fails with ENOENT: nothing is recorded for the file; EBADF: @flags is 0 and @fd is not open.
 * Processes that have mapped the file use the table until the next scan of their mappings.
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
 * struct sframe_wanted - a request for a table, which read() of the device returns
 * @size: size of this structure in bytes; read() returns a multiple of it
 * @fd: a file that process @pid has mapped and that has no table. It is open for reading, and the
 *	reader closes it. -1: the request is for JIT code, in which stacks of the process end
 * @pid: the process, in the PID namespace of the reader; 0: it is not in this namespace
 * @reserved: 0
 * @cookie: if @fd is -1: number of the address space of the process, see &sframe_process; else 0
 * @addr: if @fd is -1: an address in the JIT code; else 0
 *
 * read() waits for a request, and returns at least one; poll() reports POLLIN. Errors of read():
 *
 * - EINVAL: the buffer is smaller than one structure
 * - EAGAIN: with O_NONBLOCK, there is no request now: poll() again
 * - EMFILE, ENFILE, ENOMEM: no file descriptor or memory; the request stays in the queue
 *
 * The table of a file is requested from one reader, once. If this reader closes the device without
 * an answer by SFRAME_LOAD, the table is requested again.
 *
 * The answer to a request for JIT code is SFRAME_PROCESS, even if there is nothing to load. If
 * stacks still end in JIT code, the next request comes one second later. This delay doubles with
 * each request, up to a minute, until a table is loaded.
 */
struct sframe_wanted {
	__u32	size;
	__s32	fd;
	__s32	pid;
	__u32	reserved;
	__u64	cookie;
	__u64	addr;
};

/**
 * struct sframe_process - replace the tables for JIT code of one process: SFRAME_PROCESS
 * @size: sizeof(struct sframe_process)
 * @pid: the process, in the PID namespace of the caller
 * @cookie: &sframe_wanted.cookie; execve() changes it
 * @text_start: address of the code, at the start of a page
 * @text_size: length of the code in bytes, whole pages; 0, with @section_size 0: change no table.
 *	This only answers the request that read() returned: there is nothing to load
 * @section: pointer to a .sframe section for this code, as &sframe_load.section
 * @section_size: length of the section in bytes; 0: there is none
 * @section_addr: address that the section would have in the process. The section gives functions
 *	as offsets from its own address. All these functions must be in the code
 * @flags: 0
 * @message_size: size of the buffer @message in bytes
 * @message: pointer to a buffer for a text, or 0
 * @entry_start: for code that is entered only by a jump: address of the function that jumps to it.
 *	The code runs in the frame of this function. So its rows find this function's caller.
 *	But the code may move SP in ways that its rows do not describe. So walks use a row only if
 *	the return address that it finds follows a call of this function
 * @entry_size: length of this function in bytes; 0: the code is entered by calls
 *
 * The new table replaces all tables of the process that overlap the code. Without a section, they
 * are only removed. This takes effect at the next scan of the process's mappings, which the next
 * sample requests.
 *
 * A mapping uses one table, the newest that overlaps it: make one table for all code of a mapping.
 * Each part of the code must be mapped executable, and be anonymous or of a file without section
 * and table.
 *
 * The module removes the table
 *
 * - when any part of the code is unmapped or moved, or one of its mappings merges with another
 * - at execve(), and when the process ends
 * - when no profiler runs and the last sample of any process is ten seconds old
 *
 * A child of fork() does not have the table. The kernel does not see a process overwrite its code.
 * After the command, read again what the table was made from. If it has changed, replace the table.
 *
 * Errors:
 *
 * - EPERM: the caller has no CAP_SYS_PTRACE
 * - ESRCH: the process has ended, runs another program, or is not sampled any more
 * - ESTALE: not all of the code is mapped and executable
 * - EEXIST: a part of the code is of a file that may have a section or table
 * - EAGAIN: the process is changing its mappings, or scanning them; try again
 * - ENOSPC: the process has 64 tables, or tables reach a memory limit
 * - EBADMSG, EFBIG, EINTR, ENOMEM, EINVAL, EFAULT: as for SFRAME_LOAD
 */
struct sframe_process {
	__u32	size;
	__s32	pid;
	__u64	cookie;
	__u64	text_start;
	__u64	text_size;
	__u64	section;
	__u64	section_size;
	__u64	section_addr;
	__u32	flags;
	__u32	message_size;
	__u64	message;
	__u64	entry_start;
	__u64	entry_size;
};

/**
 * struct sframe_file - a file that has a table, or is known to have none: SFRAME_LIST returns one
 * @size: sizeof(struct sframe_file)
 * @nr_functions: number of functions in the table; 0: the file is known to have no table
 * @next: pass 0 first, then the value that the last SFRAME_LIST has stored here. SFRAME_LIST fails
 *	with ENOENT after the last file
 * @dev_major: major number of the device with the file system
 * @dev_minor: minor number of this device
 * @ino: inode number
 * @table_size: size of the table in bytes
 * @nr_users: number of executable mappings, in all processes, that use the table
 * @nr_files: number of files that share the table
 * @ctime: st_ctim.tv_sec of the file when its table was loaded
 * @ctime_nsec: st_ctim.tv_nsec of the file at that time. If fstat() reports another time, scans do
 *	not use the table for the file any more
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
#define SFRAME_PROCESS	_IOW(0xb7, 4, struct sframe_process)

#endif /* _UAPI_SFRAME_UNWIND_H */
