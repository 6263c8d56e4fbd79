// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads, drops and lists tables, for the ioctls of table/device.c. */
#include <linux/fs.h>
#include <linux/time64.h>

#include <uapi/sframe_unwind.h>

#include "table/internal.h"
#include "table/wanted.h"

atomic_t sfu_table_generation;

static int check_segments(struct sfu_table_source *source)
{
	unsigned int i;

	if (source->bytes && !source->nr_segments)
		return sfu_table_refuse(source, -EINVAL,
					"a table needs the executable segments of the file");
	for (i = 0; i < source->nr_segments; i++) {
		const struct sframe_segment *segment = &source->segments[i];

		if (segment->addr >= TASK_SIZE_MAX || segment->size > TASK_SIZE_MAX ||
		    segment->offset > TASK_SIZE_MAX)
			return sfu_table_refuse(source, -EINVAL,
						"segment %u lies beyond user memory", i);
	}
	if (source->addr >= TASK_SIZE_MAX)
		return sfu_table_refuse(source, -EINVAL, "the table lies beyond user memory");
	return 0;
}

/* Sets @id to the identity of the file. Fails if the file has changed since it was read. */
static int identify(struct sfu_table_source *source, struct sfu_file_id *id)
{
	struct sfu_file_id then;

	if (!sfu_file_id_get(source->inode, id))
		return sfu_table_refuse(source, -EOPNOTSUPP,
			      "it is on %s, where a file can change unseen",
			      source->inode->i_sb->s_type->name);
	then = *id;
	then.size = source->id.size;
	then.changed = source->id.changed;
	if (memcmp(&then, id, sizeof(then)))
		return sfu_table_refuse(source, -ESTALE,
			      "the file has changed since it was read: convert it again");
	if (sfu_file_id_has_just_changed(id))
		return sfu_table_refuse(source, -EAGAIN,
			      "the file has changed a moment ago: convert it again in two seconds");
	return 0;
}

/* Returns a table for the section, shared or new, with a reference; or an error with a message. */
static struct sfu_table *get_table(struct sfu_table_source *source)
{
	struct sfu_table_key key;
	struct sfu_table *table = sfu_table_find_same(source, &key);
	int err;

	if (table)
		return table;
	table = sfu_table_compile(source);
	if (IS_ERR(table))
		return table;
	err = sfu_files_make_room(source);
	if (!err && sfu_table_share(table, &key))
		err = sfu_table_refuse_memory(source);
	if (!err)
		return table;
	sfu_table_put_ref(table);
	return ERR_PTR(err);
}

static int add_file(struct sfu_table_source *source, const struct sfu_file_id *id)
{
	struct sfu_file *file;
	int err;

	file = kzalloc(struct_size(file, segments, source->nr_segments), GFP_KERNEL_ACCOUNT);
	if (!file)
		return sfu_table_refuse_memory(source);
	file->id = *id;
	file->nr_segments = source->nr_segments;
	memcpy(file->segments, source->segments, source->nr_segments * sizeof(*source->segments));
	if (source->bytes) {
		file->table = get_table(source);
		if (IS_ERR(file->table)) {
			err = PTR_ERR(file->table);
			goto err_free;
		}
		file->table->nr_files++;
	} else {
		sfu_files_forget_tableless(SFU_FILES_MAX_TABLELESS - 1, sfu_limit_bytes());
	}
	if (!sfu_files_add(file))
		return 0;
	if (file->table)
		sfu_table_leave(file->table);
	err = sfu_table_refuse_memory(source);
err_free:
	kfree(file);
	return err;
}

/*
 * Loads the table of a file, and replaces the table that the file has. The caller holds a reference
 * of the inode, if there is one. Returns 0, or with a message: -ESTALE or -EAGAIN if the file has
 * changed; -EOPNOTSUPP if its file system may leave ctime as it is after a change; -EBADMSG if the
 * section has a defect; -EINVAL; -ENOSPC; -ENOMEM; -EINTR.
 */
int sfu_load_table(struct sfu_table_source *source)
{
	struct sfu_file_id id = sfu_files_vdso;
	int err;

	err = check_segments(source);
	if (!err && source->inode)
		err = identify(source, &id);
	if (!err) {
		guard(mutex)(&sfu_files_mutex);
		err = add_file(source, &id);
	}
	/*
	 * A refused section keeps its request: the reader converts the file again. A file that has
	 * changed has another identity, and is requested again.
	 */
	if (!err || err == -ESTALE || !source->bytes)
		sfu_wanted_answer(&id);
	if (!err)
		atomic_fetch_inc_release(&sfu_table_generation);
	return err;
}

/*
 * Makes a table for code of one process. Fills in the zeroed @section, with references of the
 * table, and sets @size to its bytes in memory. Returns as sfu_load_table(); -ENOSPC may lack a
 * message.
 */
int sfu_table_make(struct sfu_table_source *source, bool is_of_user, struct sfu_section *section,
		   unsigned long *size)
{
	struct sfu_table *table;
	int err;

	guard(mutex)(&sfu_files_mutex);
	table = sfu_table_compile(source);
	if (IS_ERR(table))
		return PTR_ERR(table);
	/* First, so that no table is removed for one that is too large for its process. */
	err = table->size > sfu_limit_bytes() / SFU_JIT_SHARE ? -ENOSPC :
								 sfu_files_make_room(source);
	if (err) {
		sfu_table_put_ref(table);
		return err;
	}
	*size = table->size;
	section->source = SFU_SOURCE_JIT_TABLE;
	section->entry_start = source->entry_start;
	section->entry_size = source->entry_size;
	atomic_set(&section->state, SFU_SECTION_READY);
	return sfu_table_use(table, 0, is_of_user, section) ? 0 : -ENOSPC;
}

/* Removes the table of a file, even if the file has changed. Returns -ENOENT if it has none. */
int sfu_files_drop(struct inode *inode)
{
	struct sfu_file_id id;

	if (!sfu_file_id_get(inode, &id))
		return -ENOENT;
	guard(mutex)(&sfu_files_mutex);
	return sfu_files_drop_id(&id);
}

/* Removes all tableless files: another version of the converter may make tables for them. */
void sfu_files_drop_tableless(void)
{
	guard(mutex)(&sfu_files_mutex);
	sfu_files_forget_tableless(0, 0);
	atomic_fetch_inc_release(&sfu_table_generation);
}

/* Sets @entry to the file at or after number @next of @entry. Returns -ENOENT if there is none. */
int sfu_files_list(struct sframe_file *entry)
{
	const struct sfu_file *file;
	const struct sfu_table *table;
	unsigned long nr = entry->next;
	struct timespec64 changed;

	guard(mutex)(&sfu_files_mutex);
	file = sfu_files_next(&nr);
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
		entry->nr_users = sfu_table_nr_ranges(table);
		entry->nr_files = table->nr_files;
	}
	return 0;
}

/* Creates the empty sets of tables and files. Returns 0, or -ENOMEM. */
int sfu_files_init(void)
{
	int err = sfu_table_set_init();

	if (err)
		return err;
	err = sfu_files_set_init();
	if (err)
		sfu_table_set_exit();
	return err;
}

/* Frees all tables. The device and all maps are gone: only files have references of tables. */
void sfu_files_exit(void)
{
	sfu_files_set_exit();
	sfu_table_set_exit();
}
