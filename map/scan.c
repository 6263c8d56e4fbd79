// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan of a process: makes a new map of its executable code from its VMAs.
 *
 * A task of the process scans on its way to user mode. It holds mmap_lock for reading, so no
 * mapping changes before the new map is published. If another thread scans, or holds mmap_lock for
 * writing, the scan is lost: it does not wait, and a later request repeats it.
 *
 * For each new executable VMA, the scan searches for a table, or for PT_GNU_SFRAME in the headers
 * of the file. It checks the header of the section, and makes pages of the section present, so that
 * samples can read them. If the process has any section, the scan also finds out which code keeps
 * frame pointers: see map/text.c. The scan reads only what is in memory: see map/prefault.c.
 *
 * munmap() removes a VMA under mmap_lock held for writing, and calls our hook later, maybe with the
 * lock held for reading only. So either the scan does not find the VMA any more, or the hook finds
 * the new map. The scan checks the VMAs of code and of sections, so this is true for both.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "map/scan.h"
#include "sframe_stats.h"
#include "table/table.h"
#include "table/wanted.h"

/*
 * How long a map that uses tables of files is valid. With half, there are twice as many scans; with
 * the double, a program that is replaced in place has wrong rows for 2 s.
 */
#define VALID_TIME	HZ

/*
 * Estimated costs of the parts of a scan, in ns; COST_PAGE includes the later removal of the page.
 * The quota is charged the time of the scan, but at most COST_MOST times the estimate, because
 * other tasks may run meanwhile. With half of COST_MOST, such a scan is charged too little; with
 * the double, too much.
 */
#define COST_MOST	5
#define COST_SCAN	2000
#define COST_VMA	200
#define COST_RANGE	3500
#define COST_PAGE	1000
#define COST_PIECE	300

static void prefault(struct sfu_scan *scan, const struct sfu_range *range, unsigned long size)
{
	const struct sfu_section *section = &range->section;

	sfu_prefault_map(&scan->prefault, scan->mm, range->vma.file, section->start,
			 section->start + min(size, section->end - section->start));
}

/* Maximum length in bytes of a section that a scan without a sample may read from a disk. */
#define SHORT_SECTION	SZ_64K

/* Returns true if the section is not read before a sample: most programs end without a sample. */
static bool is_left_to_sample(const struct sfu_scan *scan, const struct sfu_section *section)
{
	return scan->reason != SFU_SCAN_SAMPLE && section->end - section->start > SHORT_SECTION;
}

/* Finds the SFrame section of a mapped file, and checks its header. Returns its new state. */
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
	/* A loader maps code first, and its section later: that mmap() requests a scan. */
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
		 * Linkers that merge .sframe sections sort the functions. Others (lld) append the
		 * sections: a search would take too long, so such code needs a table.
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
 * Uses the section of the mapped file itself. A section that was marked as bad in the parent's map
 * is examined again: the parent may have written to its own copy of the section.
 */
static void find_mapped(struct sfu_scan *scan, struct sfu_range *range, struct file *file,
			bool is_known)
{
	struct sfu_section *section = &range->section;
	enum sfu_section_state state = atomic_read(&section->state), last = state;

	if (!is_known || state == SFU_SECTION_PENDING ||
	    sfu_vmas_have_lost_section(scan->mm, range) ||
	    (state == SFU_SECTION_BAD && scan->is_inherited))
		state = examine_section(scan, range, file);
	if (state == SFU_SECTION_READY && !is_left_to_sample(scan, section))
		prefault(scan, range, sframe_header_span(&section->hdr));
	scan->found_new |= !is_known || state != last;
	atomic_set(&section->state, state);
}

/* Drops the references of a section of the new map to its table, and resets it to @state. */
static void forget_section(struct sfu_section *section, enum sfu_section_state state)
{
	sfu_table_put(section);
	sfu_section_reset(section, state);
}

/* Makes the range use the table of the file or vDSO. Returns false if there is none. */
static bool use_table(struct sfu_scan *scan, struct sfu_range *range, const struct file *file)
{
	struct sfu_section *section = &range->section;
	struct sfu_section found = {};
	enum sfu_files_answer answer;

	answer = sfu_files_find_table(file, range->start, range->vma.offset, &found);
	if (answer == SFU_FILE_HAS_TABLE) {
		scan->found_new |= section->table != found.table || section->bias != found.bias;
		/* @section drops its old references, and takes over those that @found holds. */
		sfu_table_put(section);
		*section = found;
		atomic_set(&section->state, SFU_SECTION_READY);
		return true;
	}
	if (answer == SFU_FILE_UNKNOWN && file)
		sfu_wanted_add(file, range->start);
	/* The table in the last map is gone: try the file's own section. The vDSO has none. */
	if (section->source == SFU_SOURCE_TABLE)
		forget_section(section, file ? SFU_SECTION_PENDING : SFU_SECTION_NONE);
	section->lacks_room = answer == SFU_FILE_NO_ROOM;
	return false;
}

/* Returns true if the scan copies known ranges unexamined: never those of the parent's map. */
static bool is_for_new_code(const struct sfu_scan *scan)
{
	return scan->reason == SFU_SCAN_NEW_CODE && !scan->is_inherited;
}

/* Returns keeps_fp of the last map, even of unmapped ranges: a JIT often remaps its code. */
static u8 find_last_keeps_fp(const struct sfu_map *last, const struct vm_area_struct *vma)
{
	const struct sfu_range *range;

	range = last ? sfu_map_find_overlap(last, vma->vm_start, vma->vm_end) : NULL;
	return range && !range->vma.file ? range->keeps_fp : SFRAME_KEEPS_FP_UNKNOWN;
}

/* Fills @range of the new map from the range of the last map, if any, and from what is found. */
static void scan_vma(struct sfu_scan *scan, struct vm_area_struct *vma, struct sfu_range *range)
{
	struct sfu_section *section = &range->section;
	struct file *file = vma->vm_file;
	const struct sfu_range *known;
	bool is_copied;

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
	/* From here on, the copied range has its own references of its table. */
	sfu_table_get(section);
	/* A JIT table of the last map may have ended, or be the parent's: search again. */
	if (section->source == SFU_SOURCE_JIT_TABLE)
		forget_section(section, SFU_SECTION_NONE);
	/* The child may have another section here: no cached row of the parent is for it. */
	if (scan->is_inherited && !section->table)
		section->number = sfu_row_cache_new_section(&section->key_base);

	is_copied = known && is_for_new_code(scan) &&
		    !sfu_section_is(section, SFU_SECTION_PENDING) &&
		    !sfu_vmas_have_lost_section(scan->mm, range);
	if (!file && !sfu_vma_is_vdso(vma))
		range->keeps_fp = range->keeps_fp ?: find_last_keeps_fp(scan->last, vma);
	else if (!is_copied && !use_table(scan, range, file) && file)
		find_mapped(scan, range, file, known);
	if (sfu_section_is(section, SFU_SECTION_NONE) &&
	    sfu_jit_find(scan->process, range->start, range->end, section))
		scan->found_new |= !known || known->section.table != section->table;
}

/*
 * Limits the code that a section describes to the mapped code around its range. Linkers that do not
 * know SFrame keep the entries of discarded functions at address 0, where the ELF header is.
 */
static void set_code_bounds(struct sfu_scan *scan, struct sfu_range *range)
{
	struct sfu_section *section = &range->section;
	struct sframe_header *hdr = &section->hdr;
	u64 start, end;

	sfu_vmas_find_code(scan->mm, range, &start, &end);
	if (hdr->code_start == start && hdr->code_end == end)
		return;
	hdr->code_start = start;
	hdr->code_end = end;
	/* With a new number, rows of the section in row caches are not found any more. */
	section->number = sfu_row_cache_new_section(&section->key_base);
}

/* Returns the end of the new map's validity: as before if the scan checks no known files again. */
static unsigned long valid_until(const struct sfu_scan *scan)
{
	unsigned long until = jiffies + VALID_TIME;

	/* The empty map of a new program has no files to check: its time is not kept. */
	if (is_for_new_code(scan) && scan->last && scan->last->nr_ranges &&
	    time_before(scan->last->valid_until, until))
		return scan->last->valid_until;
	return until;
}

/*
 * Sets &sfu_range.keeps_fp where it is not known, and &sfu_range.has_no_data. Of anonymous code,
 * which may be large, only ranges are examined in which a walk needed keeps_fp.
 */
static void find_keeps_fp(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		if (!range->keeps_fp && (range->vma.file ||
					 (range->missed_addr && scan->reason == SFU_SCAN_SAMPLE)))
			sfu_facts_find_keeps_fp(scan, range);
		range->has_no_data = range->vma.file && range->keeps_fp == SFRAME_KEEPS_FP_NO &&
				     sfu_section_is(&range->section, SFU_SECTION_NONE);
		cond_resched();
	}
}

static void publish(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i;

	sfu_map_order_sections(map);
	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_section *section = &map->ranges[i].section;
		bool is_ready = sfu_section_is(section, SFU_SECTION_READY);
		bool is_pending = sfu_section_is(section, SFU_SECTION_PENDING);

		if (section->table)
			map->valid_until = valid_until(scan);
		else if (is_ready)
			set_code_bounds(scan, &map->ranges[i]);
		/* A pending section without address: ELF headers were not in memory. */
		map->nr_sections += is_ready || (is_pending && section->start);
		map->is_incomplete |= (is_pending && !section->start) || section->lacks_room;
	}
	/* The kernel itself walks stacks of processes without sections, and needs no keeps_fp. */
	if (map->nr_sections)
		find_keeps_fp(scan);
	atomic_long_add(map->nr_sections, &sfu_held.sections);
	sfu_process_publish(scan->process, map);
}

/* Makes and publishes the new map. Adds the estimated cost of the scan, in ns, to @cost. */
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
	/* If is_map_complete() finds has_new_code cleared, it must find the lock held. */
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
	/* Read inherited.map before the map, as in sfu_process_walk_map(). */
	inherited = smp_load_acquire(&process->inherited.map);
	scan->last = sfu_process_get_map(process);
	scan->is_inherited = scan->last && scan->last == inherited;
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
 * Scans the process of current. Returns 0, also if the quota allows no scan yet; -EAGAIN if another
 * task scans, or mmap_lock is held; -ENOMEM. May sleep, but waits for no lock of the process.
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
	sfu_process_drop_inherited(process);
	/* This wakes the reader of the device, which only tries the locks: they are free now. */
	sfu_jit_ask(process);
	sfu_prefault_finish(&scan.prefault);
	return err;
}
