/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: compiled SFrame sections in kernel memory, for files, JIT code and the vDSO. */
#ifndef SFU_TABLE_H
#define SFU_TABLE_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/shrinker.h>

#include "table/compile.h"
#include "table/file_id.h"

struct file;
struct inode;
struct sframe_file;
struct sframe_process;
struct sframe_segment;
struct sfu_map;
struct sfu_process;
struct sfu_section;

/*
 * A compiled SFrame section in kernel memory, made by sfu_table_compile(). A walk (the unwinding of
 * one stack) reads only the members before @key, which are constant. Files with equal sections
 * share one table. A table for JIT code belongs to one process.
 */
struct sfu_table {
	struct sframe_compiled	compiled;	/* finds the number of the row for each address */
	const u64		*packed_rows;	/* all rows in packed form, by row number */
	u64			number;		/* identifies the table's rows in row caches */
	u64			key_base;	/* linked address + @key_base = key in row caches */
	struct sfu_table_key {
		u64		hash[2];	/* two keyed hashes of the section's bytes */
		u64		addr;		/* linked address of the section */
		u64		len;		/* length of the section in bytes */
	} key;
	struct rhash_head	node;		/* node in the hash table of shared tables */
	refcount_t		refs;		/* references by files, map sections, JIT tables */
	unsigned int		nr_files;	/* files that share this table */
	atomic_t		nr_user_ranges;	/* how many sections of non-root users use it */
	bool			was_refused;	/* set for ever if refused to a non-root user */
	unsigned long		size;		/* memory that the table takes, in bytes */
	u32			nr_functions;	/* number of functions in the section */
	struct rcu_head		rcu;
};

/* The SFrame section that the ioctl SFRAME_LOAD or SFRAME_PROCESS loads, and a text for users. */
struct sfu_table_source {
	struct inode			*inode;		/* file's inode; NULL: vDSO or JIT code */
	struct sfu_file_id		id;		/* size and ctime when the file was read */
	void				*bytes;		/* bytes of the section; NULL: no table */
	u64				len;		/* length of the section in bytes */
	u64				addr;		/* linked address of the section */
	const struct sframe_segment	*segments;	/* executable segments of the file */
	unsigned int			nr_segments;
	u64				text_start;	/* first address of the JIT code */
	u64				text_end;	/* end of the JIT code; 0: no JIT code */
	char				message[200];	/* text for users: why section is refused */
};

/*
 * Maximum of files remembered as having no table; users can create any number of files. With twice
 * as many, they take 4 MiB. With half, programs of a large build are converted again and again.
 */
#define SFU_FILES_MAX_TABLELESS	(16U << 10)

/* What sfu_files_find_table() has found out about the table of a file. */
enum sfu_files_answer {
	SFU_FILE_HAS_TABLE,
	SFU_FILE_UNKNOWN,	/* no table was loaded for the file yet: request one */
	SFU_FILE_TABLELESS,	/* the file is known to have no table */
	SFU_FILE_NO_ROOM,	/* non-root users have no memory left for the table now */
};

/* Increased when scans may find new tables. A process with an older map is scanned at a sample. */
extern atomic_t sfu_table_generation;

/* The module parameter table_memory: MiB that all tables may take; 0: an eighth of the memory. */
extern unsigned int sfu_table_memory;

/* These functions are called in task context, and may sleep. */
int sfu_load_table(struct sfu_table_source *source);
int sfu_jit_load(const struct sframe_process *load, struct sfu_table_source *source);
unsigned long sfu_limit_bytes(void);
int sfu_files_drop(struct inode *inode);
void sfu_files_drop_all(void);
void sfu_files_drop_tableless(void);
int sfu_files_list(struct sframe_file *entry);
unsigned long sfu_files_shrink(struct shrinker *shrinker, struct shrink_control *sc);
int sfu_files_init(void);
void sfu_files_exit(void);
int sfu_device_init(void);
void sfu_device_exit(void);

/* These functions are called when current scans its own mappings. */
enum sfu_files_answer sfu_files_find_table(const struct file *file, u64 map_start, u64 map_offset,
					   struct sfu_section *section);
void sfu_table_get(const struct sfu_section *section);
void sfu_jit_ask(struct sfu_process *process);

/* May be called in any context but NMI. */
void sfu_table_put(const struct sfu_section *section);

/* For these, the caller holds &sfu_process.lock, or is about to free the struct sfu_process. */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section);
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end);

/* These functions are called under RCU, and sfu_jit_must_ask() also in NMI. */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr);
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end);

#endif /* SFU_TABLE_H */
