/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of this room share. From the ground up: room.c, table.c, files.c, load.c.
 *
 * sfu_table_mutex is held by all who load or forget a table. A scan takes no lock: it finds a file
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

/**
 * struct sfu_table - a section, compiled; constant
 * @key: of the table in the set of tables: hashes of the bytes, and the address
 * @node: in the set of tables
 * @refs: one of each file, and one of each range of a map
 * @nr_files: files that have this table; under sfu_table_mutex
 * @nr_user_ranges: ranges of @refs that belong to processes of users other than root
 * @was_refused: users had no room for the table. Set by scans, never cleared
 * @size: bytes that the table takes
 * @nr_functions: functions of the section
 * @compiled: finds rows
 * @number: in row caches
 * @key_base: what to add to an address, as it was linked, for its key in row caches
 * @rcu: frees the table
 */
struct sfu_table {
	struct sfu_table_key {
		u64		hash[2];
		u64		addr;
		u64		len;
	} key;
	struct rhash_head	node;
	refcount_t		refs;
	unsigned int		nr_files;
	atomic_t		nr_user_ranges;
	bool			was_refused;
	unsigned long		size;
	u32			nr_functions;
	struct sfu_compiled	compiled;
	u64			number;
	u64			key_base;
	struct rcu_head		rcu;
};

/**
 * struct sfu_table_file - a file with its table, or a file of which it is known that it has none
 * @id: identity of the file
 * @node: in the table of files, where all contents of one inode are in one list
 * @nr: names the file in SFRAME_LIST
 * @table: the table; NULL: there is none for this file, or it is forgotten
 * @refused_size: bytes of the forgotten table, for which users had no room; else 0
 * @negative: in the list of files without @table
 * @nr_segments: number of @segments
 * @rcu: frees the file
 * @segments: executable segments
 */
struct sfu_table_file {
	struct sfu_file_id	id;
	struct rhlist_head	node;
	u32			nr;
	struct sfu_table	*table;
	unsigned long		refused_size;
	struct list_head	negative;
	unsigned int		nr_segments;
	struct rcu_head		rcu;
	struct sframe_segment	segments[] __counted_by(nr_segments);
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

/* The vDSO is no file. No file system has this device number. */
extern const struct sfu_file_id sfu_files_vdso;

/* Ranges that use the table. Under sfu_table_mutex; scans may change the number meanwhile. */
static inline unsigned int sfu_table_nr_ranges(const struct sfu_table *table)
{
	return refcount_read(&table->refs) - table->nr_files;
}

static inline int sfu_table_refuse_memory(struct sfu_table_source *source)
{
	return sfu_table_refuse(source, -ENOMEM, "no memory for the table");
}

#endif /* SFU_TABLE_INTERNAL_H */
