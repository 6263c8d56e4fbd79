/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: compiled SFrame sections in kernel memory, of files, processes and the vDSO. */
#ifndef SFU_TABLE_H
#define SFU_TABLE_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>

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
struct shrink_control;
struct shrinker;

/*
 * A compiled SFrame section in kernel memory, made by sfu_table_compile(). Walks read only the
 * constant members before @key. Files with equal sections share one table. A table for JIT code
 * belongs to one process.
 */
struct sfu_table {
	struct sframe_compiled	compiled;	/* finds the row number of an address */
	const u64		*packed_rows;	/* by row number; [0]: SFU_ROW_NONE */
	u64			number;		/* identifies the table in row caches */
	u64			key_base;	/* a key of row caches minus its linked address */
	struct sfu_table_key {
		u64		hash[2];	/* keyed hashes of the section */
		u64		addr;		/* address of the section as linked */
		u64		len;		/* length of the section in bytes */
	} key;
	struct rhash_head	node;		/* in the hash table of shared tables, by @key */
	refcount_t		refs;		/* held by files, sections of maps, JIT tables */
	unsigned int		nr_files;	/* files that share this table */
	atomic_t		nr_user_ranges;	/* sections in processes of users, not of root */
	bool			was_refused;	/* users have once had no room; never cleared */
	unsigned long		size;		/* memory that the table takes, in bytes */
	u32			nr_functions;	/* number of functions in the section */
	struct rcu_head		rcu;
};

/* One SFRAME_LOAD or SFRAME_PROCESS: a section that user space loads as a table. */
struct sfu_table_source {
	struct inode			*inode;		/* inode of the file; NULL: vDSO, or JIT */
	struct sfu_file_id		id;		/* size and ctime when the file was read */
	void				*bytes;		/* the section; NULL: no table */
	u64				len;		/* length of the section in bytes */
	u64				addr;		/* address of the section as linked */
	const struct sframe_segment	*segments;	/* executable segments of the file */
	unsigned int			nr_segments;
	u64				text_start;	/* first address of the JIT code */
	u64				text_end;	/* one past it; 0: not JIT code */
	char				message[200];	/* for user space: why it is refused */
};

/*
 * Maximum of files that are known to have no table; users can create any number of files. Doubled:
 * they take 4 MiB. Halved: the many programs of a large build are converted again and again.
 */
#define SFU_FILES_MAX_TABLELESS	(16U << 10)

/* Results of sfu_files_find_table(). */
enum sfu_files_answer {
	SFU_FILE_HAS_TABLE,
	SFU_FILE_UNKNOWN,	/* the file has not been converted: request its table */
	SFU_FILE_TABLELESS,	/* the file is known to have no table */
	SFU_FILE_NO_ROOM,	/* the tables of users other than root reach their limit */
};

/* Increases when scans may find new tables. A map of another generation requests a scan. */
extern atomic_t sfu_table_generation;

/* The module parameter table_memory: MiB that all tables may take; 0: an eighth of the memory. */
extern unsigned int sfu_table_memory;

/* Task context; may sleep. */
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

/* Called by scans. */
enum sfu_files_answer sfu_files_find_table(const struct file *file, u64 map_start, u64 map_offset,
					   struct sfu_section *section);
void sfu_table_get(const struct sfu_section *section);
void sfu_jit_ask(struct sfu_process *process);

/* Any context but NMI. */
void sfu_table_put(const struct sfu_section *section);

/* The caller holds &sfu_process.lock, or is about to free the process. */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section);
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end);

/* The caller holds rcu_read_lock(). The first runs in any context, the second not in NMI. */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr);
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end);

#endif /* SFU_TABLE_H */
