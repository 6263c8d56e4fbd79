// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resident tables: from the identity of a file to an SFrame section in kernel memory.
 *
 * Root loads the section of a file that was built without one: see sframe_dev.c. It is compiled:
 * each function and each row is checked, and the result never changes. Files with the same section
 * share one copy. A scan finds the table of a file by its identity, under RCU, and waits for
 * nobody. Samples read the table by its address, as long as they hold the map.
 *
 * Each range of a map that uses a table holds a reference, and so does each file. A file that
 * no range uses is forgotten when memory is short, or when the limit is reached. Its
 * next process makes it wanted again.
 *
 * Locks. tables_mutex is held by all who load or forget. A scan does not take it.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/shrinker.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/xarray.h>

#include <uapi/sframe_unwind.h>

#include "compat.h"
#include "sframe_arch.h"
#include "table/jit.h"
#include "map/process.h"
#include "map/section.h"
#include "sframe_stats.h"
#include "table/table.h"
#include "table/wanted.h"

/* Tables may take one part in so many of the memory, unless the parameter says otherwise. */
#define MEMORY_SHARE	8

/* Bytes hashed or copied before other tasks may run. */
#define BYTES_AT_ONCE	SZ_1M

unsigned int sfu_table_memory;
module_param_named(table_memory, sfu_table_memory, uint, 0644);
MODULE_PARM_DESC(table_memory, "MiB that tables may take; 0: an eighth of the memory (default)");

/**
 * struct sfu_table - a section, compiled; constant
 * @key: in the set of tables
 * @node: likewise
 * @refs: one of each file, and one of each range of a map
 * @nr_files: files that have this table; under tables_mutex
 * @nr_user_ranges: ranges of @refs that belong to processes of users other than root
 * @was_refused: users have found no room for it. Set by scans, never cleared
 * @size: bytes that the table takes
 * @nr_functions: functions of the section
 * @compiled: finds rows
 * @number: in row caches
 * @key_base: what to add to an address, as it was linked, for its key there
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
 * struct sfu_table_file - a file whose table is known
 * @id: its identity
 * @node: in @files, where the contents of one inode are in one list
 * @nr: in @files_by_nr
 * @table: its table; NULL: there is none for this file, or it is forgotten
 * @refused_size: what the forgotten table takes, for which users had no room; else 0
 * @without: in @files_without, if there is none
 * @nr_segments: in @segments
 * @rcu: frees the file
 * @segments: executable segments
 */
struct sfu_table_file {
	struct sfu_file_id	id;
	struct rhlist_head	node;
	u32			nr;
	struct sfu_table	*table;
	unsigned long		refused_size;
	struct list_head	without;
	unsigned int		nr_segments;
	struct rcu_head		rcu;
	struct sframe_segment	segments[] __counted_by(nr_segments);
};

/* The vDSO is no file. No file system has this device number. */
static const struct sfu_file_id vdso_id;

static DEFINE_MUTEX(tables_mutex);
static struct rhashtable tables;		/* read and written under tables_mutex */
static struct rhltable files;			/* read under RCU */
static DEFINE_XARRAY_ALLOC1(files_by_nr);	/* likewise */
static LIST_HEAD(files_without);		/* under tables_mutex; the oldest is the first */
static unsigned int nr_without;
static siphash_key_t hash_keys[2];

/* Of the tables that ranges of users other than root use. */
static atomic_long_t bytes_of_users;

atomic_t sfu_table_generation;

static const struct rhashtable_params table_params = {
	.key_offset = offsetof(struct sfu_table, key),
	.key_len = sizeof(struct sfu_table_key),
	.head_offset = offsetof(struct sfu_table, node),
	.automatic_shrinking = true,
};

static const struct rhashtable_params file_params = {
	.key_offset = offsetof(struct sfu_table_file, id),
	.key_len = SFU_FILE_INODE_SIZE,
	.head_offset = offsetof(struct sfu_table_file, node),
	.automatic_shrinking = true,
};

/* ---- tables ---- */

/* The bytes that all tables may take. */
unsigned long sfu_table_limit(void)
{
	unsigned long mib = READ_ONCE(sfu_table_memory);

	return mib ? mib << 20 : (totalram_pages() / MEMORY_SHARE) << PAGE_SHIFT;
}

/* Bytes that a compiled table takes. */
static unsigned long compiled_size(const struct sframe_compiled *table)
{
	return (table->nr_slots + 1 + (unsigned long)table->nr_entries) * sizeof(u32) +
	       table->nr_rows * (sizeof(*table->rows) + sizeof(u64));
}

static void free_compiled(const struct sfu_compiled *compiled)
{
	kvfree(compiled->fast);
	kvfree(compiled->table.rows);
	kvfree(compiled->table.entries);
	kvfree(compiled->table.slots);
}

static void free_table(struct rcu_head *rcu)
{
	struct sfu_table *table = container_of(rcu, struct sfu_table, rcu);

	free_compiled(&table->compiled);
	kfree(table);
}

static void put_table(struct sfu_table *table)
{
	if (!refcount_dec_and_test(&table->refs))
		return;
	atomic_long_sub(table->size, &sfu_held.tables);
	call_rcu(&table->rcu, free_table);
}

/*
 * May one more range of a user use the table? Tables that users use take half of the limit at most,
 * whoever owns the files: so nobody keeps the programs of root from having tables. The count of
 * ranges goes from 0 to 1 once for each time that the bytes are added, and back once.
 */
static bool add_user_range(struct sfu_table *table)
{
	const unsigned long size = table->size;

	if (atomic_inc_not_zero(&table->nr_user_ranges))
		return true;
	if (atomic_long_add_return(size, &bytes_of_users) > sfu_table_limit() / 2) {
		atomic_long_sub(size, &bytes_of_users);
		WRITE_ONCE(table->was_refused, true);
		pr_warn_once("users other than root use half of the memory for tables, and get no more\n");
		return false;
	}
	if (atomic_inc_return(&table->nr_user_ranges) > 1)
		atomic_long_sub(size, &bytes_of_users);
	return true;
}

static void remove_user_range(struct sfu_table *table)
{
	if (atomic_dec_and_test(&table->nr_user_ranges))
		atomic_long_sub(table->size, &bytes_of_users);
}

/* Takes the references of one more section: a copy of one that has them, maybe without a table. */
void sfu_table_get(const struct sfu_section *section)
{
	if (!section->table)
		return;
	refcount_inc(&section->table->refs);
	if (section->is_of_user)
		atomic_inc(&section->table->nr_user_ranges);
}

/* Drops the references of a section, which may be without a table. */
void sfu_table_put(const struct sfu_section *section)
{
	if (!section->table)
		return;
	if (section->is_of_user)
		remove_user_range(section->table);
	put_table(section->table);
}

/* Ranges that use the table. Under tables_mutex; scans may change it meanwhile. */
static unsigned int nr_users(const struct sfu_table *table)
{
	return refcount_read(&table->refs) - table->nr_files;
}

/* Writes the reason why a table is refused, and returns @err. */
static __printf(3, 4) int refuse(struct sfu_table_source *source, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(source->message, sizeof(source->message), format, args);
	va_end(args);
	return err;
}

static int refuse_without_memory(struct sfu_table_source *source)
{
	return refuse(source, -ENOMEM, "no memory for the table");
}

static int refuse_too_large(struct sfu_table_source *source)
{
	return refuse(source, -ENOSPC,
		      "larger than all tables may be, %lu MiB: raise table_memory",
		      sfu_table_limit() >> 20);
}

static int check_header(struct sfu_table_source *source, struct sframe_reader *rd,
			struct sframe_header *hdr)
{
	if (sframe_header_read(hdr, rd, source->addr, source->len))
		return refuse(source, -EBADMSG, "the header of the table: %s",
			      sframe_defects[rd->defect].text);
	if (hdr->swapped || hdr->abi != SFU_ARCH_ABI)
		return refuse(source, -EBADMSG, "the table is for another machine");
	if (!(hdr->flags & SFRAME_F_FDE_SORTED))
		return refuse(source, -EBADMSG, "the functions of the table are not sorted");
	if (!hdr->num_fdes)
		return refuse(source, -EBADMSG, "the table describes no function");
	return 0;
}

/* Calls @pass for each function of the section. */
static int compile_each(struct sfu_table_source *source, struct sframe_compile *compile,
			int (*pass)(struct sframe_compile *compile, u32 index))
{
	u32 i;

	for (i = 0; i < compile->hdr->num_fdes; i++) {
		int err = pass(compile, i);

		if (err == -E2BIG)
			return refuse_too_large(source);
		if (err == -EINTR)
			return err;
		if (err)
			return refuse(source, -EBADMSG, "function %u of the table: %s", i,
				      sframe_defects[compile->rd->defect].text);
	}
	return 0;
}

/* Replaces an array of which only the first bytes are used by a smaller one. */
static int trim(void *array, size_t size)
{
	void **from = array, *to = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	size_t at;

	if (!to)
		return -ENOMEM;
	for (at = 0; at < size; at += BYTES_AT_ONCE) {
		memcpy(to + at, *from + at, min_t(size_t, size - at, BYTES_AT_ONCE));
		cond_resched();
	}
	kvfree(*from);
	*from = to;
	return 0;
}

static const u64 *make_fast_rows(const struct sframe_compiled *table)
{
	u64 *fast;
	struct sframe_row row;
	u32 i;

	fast = kvmalloc_array(table->nr_rows, sizeof(*fast), GFP_KERNEL_ACCOUNT);
	if (!fast)
		return NULL;
	fast[0] = SFU_ROW_NONE;
	for (i = 1; i < table->nr_rows; i++) {
		sframe_compiled_get_row(table, i, &row);
		fast[i] = sfu_fast_row(&row);
	}
	return fast;
}

/* Compiles the section, all functions of which are measured. */
static int compile_functions(struct sfu_table_source *source, struct sframe_compile *compile,
			     struct sfu_compiled *compiled)
{
	struct sframe_compiled *table = &compile->table;
	int err;

	table->slots = kvmalloc_array(table->nr_slots + 1, sizeof(u32), GFP_KERNEL_ACCOUNT);
	table->entries = kvmalloc_array(compile->max_entries, sizeof(u32), GFP_KERNEL_ACCOUNT);
	table->rows = kvmalloc_array(compile->max_rows, sizeof(*table->rows), GFP_KERNEL_ACCOUNT);
	compile->hash = kvcalloc(2 * compile->max_rows, sizeof(u32), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (table->slots && table->entries && table->rows && compile->hash) {
		sframe_compile_begin(compile);
		err = compile_each(source, compile, sframe_compile_function);
	}
	if (!err) {
		sframe_compile_end(compile);
		err = trim(&table->entries, table->nr_entries * sizeof(u32)) ?:
		      trim(&table->rows, table->nr_rows * sizeof(*table->rows));
	}
	kvfree(compile->hash);
	compiled->table = *table;
	compiled->fast = err ? NULL : make_fast_rows(table);
	if (compiled->fast)
		return 0;
	free_compiled(compiled);
	return err && err != -ENOMEM ? err : refuse_without_memory(source);
}

/* The file has given up its reference. */
static void leave_table(struct sfu_table *table)
{
	if (!table)
		return;
	if (!--table->nr_files)
		rhashtable_remove_fast(&tables, &table->node, table_params);
	put_table(table);
}

/* ---- files ---- */

static void forget_file(struct sfu_table_file *file)
{
	rhltable_remove(&files, &file->node, file_params);
	xa_erase(&files_by_nr, file->nr);
	if (file->table) {
		leave_table(file->table);
	} else {
		list_del(&file->without);
		nr_without--;
	}
	atomic_long_sub(struct_size(file, segments, file->nr_segments), &sfu_held.tables);
	kfree_rcu(file, rcu);
}

/*
 * Forgets a table that no range uses. The file stays if users had no room for the table: else their
 * next scan would want it, and it would be made, loaded and refused again and again.
 */
static void forget_table(struct sfu_table_file *file)
{
	struct sfu_table *table = file->table;

	if (!READ_ONCE(table->was_refused)) {
		forget_file(file);
		return;
	}
	file->refused_size = table->size;
	/* Pairs with the load in place_table(). */
	smp_store_release(&file->table, NULL);
	list_add_tail(&file->without, &files_without);
	nr_without++;
	leave_table(table);
}

/* The table of the vDSO stays: no process asks for another one. It takes some hundred bytes. */
static bool is_unused(const struct sfu_table_file *file)
{
	return !file->table ||
	       (!nr_users(file->table) && memcmp(&file->id, &vdso_id, sizeof(vdso_id)));
}

/* Returns the file with this identity, or NULL. Under RCU. */
static struct sfu_table_file *find_file(const struct sfu_file_id *id)
{
	struct sfu_table_file *file;
	struct rhlist_head *pos;

	rhl_for_each_entry_rcu(file, pos, rhltable_lookup(&files, id, file_params), node)
		if (!memcmp(&file->id, id, sizeof(*id)))
			return file;
	return NULL;
}

/*
 * Forgets the file with this identity, and its older contents. What a range uses stays, and counts
 * as in use. Under tables_mutex.
 */
static void forget_same(const struct sfu_file_id *id)
{
	struct sfu_table_file *file;
	struct rhlist_head *pos;

	guard(rcu)();
	rhl_for_each_entry_rcu(file, pos, rhltable_lookup(&files, id, file_params), node)
		if (is_unused(file) || !memcmp(&file->id, id, sizeof(*id)))
			forget_file(file);
}

/*
 * Forgets up to @max files with a table that no range uses, until all take @most bytes. Returns how
 * many.
 */
static unsigned long forget_unused(unsigned long max, unsigned long most)
{
	struct sfu_table_file *file;
	unsigned long nr, count = 0;

	xa_for_each(&files_by_nr, nr, file) {
		if (count == max || atomic_long_read(&sfu_held.tables) <= most)
			break;
		if (file->table && is_unused(file)) {
			forget_table(file);
			count++;
		}
		cond_resched();
	}
	return count;
}

/*
 * Forgets files that are known to have no table, the oldest first, until at most @most are left and
 * all files take at most @most_bytes. That gives hardly anything back, and starts a converter when
 * one of them is sampled.
 */
static void forget_without(unsigned int most, unsigned long most_bytes)
{
	struct sfu_table_file *file, *next;

	list_for_each_entry_safe(file, next, &files_without, without) {
		if (nr_without <= most && atomic_long_read(&sfu_held.tables) <= most_bytes)
			break;
		forget_file(file);
		cond_resched();
	}
}

/* No function of a table for code of a process lies outside of this code. */
static int check_text(struct sfu_table_source *source, const struct sframe_compile *compile)
{
	if (!source->text_end || (compile->table.first >= source->text_start &&
				  compile->end <= source->text_end))
		return 0;
	return refuse(source, -EBADMSG, "the table has functions outside of the code");
}

/* Forgets what no range uses until @size more bytes fit, or refuses them. */
static int make_room(struct sfu_table_source *source, unsigned long size)
{
	const unsigned long limit = sfu_table_limit();
	unsigned long held;

	if (size > limit)
		return refuse_too_large(source);
	forget_unused(ULONG_MAX, limit - size);
	held = atomic_long_read(&sfu_held.tables) - nr_without * sizeof(struct sfu_table_file);
	if (held > limit - size)
		return refuse(source, -ENOSPC,
			      "tables take all of %lu MiB, and are in use: raise table_memory",
			      limit >> 20);
	forget_without(SFU_TABLE_MAX_WITHOUT, limit - size);
	return 0;
}

/* Compiles a table, with one reference, which no file has yet. */
static struct sfu_table *make_table(struct sfu_table_source *source)
{
	struct sframe_reader rd = {
		.bytes = source->bytes, .addr = source->addr, .len = source->len,
	};
	struct sframe_compile *compile;
	struct sfu_table *table;
	struct sframe_header hdr;
	int err;

	if (source->len > sfu_table_limit())
		return ERR_PTR(refuse_too_large(source));
	err = check_header(source, &rd, &hdr);
	if (err)
		return ERR_PTR(err);
	compile = kzalloc_obj(*compile, GFP_KERNEL_ACCOUNT);
	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	if (!compile || !table) {
		err = refuse_without_memory(source);
		goto err_free;
	}
	compile->hdr = &hdr;
	compile->rd = &rd;
	compile->max_size = sfu_table_limit();
	compile->secret = get_random_u64();
	err = compile_each(source, compile, sframe_compile_measure) ?:
	      check_text(source, compile) ?:
	      compile_functions(source, compile, &table->compiled);
	if (err)
		goto err_free;
	refcount_set(&table->refs, 1);
	table->nr_functions = hdr.num_fdes;
	table->number = sfu_row_cache_new_section(&table->key_base);
	table->size = sizeof(*table) + compiled_size(&table->compiled.table);
	/* A table for a process that has no room costs others nothing. */
	if (source->text_end && table->size > sfu_table_limit() / SFU_JIT_SHARE)
		err = -ENOSPC;
	else
		err = make_room(source, table->size);
	if (err) {
		free_compiled(&table->compiled);
		goto err_free;
	}
	kfree(compile);
	atomic_long_add(table->size, &sfu_held.tables);
	return table;

err_free:
	kfree(table);
	kfree(compile);
	return ERR_PTR(err);
}

static u64 hash_bytes(const void *bytes, size_t len, const siphash_key_t *key)
{
	u64 hash = 0;
	size_t at;

	for (at = 0; at < len; at += BYTES_AT_ONCE) {
		hash = siphash_2u64(hash, siphash(bytes + at,
						  min_t(size_t, len - at, BYTES_AT_ONCE),
						  key), key);
		cond_resched();
	}
	return hash;
}

/*
 * Returns the table with these bytes, with a reference; a new one unless there is one. The bytes
 * are the same if both hashes are: nobody knows their keys.
 */
static struct sfu_table *get_table(struct sfu_table_source *source)
{
	struct sfu_table_key key = {
		.hash[0] = hash_bytes(source->bytes, source->len, &hash_keys[0]),
		.hash[1] = hash_bytes(source->bytes, source->len, &hash_keys[1]),
		.addr = source->addr,
		.len = source->len,
	};
	struct sfu_table *table = rhashtable_lookup_fast(&tables, &key, table_params);

	if (table) {
		refcount_inc(&table->refs);
		return table;
	}
	table = make_table(source);
	if (IS_ERR(table))
		return table;
	table->key = key;
	if (!rhashtable_insert_fast(&tables, &table->node, table_params))
		return table;
	put_table(table);
	return ERR_PTR(refuse_without_memory(source));
}

static int check_segments(struct sfu_table_source *source)
{
	unsigned int i;

	if (source->bytes && !source->nr_segments)
		return refuse(source, -EINVAL, "a table needs the executable segments of the file");
	for (i = 0; i < source->nr_segments; i++) {
		const struct sframe_segment *segment = &source->segments[i];

		if (segment->addr >= TASK_SIZE_MAX || segment->size > TASK_SIZE_MAX ||
		    segment->offset > TASK_SIZE_MAX)
			return refuse(source, -EINVAL, "segment %u lies beyond user memory", i);
	}
	if (source->addr >= TASK_SIZE_MAX)
		return refuse(source, -EINVAL, "the table lies beyond user memory");
	return 0;
}

/* Sets the identity of the file, if the file is still what user space has read. */
static int identify(struct sfu_table_source *source, struct sfu_file_id *id)
{
	struct sfu_file_id then;

	if (!sfu_file_identify(source->inode, id))
		return refuse(source, -EOPNOTSUPP,
			      "it is on %s, where a file can change unseen: Limits, in README, names the file systems whose files get tables",
			      source->inode->i_sb->s_type->name);
	then = *id;
	then.size = source->id.size;
	then.changed = source->id.changed;
	if (memcmp(&then, id, sizeof(then)))
		return refuse(source, -ESTALE,
			      "the file has changed since it was read: convert it again");
	if (sfu_file_has_just_changed(id))
		return refuse(source, -EAGAIN,
			      "the file has changed a moment ago: convert it again in two seconds");
	return 0;
}

static struct sfu_table_file *make_file(struct sfu_table_source *source,
					const struct sfu_file_id *id)
{
	struct sfu_table_file *file;

	file = kzalloc(struct_size(file, segments, source->nr_segments), GFP_KERNEL_ACCOUNT);
	if (!file)
		return NULL;
	file->id = *id;
	file->nr_segments = source->nr_segments;
	memcpy(file->segments, source->segments,
	       source->nr_segments * sizeof(*source->segments));
	return file;
}

static int publish_file(struct sfu_table_file *file)
{
	int err;

	err = xa_alloc(&files_by_nr, &file->nr, file, xa_limit_32b, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	/* A scan in between finds nothing, and asks for the table again. */
	forget_same(&file->id);
	err = rhltable_insert(&files, &file->node, file_params);
	if (err)
		xa_erase(&files_by_nr, file->nr);
	return err;
}

static int add_file(struct sfu_table_source *source, const struct sfu_file_id *id)
{
	struct sfu_table_file *file = make_file(source, id);
	int err;

	if (!file)
		return refuse_without_memory(source);
	if (!source->bytes) {
		forget_without(SFU_TABLE_MAX_WITHOUT - 1, sfu_table_limit());
	} else {
		file->table = get_table(source);
		if (IS_ERR(file->table)) {
			err = PTR_ERR(file->table);
			kfree(file);
			return err;
		}
		file->table->nr_files++;
	}
	err = publish_file(file);
	if (err) {
		leave_table(file->table);
		kfree(file);
		return refuse_without_memory(source);
	}
	if (!file->table) {
		list_add_tail(&file->without, &files_without);
		nr_without++;
	}
	atomic_long_add(struct_size(file, segments, file->nr_segments), &sfu_held.tables);
	return 0;
}

/*
 * Loads the table of a file, in place of one that it has. The caller holds a reference of the
 * inode, if there is one. Returns 0, or with a message: -ESTALE or -EAGAIN if the file has changed;
 * -EOPNOTSUPP if its file system does not tell each change; -EBADMSG if the section has a defect;
 * -EINVAL; -ENOSPC; -ENOMEM; -EINTR.
 */
int sfu_table_load(struct sfu_table_source *source)
{
	struct sfu_file_id id = vdso_id;
	int err;

	err = check_segments(source);
	if (!err && source->inode)
		err = identify(source, &id);
	if (!err) {
		mutex_lock(&tables_mutex);
		err = add_file(source, &id);
		mutex_unlock(&tables_mutex);
	}
	/*
	 * A reader that converts the file again answers later. A file that has changed since has
	 * another identity. A reader that has no table does not come again.
	 */
	if (!err || err == -ESTALE || !source->bytes)
		sfu_wanted_answer(&id);
	if (!err)
		atomic_fetch_inc_release(&sfu_table_generation);
	return err;
}

/* Forgets the table of a file, even if the file has changed. Returns -ENOENT if it has none. */
int sfu_table_drop(struct inode *inode)
{
	struct sfu_table_file *file;
	struct rhlist_head *pos;
	struct sfu_file_id id;
	int err = -ENOENT;

	if (!sfu_file_identify(inode, &id))
		return err;
	guard(mutex)(&tables_mutex);
	guard(rcu)();
	rhl_for_each_entry_rcu(file, pos, rhltable_lookup(&files, &id, file_params), node) {
		forget_file(file);
		err = 0;
	}
	return err;
}

/* Forgets the tables of all files. */
void sfu_table_drop_all(void)
{
	struct sfu_table_file *file;
	unsigned long nr;

	guard(mutex)(&tables_mutex);
	xa_for_each(&files_by_nr, nr, file) {
		forget_file(file);
		cond_resched();
	}
}

/*
 * Forgets which files are known to have no table. They are wanted again: whoever makes tables now
 * may make more than the one before.
 */
void sfu_table_drop_tableless(void)
{
	guard(mutex)(&tables_mutex);
	forget_without(0, 0);
	atomic_fetch_inc_release(&sfu_table_generation);
}

/*
 * Sets @entry to one of the files that have a table; its @next says which. Returns -ENOENT if there
 * are no more.
 */
int sfu_table_list(struct sframe_file *entry)
{
	const struct sfu_table_file *file;
	const struct sfu_table *table;
	unsigned long nr = entry->next;
	struct timespec64 changed;

	guard(mutex)(&tables_mutex);
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
		entry->nr_users = nr_users(table);
		entry->nr_files = table->nr_files;
	}
	return 0;
}

/* ---- scans ---- */

/*
 * Files are mapped in whole pages: a mapping may begin before its segment. If it may be one of two
 * segments that share a page, and they are linked at different distances, it is none.
 */
static const struct sframe_segment *find_segment(const struct sfu_table_file *file, u64 offset)
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

/*
 * Says of a file without a table why it has none: -ENOENT if there may be one, which is forgotten,
 * and the process has room for it.
 */
static int find_forgotten(const struct sfu_table_file *file)
{
	if (!file->refused_size)
		return -ENODATA;
	if (sfu_wanted_is_of_user(current_cred()) &&
	    atomic_long_read(&bytes_of_users) + file->refused_size > sfu_table_limit() / 2)
		return -ENOSPC;
	return -ENOENT;
}

/* Sets the section to a table, whose reference it takes. Returns -ENOSPC if users have no room. */
static int use_table(struct sfu_table *table, u64 bias, bool is_of_user,
		     struct sfu_section *section)
{
	if (is_of_user && !add_user_range(table)) {
		put_table(table);
		return -ENOSPC;
	}
	section->is_of_user = is_of_user;
	section->table = table;
	section->compiled = &table->compiled;
	section->bias = bias;
	section->number = table->number;
	section->key_base = table->key_base - bias;
	return 0;
}

/*
 * Makes a table for code of one process. Sets @section, which is zero, to a section with references
 * of the table, and @size to its bytes. Returns as sfu_table_load(), but without a message if users
 * have no room.
 */
int sfu_table_make(struct sfu_table_source *source, bool is_of_user, struct sfu_section *section,
		   unsigned long *size)
{
	struct sfu_table *table;

	mutex_lock(&tables_mutex);
	table = make_table(source);
	mutex_unlock(&tables_mutex);
	if (IS_ERR(table))
		return PTR_ERR(table);
	*size = table->size;
	section->source = SFU_SOURCE_PROCESS;
	atomic_set(&section->state, SFU_SECTION_READY);
	return use_table(table, 0, is_of_user, section);
}

/* Sets the section for code of the file that is mapped at @map_start. */
static int place_table(const struct sfu_table_file *file, u64 map_start, u64 map_offset,
		       struct sfu_section *section)
{
	const struct sframe_segment *segment = find_segment(file, map_offset);
	/* Pairs with the store in forget_table(). */
	struct sfu_table *table = smp_load_acquire(&file->table);
	u64 bias;

	if (!segment)
		return -ENODATA;
	if (!table)
		return find_forgotten(file);
	/* What to add to each address that was linked. Modulo 2^64 it may be negative. */
	bias = map_start - map_offset - (segment->addr - segment->offset);
	if ((table->key.addr + bias) >> 63)
		return -ENODATA;
	if (!refcount_inc_not_zero(&table->refs))
		return -ENOENT;
	section->source = SFU_SOURCE_RESIDENT;
	return use_table(table, bias, sfu_wanted_is_of_user(current_cred()), section);
}

/**
 * sfu_table_find() - find the table for code of a mapped file
 * @file: the file; NULL: the vDSO
 * @map_start: address of the mapping
 * @map_offset: where in the file it begins
 * @section: set with 0, to a section with a reference of the table
 *
 * Return: 0; -ENODATA if there is none for this file; -ENOSPC if users have no room for it now;
 * -ENOENT if the file is not known, or its table is forgotten.
 */
int sfu_table_find(const struct file *file, u64 map_start, u64 map_offset,
		   struct sfu_section *section)
{
	const struct sfu_table_file *known;
	struct sfu_file_id id = vdso_id;

	if (!atomic_read(&files.ht.nelems))
		return -ENOENT;
	if (file && !sfu_file_identify(file_inode(file), &id))
		return -ENOENT;
	guard(rcu)();
	known = find_file(&id);
	if (!known)
		return -ENOENT;
	return place_table(known, map_start, map_offset, section);
}

/* ---- init and exit ---- */

static unsigned long count_unused(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned int nr = atomic_read(&files.ht.nelems), nr_none = READ_ONCE(nr_without);

	/* The number is only an estimate: how many files are in use is not known here. */
	return nr > nr_none ? nr - nr_none : SHRINK_EMPTY;
}

/*
 * Forgets up to @most files whose tables no range uses; returns how many. A file that is known to
 * have no table stays: it takes hardly any memory, and to forget it starts a converter.
 */
unsigned long sfu_table_shrink(unsigned long most)
{
	unsigned long count;

	if (!mutex_trylock(&tables_mutex))
		return 0;
	count = forget_unused(most, 0);
	mutex_unlock(&tables_mutex);
	return count;
}

static unsigned long shrink(struct shrinker *shrinker, struct shrink_control *sc)
{
	return sfu_table_shrink(sc->nr_to_scan) ?: SHRINK_STOP;
}

static struct shrinker *shrinker;

/* There are no tables yet. Returns 0, or -ENOMEM. */
int sfu_table_init(void)
{
	int err;

	get_random_bytes(hash_keys, sizeof(hash_keys));
	err = rhashtable_init(&tables, &table_params);
	if (err)
		return err;
	err = rhltable_init(&files, &file_params);
	if (err)
		goto err_tables;
	shrinker = shrinker_alloc(0, "sframe_unwind");
	err = -ENOMEM;
	if (!shrinker)
		goto err_files;
	shrinker->count_objects = count_unused;
	shrinker->scan_objects = shrink;
	shrinker_register(shrinker);
	return 0;

err_files:
	rhltable_destroy(&files);
err_tables:
	rhashtable_destroy(&tables);
	return err;
}

/*
 * Frees all tables. The device is gone, and so are all maps: only files have tables. rcu_barrier()
 * waits for free_table().
 */
void sfu_table_exit(void)
{
	shrinker_free(shrinker);
	sfu_table_drop_all();
	xa_destroy(&files_by_nr);
	rcu_barrier();
	rhltable_destroy(&files);
	rhashtable_destroy(&tables);
	WARN_ON_ONCE(atomic_long_read(&sfu_held.tables));
}
