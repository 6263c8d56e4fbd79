/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that only files in table/ call: for the memory limit, tables, and files with tables. */
#ifndef SFU_TABLE_INTERNAL_H
#define SFU_TABLE_INTERNAL_H

#include <linux/mutex.h>

#include <uapi/sframe_unwind.h>

#include "compat.h"
#include "map/section.h"
#include "table/table.h"

/* One version (content) of a file that has a table, or is known to have none. */
struct sfu_file {
	struct sfu_file_id	id;
	struct rhlist_head	node;
	u32			nr;		/* serial number; SFRAME_LIST lists files by it */
	struct sfu_table	*table;		/* NULL: none, or removed */
	/* size of the removed table: non-root users' scans request it only if it fits; else 0 */
	unsigned long		refused_size;
	unsigned int		nr_segments;
	struct rcu_head		rcu;
	struct sframe_segment	segments[] __counted_by(nr_segments);	/* of code */
};

extern struct mutex sfu_files_mutex;

/* Functions of limit.c, which limit the memory of tables: called in any context but NMI. */
bool sfu_limit_has_room_for_users(unsigned long size);
bool sfu_limit_add_user_range(struct sfu_table *table);
void sfu_limit_remove_user_range(struct sfu_table *table);

/* table.c: called under sfu_files_mutex, except _refuse(), _use(), _put_ref(), _init(), _exit(). */
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

/* Functions of files.c that add or remove files: called in task context, under sfu_files_mutex. */
int sfu_files_add(struct sfu_file *file);
void sfu_files_forget_tableless(unsigned int max, unsigned long max_bytes);
int sfu_files_make_room(struct sfu_table_source *source);

#endif /* SFU_TABLE_INTERNAL_H */
