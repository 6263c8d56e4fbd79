/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runtimes say of the code that they have made in the memory of a process. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stdio.h>
#include <sys/types.h>

#include "cfi_source.h"
#include "table.h"
#include "target.h"

/* The functions of a process. HotSpot has some 20,000, the largest programs a million. */
#define RUNTIME_FUNCTIONS_MAX	(2u << 20)

/**
 * struct runtime_function - a piece of code
 * @start: its address
 * @size: its bytes
 * @first: its first row in @rows of the runtime
 * @nr: number of its rows
 * @is_signal: a signal handler returns to it
 */
struct runtime_function {
	u64	start;
	u32	size;
	u32	first;
	u32	nr;
	bool	is_signal;
};

/**
 * struct runtime - the code of a process, as its runtimes describe it
 * @target: the process
 * @machine: its architecture
 * @all: pieces of code, in any order. Where two overlap, the later one counts
 * @nr: how many
 * @rows: the rows of all of them
 * @nr_rows: how many
 * @entry_start: the function that jumps to all this code, if @entry_size is not 0
 * @entry_size: its bytes
 * @error: why the rest is missing, or NULL
 */
struct runtime {
	struct target			*target;
	const struct cfi_machine	*machine;
	struct runtime_function		*all;
	u32				nr;
	struct cfi_row			*rows;
	u32				nr_rows;
	u64				entry_start;
	u64				entry_size;
	const char			*error;
};

/* The device takes so many tables of a process. */
#define RUNTIME_TABLES_MAX	64

/**
 * struct runtime_table - a table for code of a process; the section follows, and then the next one
 * @start: address of the code, and of the section
 * @size: bytes of the code: whole mappings
 * @entry_start: as &sframe_process.entry_start
 * @entry_size: likewise
 * @section_size: bytes of the section
 */
struct runtime_table {
	u64	start;
	u64	size;
	u64	entry_start;
	u64	entry_size;
	u64	section_size;
} __packed;

/**
 * struct runtime_files - a process, as files
 * @mem: its /proc/PID/mem
 * @maps: its /proc/PID/maps
 * @program: its program, if that can be opened
 * @dump: the jitdump that it writes, if there is one
 */
struct runtime_files {
	int		mem;
	int		maps;
	struct file	program;
	struct file	dump;
};

const char *runtime_write(const struct runtime_files *files, FILE *out);

/* For the readers */
const struct mapping *runtime_find_memory(const struct runtime *runtime, u64 start, u64 size);
void runtime_init(struct runtime *runtime, struct target *target);
void runtime_add(struct runtime *runtime, u64 start, u32 size, const struct cfi_row *rows, u32 nr,
		 bool is_signal);
void runtime_add_source(struct runtime *runtime, const struct cfi_section *sec,
			const struct ranges *code, u64 bias);
void runtime_sort(struct runtime *runtime);
void runtime_free(struct runtime *runtime);

void hotspot_read(struct runtime *runtime);
void gdb_jit_read(struct runtime *runtime, const struct file *program);
void jitdump_read(struct runtime *runtime, const struct file *dump);
void jitdump_open(struct file *file, pid_t pid, const struct target *target);
void copies_read(struct runtime *runtime);
void jumps_read(struct runtime *runtime);

#endif /* RUNTIME_H */
