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
 * A compiled SFrame section. Walks of stacks read only the members before @key, which are constant.
 * Files with equal sections share one table. A table for JIT code belongs to one process.
 */
struct sfu_table {
	struct sframe_compiled	compiled;
	const u64		*packed_rows;
	u64			number;		/* unique: identifies this table in row caches */
	/* random; added to the linked address of a row's code, gives its key in row caches */
	u64			key_base;
	struct sfu_table_key {
		u64		hash[2];	/* two keyed hashes of the section's bytes */
		u64		addr;		/* linked address of the section */
		u64		len;
	} key;
	struct rhash_head	node;
	refcount_t		refs;		/* references by files, process maps, JIT tables */
	unsigned int		nr_files;
	/* number of sections that use this table in processes of non-root users */
	atomic_t		nr_user_ranges;
	bool			was_refused;	/* true if non-root users' limit ever refused it */
	unsigned long		size;		/* memory that the table takes, in bytes */
	u32			nr_functions;
	struct rcu_head		rcu;
};

/* The section that the ioctl SFRAME_LOAD or SFRAME_PROCESS loads, and the error text it returns. */
struct sfu_table_source {
	struct inode			*inode;		/* file's inode; NULL: vDSO or JIT code */
	/* Only size and ctime (@changed) are used: the file had them before user space read it. */
	struct sfu_file_id		id;
	void				*bytes;		/* SFrame section; NULL: there is none */
	u64				len;
	u64				addr;		/* linked address of the section */
	const struct sframe_segment	*segments;	/* executable PT_LOAD headers of the file */
	unsigned int			nr_segments;
	u64				text_start;
	u64				text_end;	/* end of the JIT code; 0: no JIT code */
	char				message[200];
};

/*
 * Maximum of remembered files without a table: users can create any number of files. Beyond it,
 * the oldest are forgotten, and user space tries again to make tables for them. If it were 8192,
 * this would happen to files of a large build. If it were 32768, the files would take 6 MiB.
 */
#define SFU_FILES_MAX_TABLELESS	(16U << 10)

enum sfu_files_answer {
	SFU_FILE_HAS_TABLE,
	SFU_FILE_UNKNOWN,	/* no table is loaded for the file: the scan requests one */
	SFU_FILE_TABLELESS,	/* the file is known to have no table for this code */
	SFU_FILE_NO_ROOM,	/* the table would exceed the memory limit of non-root users */
};

/*
 * Increased if a new scan of a process may find or request tables that older scans could not, for
 * example after a table was loaded. The next sample that finds no row then requests a scan.
 */
extern atomic_t sfu_table_generation;

extern unsigned int sfu_table_memory;

/* Functions that load, list or remove tables are called in task context, and may sleep. */
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

/* These functions are called by scans, in task context. A scan reads the mappings of current. */
enum sfu_files_answer sfu_files_find_table(const struct file *file, u64 map_start, u64 map_offset,
					   struct sfu_section *section);
void sfu_table_get(const struct sfu_section *section);
void sfu_jit_ask(struct sfu_process *process);

/* sfu_table_put() may be called in any context but NMI. */
void sfu_table_put(const struct sfu_section *section);

/* Callers of these two hold &sfu_process.lock, or free @process: no other task can reach it. */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section);
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end);

/* Called under RCU: sfu_jit_must_ask() in any context, NMI included; sfu_jit_unmap() in a task. */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr);
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end);

#endif /* SFU_TABLE_H */
