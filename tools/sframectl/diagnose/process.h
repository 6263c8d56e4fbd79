/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a process: the files, and the memory without a file. */
#ifndef SFRAMECTL_PROCESS_H
#define SFRAMECTL_PROCESS_H

#include <stdio.h>
#include <sys/types.h>

#include "file.h"

/**
 * struct code - executable mappings of one file, or of one kind of memory
 * @start: address of the first mapping
 * @end: the first address after it
 * @off: offset in the file of @start
 * @bytes: number of bytes of all its mappings
 * @major: device of the file, as the kernel reports it in maps
 * @minor: likewise
 * @inode: inode of the file; 0: there is no file
 * @name: name in the process; of memory, what the kernel calls it
 * @no_elf: memory without a file, or a file that is no ELF file
 */
struct code {
	u64		start;
	u64		end;
	u64		off;
	u64		bytes;
	unsigned int	major;
	unsigned int	minor;
	u64		inode;
	char		*name;
	bool		no_elf;
};

/**
 * struct process - the code of a process
 * @pid: the PID, as digits
 * @thread: a thread that has not ended; the others have no files in /proc
 * @readable: its mappings could be read
 * @error: the last error
 * @code: each file and each kind of memory once, by address
 * @nr: number of entries in @code
 */
struct process {
	const char	*pid;
	pid_t		thread;
	bool		readable;
	char		error[160];
	struct code	*code;
	size_t		nr;
};

bool process_is_pid(const char *name);
FILE *process_open_maps(const char *pid);
bool process_read(struct process *process, const char *pid);
bool process_identify(int fd, struct code *code);
bool process_is_memory(const struct code *code);
bool process_find(const char *pid, u64 addr, struct code *code);
const char *process_open(struct process *process, struct code *code,
			 struct file *file);
void process_free(struct process *process);

#endif /* SFRAMECTL_PROCESS_H */
