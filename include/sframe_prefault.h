/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of mapped files, without waiting for them. See task/sframe_prefault.c.
 */
#ifndef SFU_PREFAULT_H
#define SFU_PREFAULT_H

#include <linux/types.h>

struct file;
struct mm_struct;

/**
 * struct sfu_prefault_budget - what one scan may spend on making pages present
 * @bytes: bytes that may still be examined
 * @timed_bytes: the last of @bytes, for which @deadline holds
 * @deadline: in jiffies
 * @nr_pages: pages that the scan has made present
 */
struct sfu_prefault_budget {
	unsigned long	bytes;
	unsigned long	timed_bytes;
	unsigned long	deadline;
	unsigned int	nr_pages;
};

#define SFU_PREFAULT_MAX	(64UL << 20)	/* bytes examined in one scan */

struct sfu_prefault_budget sfu_prefault_budget(void);
bool sfu_prefault_can_read(struct file *file);
int sfu_prefault_read(struct file *file, void *buf, size_t len, u64 pos);
int sfu_prefault_map(struct mm_struct *mm, struct file *file, unsigned long start,
		     unsigned long end, struct sfu_prefault_budget *budget);

#endif /* SFU_PREFAULT_H */
