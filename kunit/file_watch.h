/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the reads of the file of the scene's image: by system calls, page faults and
 * read-ahead. All of them fail. A scan uses the page cache, and reads nothing.
 */
#ifndef FILE_WATCH_H
#define FILE_WATCH_H

#include <linux/fs.h>

struct kunit;

/**
 * struct file_watch - the watch of one file; there is one at a time
 * @original: the file's own operations
 * @original_aops: those of its page cache
 * @fops: the operations that replace @original
 * @original_magic: what its file system is
 * @reads: number of reads so far
 * @bytes_ahead: bytes of them that were read ahead
 * @unlocked_reads: reads ahead during which the file could be truncated
 */
struct file_watch {
	const struct file_operations		*original;
	const struct address_space_operations	*original_aops;
	void					*fops;
	unsigned long				original_magic;
	unsigned int				reads;
	size_t					bytes_ahead;
	unsigned int				unlocked_reads;
};

extern struct file_watch watch;

void watch_image(struct kunit *test);
void set_reads(const struct file_operations *original, struct file_operations *fops,
	       bool read_iter, bool read);
void pretend_disk(struct kunit *test);

#endif /* FILE_WATCH_H */
