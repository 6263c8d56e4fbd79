// SPDX-License-Identifier: GPL-2.0-or-later
/* SFRAME_LOAD: loads the table of a file, or records that the file has none. */
#include <linux/fs.h>

#include <uapi/sframe_unwind.h>

#include "table/internal.h"
#include "table/wanted.h"

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

static int identify(struct sfu_table_source *source, struct sfu_file_id *id)
{
	int err = sfu_file_id_get(source->inode, id);

	if (err == -EAGAIN)
		return sfu_table_refuse(source, err, "a process may write to it: try again later");
	if (err)
		return sfu_table_refuse(source, err, "it is on %s, where a file can change unseen",
			      source->inode->i_sb->s_type->name);
	if (id->size != source->id.size || id->changed != source->id.changed)
		return sfu_table_refuse(source, -ESTALE,
			      "the file has changed since it was read: convert it again");
	if (sfu_file_id_has_just_changed(id))
		return sfu_table_refuse(source, -EAGAIN,
			      "the file has changed a moment ago: convert it again in two seconds");
	return 0;
}

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
	if (!err)
		err = sfu_table_share(table, &key);
	if (!err)
		return table;
	sfu_table_put_ref(table);
	return ERR_PTR(err);
}

static int add_file(struct sfu_table_source *source, const struct sfu_file_id *id)
{
	const unsigned int nr = source->nr_segments;
	struct sfu_table *table = NULL;
	struct sfu_file *file;

	if (source->bytes) {
		table = get_table(source);
		if (IS_ERR(table))
			return PTR_ERR(table);
		table->nr_files++;
	} else {
		sfu_files_forget_tableless(SFU_FILES_MAX_TABLELESS - 1, sfu_limit_bytes());
	}
	file = kzalloc(struct_size(file, segments, nr), GFP_KERNEL_ACCOUNT);
	if (file) {
		file->id = *id;
		file->table = table;
		file->nr_segments = nr;
		memcpy(file->segments, source->segments, nr * sizeof(*file->segments));
		if (!sfu_files_add(file))
			return 0;
	}
	kfree(file);
	if (table)
		sfu_table_leave(table);
	return -ENOMEM;
}

/*
 * Loads the table of a file or the vDSO, in place of its old table. Without a section, records that
 * the file has no table. The caller holds a reference of @source->inode (NULL: vDSO). Returns 0, or
 * an error of the ioctl SFRAME_LOAD.
 */
int sfu_load_table(struct sfu_table_source *source)
{
	struct sfu_file_id id = {};	/* all zeros: identity of the vDSO, which has no inode */
	int err = check_segments(source);

	if (!err && source->inode)
		err = identify(source, &id);
	if (!err) {
		guard(mutex)(&sfu_files_mutex);
		err = add_file(source, &id);
	}
	if (err == -ENOMEM)
		sfu_table_refuse(source, err, "no memory for the table");
	/*
	 * Remove the request for this table if the program has loaded the section, or says that the
	 * file has none. But if the section was refused, keep the request: the program may try
	 * again. Meanwhile, scans add no second request, which would ask for the same section. If
	 * the file has changed (-ESTALE), remove the request: a scan adds one for the new content.
	 */
	if (!err || err == -ESTALE || !source->bytes)
		sfu_wanted_answer(&id);
	if (!err)
		atomic_fetch_inc_release(&sfu_table_generation);
	return err;
}
