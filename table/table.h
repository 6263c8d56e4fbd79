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
 * A compiled SFrame section in kernel memory, made by sfu_table_compile(). Walks read only the
 * constant members before @key. Files with equal sections share one table. A table for JIT code
 * belongs to one process.
 */
struct sfu_table {
	struct sframe_compiled	compiled;	/* the section: numbers of rows by address */
	const u64		*packed_rows;	/* packed form of each row, by its number */
	u64			number;		/* identifies the table in row caches */
	u64			key_base;	/* key in row caches minus linked address */
	struct sfu_table_key {
		u64		hash[2];	/* keyed hashes of the section */
		u64		addr;		/* address of the section as linked */
		u64		len;		/* length of the section in bytes */
	} key;
	struct rhash_head	node;		/* node in the hash table of shared tables */
	refcount_t		refs;		/* held by files, sections of maps and JIT tables */
	unsigned int		nr_files;	/* files that share this table */
	atomic_t		nr_user_ranges;	/* in how many sections users (not root) use it */
	bool			was_refused;	/* set for ever when users have no room for it */
	unsigned long		size;		/* memory that the table takes, in bytes */
	u32			nr_functions;	/* number of functions in the section */
	struct rcu_head		rcu;
};

/* A section that SFRAME_LOAD or SFRAME_PROCESS loads, and the message if it is refused. */
struct sfu_table_source {
	struct inode			*inode;		/* of the file; NULL: vDSO, JIT code */
	struct sfu_file_id		id;		/* size and ctime when the file was read */
	void				*bytes;		/* section; NULL: there is no table */
	u64				len;		/* length of the section in bytes */
	u64				addr;		/* address that it is linked at */
	const struct sframe_segment	*segments;	/* executable segments of the file */
	unsigned int			nr_segments;
	u64				text_start;	/* first address of the JIT code */
	u64				text_end;	/* end of the JIT code; 0: no JIT code */
	char				message[200];	/* why the section is refused */
};

/*
 * Maximum of files that are known to have no table; users can create any number of files. Doubled:
 * they take 4 MiB. Halved: the many programs of a large build are converted again and again.
 */
#define SFU_FILES_MAX_TABLELESS	(16U << 10)

/* What sfu_files_find_table() has found for a file. */
enum sfu_files_answer {
	SFU_FILE_HAS_TABLE,
	SFU_FILE_UNKNOWN,	/* the file has not been converted: request its table */
	SFU_FILE_TABLELESS,	/* the file is known to have no table */
	SFU_FILE_NO_ROOM,	/* users other than root have no room for the table now */
};

/* Grows when new tables may be found. A process whose map is older is then scanned again. */
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

/* These functions are called by a scan of current. */
enum sfu_files_answer sfu_files_find_table(const struct file *file, u64 map_start, u64 map_offset,
					   struct sfu_section *section);
void sfu_table_get(const struct sfu_section *section);
void sfu_jit_ask(struct sfu_process *process);

/* May be called in any context but NMI. */
void sfu_table_put(const struct sfu_section *section);

/* The caller holds &sfu_process.lock, or is about to free the process. */
bool sfu_jit_find(struct sfu_process *process, unsigned long start, unsigned long end,
		  struct sfu_section *section);
void sfu_jit_forget(struct sfu_process *process, unsigned long start, unsigned long end);

/* The caller holds rcu_read_lock(). sfu_jit_must_ask() may be called in NMI. */
bool sfu_jit_must_ask(struct sfu_process *process, struct sfu_map *map, unsigned long addr);
void sfu_jit_unmap(struct sfu_process *process, unsigned long start, unsigned long end);

#endif /* SFU_TABLE_H */
