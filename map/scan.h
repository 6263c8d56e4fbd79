/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scan of a process: from its VMAs to a new map. See map/scan.c. */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include <linux/mm_types.h>

#include "map/keeps_fp.h"
#include "map/quota.h"
#include "map/section.h"

struct file;
struct folio;
struct sfu_map;
struct sfu_process;
struct sfu_range;

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

/* Task context: may sleep, and tries mmap_lock. */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason);

/* The state of one scan. */
struct sfu_scan {
	struct sfu_process	*process;
	struct mm_struct	*mm;
	struct sfu_map		*last;		/* the map before the scan, or NULL */
	struct sfu_map		*map;		/* the new map */
	enum sfu_scan_reason	reason;
	bool			is_borrowed;	/* @last is the map of the parent */
	bool			found_new;	/* something that @last does not have */
	struct sfu_prefault	prefault;	/* pages of sections */
	unsigned int		nr_pieces;	/* pieces of code that the scan has read */
};

/* Facts about the code of a range, see map/facts.c. */
enum sfu_section_state sfu_facts_locate(struct sfu_scan *scan, struct sfu_range *range,
					struct file *file);
void sfu_facts_find_keeps_fp(struct sfu_scan *scan, struct sfu_range *range);

/* Pages of files, see map/prefault.c. Under mmap_lock. */
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

/* VMAs of a process, compared with ranges of a map, see map/vmas.c. Under mmap_lock. */
bool sfu_vma_is_vdso(struct vm_area_struct *vma);
bool sfu_vma_is_of(const struct vm_area_struct *vma, const struct sfu_range *range);
bool sfu_vmas_have_section(struct mm_struct *mm, const struct sfu_range *range);
bool sfu_vmas_have_lost_section(struct mm_struct *mm, const struct sfu_range *range);
bool sfu_vmas_match(struct mm_struct *mm, const struct sfu_map *map);
void sfu_vmas_find_code(struct mm_struct *mm, const struct sfu_range *range, u64 *start, u64 *end);

static inline unsigned long sfu_vma_offset(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff << PAGE_SHIFT;
}

#endif /* SFU_SCAN_H */
