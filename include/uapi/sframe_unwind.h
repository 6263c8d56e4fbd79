/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * /dev/sframe_unwind: SFrame tables for files that were built without .sframe. open() needs
 * CAP_SYS_ADMIN, and fails with EPERM without it.
 *
 * Each structure begins with its size in bytes. A program that knows fewer members than the module
 * passes a smaller size, and the module takes the other members as zero. A program that knows more
 * members gets E2BIG, unless the members that the module does not know are zero.
 *
 * If SFRAME_LOAD or SFRAME_PROCESS is refused, it stores a text at @message, if set: why, and what
 * to do. The text ends with a zero byte. It is empty if errno says everything.
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
 * @section: pointer to the .sframe section: native byte order, sorted
 * @section_size: length of the section in bytes; 0: the file has no table, and read() does not
 *	report it again
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
 * Fails with EAGAIN: the file has changed a moment ago, read it again in two seconds; ESTALE: it
 * has changed since fstat(); EOPNOTSUPP: on its file system, not each change can be seen; EBADMSG:
 * the section has a defect, which @message names; ENOSPC: there is no memory left for tables;
 * EFBIG: the section is larger than 256 MiB; EINTR, ENOMEM, EBADF, EINVAL, EFAULT.
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
 * Fails with ENOENT: the file has no table; EBADF: without a flag, @fd is not of an open file.
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
 * struct sframe_wanted - a request for a table, which read() of the device returns
 * @size: size of this structure in bytes; read() returns a multiple of it
 * @fd: a file without a table that the process has mapped, open for reading; the reader closes it.
 *	-1: stacks of the process end in code that no file describes, and which needs a table
 * @pid: the process, in the PID namespace of the reader; 0: it is not in this namespace
 * @reserved: 0
 * @cookie: if @fd is -1: names the memory of the process, see &sframe_process; else 0
 * @addr: if @fd is -1: an address in that code; else 0
 *
 * read() returns at least one request, or waits; poll() reports POLLIN. read() fails with EINVAL:
 * the buffer is smaller than one structure; EAGAIN, with O_NONBLOCK: there is no request; EMFILE,
 * ENFILE, ENOMEM: no request was taken.
 *
 * Each file is reported once, to one reader. It is reported again if this reader closes the device
 * without an answer by SFRAME_LOAD. The reader answers a process by SFRAME_PROCESS, also if there
 * is nothing to load. If stacks still end in such code, the process is reported again: after one
 * second, and after twice that time each further time, up to a minute, until a table is loaded.
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
 * struct sframe_process - replace the tables for code of one process: SFRAME_PROCESS
 * @size: sizeof(struct sframe_process)
 * @pid: the process, in the PID namespace of the caller
 * @cookie: &sframe_wanted.cookie: after execve() the process has another one
 * @text_start: address of the code, at the start of a page
 * @text_size: length of the code in bytes, whole pages; 0 without a section: this is only an answer
 *	to read()
 * @section: pointer to a .sframe section for this code, as &sframe_load.section
 * @section_size: length of the section in bytes; 0: the code has no table any more
 * @section_addr: address that the section was made for: its functions then have the addresses that
 *	they have in the process. All of them lie in the code
 * @flags: 0
 * @message_size: size of the buffer @message in bytes
 * @message: pointer to a buffer for a text, or 0
 * @entry_start: address of a function that jumps to the code, which no instruction calls
 * @entry_size: length of this function in bytes; 0: there is none. With such a function, a row is
 *	followed only if the instruction before the return address calls the function
 *
 * All tables of the process that overlap the code are replaced by the new one, or only removed, as
 * soon as the process is scanned, which the next sample requests. One mapping uses one table, the
 * newest that overlaps it: a table is best made for all code of a mapping. The code is anonymous,
 * or its file has no section and no table. Each part of it is mapped, executable.
 *
 * The table ends when any part of the code is unmapped or moved, when one of its mappings merges
 * with another one, with execve(), and when the process ends. A child of fork() does not have it.
 * Ten seconds after the last sample, all tables of processes end. The kernel cannot see that a
 * process writes other code to the same place. So after the command, read what the table was made
 * from once more. If it has changed, replace the table again.
 *
 * Needs CAP_SYS_PTRACE, too: EPERM. Fails with ESRCH: the process has ended, runs another program,
 * or is not sampled any more; ESTALE: not all of the code is mapped and executable; EEXIST: a file
 * describes a part of the code; EAGAIN: the process changes its mappings at this moment, try again;
 * ENOSPC: the process has 64 tables, or there is no memory left for tables; EBADMSG, EFBIG, EINTR,
 * ENOMEM, EINVAL, EFAULT: as SFRAME_LOAD.
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
 * struct sframe_file - a file that has a table: SFRAME_LIST
 * @size: sizeof(struct sframe_file)
 * @nr_functions: functions of the table; 0: the file is known to have no table
 * @next: 0, or the value that the last call has set. The call sets it for the next one. ENOENT:
 *	there are no more files
 * @dev_major: major number of the device with the file system
 * @dev_minor: minor number of this device
 * @ino: inode number
 * @table_size: size of the table in bytes
 * @nr_users: address ranges of code in processes that use the table
 * @nr_files: files that share the table
 * @ctime: st_ctim.tv_sec of the file when its table was loaded
 * @ctime_nsec: st_ctim.tv_nsec of the file then. If fstat() reports another time, the file has lost
 *	the table
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
