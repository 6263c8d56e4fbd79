/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of table/ share. From the ground up: room.c, table.c, files.c, load.c.
 *
 * A task that loads or forgets a table holds sfu_table_mutex. A scan takes no lock: it finds a file
 * under RCU, and takes a reference of the table.
 */
#ifndef SFU_TABLE_INTERNAL_H
#define SFU_TABLE_INTERNAL_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>

#include <uapi/sframe_unwind.h>

#include "compat.h"
#include "map/section.h"
#include "table/table.h"

/* A section, compiled; constant. */
struct sfu_table {
	struct sfu_table_key {
		u64		hash[2];	/* of the bytes of the section */
		u64		addr;		/* address of the section, as it was linked */
		u64		len;		/* bytes of the section */
	} key;
	struct rhash_head	node;		/* in the set of tables, by @key */
	refcount_t		refs;		/* of each file, and of each range of a map */
	unsigned int		nr_files;	/* with this table; under sfu_table_mutex */
	atomic_t		nr_user_ranges;	/* ranges of users other than root */
	bool			was_refused;	/* users had no room; scans set it, for ever */
	unsigned long		size;		/* bytes that the table takes */
	u32			nr_functions;	/* functions of the section */
	struct sfu_compiled	compiled;
	u64			number;		/* of the table in row caches */
	u64			key_base;	/* add it to an address as linked for its key */
	struct rcu_head		rcu;
};

/* A file with its table, or a file of which it is known that it has none. */
struct sfu_table_file {
	struct sfu_file_id	id;
	struct rhlist_head	node;		/* one list has all contents of an inode */
	u32			nr;		/* names the file in SFRAME_LIST */
	struct sfu_table	*table;		/* NULL: there is none, or it is forgotten */
	unsigned long		refused_size;	/* of a table that users had no room for, or 0 */
	struct list_head	negative;	/* in the list of files without @table */
	unsigned int		nr_segments;
	struct rcu_head		rcu;
	struct sframe_segment	segments[] __counted_by(nr_segments);	/* executable segments */
};

extern struct mutex sfu_table_mutex;

/* room.c: any context but NMI */
bool sfu_table_users_have_room(unsigned long size);
bool sfu_table_add_user_range(struct sfu_table *table);
void sfu_table_remove_user_range(struct sfu_table *table);

/* table.c: task context, under sfu_table_mutex; sfu_table_use() under RCU */
int sfu_table_refuse(struct sfu_table_source *source, int err, const char *format, ...)
	__printf(3, 4);
struct sfu_table *sfu_table_compile(struct sfu_table_source *source);
struct sfu_table *sfu_table_find_same(const struct sfu_table_source *source,
				      struct sfu_table_key *key);
int sfu_table_share(struct sfu_table *table, const struct sfu_table_key *key);
void sfu_table_leave(struct sfu_table *table);
void sfu_table_put_ref(struct sfu_table *table);
bool sfu_table_use(struct sfu_table *table, u64 bias, bool is_of_user, struct sfu_section *section);
int sfu_table_set_init(void);
void sfu_table_set_exit(void);

/* files.c: task context, under sfu_table_mutex */
int sfu_files_add(struct sfu_table_file *file);
int sfu_files_drop(const struct sfu_file_id *id);
struct sfu_table_file *sfu_files_next(unsigned long *nr);
void sfu_files_forget_negative(unsigned int max, unsigned long max_bytes);
int sfu_files_make_room(struct sfu_table_source *source);
int sfu_files_init(void);
void sfu_files_exit(void);

/* The identity of the vDSO, which is no file: no file system has this device number. */
extern const struct sfu_file_id sfu_files_vdso;

/* Returns the number of ranges that use a table. Under sfu_table_mutex; scans may change it. */
static inline unsigned int sfu_table_nr_ranges(const struct sfu_table *table)
{
	return refcount_read(&table->refs) - table->nr_files;
}

static inline int sfu_table_refuse_memory(struct sfu_table_source *source)
{
	return sfu_table_refuse(source, -ENOMEM, "no memory for the table");
}

#endif /* SFU_TABLE_INTERNAL_H */
