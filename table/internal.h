/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that only files in table/ call: for the memory limit, tables, and files with tables.
 *
 * A task that loads or removes a table holds sfu_files_mutex. A scan of a process takes no lock: it
 * looks a mapped file up under RCU, and takes a reference of the file's table.
 */
#ifndef SFU_TABLE_INTERNAL_H
#define SFU_TABLE_INTERNAL_H

#include <linux/mutex.h>

#include <uapi/sframe_unwind.h>

#include "compat.h"
#include "map/section.h"
#include "table/table.h"

/* One content of a file, for which SFRAME_LOAD was called, and its table, if it has one. */
struct sfu_file {
	struct sfu_file_id	id;
	struct rhlist_head	node;		/* node in the hash table of all files, by inode */
	u32			nr;		/* number by which SFRAME_LIST finds the file */
	struct sfu_table	*table;		/* the table; NULL: there is none, or no longer */
	/* size in bytes of the removed table, if non-root users had no memory left for it; or 0 */
	unsigned long		refused_size;
	unsigned int		nr_segments;
	struct rcu_head		rcu;
	struct sframe_segment	segments[] __counted_by(nr_segments);	/* of code */
};

extern struct mutex sfu_files_mutex;

/* limit.c: these functions are called in any context but NMI */
bool sfu_limit_has_room_for_users(unsigned long size);
bool sfu_limit_add_user_range(struct sfu_table *table);
void sfu_limit_remove_user_range(struct sfu_table *table);

/* table.c: the caller holds sfu_files_mutex, except for sfu_table_refuse(), _use(), _put_ref() */
int sfu_table_refuse(struct sfu_table_source *source, int err, const char *format, ...)
	__printf(3, 4);
struct sfu_table *sfu_table_compile(struct sfu_table_source *source);
struct sfu_table *sfu_table_find_same(const struct sfu_table_source *source,
				      struct sfu_table_key *key);
int sfu_table_share(struct sfu_table *table, const struct sfu_table_key *key);
void sfu_table_leave(struct sfu_table *table);
void sfu_table_put_ref(struct sfu_table *table);
bool sfu_table_use(struct sfu_table *table, u64 bias, bool is_of_user, struct sfu_section *section);
int sfu_table_init(void);
void sfu_table_exit(void);

/* files.c: the caller of these functions is in task context, and holds sfu_files_mutex */
int sfu_files_add(struct sfu_file *file);
void sfu_files_forget_tableless(unsigned int max, unsigned long max_bytes);
int sfu_files_make_room(struct sfu_table_source *source);

#endif /* SFU_TABLE_INTERNAL_H */
