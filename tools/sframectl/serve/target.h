/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process. The process is anybody's, and goes on running: what is read is
 * bounded, and may be different a moment later.
 */
#ifndef TARGET_H
#define TARGET_H

#include <gelf.h>
#include <sys/types.h>

#include "sframe_types.h"

/* A process with more mappings, and a list with more entries, is read so far. */
#define TARGET_ENTRIES_MAX	65536

/* So many bytes of a process are copied for objects, in all. */
#define TARGET_COPIES_MAX	(64u << 20)

/**
 * struct mapping - a mapping of a process
 * @start: its address
 * @end: the first address after it
 * @off: offset in the file
 * @inode: of the file; 0: memory without a file
 * @is_readable: the process may read it
 * @is_code: the process may execute it
 * @name: of the file, or what the kernel calls the memory
 */
struct mapping {
	u64		start;
	u64		end;
	u64		off;
	u64		inode;
	bool		is_readable;
	bool		is_code;
	const char	*name;
};

/**
 * struct target - a process
 * @mem: its /proc/PID/mem
 * @text: its /proc/PID/maps
 * @all: the mappings, by address
 * @nr: how many
 * @copied: bytes that target_copy() has copied
 */
struct target {
	int		mem;
	char		*text;
	struct mapping	*all;
	u32		nr;
	u64		copied;
};

/**
 * struct image - an ELF file in the memory of a process
 * @bias: what is added to addresses of the file
 * @nr: number of program headers
 * @segments: program headers
 */
struct image {
	u64		bias;
	u32		nr;
	Elf64_Phdr	segments[64];
};

pid_t target_thread(pid_t pid);
const char *target_open(struct target *target, int mem, int maps);
void target_close(struct target *target);
bool target_read(const struct target *target, u64 addr, void *bytes, u64 size);
u64 target_word(const struct target *target, u64 addr);
bool target_string(const struct target *target, u64 addr, char *text, u32 size);
u8 *target_copy(struct target *target, u64 addr, u64 size);
const struct mapping *target_find(const struct target *target, u64 addr);
bool target_image(const struct target *target, u64 addr, struct image *image);
u64 target_symbol(const struct target *target, const struct image *image, const char *name);

#endif /* TARGET_H */
