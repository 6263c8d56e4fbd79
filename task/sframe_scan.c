// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan: from the VMAs of a process to the ranges of a new map.
 *
 * A scan lists the executable VMAs under mmap_lock. Then, without the lock, it finds
 * PT_GNU_SFRAME in the ELF headers of each new file, checks the header of the section
 * and makes the pages of the section present, so that samples find them. It waits for
 * no file: see sframe_prefault.c. Ranges that the last map knows are copied.
 *
 * The mappings may change meanwhile. So the scan compares each range with its VMA once
 * more, under mmap_lock held for reading, and publishes the map under the same lock.
 * munmap() removes a VMA under that lock held for writing, before it calls our hook. So
 * either the scan does not see the VMA any more, or the hook finds the new map.
 *
 * A scan runs in one of three ways:
 *   - in the process itself, on its way back to user mode, before another instruction of
 *     it runs: for a sample that has interrupted user mode, or for an event (new code, a
 *     new process);
 *   - in a worker, which borrows the memory of the process;
 *   - directly, where the unwinder itself may sleep.
 *
 * Limits. An executable address that the map does not have costs a request. If a scan
 * finds nothing new, the process waits before the next one, twice as long each time. A
 * process spends at most half of its time on scans that samples request.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "sframe_elf.h"
#include "sframe_map.h"
#include "sframe_prefault.h"
#include "sframe_process.h"
#include "sframe_scan.h"
#include "sframe_stats.h"

#define SCAN_WAIT_MAX	HZ		/* between scans that find nothing new */
#define SCAN_RETRIES	3		/* if the mappings change meanwhile */

/**
 * struct found_vma - a VMA as it was listed; ranges of the new map have the same order
 * @file: referenced; NULL: anonymous
 * @is_known: the range is a copy from the last map
 */
struct found_vma {
	struct file	*file;
	bool		is_known;
};

/**
 * struct sfu_scan - the state of one scan
 * @process: the process
 * @last: its map so far, or NULL
 * @recheck: check known sections again, and make their pages present: a sample has
 *	missed something, or the process is new and its page tables are empty
 * @has_news: the scan has found or brought in something that @last does not have
 * @budget: for pages of sections
 */
struct sfu_scan {
	struct sfu_process		*process;
	struct sfu_map			*last;
	bool				recheck;
	bool				has_news;
	struct sfu_prefault_budget	budget;
};

/* Counts a defect, and lets a later scan examine the range again. */
static int count_defect(struct sfu_range *range, enum sframe_defect defect)
{
	range->rescan = true;
	sfu_count(defects[defect]);
	return -ENOEXEC;
}

static int read_phdrs(struct file *file, struct elf64_phdr **phdrs, unsigned int *nr)
{
	struct elf64_hdr ehdr;
	int err;

	err = sfu_prefault_read(file, &ehdr, sizeof(ehdr), 0) ?:
	      sframe_elf_check_header(&ehdr);
	if (err)
		return err;
	*nr = ehdr.e_phnum;
	*phdrs = kcalloc(*nr, sizeof(**phdrs), GFP_KERNEL);
	if (!*phdrs)
		return -ENOMEM;
	err = sfu_prefault_read(file, *phdrs, *nr * sizeof(**phdrs), ehdr.e_phoff);
	if (err)
		kfree(*phdrs);
	return err;
}

static int place_section(struct sfu_range *range, const struct elf64_phdr *phdrs,
			 unsigned int nr)
{
	u64 start, end;
	int err;

	err = sframe_elf_find_section(phdrs, nr, PAGE_SIZE, range->vma.start,
				      range->vma.offset, &start, &end);
	if (err == -ENOENT)
		return -ENOEXEC;
	if (err || !access_ok((void __user *)start, end - start))
		return count_defect(range, SFRAME_DEFECT_SEGMENT);
	range->section.start = start;
	range->section.end = end;
	range->section.source = SFU_SOURCE_MAPPED;
	return 0;
}

/* Finds the place of the section that describes the range. */
static int locate_section(struct sfu_range *range, struct file *file)
{
	struct elf64_phdr *phdrs;
	unsigned int nr;
	int err;

	if (!file || !sfu_prefault_can_read(file))
		return -ENOEXEC;
	err = read_phdrs(file, &phdrs, &nr);
	if (err)
		return err;
	err = place_section(range, phdrs, nr);
	kfree(phdrs);
	return err;
}

/* The VMA of @file that covers @addr, or NULL. Under mmap_lock. */
static struct vm_area_struct *find_file_vma(struct mm_struct *mm, unsigned long addr,
					    const struct file *file)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);
	vma = find_vma(mm, addr);
	return vma && vma->vm_start <= addr && vma->vm_file == file ? vma : NULL;
}

/* Under mmap_lock. */
static bool section_is_mapped(struct mm_struct *mm, const struct sfu_range *range)
{
	return find_file_vma(mm, range->section.start, range->vma.file) &&
	       find_file_vma(mm, range->section.end - 1, range->vma.file);
}

/*
 * Another file may be mapped where the section should be. A section that is READY would
 * then fail is_still_mapped() in every publish().
 */
static int check_mapping(struct mm_struct *mm, struct sfu_range *range)
{
	bool is_mapped;

	mmap_read_lock(mm);
	is_mapped = section_is_mapped(mm, range);
	mmap_read_unlock(mm);
	return is_mapped ? 0 : count_defect(range, SFRAME_DEFECT_SEGMENT);
}

/* Makes pages of the section present. Without them samples are lost, nothing else. */
static void prefault_section(struct sfu_scan *scan, const struct sfu_range *range,
			     struct file *file)
{
	unsigned long start = range->section.start;
	unsigned long size = min(sframe_header_span(&range->section.hdr), SFU_PREFAULT_MAX);
	unsigned int before = scan->budget.nr_pages;

	sfu_prefault_map(scan->process->mm, file, start, start + size, &scan->budget);
	scan->has_news |= scan->budget.nr_pages > before;
}

static int prefault_header(struct sfu_scan *scan, struct sfu_range *range,
			   struct file *file)
{
	unsigned long start = range->section.start;
	unsigned long size = min(range->section.end - start,
				 sizeof(struct sframe_raw_header));
	int err = sfu_prefault_map(scan->process->mm, file, start, start + size,
				   &scan->budget);

	return err == -EFAULT ? count_defect(range, SFRAME_DEFECT_SEGMENT) : err;
}

static int check_section(struct sfu_scan *scan, struct sfu_range *range,
			 struct file *file)
{
	enum sframe_defect defect;
	int err;

	err = prefault_header(scan, range, file);
	if (err)
		return err;
	switch (sfu_section_check(&range->section, &defect)) {
	case 0:
		return 0;
	case -EFAULT:		/* The page was there a moment ago. */
		return -EAGAIN;
	case -EBADMSG:
		return count_defect(range, defect);
	default:
		return -ENOEXEC;
	}
}

/*
 * Finds the section of a new range. Without mmap_lock: reads the file and the memory of
 * the process. If the section should be mapped and is not, it may be mapped later: so
 * its place is kept in the range.
 */
static void find_section(struct sfu_scan *scan, struct sfu_range *range,
			 struct file *file)
{
	int err;

	err = locate_section(range, file) ?:
	      check_mapping(scan->process->mm, range) ?:
	      check_section(scan, range, file);
	if (err == -EAGAIN || err == -ENOMEM) {
		range->rescan = true;
		atomic_set(&range->section.state, SFU_SECTION_PENDING);
	} else if (!err) {
		atomic_set(&range->section.state, SFU_SECTION_READY);
	}
}

static unsigned int count_vmas(struct mm_struct *mm)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;
	unsigned int nr = 0;

	mmap_read_lock(mm);
	for_each_vma(vmi, vma)
		nr += !!(vma->vm_flags & VM_EXEC);
	mmap_read_unlock(mm);
	return nr;
}

static struct sfu_vma_id vma_id(const struct vm_area_struct *vma)
{
	return (struct sfu_vma_id){
		.start = vma->vm_start,
		.end = vma->vm_end,
		.file = vma->vm_file,
		.offset = vma->vm_pgoff << PAGE_SHIFT,
	};
}

static bool is_same_vma(const struct sfu_vma_id *a, const struct sfu_vma_id *b)
{
	return a->start == b->start && a->end == b->end && a->file == b->file &&
	       a->offset == b->offset;
}

/*
 * Finds the range of the last map that the scan can copy. Under mmap_lock. As long as
 * the range is not unmapped, its file is mapped: no other file can have the address of
 * that struct file.
 */
static struct sfu_range *find_known(struct sfu_map *last, const struct sfu_vma_id *vma)
{
	struct sfu_range *range = last ? sfu_map_find(last, vma->start) : NULL;

	return range && !range->rescan && is_same_vma(&range->vma, vma) ? range : NULL;
}

static void list_vma(const struct sfu_scan *scan, struct vm_area_struct *vma,
		     struct sfu_range *range, struct found_vma *found)
{
	struct sfu_vma_id id = vma_id(vma);
	const struct sfu_range *known = find_known(scan->last, &id);

	found->is_known = known;
	found->file = vma->vm_file ? get_file(vma->vm_file) : NULL;
	if (known)
		*range = *known;
	else
		*range = (struct sfu_range){ .start = id.start, .end = id.end, .vma = id };
}

/* Fills both arrays, as far as they go. */
static void list_vmas(const struct sfu_scan *scan, struct sfu_map *map,
		      struct found_vma *found)
{
	VMA_ITERATOR(vmi, scan->process->mm, 0);
	struct mm_struct *mm = scan->process->mm;
	struct vm_area_struct *vma;
	unsigned int nr = 0;

	mmap_read_lock(mm);
	for_each_vma(vmi, vma) {
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (nr == map->nr_ranges)
			break;
		list_vma(scan, vma, &map->ranges[nr], &found[nr]);
		nr++;
	}
	mmap_read_unlock(mm);

	/* If there are fewer than counted, the rest is empty and after all addresses. */
	for (; nr < map->nr_ranges; nr++) {
		map->ranges[nr].start = ULONG_MAX;
		map->ranges[nr].end = ULONG_MAX;
	}
}

/* Is the range as it was listed? Under mmap_lock. */
static bool is_still_mapped(struct mm_struct *mm, const struct sfu_range *range)
{
	struct vm_area_struct *vma;
	struct sfu_vma_id id;

	if (range->start == ULONG_MAX)
		return true;
	vma = find_file_vma(mm, range->vma.start, range->vma.file);
	if (!vma)
		return false;
	id = vma_id(vma);
	if (!is_same_vma(&range->vma, &id))
		return false;
	return !sfu_section_is(&range->section, SFU_SECTION_READY) ||
	       section_is_mapped(mm, range);
}

/* May the range have a section that is of use? */
static bool may_have_section(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY) ||
	       sfu_section_is(&range->section, SFU_SECTION_PENDING);
}

/*
 * Publishes the ranges that are still mapped. The others are marked as unmapped;
 * -EAGAIN then says that the map is already old.
 */
static int publish(struct sfu_scan *scan, struct sfu_map *map,
		   const struct found_vma *found)
{
	struct sfu_process *process = scan->process;
	unsigned int i, nr_sections = 0;
	bool rescan_needed = false;
	int err = 0;

	mmap_read_lock(process->mm);
	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		if (!is_still_mapped(process->mm, range) ||
		    (found[i].is_known && !find_known(scan->last, &range->vma))) {
			sfu_range_mark_unmapped(range);
			err = -EAGAIN;
		}
		nr_sections += may_have_section(range);
		rescan_needed |= range->rescan;
	}
	sfu_map_set_sections(map, nr_sections);
	sfu_process_publish(process, map);
	if (rescan_needed)
		WRITE_ONCE(process->rescan_needed, true);
	mmap_read_unlock(process->mm);
	return err;
}

/* Does the range have anything that the last map does not have? */
static bool is_news(const struct sfu_scan *scan, const struct sfu_range *range)
{
	struct sfu_range *last;

	last = scan->last ? sfu_map_find(scan->last, range->start) : NULL;
	return !last || last->start != range->start || last->end != range->end ||
	       last->section.start != range->section.start ||
	       atomic_read(&last->section.state) != atomic_read(&range->section.state);
}

/* Checks the header of a known section once more. */
static void recheck_section(struct sfu_scan *scan, struct sfu_range *range,
			    struct file *file)
{
	if (range->section.start && check_section(scan, range, file) == -ENOEXEC)
		atomic_set(&range->section.state, SFU_SECTION_NONE);
}

/* Gives the rows of a range their keys in the rule cache. */
static void assign_keys(struct sfu_scan *scan, struct sfu_range *range)
{
	u64 key = sfu_process_new_keys(scan->process, range->end - range->start);

	range->section.has_keys = key;
	range->section.key_base = key - range->start;
}

static void scan_range(struct sfu_scan *scan, struct sfu_range *range,
		       const struct found_vma *found)
{
	struct sfu_section *section = &range->section;

	if (!found->is_known) {
		find_section(scan, range, found->file);
		scan->has_news |= is_news(scan, range);
	} else if (scan->recheck) {
		recheck_section(scan, range, found->file);
	}
	if (!sfu_section_is(section, SFU_SECTION_READY))
		return;
	if (!found->is_known || scan->recheck)
		prefault_section(scan, range, found->file);
	if (!found->is_known)
		assign_keys(scan, range);
	sfu_process_add_cache(scan->process);
}

static int scan_once(struct sfu_scan *scan)
{
	unsigned int i, nr = count_vmas(scan->process->mm);
	struct found_vma *found;
	struct sfu_map *map;
	int err;

	found = kvcalloc(nr, sizeof(*found), GFP_KERNEL_ACCOUNT);
	map = sfu_map_alloc(nr, GFP_KERNEL_ACCOUNT);
	if (!found || !map) {
		sfu_map_put(map);
		kvfree(found);
		return -ENOMEM;
	}

	WRITE_ONCE(scan->process->rescan_needed, false);
	list_vmas(scan, map, found);
	for (i = 0; i < nr; i++)
		scan_range(scan, &map->ranges[i], &found[i]);
	err = publish(scan, map, found);

	for (i = 0; i < nr; i++)
		if (found[i].file)
			fput(found[i].file);
	kvfree(found);
	sfu_count(scans);
	return err;
}

/**
 * sfu_scan_is_due() - may a process be scanned again?
 * @process: the process
 *
 * Context: &sfu_process.lock held.
 * Return: false while the process has to wait.
 */
bool sfu_scan_is_due(const struct sfu_process *process)
{
	lockdep_assert_held(&process->lock);
	return time_after_eq(jiffies, process->scanned_at + process->wait);
}

/**
 * sfu_scan_process() - scan a process
 * @process: the process; its memory is current's, or borrowed by current
 * @recheck: examine known sections again, and make their pages present
 *
 * Context: Task. May sleep, takes mmap_lock; the caller holds &sfu_process.lock.
 * Return: 0; -EAGAIN if the mappings keep changing (the last map is in use); -ENOMEM.
 */
int sfu_scan_process(struct sfu_process *process, bool recheck)
{
	unsigned long start = jiffies;
	struct sfu_scan scan = {
		.process = process,
		.recheck = recheck,
		.budget = sfu_prefault_budget(),
	};
	int err, i;

	for (i = 0; i < SCAN_RETRIES; i++) {
		scan.last = sfu_process_locked_map(process);
		scan.has_news |= !scan.last;
		err = scan_once(&scan);
		if (err != -EAGAIN)
			break;
	}

	process->scanned_at = jiffies;
	process->wait = scan.has_news ? 0 : clamp(2 * process->wait, 1, SCAN_WAIT_MAX);
	process->wait = max(process->wait, process->scanned_at - start);
	return err;
}

/**
 * sfu_scan_mm() - scan a process for a sample, if a scan is due
 * @mm: memory of the process, which is current's, or borrowed by current
 * @seen: the map in which the sample has missed something, or NULL; only compared, for
 *	it may have been freed
 *
 * Context: Task. May sleep, takes mmap_lock.
 * Return: 0, also if another scan has replaced @seen or none is due yet; -EAGAIN if the
 * mappings keep changing (the last map is in use); -ENOMEM.
 */
int sfu_scan_mm(struct mm_struct *mm, const struct sfu_map *seen)
{
	struct sfu_process *process = sfu_process_get(mm);
	int err = 0;

	if (!process)
		return -ENOMEM;

	mutex_lock(&process->lock);
	if (rcu_access_pointer(process->map) == seen && sfu_scan_is_due(process))
		err = sfu_scan_process(process, true);
	mutex_unlock(&process->lock);
	return err;
}

/**
 * sfu_scan_inherit() - copy the map of the parent for a child
 * @parent: the map of the parent
 * @mm: memory of the child, under its mmap_lock
 *
 * The parent's other threads may have changed its mappings since the child's were
 * copied. So each range is compared with the VMA of the child.
 *
 * Context: Task, does not sleep.
 * Return: The map, or NULL if there is no memory.
 */
struct sfu_map *sfu_scan_inherit(const struct sfu_map *parent, struct mm_struct *mm)
{
	struct sfu_map *map = sfu_map_alloc(parent->nr_ranges, SFU_GFP_HOOK);
	unsigned int i;

	if (!map)
		return NULL;
	for (i = 0; i < parent->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		*range = parent->ranges[i];
		if (!is_still_mapped(mm, range))
			sfu_range_mark_unmapped(range);
	}
	sfu_map_set_sections(map, parent->nr_sections);
	return map;
}
