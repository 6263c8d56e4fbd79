// SPDX-License-Identifier: GPL-2.0-or-later
/* Observes the reads of the image's file. See file_watch.h. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/uio.h>

#include "file_watch.h"
#include "scan_scene.h"

struct file_watch watch;

static ssize_t watched_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	if (++watch.reads == watch.fail_at)
		return -EIO;
	if (watch.act)
		watch.act(watch.test);
	if (watch.nap)
		usleep_range(watch.nap, 2 * watch.nap);
	return watch.original->read_iter(iocb, to);
}

void set_reads(const struct file_operations *original, struct file_operations *fops,
	       bool read_iter, bool read)
{
	*fops = *original;
	fops->read_iter = read_iter ? watched_read_iter : NULL;
	fops->read = read ? (void *)watched_read_iter : NULL;
}

static void unwatch(void *file)
{
	((struct file *)file)->f_op = watch.original;
}

void watch_image(struct kunit *test, void (*act)(struct kunit *test))
{
	struct scan_scene *scene = test->priv;
	struct file *file = scene->image.file;

	watch = (struct file_watch){
		.original = file->f_op,
		.fops = kunit_kmalloc(test, sizeof(*file->f_op), GFP_KERNEL),
		.test = test,
		.act = act,
	};
	KUNIT_ASSERT_NOT_NULL(test, watch.fops);
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}
