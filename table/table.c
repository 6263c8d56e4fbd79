// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables: compiled SFrame sections in kernel memory, which never change. Walks of stacks take no
 * reference of a table. RCU keeps the process's map and its tables in memory during a walk.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>

#include "sframe_arch.h"
#include "sframe_stats.h"
#include "table/internal.h"
#include "walk/row_cache.h"

/* Bytes hashed or copied between calls of cond_resched(). With more, other tasks wait longer. */
#define BYTES_AT_ONCE	SZ_1M

/* Hash table of the tables of files, by &sfu_table.key: files with equal sections share a table. */
static struct rhashtable tables;
static siphash_key_t hash_keys[2];

atomic_t sfu_table_generation;

static const struct rhashtable_params table_params = {
	.key_offset = offsetof(struct sfu_table, key),
	.key_len = sizeof(struct sfu_table_key),
	.head_offset = offsetof(struct sfu_table, node),
};

static void free_table(struct sfu_table *table)
{
	kvfree(table->packed_rows);
	kvfree(table->compiled.rows);
	kvfree(table->compiled.entries);
	kvfree(table->compiled.slots);
	kfree(table);
}

static void free_table_rcu(struct rcu_head *rcu)
{
	free_table(container_of(rcu, struct sfu_table, rcu));
}

void sfu_table_put_ref(struct sfu_table *table)
{
	if (!refcount_dec_and_test(&table->refs))
		return;
	atomic_long_sub(table->size, &sfu_held.tables);
	call_rcu(&table->rcu, free_table_rcu);
}

void sfu_table_get(const struct sfu_section *section)
{
	if (!section->table)
		return;
	refcount_inc(&section->table->refs);
	if (section->is_of_user)
		atomic_inc(&section->table->nr_user_ranges);
}

void sfu_table_put(const struct sfu_section *section)
{
	if (!section->table)
		return;
	if (section->is_of_user)
		sfu_limit_remove_user_range(section->table);
	sfu_table_put_ref(section->table);
}

/*
 * Lets @section of a process use @table, and gives it the caller's reference of @table. Puts the
 * reference and returns false if the memory limit of non-root users (@is_of_user) has no room.
 */
bool sfu_table_use(struct sfu_table *table, u64 bias, bool is_of_user, struct sfu_section *section)
{
	if (is_of_user && !sfu_limit_add_user_range(table)) {
		sfu_table_put_ref(table);
		return false;
	}
	section->is_of_user = is_of_user;
	section->table = table;
	section->bias = bias;
	section->number = table->number;
	section->key_base = table->key_base - bias;
	return true;
}

/* Returns @err. */
int sfu_table_refuse(struct sfu_table_source *source, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(source->message, sizeof(source->message), format, args);
	va_end(args);
	return err;
}

static int refuse_too_large(struct sfu_table_source *source)
{
	return sfu_table_refuse(source, -ENOSPC,
		      "larger than all tables may be, %lu MiB: raise table_memory",
		      sfu_limit_bytes() >> 20);
}

static int check_header(struct sfu_table_source *source, struct sframe_reader *rd,
			struct sframe_header *hdr)
{
	if (sframe_header_read(hdr, rd, source->addr, source->len))
		return sfu_table_refuse(source, -EBADMSG, "the header of the table: %s",
			      sframe_defects[rd->defect].text);
	if (hdr->swapped || hdr->abi != SFU_ARCH_ABI)
		return sfu_table_refuse(source, -EBADMSG, "the table is for another machine");
	if (!(hdr->flags & SFRAME_F_FDE_SORTED))
		return sfu_table_refuse(source, -EBADMSG,
					"the functions of the table are not sorted");
	if (!hdr->num_fdes)
		return sfu_table_refuse(source, -EBADMSG, "the table describes no function");
	return 0;
}

static int check_pass(struct sfu_table_source *source, const struct sframe_compile *compile,
		      int err)
{
	if (!err || err == -EINTR)
		return err;
	if (err == -E2BIG)
		return refuse_too_large(source);
	return sfu_table_refuse(source, -EBADMSG, "function %u of the table: %s", compile->index,
				sframe_defects[compile->rd->defect].text);
}

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

static int pack_rows(struct sfu_table *table)
{
	u32 i, nr = table->compiled.nr_rows;
	u64 *packed = kvmalloc_array(nr, sizeof(*packed), GFP_KERNEL_ACCOUNT);
	struct sframe_row row;

	if (!packed)
		return -ENOMEM;
	packed[0] = SFU_ROW_NONE;
	for (i = 1; i < nr; i++) {
		row = table->compiled.rows[i];
		packed[i] = sfu_row_pack(&row);
	}
	table->packed_rows = packed;
	return 0;
}

static int compile_functions(struct sfu_table_source *source, struct sframe_compile *compile,
			     struct sfu_table *table)
{
	struct sframe_compiled *compiled = &compile->compiled;
	size_t row_size = sizeof(*compiled->rows);
	int err = -ENOMEM;

	compiled->slots = kvmalloc_array(compiled->nr_slots + 1, sizeof(u32), GFP_KERNEL_ACCOUNT);
	compiled->entries = kvmalloc_array(compile->max_entries, sizeof(u32), GFP_KERNEL_ACCOUNT);
	compiled->rows = kvmalloc_array(compile->max_rows, row_size, GFP_KERNEL_ACCOUNT);
	compile->hash = kvcalloc(2 * compile->max_rows, sizeof(u32), GFP_KERNEL_ACCOUNT);
	if (compiled->slots && compiled->entries && compiled->rows && compile->hash)
		err = check_pass(source, compile, sframe_compile_fill(compile));
	if (!err) {
		err = trim(&compiled->entries, compiled->nr_entries * sizeof(u32)) ?:
		      trim(&compiled->rows, compiled->nr_rows * row_size);
	}
	kvfree(compile->hash);
	table->compiled = *compiled;
	return err ?: pack_rows(table);
}

/* Compiles the section of @source. Returns a new table with one reference, or an ERR_PTR(). */
struct sfu_table *sfu_table_compile(struct sfu_table_source *source)
{
	struct sframe_reader rd = {
		.bytes = source->bytes, .addr = source->addr, .len = source->len,
	};
	struct sframe_compile *compile;
	struct sfu_table *table;
	struct sframe_header hdr;
	int err;

	if (source->len > sfu_limit_bytes())
		return ERR_PTR(refuse_too_large(source));
	err = check_header(source, &rd, &hdr);
	if (err)
		return ERR_PTR(err);
	compile = kzalloc_obj(*compile, GFP_KERNEL_ACCOUNT);
	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!compile || !table)
		goto out;
	compile->hdr = &hdr;
	compile->rd = &rd;
	compile->max_size = sfu_limit_bytes();
	compile->secret = get_random_u64();
	err = check_pass(source, compile, sframe_compile_measure(compile));
	if (!err && source->text_end && (compile->compiled.first < source->text_start ||
					 compile->end > source->text_end))
		err = sfu_table_refuse(source, -EBADMSG,
				       "the table has functions outside of the code");
	err = err ?: compile_functions(source, compile, table);
	if (err)
		goto out;
	refcount_set(&table->refs, 1);
	table->nr_functions = hdr.num_fdes;
	table->number = sfu_row_cache_new_section(&table->key_base);
	table->size = sizeof(*table) +
		      (table->compiled.nr_slots + 1UL + table->compiled.nr_entries) * sizeof(u32) +
		      table->compiled.nr_rows * (sizeof(struct sframe_row) + sizeof(u64));
	atomic_long_add(table->size, &sfu_held.tables);
out:
	kfree(compile);
	if (!err)
		return table;
	if (err == -ENOMEM)
		sfu_table_refuse(source, err, "no memory for the table");
	if (table)
		free_table(table);
	return ERR_PTR(err);
}

static u64 hash_bytes(const void *bytes, size_t len, const siphash_key_t *key)
{
	u64 hash = 0;
	size_t at, n;

	for (at = 0; at < len; at += BYTES_AT_ONCE) {
		n = min_t(size_t, len - at, BYTES_AT_ONCE);
		hash = siphash_2u64(hash, siphash(bytes + at, n, key), key);
		cond_resched();
	}
	return hash;
}

/*
 * Finds the table of any file whose section equals that of @source: such files share one table.
 * Returns it with a reference, or NULL. Sets @key to the section's hashes, address and length.
 */
struct sfu_table *sfu_table_find_same(const struct sfu_table_source *source,
				      struct sfu_table_key *key)
{
	struct sfu_table *table;

	*key = (struct sfu_table_key){
		.hash[0] = hash_bytes(source->bytes, source->len, &hash_keys[0]),
		.hash[1] = hash_bytes(source->bytes, source->len, &hash_keys[1]),
		.addr = source->addr,
		.len = source->len,
	};
	/* Equal hashes count as equal sections. The keys are secret: nobody finds a collision. */
	table = rhashtable_lookup_fast(&tables, key, table_params);
	if (table)
		refcount_inc(&table->refs);
	return table;
}

/* Returns 0, or -ENOMEM. */
int sfu_table_share(struct sfu_table *table, const struct sfu_table_key *key)
{
	table->key = *key;
	return rhashtable_insert_fast(&tables, &table->node, table_params) ? -ENOMEM : 0;
}

/* Puts a file's reference of its table. After the last file, no new file can share the table. */
void sfu_table_leave(struct sfu_table *table)
{
	if (!--table->nr_files)
		rhashtable_remove_fast(&tables, &table->node, table_params);
	sfu_table_put_ref(table);
}

int sfu_table_init(void)
{
	get_random_bytes(hash_keys, sizeof(hash_keys));
	return rhashtable_init(&tables, &table_params);
}

/*
 * Called at unloading. No file and no map of a process refers to a table any more. But RCU may
 * still have to call free_table_rcu(), which is code of the module. rcu_barrier() waits for this.
 */
void sfu_table_exit(void)
{
	rcu_barrier();
	rhashtable_destroy(&tables);
	WARN_ON_ONCE(atomic_long_read(&sfu_held.tables));
}
