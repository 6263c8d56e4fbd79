// SPDX-License-Identifier: GPL-2.0-or-later
/* Observes what is asked of the file of the scene's image. See file_watch.h. */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/pagemap.h>
#include <linux/uio.h>

#include "file_watch.h"
#include "scan_scene.h"

struct file_watch watch;

static ssize_t watched_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	watch.reads++;
	return -EIO;
}

static int watched_read_folio(struct file *file, struct folio *folio)
{
	watch.reads++;
	folio_unlock(folio);
	return -EIO;
}

/* As a file system may: it has the lock that keeps the file from being truncated. */
static void watched_readahead(struct readahead_control *rac)
{
	watch.reads++;
	watch.bytes_ahead += readahead_length(rac);
	watch.unlocked_reads += !rwsem_is_locked(&rac->mapping->invalidate_lock);
}

/* Which ways to read the file has: only kernel_read() and a scan ask for these. */
void set_reads(const struct file_operations *original, struct file_operations *fops,
	       bool read_iter, bool read)
{
	*fops = *original;
	fops->read_iter = read_iter ? watched_read_iter : NULL;
	fops->read = read ? (void *)watched_read_iter : NULL;
}

/* The page cache can be written as before. */
static void set_page_reads(const struct address_space_operations *original, void *aops)
{
	const struct address_space_operations watched = {
		.read_folio = watched_read_folio,
		.readahead = watched_readahead,
		.write_begin = original->write_begin,
		.write_end = original->write_end,
		.dirty_folio = original->dirty_folio,
	};

	memcpy(aops, &watched, sizeof(watched));
}

static void unwatch(void *data)
{
	struct file *file = data;

	file_inode(file)->i_sb->s_magic = watch.original_magic;
	file->f_op = watch.original;
	file->f_mapping->a_ops = watch.original_aops;
}

void watch_image(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct file *file = scene->image.file;
	void *aops;

	watch = (struct file_watch){
		.original = file->f_op,
		.original_aops = file->f_mapping->a_ops,
		.original_magic = file_inode(file)->i_sb->s_magic,
		.fops = kunit_kmalloc(test, sizeof(*file->f_op), GFP_KERNEL),
	};
	KUNIT_ASSERT_NOT_NULL(test, watch.fops);
	aops = kunit_kmalloc(test, sizeof(*watch.original_aops), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, aops);
	set_page_reads(watch.original_aops, aops);
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	file->f_mapping->a_ops = aops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}

/* Only files of a file system with a disk are read ahead. */
void pretend_disk(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	file_inode(scene->image.file)->i_sb->s_magic = BTRFS_SUPER_MAGIC;
}
