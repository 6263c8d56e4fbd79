/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of mapped files, without waiting for them. See sframe_pages.c.
 */
#ifndef SFU_PAGES_H
#define SFU_PAGES_H

#include <linux/types.h>

struct file;
struct mm_struct;

/**
 * struct sfu_pages_turn - what one turn of making pages present may cost
 * @left: bytes that may still be looked at
 * @hurried: of these, the last ones, which are left once @deadline has passed
 * @deadline: in jiffies
 * @nr: pages that have been made present in it
 */
struct sfu_pages_turn {
	unsigned long	left;
	unsigned long	hurried;
	unsigned long	deadline;
	unsigned int	nr;
};

bool sfu_pages_readable(struct file *file);
int sfu_pages_read(struct file *file, void *buf, size_t len, u64 pos);
int sfu_pages_map(struct mm_struct *mm, struct file *file, unsigned long start,
		  unsigned long end, struct sfu_pages_turn *turn);

#endif /* SFU_PAGES_H */
