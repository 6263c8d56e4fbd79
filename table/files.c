// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files with a table, and files that are known to have no table (tableless files). Scans of
 * processes look up mapped files here under RCU, and take references of their tables. If memory is
 * short or tables reach their limit, unused tables are removed. The next process that maps such a
 * file requests the table again.
 */
#include <linux/fs.h>
#include <linux/rhashtable.h>
#include <linux/shrinker.h>
#include <linux/xarray.h>

#include "sframe_stats.h"
#include "table/internal.h"
#include "table/wanted.h"

/* A task holds sfu_files_mutex to load or remove tables. It protects the variables of this file. */
DEFINE_MUTEX(sfu_files_mutex);

/* All files that have a table, or are known to have none: hashed by inode, read under RCU. */
static struct rhltable files;
static DEFINE_XARRAY_ALLOC1(files_by_nr);	/* the files in @files, in the order of loading */
static u32 next_nr;
static unsigned int nr_tableless;
static struct shrinker *shrinker;

static const struct rhashtable_params file_params = {
	.key_offset = offsetof(struct sfu_file, id),
	.key_len = SFU_FILE_INODE_SIZE,
	.head_offset = offsetof(struct sfu_file, node),
};

static void forget_file(struct sfu_file *file)
{
	rhltable_remove(&files, &file->node, file_params);
	xa_erase(&files_by_nr, file->nr);
	if (file->table)
		sfu_table_leave(file->table);
	else
		nr_tableless--;
	atomic_long_sub(struct_size(file, segments, file->nr_segments), &sfu_held.tables);
	kfree_rcu(file, rcu);
}

static void forget_table(struct sfu_file *file)
{
	struct sfu_table *table = file->table;

	if (!READ_ONCE(table->was_refused)) {
		forget_file(file);
		return;
	}
	/*
	 * The memory limit once refused this table to non-root users: their scans request it only
	 * if this size fits. Else it would be made, loaded and refused again and again.
	 */
	file->refused_size = table->size;
	/* Pairs with place_table(): if it reads this NULL, it also reads the size stored above. */
	smp_store_release(&file->table, NULL);
	nr_tableless++;
	sfu_table_leave(table);
}

/* Returns how many mapped ranges of all processes use a table. Scans may change it at any time. */
static unsigned int nr_ranges(const struct sfu_table *table)
{
	return refcount_read(&table->refs) - table->nr_files;
}

static bool is_unused(const struct sfu_file *file)
{
	/* The vDSO's table (its sb is NULL) may not be removed: no scan would request it again. */
	return !file->table || (!nr_ranges(file->table) && file->id.sb);
}

static unsigned long forget_unused(unsigned long max, unsigned long max_bytes)
{
	struct sfu_file *file;
	unsigned long nr, count = 0;

	xa_for_each(&files_by_nr, nr, file) {
		if (count == max || atomic_long_read(&sfu_held.tables) <= max_bytes)
			break;
		if (file->table && is_unused(file)) {
			forget_table(file);
			count++;
		}
		cond_resched();
	}
	return count;
}

void sfu_files_forget_tableless(unsigned int max, unsigned long max_bytes)
{
	struct sfu_file *file;
	unsigned long nr;

	xa_for_each(&files_by_nr, nr, file) {
		if (nr_tableless <= max && atomic_long_read(&sfu_held.tables) <= max_bytes)
			break;
		if (!file->table)
			forget_file(file);
		cond_resched();
	}
}

/*
 * Called before a new table is used. Removes unused tables, then entries of files without a table,
 * until the rest fits into the memory limit. -ENOSPC: the new table and tables in use exceed it.
 */
int sfu_files_make_room(struct sfu_table_source *source)
{
	const unsigned long limit = sfu_limit_bytes();
	unsigned long held;

	forget_unused(ULONG_MAX, limit);
	held = atomic_long_read(&sfu_held.tables) - nr_tableless * sizeof(struct sfu_file);
	if (held > limit)
		return sfu_table_refuse(source, -ENOSPC,
			"tables take all of %lu MiB, and are in use: raise table_memory",
			limit >> 20);
	sfu_files_forget_tableless(SFU_FILES_MAX_TABLELESS, limit);
	return 0;
}

int sfu_files_add(struct sfu_file *file)
{
	struct sfu_file *other;
	struct rhlist_head *pos;
	int err;

	err = xa_alloc_cyclic(&files_by_nr, &file->nr, file, xa_limit_32b, &next_nr,
			      GFP_KERNEL_ACCOUNT);
	if (err < 0)
		return err;
	guard(rcu)();
	/* Remove this inode's entry for this content, and those for other content if not in use. */
	rhl_for_each_entry_rcu(other, pos, rhltable_lookup(&files, &file->id, file_params), node)
		if (is_unused(other) || !memcmp(&other->id, &file->id, sizeof(file->id)))
			forget_file(other);
	/* A scan that looks here before this insertion may request the table again: harmless. */
	err = rhltable_insert(&files, &file->node, file_params);
	if (err) {
		xa_erase(&files_by_nr, file->nr);
		return err;
	}
	nr_tableless += !file->table;
	atomic_long_add(struct_size(file, segments, file->nr_segments), &sfu_held.tables);
	return 0;
}

/* Serves SFRAME_DROP: forgets all versions of a file, and their tables. -ENOENT: none is known. */
int sfu_files_drop(struct inode *inode)
{
	struct sfu_file_id id;
	struct sfu_file *file;
	struct rhlist_head *pos;
	int err = -ENOENT;

	if (sfu_file_id_get(inode, &id) == -EOPNOTSUPP)
		return err;
	guard(mutex)(&sfu_files_mutex);
	guard(rcu)();
	rhl_for_each_entry_rcu(file, pos, rhltable_lookup(&files, &id, file_params), node) {
		forget_file(file);
		err = 0;
	}
	return err;
}

void sfu_files_drop_all(void)
{
	struct sfu_file *file;
	unsigned long nr;

	guard(mutex)(&sfu_files_mutex);
	xa_for_each(&files_by_nr, nr, file) {
		forget_file(file);
		cond_resched();
	}
}

/* Forgets files without a table, so that scans ask user space again: it may make tables now. */
void sfu_files_drop_tableless(void)
{
	guard(mutex)(&sfu_files_mutex);
	sfu_files_forget_tableless(0, 0);
	atomic_fetch_inc_release(&sfu_table_generation);
}

/* SFRAME_LIST: describes the first file with &sfu_file.nr >= @entry->next. -ENOENT: none has. */
int sfu_files_list(struct sframe_file *entry)
{
	unsigned long nr = entry->next;
	const struct sfu_table *table;
	const struct sfu_file *file;
	struct timespec64 changed;

	guard(mutex)(&sfu_files_mutex);
	file = xa_find(&files_by_nr, &nr, ULONG_MAX, XA_PRESENT);
	if (!file)
		return -ENOENT;
	table = file->table;
	changed = ns_to_timespec64(file->id.changed);
	*entry = (struct sframe_file){
		.size = sizeof(*entry),
		.next = nr + 1,
		.dev_major = MAJOR(file->id.dev),
		.dev_minor = MINOR(file->id.dev),
		.ino = file->id.ino,
		.ctime = changed.tv_sec,
		.ctime_nsec = changed.tv_nsec,
	};
	if (table) {
		entry->nr_functions = table->nr_functions;
		entry->table_size = table->size;
		entry->nr_users = nr_ranges(table);
		entry->nr_files = table->nr_files;
	}
	return 0;
}

/*
 * Returns the segment that has bytes in the page at file offset @offset, where a mapping begins.
 * Returns NULL if none has, or if two have but place the page at different linked addresses.
 */
static const struct sframe_segment *find_segment(const struct sfu_file *file, u64 offset)
{
	const struct sframe_segment *found = NULL;
	unsigned int i;

	for (i = 0; i < file->nr_segments; i++) {
		const struct sframe_segment *segment = &file->segments[i];
		u64 first = round_down(segment->offset, PAGE_SIZE);

		if (offset < first || offset >= segment->offset + segment->size)
			continue;
		if (found && found->addr - found->offset != segment->addr - segment->offset)
			return NULL;
		found = segment;
	}
	return found;
}

static enum sfu_files_answer place_table(const struct sfu_file *file, u64 map_start,
					 u64 map_offset, struct sfu_section *section)
{
	const bool is_of_user = sfu_wanted_is_of_user(current_cred());
	const struct sframe_segment *segment = find_segment(file, map_offset);
	/* Pairs with smp_store_release() in forget_table(), which sets refused_size first. */
	struct sfu_table *table = smp_load_acquire(&file->table);
	u64 bias;

	if (!segment || (!table && !file->refused_size))
		return SFU_FILE_TABLELESS;
	if (!table)
		return is_of_user && !sfu_limit_has_room_for_users(file->refused_size) ?
		       SFU_FILE_NO_ROOM : SFU_FILE_UNKNOWN;
	/* bias = address in the process - linked address, modulo 2^64: it may be negative. */
	bias = map_start - map_offset - (segment->addr - segment->offset);
	if ((table->key.addr + bias) >> 63)
		return SFU_FILE_TABLELESS;
	if (!refcount_inc_not_zero(&table->refs))
		return SFU_FILE_UNKNOWN;
	section->source = SFU_SOURCE_TABLE;
	return sfu_table_use(table, bias, is_of_user, section) ? SFU_FILE_HAS_TABLE :
								 SFU_FILE_NO_ROOM;
}

/*
 * Called by a scan: finds the table for code of @file (NULL: vDSO) that current has mapped at
 * @map_start, from file offset @map_offset on. If current may use the table, fills in @section,
 * zeroed by the caller, with a reference of the table.
 */
enum sfu_files_answer sfu_files_find_table(const struct file *file, u64 map_start, u64 map_offset,
					   struct sfu_section *section)
{
	struct sfu_file_id id = {};
	const struct sfu_file *known;
	struct rhlist_head *pos;

	if (!atomic_read(&files.ht.nelems) || (file && sfu_file_id_get(file_inode(file), &id)))
		return SFU_FILE_UNKNOWN;
	guard(rcu)();
	rhl_for_each_entry_rcu(known, pos, rhltable_lookup(&files, &id, file_params), node)
		if (!memcmp(&known->id, &id, sizeof(id)))
			return place_table(known, map_start, map_offset, section);
	return SFU_FILE_UNKNOWN;
}

/* Returns how many tables the shrinker may free at most. Some of these tables may be in use. */
static unsigned long count_unused(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned int nr = atomic_read(&files.ht.nelems), tableless = READ_ONCE(nr_tableless);

	return nr > tableless ? nr - tableless : SHRINK_EMPTY;
}

/* Shrinker: removes unused tables. Files without a table stay, because they take little memory. */
unsigned long sfu_files_shrink(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned long count;

	/* mutex_lock() may deadlock: the task may hold the mutex and reclaim memory for a table. */
	if (!mutex_trylock(&sfu_files_mutex))
		return SHRINK_STOP;
	count = forget_unused(sc->nr_to_scan, 0);
	mutex_unlock(&sfu_files_mutex);
	return count ?: SHRINK_STOP;
}

int sfu_files_init(void)
{
	int err = sfu_table_init();

	if (err)
		return err;
	err = rhltable_init(&files, &file_params);
	if (err)
		goto err_table;
	shrinker = shrinker_alloc(0, "sframe_unwind");
	if (!shrinker) {
		err = -ENOMEM;
		goto err_files;
	}
	shrinker->count_objects = count_unused;
	shrinker->scan_objects = sfu_files_shrink;
	shrinker_register(shrinker);
	return 0;

err_files:
	rhltable_destroy(&files);
err_table:
	sfu_table_exit();
	return err;
}

/* Frees all tables at unloading. The device and all maps are gone: only @files refers to tables. */
void sfu_files_exit(void)
{
	shrinker_free(shrinker);
	sfu_files_drop_all();
	xa_destroy(&files_by_nr);
	rhltable_destroy(&files);
	sfu_table_exit();
}
