// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan of a process: makes a new map of its executable code from its VMAs.
 *
 * A task of the process scans on its way to user mode. It holds mmap_lock for reading until the new
 * map is published, so no mapping changes. If this lock is not free, or another thread scans, the
 * scan gives up. A later request repeats it.
 *
 * For each new executable VMA, the scan searches for a compiled table, or for PT_GNU_SFRAME in the
 * headers of the mapped file. It makes pages of the section present, so that samples can read them.
 * It reads only what is in memory (map/prefault.c).
 *
 * munmap() removes a VMA under mmap_lock held for writing, and calls our hook later, maybe with the
 * lock held for reading. A scan after the removal does not find the VMA. A scan before the removal
 * has published its map, which the hook updates.
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
 * Jiffies after which a sample requests a new scan, to see whether files with tables have changed.
 * With half, scans are made twice as often.
 * With the double, a program that is overwritten in place has wrong rows for longer.
 */
#define VALID_TIME	HZ

/*
 * A scan takes the time that it lasted out of the quota of its process. But other tasks may have
 * run in this time. So the scan takes out at most COST_MOST times its estimated time.
 * If COST_MOST were 2, slow scans would take out too little. If 10, more time of other tasks.
 */
#define COST_MOST	5
/* Estimated times of the parts of a scan, in ns. */
#define COST_SCAN	2000
#define COST_VMA	200
#define COST_RANGE	3500
#define COST_PAGE	1000	/* ns to add a page to the page table, and to remove it later */
#define COST_PIECE	300

static void prefault(struct sfu_scan *scan, const struct sfu_range *range, unsigned long size)
{
	const struct sfu_section *section = &range->section;

	sfu_prefault_map(&scan->prefault, scan->mm, range->vma.file, section->start,
			 section->start + min(size, section->end - section->start));
}

/*
 * Longest section, in bytes, that a scan for mmap(), munmap() or fork() reads. Only a scan for a
 * sample, if one comes, reads longer sections. If this were 32K, more samples would lack rows.
 */
#define SHORT_SECTION	SZ_64K

static bool is_left_to_sample(const struct sfu_scan *scan, const struct sfu_section *section)
{
	return scan->reason != SFU_SCAN_SAMPLE && section->end - section->start > SHORT_SECTION;
}

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
	/* A loader first maps the code, later .sframe: let mmap() of .sframe request a scan. */
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
		 * Some linkers (lld) append the .sframe sections of object files, and do not sort
		 * the functions. To find one, a walk would have to read them all: too slow. So do
		 * not use this section. User space may load a compiled table of the file, sorted.
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

/* Lets a range (one VMA of code) use the SFrame section of its file. */
static void find_mapped(struct sfu_scan *scan, struct sfu_range *range, struct file *file,
			bool is_known)
{
	struct sfu_section *section = &range->section;
	enum sfu_section_state state = atomic_read(&section->state), last = state;

	/* If the parent overwrote its .sframe after fork(), the child's copy may still be good. */
	if (!is_known || state == SFU_SECTION_PENDING ||
	    sfu_vmas_have_lost_section(scan->mm, range) ||
	    (state == SFU_SECTION_BAD && scan->is_inherited))
		state = examine_section(scan, range, file);
	if (state == SFU_SECTION_READY && !is_left_to_sample(scan, section))
		prefault(scan, range, sframe_header_span(&section->hdr));
	scan->found_new |= !is_known || state != last;
	atomic_set(&section->state, state);
}

static void forget_section(struct sfu_section *section, enum sfu_section_state state)
{
	sfu_table_put(section);
	sfu_section_reset(section, state);
}

/* Lets a range use the compiled table of its file; or of the vDSO, if @file is NULL. */
static bool use_table(struct sfu_scan *scan, struct sfu_range *range, const struct file *file)
{
	struct sfu_section *section = &range->section;
	struct sfu_section found = {};
	enum sfu_files_answer answer;

	answer = sfu_files_find_table(file, range->start, range->vma.offset, &found);
	if (answer == SFU_FILE_HAS_TABLE) {
		scan->found_new |= section->table != found.table || section->bias != found.bias;
		sfu_table_put(section);
		/* @section takes over @found, with its references. */
		*section = found;
		atomic_set(&section->state, SFU_SECTION_READY);
		return true;
	}
	if (answer == SFU_FILE_UNKNOWN && file)
		sfu_wanted_add(file, range->start);
	/*
	 * The table of the previous map is unusable now. In state PENDING (section not read yet),
	 * find_mapped() tries .sframe of the file instead. The vDSO has no file.
	 */
	if (section->source == SFU_SOURCE_TABLE)
		forget_section(section, file ? SFU_SECTION_PENDING : SFU_SECTION_NONE);
	section->lacks_room = answer == SFU_FILE_NO_ROOM;
	return false;
}

/*
 * Returns true if the scan copies ranges from the last map without examining them again. It does
 * not do so if this is the parent's map: the child may have changed its memory.
 */
static bool is_for_new_code(const struct sfu_scan *scan)
{
	return scan->reason == SFU_SCAN_NEW_CODE && !scan->is_inherited;
}

static u8 find_last_keeps_fp(const struct sfu_map *last, const struct vm_area_struct *vma)
{
	const struct sfu_range *range;

	/* Use keeps_fp even of unmapped ranges: JIT compilers often unmap code and map it again. */
	range = last ? sfu_map_find_overlap(last, vma->vm_start, vma->vm_end) : NULL;
	return range && !range->vma.file ? range->keeps_fp : SFRAME_KEEPS_FP_UNKNOWN;
}

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
	/* If @range is a copy from the last map, it needs its own reference to its table. */
	sfu_table_get(section);
	/* A JIT table of the last map may have ended, or be the parent's: search again below. */
	if (section->source == SFU_SOURCE_JIT_TABLE)
		forget_section(section, SFU_SECTION_NONE);
	/*
	 * A forked child may have changed its .sframe. Row caches find rows by section number.
	 * A new number keeps walks of the child from using rows cached from the parent's .sframe.
	 */
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
 * Limits a section's rows to its VMA and adjoining code, without the ELF header. Linkers not aware
 * of SFrame keep rows of discarded functions at address 0, where a library has its ELF header.
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
	/* With a new section number, walks find no rows that were cached for the old bounds. */
	section->number = sfu_row_cache_new_section(&section->key_base);
}

static unsigned long valid_until(const struct sfu_scan *scan)
{
	unsigned long until = jiffies + VALID_TIME;

	/*
	 * valid_until is when the files of the map must be checked again, as they may have changed.
	 * A scan of only new code checks no other files, so it keeps this time of the last map. But
	 * the map that a process has from execve() is empty, without such a time: set a new time.
	 */
	if (is_for_new_code(scan) && scan->last && scan->last->nr_ranges &&
	    time_before(scan->last->valid_until, until))
		return scan->last->valid_until;
	return until;
}

static void find_keeps_fp(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		/* Anonymous code may be large: read it only for a sample, if a walk needed it. */
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
		/* A section has no address yet if ELF headers of its file were not in memory. */
		map->nr_sections += is_ready || (is_pending && section->start);
		map->is_incomplete |= (is_pending && !section->start) || section->lacks_room;
	}
	/* Without SFrame data, the kernel unwinds the stacks: no walk asks if code keeps FP. */
	if (map->nr_sections)
		find_keeps_fp(scan);
	atomic_long_add(map->nr_sections, &sfu_held.sections);
	sfu_process_publish(scan->process, map);
}

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
	/*
	 * In the hook of fork(), is_map_complete() tests has_new_code, then the lock. If the flag
	 * is clear and the lock free, it takes the published map as complete. So other CPUs must
	 * see that this scan holds &sfu_process.lock, before they see the flag cleared below.
	 */
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
	/*
	 * A forked child begins with its parent's map, in process->map and in inherited.map. The
	 * hook of munmap() clears process->map, then inherited.map. If this scan read process->map
	 * first, both could be cleared before it reads inherited.map. Then it would take the
	 * parent's map for the child's own. So read inherited.map first.
	 */
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
 * Scans the process of current. Returns 0, even if the quota allows no scan yet; -EAGAIN if
 * &sfu_process.lock or mmap_lock is not free; -ENOMEM. Waits for no lock of the process.
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
	/* Release the locks first: the program that sfu_jit_ask() wakes takes them by trylock. */
	sfu_jit_ask(process);
	sfu_prefault_finish(&scan.prefault);
	return err;
}
