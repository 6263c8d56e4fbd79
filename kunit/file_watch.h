/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observes the reads of the file of the scene's image. An action runs before each
 * read. At that time a scan has listed the mappings, but not published a map.
 */
#ifndef FILE_WATCH_H
#define FILE_WATCH_H

#include <linux/fs.h>

struct kunit;

/**
 * struct file_watch - the watch of one file; there is one at a time
 * @original: the file's own operations
 * @fops: the operations that replace @original
 * @test: the test
 * @act: runs before each read, if not NULL
 * @reads: number of reads so far
 * @fail_at: the read that fails; 1 is the first
 * @nap: how long a read sleeps, in us
 */
struct file_watch {
	const struct file_operations	*original;
	void				*fops;
	struct kunit			*test;
	void (*act)(struct kunit *test);
	unsigned int			reads;
	unsigned int			fail_at;
	unsigned int			nap;
};

extern struct file_watch watch;

void watch_image(struct kunit *test, void (*act)(struct kunit *test));
void set_reads(const struct file_operations *original, struct file_operations *fops,
	       bool read_iter, bool read);

#endif /* FILE_WATCH_H */
