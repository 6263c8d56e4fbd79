// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The scan: from the VMAs of a process to the ranges of a new map.
 *
 * A task of the process scans, on its way to user mode, before another instruction of it
 * runs. It holds mmap_lock for reading all the time, as a page fault does. So nothing
 * changes meanwhile, and the new map is published under the same lock.
 *
 * The scan lists the executable VMAs. For each that is new it finds PT_GNU_SFRAME in the ELF
 * headers of the file, checks the header of the section, and makes pages of the section
 * present, so that samples find them. If there is a section, it also finds out which code
 * keeps frame pointers: see sframe_text.c. Ranges that the last map knows are copied. It
 * reads only what is in memory: see sframe_prefault.c.
 *
 * munmap() removes a VMA under mmap_lock held for writing, and calls our hook later, maybe
 * with the lock held for reading only. So either the scan does not see the VMA any more, or
 * the hook finds the new map. That holds for code and for sections: the scan looks at the
 * VMAs of both.
 *
 * The task waits for nobody. If another thread scans, or holds mmap_lock for writing, the
 * scan is lost: it is counted, and left to a later request.
 *
 * A scan costs the process the time that it takes, see map/quota.c. Other tasks may run meanwhile,
 * so it costs no more than COST_MOST times an estimate from the number of VMAs, files and pages.
 * What it asks file systems to read is estimated: that comes after it.
 */
#include <linux/elf.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "table/file.h"
#include "map/headers.h"
#include "table/jit.h"
#include "map/map.h"
#include "map/prefault.h"
#include "map/process.h"
#include "map/scan.h"
#include "sframe_stats.h"
#include "table/table.h"
#include "map/text.h"
#include "table/wanted.h"

/* How long a map is valid that uses tables of files, which may change. */
#define VALID_TIME	HZ

/*
 * The estimated costs of the parts of a scan, in ns; of a page also that of its removal. A slow
 * processor may take COST_MOST times as long.
 */
#define COST_MOST	5
#define COST_SCAN	2000
#define COST_VMA	100
#define COST_RANGE	1500
#define COST_FILE	2000
#define COST_PAGE	1000
#define COST_TEXT	300

/* A section of more bytes is left alone by a scan that no sample has requested. */
#define SHORT_SECTION	SZ_64K

/* Pieces of code that one scan reads. Most files need 10, and none more than 32. */
#define TEXT_SAMPLED		1024
#define TEXT_UNSAMPLED		64

/* The address of code for which the place of its section is remembered. */
#define FACTS_BASE		BIT_ULL(62)

/* Executable VMAs that a scan lists. If there are more, it looks twice for the others. */
#define MAX_LISTED		48

/**
 * struct sfu_scan - the state of one scan
 * @process: the process
 * @mm: its memory
 * @last: its map so far, or NULL
 * @is_borrowed: @last is the map of the parent
 * @map: its new map
 * @reason: why the process is scanned
 * @was_outdated: @last was not valid any more
 * @found_new: the scan has found or brought in something that @last does not have
 * @started: when the scan has begun, in ns
 * @cost: so far, in ns
 * @prefault: pages of sections
 * @headers: those of the file that the scan has read last
 * @nr_pieces: pieces of code that the scan has read
 * @nr_listed: executable VMAs, of which @listed has the first
 * @listed: under mmap_lock
 */
struct sfu_scan {
	struct sfu_process	*process;
	struct mm_struct	*mm;
	struct sfu_map		*last;
	struct sfu_map		*map;
	enum sfu_scan_reason	reason;
	bool			is_borrowed;
	bool			was_outdated;
	bool			found_new;
	s64			started;
	s64			cost;
	struct sfu_prefault	prefault;
	struct sfu_headers	headers;
	unsigned int		nr_pieces;
	unsigned int		nr_listed;
	struct vm_area_struct	*listed[MAX_LISTED];
};

/* Which part of which file is this range? False: nothing can be remembered about it. */
static bool identify_code(const struct sfu_range *range, struct file *file,
			  struct sfu_code_id *code)
{
	code->offset = range->vma.offset;
	code->size = range->end - range->start;
	return sfu_prefault_can_read(file) && sfu_file_identify(file_inode(file), &code->file) &&
	       sfu_file_has_settled(&code->file);
}

/*
 * Reads the headers of the file to find the section that describes the range. The facts may
 * not depend on the address that one process has chosen, so another one is used here.
 */
static void read_facts(struct sfu_scan *scan, const struct sfu_range *range,
		       struct file *file, struct sfu_code_facts *facts)
{
	u64 start = 0, end = 0;

	facts->err = sfu_headers_find_section(&scan->headers, &scan->prefault, file, FACTS_BASE,
					      range->vma.offset, &start, &end);
	facts->section_off = start - FACTS_BASE;
	facts->section_size = end - start;
}

/*
 * Finds the facts about the code of a range: those that are remembered, or those in the headers of
 * the file, which are then remembered. Returns false if nothing can be remembered about it.
 */
static bool find_facts(struct sfu_scan *scan, const struct sfu_range *range, struct file *file,
		       struct sfu_code_id *code, struct sfu_code_facts *facts)
{
	bool has_id = identify_code(range, file, code);

	if (has_id && sfu_file_find(code, facts))
		return true;
	read_facts(scan, range, file, facts);
	if (!has_id || facts->err == -EAGAIN || facts->err == -ENOMEM)
		return false;
	sfu_file_remember(code, facts);
	return true;
}

/* Finds the place of the section that describes the range, and the habit if it is known. */
static int locate_section(struct sfu_scan *scan, struct sfu_range *range, struct file *file)
{
	struct sfu_code_facts facts = {};
	struct sfu_code_id code;
	u64 start, end;

	find_facts(scan, range, file, &code, &facts);
	range->habit = facts.habit ?: range->habit;
	if (facts.err)
		return facts.err;
	start = range->start + facts.section_off;
	end = start + facts.section_size;
	/* Not access_ok(): on arm64 it accepts tagged addresses in some tasks. */
	if (start > end || end > TASK_SIZE_MAX)
		return -EBADMSG;
	range->section.start = start;
	range->section.end = end;
	range->section.source = SFU_SOURCE_MAPPED;
	return 0;
}

/* The mapping of @file that has this address, or NULL. */
static struct vm_area_struct *find_mapping(struct mm_struct *mm, unsigned long addr,
					   const struct file *file)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr && vma->vm_file == file ? vma : NULL;
}

static bool section_is_mapped(struct mm_struct *mm, const struct sfu_range *range)
{
	const struct file *file = range->vma.file;
	unsigned long last = range->section.end - 1;
	struct vm_area_struct *vma = find_mapping(mm, range->section.start, file);

	return vma && (last < vma->vm_end || find_mapping(mm, last, file));
}

static void prefault(struct sfu_scan *scan, const struct sfu_range *range, unsigned long size)
{
	const struct sfu_section *section = &range->section;

	sfu_prefault_map(&scan->prefault, scan->mm, range->vma.file, section->start,
			 section->start + min(size, section->end - section->start));
}

/*
 * Linkers that merge sections sort the functions. Others (lld) put one section after the other: a
 * search would take too long, so only a table helps.
 */
static bool is_sorted(const struct sfu_section *section)
{
	return section->hdr.flags & SFRAME_F_FDE_SORTED;
}

static unsigned long file_offset(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff << PAGE_SHIFT;
}

/* The mapping with code of @file at @addr, or NULL. */
static struct vm_area_struct *code_at(struct mm_struct *mm, unsigned long addr,
				      const struct file *file)
{
	struct vm_area_struct *vma = find_mapping(mm, addr, file);

	return vma && vma->vm_flags & VM_EXEC ? vma : NULL;
}

/* What row caches know of the section of a range, if anything, counts no more. */
static void renumber(struct sfu_section *section)
{
	section->number = sfu_row_cache_new_section(&section->key_base);
}

/*
 * An entry counts only in the code that is mapped here. Linkers that do not know SFrame keep those
 * of discarded functions at address 0, where the header of the file is: no code begins in it.
 * mprotect() may have split the code, and a function may lie in two parts. The other part may come
 * and go while this range stays: what walks remember of the range is then forgotten.
 */
static void set_code_bounds(struct sfu_scan *scan, struct sfu_range *range)
{
	struct vm_area_struct *before = code_at(scan->mm, range->start - 1, range->vma.file);
	struct vm_area_struct *after = code_at(scan->mm, range->end, range->vma.file);
	u64 start = range->start, end = range->end, offset = range->vma.offset;
	struct sframe_header *hdr = &range->section.hdr;

	if (after && offset + (end - start) == file_offset(after))
		end = after->vm_end;
	if (before && file_offset(before) + (before->vm_end - before->vm_start) == offset) {
		start = before->vm_start;
		offset = file_offset(before);
	}
	if (!offset)
		start += sizeof(struct elf64_hdr);
	if (hdr->code_start == start && hdr->code_end == end)
		return;
	hdr->code_start = start;
	hdr->code_end = end;
	renumber(&range->section);
}

/* Returns the state of a section that is mapped. */
static enum sfu_section_state check_section(struct sfu_scan *scan, struct sfu_range *range)
{
	enum sframe_defect defect;

	prefault(scan, range, sizeof(struct sframe_raw_header));
	switch (sfu_section_check(&range->section, &defect)) {
	case 0:
		return is_sorted(&range->section) ? SFU_SECTION_READY : SFU_SECTION_NONE;
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
 * A long section would not be made present without a sample, so that its header is not
 * examined either.
 */
static bool is_left_to_sample(const struct sfu_scan *scan, const struct sfu_range *range)
{
	return scan->reason != SFU_SCAN_SAMPLE &&
	       range->section.end - range->section.start > SHORT_SECTION;
}

/* Returns the state of the section that describes a range, after a look at it. */
static enum sfu_section_state examine_section(struct sfu_scan *scan, struct sfu_range *range,
					      struct file *file)
{
	int err;

	err = range->section.start ? 0 : locate_section(scan, range, file);
	switch (err) {
	case 0:
		break;
	case -EAGAIN:
	case -ENOMEM:
		return SFU_SECTION_PENDING;
	case -EBADMSG:
		sfu_count(defects[SFRAME_DEFECT_SEGMENT]);
		return SFU_SECTION_BAD;
	default:
		return SFU_SECTION_NONE;
	}
	if (section_is_mapped(scan->mm, range))
		return is_left_to_sample(scan, range) ? SFU_SECTION_PENDING :
							check_section(scan, range);
	/* A loader maps the code of a file first, and the part with the section a moment later. */
	sfu_process_await(scan->process, range->section.start, range->section.end);
	return SFU_SECTION_PENDING;
}

static bool is_of_vma(const struct sfu_range *range, const struct vm_area_struct *vma)
{
	return range->start == vma->vm_start && range->end == vma->vm_end &&
	       range->vma.file == vma->vm_file && range->vma.offset == file_offset(vma);
}

/*
 * Finds the range of the last map that the scan can copy. As long as the range is not
 * unmapped, its file is mapped: no other file can have the address of that struct file.
 */
static struct sfu_range *find_known(struct sfu_map *last, const struct vm_area_struct *vma)
{
	struct sfu_range *range = last ? sfu_map_find(last, vma->vm_start) : NULL;

	return range && is_of_vma(range, vma) ? range : NULL;
}

/*
 * Is the section of a known range not mapped any more? The hook may be about to report
 * that. Or the parent has mapped it after the child's mappings were copied.
 */
static bool has_lost_section(struct mm_struct *mm, const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY) &&
	       range->section.source == SFU_SOURCE_MAPPED && !section_is_mapped(mm, range);
}

/* The first mapping where this range is, or NULL. */
static struct vm_area_struct *find_first(struct mm_struct *mm, const struct sfu_range *range)
{
	struct vm_area_struct *vma = find_vma(mm, range->start);

	return vma && vma->vm_start < range->end ? vma : NULL;
}

/*
 * Is @vma, from find_first(), what the last scan has found, or an event said? Where a range has
 * been unmapped, there may be other code behind any other mapping.
 */
static bool is_unchanged(const struct sfu_range *range, const struct vm_area_struct *vma)
{
	if (READ_ONCE(range->unmapped))
		return !vma;
	return vma && vma->vm_flags & VM_EXEC && is_of_vma(range, vma);
}

/*
 * Does a process have the code and the sections that a map has? It may have other code, too. The
 * caller holds the map and mmap_lock.
 */
bool sfu_scan_map_matches(const struct sfu_map *map, struct mm_struct *mm)
{
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		const struct sfu_range *range = &map->ranges[i];

		if (!is_unchanged(range, find_first(mm, range)) || has_lost_section(mm, range))
			return false;
	}
	return true;
}

/* Is this the same table at the same place? */
static bool is_same_table(const struct sfu_section *a, const struct sfu_section *b)
{
	return a->table == b->table && a->bias == b->bias;
}

/*
 * Finds the resident table of a range. Tables that were loaded since the last scan are
 * found, and a file that has changed loses its table. Returns false if there is none.
 */
static bool find_table(struct sfu_scan *scan, struct sfu_range *range, const struct file *file)
{
	struct sfu_section *section = &range->section;
	struct sfu_section found = {};
	int err;

	err = sfu_table_find(file, range->start, range->vma.offset, &found);
	if (err == -ENOENT && file)
		sfu_wanted_add(file, range->start);
	if (!err && is_same_table(section, &found)) {
		section->is_of_user = found.is_of_user;
		return true;
	}
	/* Without the table of the last map, the file's own section counts; the vDSO has none. */
	if (section->source == SFU_SOURCE_RESIDENT)
		*section = (struct sfu_section){
			.state = ATOMIC_INIT(file ? SFU_SECTION_PENDING : SFU_SECTION_NONE),
		};
	section->lacks_room = err == -ENOSPC;
	if (err)
		return false;
	*section = found;
	atomic_set(&section->state, SFU_SECTION_READY);
	scan->found_new = true;
	return true;
}

/*
 * Finds the section of the file itself. The one of the parent may be bad because the parent has
 * written to its copy.
 */
static void find_mapped(struct sfu_scan *scan, struct sfu_range *range, struct file *file,
			const struct sfu_range *known)
{
	struct sfu_section *section = &range->section;
	enum sfu_section_state state = atomic_read(&section->state), last = state;

	if (!known || state == SFU_SECTION_PENDING || has_lost_section(scan->mm, range) ||
	    (state == SFU_SECTION_BAD && scan->is_borrowed)) {
		state = examine_section(scan, range, file);
	}
	if (state == SFU_SECTION_READY && !is_left_to_sample(scan, range))
		prefault(scan, range, sframe_header_span(&section->hdr));
	scan->found_new |= !known || state != last;
	atomic_set(&section->state, state);
}

/* Is what the last map has of the process to be copied? It is not, if it is the parent's. */
static bool is_for_new_code(const struct sfu_scan *scan)
{
	return scan->reason == SFU_SCAN_NEW_CODE && !scan->is_borrowed;
}

/* Is there nothing to find out about this range of the last map? */
static bool is_settled(const struct sfu_scan *scan, const struct sfu_range *range)
{
	return is_for_new_code(scan) && !has_lost_section(scan->mm, range) &&
	       !sfu_section_is(&range->section, SFU_SECTION_PENDING);
}

/* The code that the kernel has mapped into the process. */
static bool is_vdso(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	return name && !strcmp(name, "[vdso]");
}

/*
 * The habit that anonymous code had here at the last scan. A JIT changes its mappings again and
 * again: they grow, and parts become writable for a moment. What was marked as unmapped counts.
 */
static u8 find_last_habit(const struct sfu_map *last, const struct vm_area_struct *vma)
{
	unsigned int nr = last ? sfu_map_first_after(last, vma->vm_start) : 0;
	const struct sfu_range *range;

	if (!last || nr == last->nr_ranges)
		return SFRAME_HABIT_UNKNOWN;
	range = &last->ranges[nr];
	if (range->start >= vma->vm_end || range->vma.file)
		return SFRAME_HABIT_UNKNOWN;
	return range->habit;
}

/* Finds the section of code of a file, or of the vDSO. */
static void scan_file(struct sfu_scan *scan, struct vm_area_struct *vma,
		      struct sfu_range *range, const struct sfu_range *known)
{
	if (known && is_settled(scan, range))
		sfu_table_get(&range->section);
	else if (!find_table(scan, range, vma->vm_file) && vma->vm_file)
		find_mapped(scan, range, vma->vm_file, known);
}

/* Fills a range of the new map: its last state, and what the scan finds. */
static void scan_vma(struct sfu_scan *scan, struct vm_area_struct *vma,
		     struct sfu_range *range)
{
	const struct sfu_range *known = find_known(scan->last, vma);

	if (known)
		*range = *known;
	else
		*range = (struct sfu_range){
			.start = vma->vm_start,
			.end = vma->vm_end,
			.vma = { .file = vma->vm_file, .offset = file_offset(vma) },
			.is_unnamed = vma->vm_file && IS_PRIVATE(file_inode(vma->vm_file)),
		};
	/* The process may have another table by now. A child has none. */
	if (range->section.source == SFU_SOURCE_PROCESS)
		range->section = (struct sfu_section){};
	/* What the parent's section says is remembered for the parent. */
	if (scan->is_borrowed && !range->section.table)
		renumber(&range->section);
	if (vma->vm_file || is_vdso(vma))
		scan_file(scan, vma, range, known);
	else
		range->habit = range->habit ?: find_last_habit(scan->last, vma);
	if (sfu_section_is(&range->section, SFU_SECTION_NONE) &&
	    sfu_jit_find(scan->process, range->start, range->end, &range->section))
		scan->found_new |= !known || known->section.table != range->section.table;
}

static void list_code(struct sfu_scan *scan)
{
	VMA_ITERATOR(vmi, scan->mm, 0);
	struct vm_area_struct *vma;

	for_each_vma(vmi, vma) {
		scan->cost += COST_VMA;
		cond_resched();
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		if (scan->nr_listed < MAX_LISTED)
			scan->listed[scan->nr_listed] = vma;
		scan->nr_listed++;
	}
}

/* The first executable VMA from @addr on. There is one: list_code() has counted it. */
static struct vm_area_struct *next_code(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;

	for (;; addr = vma->vm_end) {
		vma = find_vma(mm, addr);
		if (vma->vm_flags & VM_EXEC)
			return vma;
	}
}

static void scan_code(struct sfu_scan *scan)
{
	struct vm_area_struct *vma = NULL;
	unsigned int i;

	for (i = 0; i < scan->map->nr_ranges; i++) {
		vma = i < MAX_LISTED ? scan->listed[i] : next_code(scan->mm, vma->vm_end);
		scan_vma(scan, vma, &scan->map->ranges[i]);
		cond_resched();
	}
}

/* Have the headers of the file not been in memory? */
static bool is_unplaced(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_PENDING) && !range->section.start;
}

/* Does the range have a section that is of use, or may be later? */
static bool may_have_section(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY) ||
	       (sfu_section_is(&range->section, SFU_SECTION_PENDING) &&
		range->section.start);
}

/*
 * Is the habit of this range to be found? Of anonymous code, of which there may be much, a scan
 * looks at what a walk has asked for.
 */
static bool needs_habit(const struct sfu_scan *scan, const struct sfu_range *range)
{
	if (range->habit != SFRAME_HABIT_UNKNOWN)
		return false;
	return range->vma.file || (range->asked && scan->reason == SFU_SCAN_SAMPLE);
}

static bool can_read_text(const struct sfu_scan *scan)
{
	return scan->nr_pieces <
	       (scan->reason == SFU_SCAN_SAMPLE ? TEXT_SAMPLED : TEXT_UNSAMPLED);
}

/* Code is read ahead only after all headers and sections: each page costs the group. */
static void read_habit(struct sfu_scan *scan, struct sfu_range *range,
		       const struct vm_area_struct *vma, bool has_id)
{
	bool may_ask = scan->reason == SFU_SCAN_SAMPLE && !scan->prefault.nr_cold;

	range->habit = sfu_text_habit(range, vma, has_id, may_ask ? &scan->prefault : NULL,
				      &scan->nr_pieces);
	range->asked = 0;
	if (range->habit == SFRAME_HABIT_UNKNOWN)
		scan->found_new |= !vma->vm_file && !range->was_read;
}

/*
 * Finds the habit of a range: that which is remembered of its file, or that of its code. The
 * headers of the file are read only with its code, which is limited.
 */
static void find_habit(struct sfu_scan *scan, struct sfu_range *range)
{
	struct vm_area_struct *vma = find_vma(scan->mm, range->start);
	struct sfu_code_facts facts = {};
	struct sfu_code_id code;
	bool has_id = vma->vm_file && identify_code(range, vma->vm_file, &code);

	if (has_id)
		sfu_file_find(&code, &facts);
	range->habit = facts.habit;
	if (range->habit == SFRAME_HABIT_UNKNOWN && can_read_text(scan))
		read_habit(scan, range, vma, has_id);
	if (range->habit == SFRAME_HABIT_UNKNOWN)
		return;
	scan->found_new = true;
	if (has_id && range->habit != facts.habit &&
	    find_facts(scan, range, vma->vm_file, &code, &facts)) {
		facts.habit = range->habit;
		sfu_file_remember(&code, &facts);
	}
}

/* Finds the habit of ranges whose habit is not known yet. */
static void find_habits(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		if (!needs_habit(scan, &map->ranges[i]))
			continue;
		find_habit(scan, &map->ranges[i]);
		cond_resched();
	}
}

/*
 * Until when is the map valid? Tables belong to files that do not change. A scan for new code
 * does not look at files that are known.
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
 * Marks the ranges in whose files any function may be without a row. After the habits are known.
 * The vDSO is no file: its functions are few, and hardly call each other.
 */
static void mark_without_data(struct sfu_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];

		range->has_no_data = range->vma.file &&
				     sfu_section_is(&range->section, SFU_SECTION_NONE) &&
				     range->habit == SFRAME_HABIT_OTHER;
	}
}

static void publish(struct sfu_scan *scan)
{
	struct sfu_map *map = scan->map;
	unsigned int i, nr_sections = 0;

	sfu_map_order_sections(map);
	for (i = 0; i < map->nr_ranges; i++) {
		nr_sections += may_have_section(&map->ranges[i]);
		if (map->ranges[i].section.table)
			map->valid_until = valid_until(scan);
		else if (sfu_section_is(&map->ranges[i].section, SFU_SECTION_READY))
			set_code_bounds(scan, &map->ranges[i]);
		map->is_incomplete |= is_unplaced(&map->ranges[i]) ||
				      map->ranges[i].section.lacks_room;
	}
	/* A process without a section is left to the kernel: nobody asks for a habit. */
	if (nr_sections)
		find_habits(scan);
	mark_without_data(map);
	sfu_map_set_nr_sections(map, nr_sections);
	sfu_process_publish(scan->process, map);
}

/* Under mmap_lock. */
static int make_map(struct sfu_scan *scan)
{
	unsigned int nr;

	list_code(scan);
	nr = min(scan->nr_listed, SFU_MAX_RANGES);
	scan->map = sfu_map_alloc(nr, SFU_GFP_TASK);
	if (!scan->map)
		return -ENOMEM;
	scan->map->generation = atomic_read_acquire(&sfu_table_generation);
	scan->found_new = !scan->last || scan->last->nr_ranges != nr;
	WRITE_ONCE(scan->process->vma_hints.has_new_code, false);
	WRITE_ONCE(scan->process->vma_hints.await_start, 0);
	WRITE_ONCE(scan->process->vma_hints.await_end, 0);
	sfu_jit_forget(scan->process, 0, 0);
	scan_code(scan);
	publish(scan);
	scan->found_new |= scan->prefault.nr_mapped;
	scan->cost += (s64)COST_RANGE * nr +
		      (s64)COST_PAGE * scan->prefault.nr_examined +
		      (s64)COST_TEXT * scan->nr_pieces +
		      (s64)COST_FILE * scan->headers.nr_files;
	return 0;
}

/* Sets when the process may be scanned again. */
static void charge_scan(const struct sfu_scan *scan)
{
	s64 taken = (s64)ktime_get_mono_fast_ns() - scan->started;
	s64 cost = clamp(taken, COST_SCAN, COST_MOST * scan->cost) +
		   scan->prefault.bytes_cold / SZ_4K * COST_PAGE;
	struct sfu_quota *quota = &scan->process->quota;

	sfu_quota_charge(quota, scan->reason, cost);
	if (scan->found_new || (scan->reason == SFU_SCAN_SAMPLE && !scan->was_outdated))
		sfu_quota_delay_samples(quota, scan->found_new);
}

/* Under &sfu_process.lock. */
static int scan_locked(struct sfu_scan *scan)
{
	struct sfu_process *process = scan->process;
	const struct sfu_map *inherited;
	int err;

	if (!sfu_quota_may_scan(&process->quota, scan->reason))
		return 0;
	if (!mmap_read_trylock(scan->mm)) {
		sfu_quota_charge_lost(&process->quota, scan->reason);
		return -EAGAIN;
	}
	scan->started = ktime_get_mono_fast_ns();
	/* Before the map, as in sfu_process_walk_map(). */
	inherited = smp_load_acquire(&process->inherited.map);
	scan->last = sfu_process_get_map(process);
	scan->is_borrowed = scan->last && scan->last == inherited;
	scan->was_outdated = scan->last && time_after(jiffies, scan->last->valid_until);
	scan->prefault.bytes = sfu_quota_may_prefault(&process->quota, scan->reason);
	err = make_map(scan);
	sfu_headers_free(&scan->headers);
	sfu_map_put(scan->last);
	mmap_read_unlock(scan->mm);
	charge_scan(scan);
	sfu_count(scans);
	return err;
}

/**
 * sfu_scan() - scan the current process
 * @process: the process; its memory is current's
 * @reason: why
 *
 * Context: Task. May sleep; tries the locks of the process and waits for none.
 * Return: 0, also if no scan is due; -EAGAIN if another task scans, or mmap_lock is held;
 * -ENOMEM.
 */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason)
{
	struct sfu_scan scan = {
		.process = process,
		.mm = current->mm,
		.reason = reason,
		.cost = COST_SCAN,
	};
	int err = -EAGAIN;

	if (mutex_trylock(&process->lock)) {
		err = scan_locked(&scan);
		mutex_unlock(&process->lock);
	}
	if (err == -EAGAIN)
		sfu_count(lost_scans);
	/* The first scan is over: the map of the parent must not be used any more. */
	sfu_process_drop_inherited(process);
	/* Now the reader finds the locks free. */
	sfu_jit_ask(process);
	sfu_prefault_finish(&scan.prefault);
	return err;
}
