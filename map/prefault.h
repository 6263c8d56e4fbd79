/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of mapped files, without waiting for them. See map/prefault.c. */
#ifndef SFU_PREFAULT_H
#define SFU_PREFAULT_H

#include <linux/types.h>

struct file;
struct folio;
struct mm_struct;

/* Parts of files that one scan has missed. Half: a new program needs more scans. Twice: memory. */
#define SFU_MAX_COLD	8

/*
 * What one scan does to make pages present. @lacks_memory: there was no memory for a page table, so
 * the scan tries no other: each try would cost the control group much.
 */
struct sfu_prefault {
	unsigned long		bytes;		/* that may still be examined */
	unsigned int		nr_examined;	/* pages */
	unsigned int		nr_mapped;	/* pages that the scan has made present */
	bool			lacks_memory;
	unsigned int		nr_cold;	/* parts in @cold */
	loff_t			bytes_cold;	/* bytes of these parts */
	struct sfu_cold_file {			/* a part of a file, not in the page cache */
		struct file	*file;		/* referenced */
		loff_t		pos;		/* in bytes */
		loff_t		len;
	}			cold[SFU_MAX_COLD];
};

/* Under mmap_lock. */
bool sfu_prefault_can_read(struct file *file);
bool sfu_prefault_reads_ahead(const struct file *file);
int sfu_prefault_read(struct sfu_prefault *prefault, struct file *file, void *buf,
		      size_t len, loff_t pos);
struct folio *sfu_prefault_get_folio(struct sfu_prefault *prefault, struct file *file,
				     pgoff_t index);
void sfu_prefault_map(struct sfu_prefault *prefault, struct mm_struct *mm,
		      const struct file *file, unsigned long start, unsigned long end);

/* Without mmap_lock. */
void sfu_prefault_finish(struct sfu_prefault *prefault);

#endif /* SFU_PREFAULT_H */
