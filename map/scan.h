/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scan makes a new map from the VMAs of a process. See map/scan.c. */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include <linux/mm_types.h>

#include "map/process.h"

struct file;
struct folio;

/* File parts that one scan reads into the page cache. With half, new programs need more scans. */
#define SFU_MAX_COLD	8

/* The pages of files that one scan maps or reads ahead, and its limits. See map/prefault.c. */
struct sfu_prefault {
	unsigned long		bytes;		/* bytes of pages that the scan may still examine */
	unsigned int		nr_examined;	/* pages that the scan has examined */
	unsigned int		nr_mapped;	/* pages that the scan has made present */
	bool			lacks_memory;	/* no memory for page tables: allocate no more */
	unsigned int		nr_cold;	/* number of entries of @cold in use */
	loff_t			bytes_cold;	/* total length of the parts in @cold, in bytes */
	struct sfu_cold_file {			/* part of a file that is not in the page cache */
		struct file	*file;		/* the file, with a reference */
		loff_t		pos;		/* offset in the file, in bytes */
		loff_t		len;		/* length in bytes */
	}			cold[SFU_MAX_COLD];
};

/* Called in task context; may sleep. Takes mmap_lock by trylock only. */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason);

struct sfu_scan {
	struct sfu_process	*process;	/* process of current */
	struct mm_struct	*mm;		/* mm of current, with mmap_lock held */
	struct sfu_map		*last;		/* map of the process before the scan, or NULL */
	struct sfu_map		*map;		/* the map that the scan makes */
	enum sfu_scan_reason	reason;
	bool			is_inherited;	/* @last is the map of the parent of the process */
	bool			found_new;	/* found code, rows or pages that were missing */
	struct sfu_prefault	prefault;	/* pages that the scan makes present */
	unsigned int		nr_pieces;	/* pieces of code that the scan read for keeps_fp */
};

/* map/facts.c, under mmap_lock. */
enum sfu_section_state sfu_facts_locate(struct sfu_scan *scan, struct sfu_range *range,
					struct file *file);
void sfu_facts_find_keeps_fp(struct sfu_scan *scan, struct sfu_range *range);

/* map/prefault.c, under mmap_lock. */
bool sfu_prefault_can_read(struct file *file);
bool sfu_prefault_reads_ahead(const struct file *file);
int sfu_prefault_read(struct sfu_prefault *prefault, struct file *file, void *buf,
		      size_t len, loff_t pos);
struct folio *sfu_prefault_get_folio(struct sfu_prefault *prefault, struct file *file,
				     pgoff_t index);
void sfu_prefault_map(struct sfu_prefault *prefault, struct mm_struct *mm,
		      const struct file *file, unsigned long start, unsigned long end);

/* Called without mmap_lock, because it may wait for a disk. */
void sfu_prefault_finish(struct sfu_prefault *prefault);

/* map/vmas.c, under mmap_lock. */
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
