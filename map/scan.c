// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan: from the VMAs of a process to the ranges of a new map.
 *
 * A task of the process scans, on its way to user mode, before another instruction of it
 * runs. It holds mmap_lock for reading all the time, as a page fault does. So no mapping changes
 * before the new map is published under this lock.
 *
 * For each executable VMA that is new, the scan looks for a table, or for PT_GNU_SFRAME in the
 * headers of the file. It checks the header of the section, and makes pages of the section
 * present, so that samples find them. If there is a section, it also finds out which code
 * keeps frame pointers: see map/text.c. Ranges that the last map knows are copied. It
 * reads only what is in memory: see map/prefault.c.
 *
 * munmap() removes a VMA under mmap_lock held for writing, and calls our hook later, maybe with the
 * lock held for reading only. So either the scan does not see the VMA any more, or the hook finds
 * the new map. That holds for code and for sections: the scan looks at the VMAs of both.
 *
 * The task waits for no other task. If another thread scans, or holds mmap_lock for writing, the
 * scan is lost: it is counted, and left to a later request.
 *
 * A scan is charged to the quota of the process by the time that it takes, see map/quota.c. Other
 * tasks may run meanwhile, so at most COST_MOST times an estimate is charged. Pages that the scan
 * has missed are read after it: only an estimate is charged for them.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "map/map.h"
#include "map/process.h"
#include "map/scan.h"
#include "sframe_stats.h"
#include "table/table.h"
#include "table/wanted.h"

/*
 * The time for which a map is valid that uses tables of files, which may change. Half: twice the
 * scans. Twice: a program that has been replaced in place has wrong rows for 2 s.
 */
#define VALID_TIME	HZ

/*
 * The estimated costs of the parts of a scan, in ns; the cost of a page has its removal. A slow
 * processor may take COST_MOST times this time. Half or twice: a scan during which other tasks run
 * is charged too little or too much.
 */
#define COST_MOST	5
#define COST_SCAN	2000
#define COST_VMA	200
#define COST_RANGE	3500
#define COST_PAGE	1000
#define COST_PIECE	300

/* Makes pages of the first @size bytes of a section present. */
static void prefault(struct sfu_scan *scan, const struct sfu_range *range, unsigned long size)
{
	const struct sfu_section *section = &range->section;

	sfu_prefault_map(&scan->prefault, scan->mm, range->vma.file, section->start,
			 section->start + min(size, section->end - section->start));
}

/* A scan that no sample has requested leaves a section of more bytes alone. */
#define SHORT_SECTION	SZ_64K

/*
 * Returns true if the section has to wait for a sample. Its pages may be read from a disk, and most
 * programs end without a sample.
 */
static bool is_left_to_sample(const struct sfu_scan *scan, const struct sfu_section *section)
{
	return scan->reason != SFU_SCAN_SAMPLE && section->end - section->start > SHORT_SECTION;
}

/* Locates the section of a file, reads its header, and returns the new state of the section. */
static enum sfu_section_state examine_section(struct sfu_scan *scan, struct sfu_range *range,
					      struct file *file)
{
	struct sfu_section *section = &range->section;
	enum sframe_defect defect;

	if (!section->start) {
		enum sfu_section_state state = sfu_facts_locate(scan, range, file);

		if (state != SFU_SECTION_READY)
			return state;
	}
	/* A loader maps the code of a file first, and the part with the section a moment later. */
	if (!sfu_vmas_have_section(scan->mm, range)) {
		sfu_process_await(scan->process, section->start, section->end);
		return SFU_SECTION_PENDING;
	}
	if (is_left_to_sample(scan, section))
		return SFU_SECTION_PENDING;
	prefault(scan, range, sizeof(struct sframe_raw_header));
	switch (sfu_section_check(section, &defect)) {
	case 0:
		/*
		 * Linkers that merge sections sort the functions. Others (lld) put one section
		 * after the other: a search would take too long, so only a table helps.
		 */
		return section->hdr.flags & SFRAME_F_FDE_SORTED ? SFU_SECTION_READY :
								  SFU_SECTION_NONE;
	case -EFAULT:
		return SFU_SECTION_PENDING;
	case -EBADMSG:
		sfu_count(defects[defect]);
		return SFU_SECTION_BAD;
	default:
		return SFU_SECTION_NONE;
	}
}

/*
 * Finds the section in the file itself. A section that the parent has found to be bad is examined
 * again: the parent may have written to its own copy.
 */
static void find_mapped(struct sfu_scan *scan, struct sfu_range *range, struct file *file,
			bool is_known)
{
	struct sfu_section *section = &range->section;
	enum sfu_section_state state = atomic_read(&section->state), last = state;

	if (!is_known || state == SFU_SECTION_PENDING ||
	    sfu_vmas_have_lost_section(scan->mm, range) ||
	    (state == SFU_SECTION_BAD && scan->is_borrowed))
		state = examine_section(scan, range, file);
	if (state == SFU_SECTION_READY && !is_left_to_sample(scan, section))
		prefault(scan, range, sframe_header_span(&section->hdr));
	scan->found_new |= !is_known || state != last;
	atomic_set(&section->state, state);
}

/*
 * Finds the resident table of a range. Tables that were loaded since the last scan are
 * found, and a file that has changed loses its table. Returns false if there is none.
 */
static bool find_table(struct sfu_scan *scan, struct sfu_range *range, const struct file *file)
{
	struct sfu_section *section = &range->section;
	struct sfu_section found = {};
	enum sfu_table_answer answer;

	answer = sfu_table_find(file, range->start, range->vma.offset, &found);
	if (answer == SFU_TABLE_UNKNOWN && file)
		sfu_wanted_add(file, range->start);
	if (answer == SFU_TABLE_FOUND && section->table == found.table &&
	    section->bias == found.bias) {
		section->is_of_user = found.is_of_user;
		return true;
	}
	/* Without the table of the last map, the file's own section counts; the vDSO has none. */
	if (section->source == SFU_SOURCE_RESIDENT)
		sfu_section_reset(section, file ? SFU_SECTION_PENDING : SFU_SECTION_NONE);
	section->lacks_room = answer == SFU_TABLE_NO_ROOM;
	if (answer != SFU_TABLE_FOUND)
		return false;
	*section = found;
	atomic_set(&section->state, SFU_SECTION_READY);
	scan->found_new = true;
	return true;
}

/* Returns true if the scan copies known ranges of the last map, which is not the parent's. */
static bool is_for_new_code(const struct sfu_scan *scan)
{
	return scan->reason == SFU_SCAN_NEW_CODE && !scan->is_borrowed;
}

/*
 * Returns what the last scan found for anonymous code at these addresses. A JIT changes its
 * mappings again and again: they grow, and parts become writable for a moment. So a range that was
 * marked as unmapped counts, too.
 */
static u8 find_last_keeps_fp(const struct sfu_map *last, const struct vm_area_struct *vma)
{
	const struct sfu_range *range;

	range = last ? sfu_map_find_overlap(last, vma->vm_start, vma->vm_end) : NULL;
	return range && !range->vma.file ? range->keeps_fp : SFRAME_KEEPS_FP_UNKNOWN;
}

/* Fills a range of the new map: its last state, and what the scan finds. */
static void scan_vma(struct sfu_scan *scan, struct vm_area_struct *vma, struct sfu_range *range)
{
	struct sfu_section *section = &range->section;
	struct file *file = vma->vm_file;
	const struct sfu_range *known;

	known = scan->last ? sfu_map_find(scan->last, vma->vm_start) : NULL;
	if (known && !sfu_vma_is_of(vma, known))
		known = NULL;
	if (known)
		*range = *known;
	else
		*range = (struct sfu_range){
			.start = vma->vm_start,
			.end = vma->vm_end,
			.vma = { .file = file, .offset = sfu_vma_offset(vma) },
			.is_unnamed = file && IS_PRIVATE(file_inode(file)),
		};
	/* sfu_jit_find() looks for the table again: it may be over. A child has no such table. */
	if (section->source == SFU_SOURCE_PROCESS)
		sfu_section_reset(section, SFU_SECTION_NONE);
	/* The rows of the parent's section stay in row caches for the parent. */
	if (scan->is_borrowed && !section->table)
		sfu_section_renumber(section);

	if (!file && !sfu_vma_is_vdso(vma))
		range->keeps_fp = range->keeps_fp ?: find_last_keeps_fp(scan->last, vma);
	else if (known && is_for_new_code(scan) && !sfu_section_is(section, SFU_SECTION_PENDING) &&
		 !sfu_vmas_have_lost_section(scan->mm, range))
		sfu_table_get(section);
	else if (!find_table(scan, range, file) && file)
		find_mapped(scan, range, file, known);
	if (sfu_section_is(section, SFU_SECTION_NONE) &&
	    sfu_jit_find(scan->process, range->start, range->end, section))
		scan->found_new |= !known || known->section.table != section->table;
}

/*
 * Limits a section to the mapped code around its range. Linkers that do not know SFrame keep the
 * entries of discarded functions at address 0, where the header of the file is. If the code beside
 * the range has changed, row caches forget the section.
 */
static void set_code_bounds(struct sfu_scan *scan, struct sfu_range *range)
{
	struct sframe_header *hdr = &range->section.hdr;
	u64 start, end;

	sfu_vmas_find_code(scan->mm, range, &start, &end);
	if (hdr->code_start == start && hdr->code_end == end)
		return;
	hdr->code_start = start;
	hdr->code_end = end;
	sfu_section_renumber(&range->section);
}

/*
 * Returns until when the map is valid. Tables belong to files that do not change. A scan for new
 * code does not look at files that are known.
 */
static unsigned long valid_until(const struct sfu_scan *scan)
{
	unsigned long until = jiffies + VALID_TIME;

	/* The empty map of a new program knows no file. */
	if (is_for_new_code(scan) && scan->last && scan->last->nr_ranges &&
	    time_before(scan->last->valid_until, until))
		return scan->last->valid_until;
	return until;
}

/*
 * Finds &sfu_range.keeps_fp of ranges where it is not known, and marks ranges in whose files any
 * function may be without a row. There may be much anonymous code: a scan looks at what a walk has
 * asked for. The vDSO is no file: its functions are few, and hardly call each other.
 */
static void find_keeps_fp(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		if (!range->keeps_fp && (range->vma.file ||
					 (range->asked && scan->reason == SFU_SCAN_SAMPLE)))
			sfu_facts_find_keeps_fp(scan, range);
		range->has_no_data = range->vma.file && range->keeps_fp == SFRAME_KEEPS_FP_NO &&
				     sfu_section_is(&range->section, SFU_SECTION_NONE);
		cond_resched();
	}
}

static void publish(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i, nr_sections = 0;

	sfu_map_order_sections(map);
	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_section *section = &map->ranges[i].section;
		bool is_ready = sfu_section_is(section, SFU_SECTION_READY);
		bool is_pending = sfu_section_is(section, SFU_SECTION_PENDING);

		if (section->table)
			map->valid_until = valid_until(scan);
		else if (is_ready)
			set_code_bounds(scan, &map->ranges[i]);
		/* A section without a place: the headers of the file have not been in memory. */
		nr_sections += is_ready || (is_pending && section->start);
		map->is_incomplete |= (is_pending && !section->start) || section->lacks_room;
	}
	/* A process without a section is left to the kernel: no walk uses &sfu_range.keeps_fp. */
	if (nr_sections)
		find_keeps_fp(scan);
	sfu_map_set_nr_sections(map, nr_sections);
	sfu_process_publish(scan->process, map);
}

/* Makes and publishes the new map, under mmap_lock. Adds an estimate of its cost, in ns. */
static int make_map(struct sfu_scan *scan, s64 *cost)
{
	VMA_ITERATOR(counted, scan->mm, 0);
	VMA_ITERATOR(scanned, scan->mm, 0);
	struct vm_area_struct *vma;
	unsigned int i = 0, nr = 0;

	for_each_vma(counted, vma) {
		nr += vma->vm_flags & VM_EXEC ? 1 : 0;
		cond_resched();
	}
	nr = min(nr, SFU_MAX_RANGES);
	*cost += (s64)COST_VMA * scan->mm->map_count + (s64)COST_RANGE * nr;
	scan->map = sfu_map_alloc(nr, SFU_GFP_TASK);
	if (!scan->map)
		return -ENOMEM;
	scan->map->generation = atomic_read_acquire(&sfu_table_generation);
	scan->found_new = !scan->last || scan->last->nr_ranges != nr;
	/* Pairs with is_map_complete(): who sees the flag cleared sees the lock held, too. */
	smp_mb();
	WRITE_ONCE(scan->process->vma_hints.has_new_code, false);
	WRITE_ONCE(scan->process->vma_hints.await_start, 0);
	WRITE_ONCE(scan->process->vma_hints.await_end, 0);
	sfu_jit_forget(scan->process, 0, 0);
	for_each_vma(scanned, vma) {
		if (i == nr)
			break;
		if (vma->vm_flags & VM_EXEC)
			scan_vma(scan, vma, &scan->map->ranges[i++]);
		cond_resched();
	}
	publish(scan);
	scan->found_new |= scan->prefault.nr_mapped;
	*cost += (s64)COST_PAGE * scan->prefault.nr_examined + (s64)COST_PIECE * scan->nr_pieces;
	return 0;
}

/* Under &sfu_process.lock. */
static int scan_locked(struct sfu_scan *scan)
{
	struct sfu_process *process = scan->process;
	const struct sfu_map *inherited;
	s64 cost = COST_SCAN, started;
	bool was_outdated;
	int err;

	if (!sfu_quota_may_scan(&process->quota, scan->reason))
		return 0;
	if (!mmap_read_trylock(scan->mm)) {
		sfu_quota_charge_lost(&process->quota, scan->reason);
		return -EAGAIN;
	}
	started = ktime_get_mono_fast_ns();
	/* Before the map, as in sfu_process_walk_map(). */
	inherited = smp_load_acquire(&process->inherited.map);
	scan->last = sfu_process_get_map(process);
	scan->is_borrowed = scan->last && scan->last == inherited;
	was_outdated = scan->last && time_after(jiffies, scan->last->valid_until);
	scan->prefault.bytes = sfu_quota_may_prefault(&process->quota, scan->reason);
	err = make_map(scan, &cost);
	sfu_map_put(scan->last);
	mmap_read_unlock(scan->mm);
	cost = clamp((s64)ktime_get_mono_fast_ns() - started, COST_SCAN, COST_MOST * cost) +
	       scan->prefault.bytes_cold / SZ_4K * COST_PAGE;
	sfu_quota_charge(&process->quota, scan->reason, cost);
	if (scan->found_new || (scan->reason == SFU_SCAN_SAMPLE && !was_outdated))
		sfu_quota_delay_samples(&process->quota, scan->found_new);
	sfu_count(scans);
	return err;
}

/*
 * Scans the process of current. Returns 0, also if no scan is due; -EAGAIN if another task scans,
 * or mmap_lock is held; -ENOMEM. Task context; may sleep, but waits for no lock of the process.
 */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason)
{
	struct sfu_scan scan = { .process = process, .mm = current->mm, .reason = reason };
	int err = -EAGAIN;

	if (mutex_trylock(&process->lock)) {
		err = scan_locked(&scan);
		mutex_unlock(&process->lock);
	}
	if (err == -EAGAIN)
		sfu_count(lost_scans);
	/* After the first scan, the map of the parent must not be used any more. */
	sfu_process_drop_inherited(process);
	/* The reader finds the locks free, because this scan has dropped them. */
	sfu_jit_ask(process);
	sfu_prefault_finish(&scan.prefault);
	return err;
}
