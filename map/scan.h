/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scan reads the VMAs of a process, and makes a new map of its code. See map/scan.c. */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include <linux/mm_types.h>

#include "map/process.h"

struct file;
struct folio;

/* Maximum of file parts that a scan reads ahead. With 4, new programs would need more scans. */
#define SFU_MAX_COLD	8

/* Pages of mapped files that one scan may make present, has made present, or will read ahead. */
struct sfu_prefault {
	unsigned long		bytes;		/* bytes of pages that the scan may still examine */
	unsigned int		nr_examined;	/* number of pages looked up in page tables */
	unsigned int		nr_mapped;	/* number of pages added to page tables */
	bool			lacks_memory;	/* no memory for page tables: make no more faults */
	unsigned int		nr_cold;
	loff_t			bytes_cold;	/* bytes to read ahead: total of all @len */
	struct sfu_cold_file {			/* file part to read ahead: page cache lacks it */
		struct file	*file;		/* file to read ahead, with a reference */
		loff_t		pos;
		loff_t		len;
	}			cold[SFU_MAX_COLD];
};

/* sfu_scan() is called in task context, and may sleep. It only tries to take mmap_lock. */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason);

struct sfu_scan {
	struct sfu_process	*process;	/* process of current */
	struct mm_struct	*mm;		/* mm of current; the scan holds its mmap_lock */
	struct sfu_map		*last;		/* map of the process before this scan, or NULL */
	struct sfu_map		*map;
	enum sfu_scan_reason	reason;
	bool			is_inherited;	/* @last is the parent's map, inherited at fork() */
	bool			found_new;	/* found new code, rows, keeps_fp or mapped pages */
	struct sfu_prefault	prefault;
	unsigned int		nr_pieces;	/* number of code pieces read to set keeps_fp */
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

/* sfu_prefault_finish() is called without mmap_lock, because it may wait for a disk. */
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
