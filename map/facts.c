// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about a mapped file: where its SFrame section is, and whether its code keeps frame
 * pointers. A scan finds them in the page cache. table/file_id.c remembers them for all processes.
 */
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "map/elf.h"
#include "map/scan.h"
#include "sframe_stats.h"
#include "table/file_id.h"

/*
 * Processes map a file at different addresses. So facts (what is known of a file) store the
 * distance from code to .sframe. To find it, read_headers() assumes this address of the code.
 * The address is far from 0, because .sframe may be before the code.
 */
#define FACTS_BASE		BIT_ULL(62)

/*
 * A scan reads pieces of code (PIECE bytes, see map/text.c), to find out if code keeps frame
 * pointers. After PIECES_SAMPLED pieces, a scan for a sample leaves the other mappings to later
 * scans. A scan for mmap(), munmap() or fork() does so after PIECES_UNSAMPLED pieces. If both
 * limits were half, more mappings would wait for a later scan. If double, scans would take longer.
 */
#define PIECES_SAMPLED		1024
#define PIECES_UNSAMPLED	64

/*
 * Sets @code to the key of mapped code in the cache of facts. Facts are where .sframe is, and if
 * code keeps frame pointers. Returns @code; NULL if the file cannot be read or identified, or has
 * just changed. A further write may leave ctime, and so the key, as it is: facts would be wrong.
 */
static const struct sfu_code_id *identify_code(const struct sfu_range *range, struct file *file,
					       struct sfu_code_id *code)
{
	code->offset = range->vma.offset;
	code->size = range->end - range->start;
	return file && sfu_prefault_can_read(file) &&
	       !sfu_file_id_get(file_inode(file), &code->file) &&
	       sfu_file_id_has_settled(&code->file) ? code : NULL;
}

static void remember_facts(const struct sfu_code_id *code, const struct sfu_code_facts *facts)
{
	if (code && facts->err != -EAGAIN && facts->err != -ENOMEM)
		sfu_file_id_store_facts(code, facts);
}

static int read_headers(struct sfu_prefault *prefault, struct file *file, u64 map_offset,
			u64 *start, u64 *end)
{
	struct elf64_phdr *phdrs;
	struct elf64_hdr ehdr;
	size_t size;
	int err;

	err = sfu_prefault_read(prefault, file, &ehdr, sizeof(ehdr), 0) ?:
	      sframe_elf_check_header(&ehdr);
	if (err)
		return err;
	size = ehdr.e_phnum * sizeof(*phdrs);
	phdrs = kmalloc(size, SFU_GFP_TASK);
	if (!phdrs)
		return -ENOMEM;
	err = sfu_prefault_read(prefault, file, phdrs, size, ehdr.e_phoff) ?:
	      sframe_elf_find_section(phdrs, ehdr.e_phnum, PAGE_SIZE, FACTS_BASE, map_offset,
				      start, end);
	kfree(phdrs);
	return err;
}

static void find_facts(struct sfu_scan *scan, const struct sfu_range *range, struct file *file,
		       const struct sfu_code_id *code, struct sfu_code_facts *facts)
{
	u64 start = 0, end = 0;

	if (code && sfu_file_id_find_facts(code, facts))
		return;
	facts->err = read_headers(&scan->prefault, file, range->vma.offset, &start, &end);
	facts->section_off = start - FACTS_BASE;
	facts->section_size = end - start;
	remember_facts(code, facts);
}

/* Sets the addresses of a range's SFrame section. Returns SFU_SECTION_READY, or why it failed. */
enum sfu_section_state sfu_facts_locate(struct sfu_scan *scan, struct sfu_range *range,
					struct file *file)
{
	struct sfu_code_facts facts = {};
	struct sfu_code_id code;
	u64 start, end;

	find_facts(scan, range, file, identify_code(range, file, &code), &facts);
	range->keeps_fp = facts.keeps_fp ?: range->keeps_fp;
	if (facts.err == -EAGAIN || facts.err == -ENOMEM)
		return SFU_SECTION_PENDING;
	if (facts.err && facts.err != -EBADMSG)
		return SFU_SECTION_NONE;
	start = range->start + facts.section_off;
	end = start + facts.section_size;
	/* access_ok() is not used: on arm64, it accepts tagged addresses in some tasks. */
	if (facts.err || start > end || end > TASK_SIZE_MAX) {
		sfu_count(defects[SFRAME_DEFECT_SEGMENT]);
		return SFU_SECTION_BAD;
	}
	range->section.start = start;
	range->section.end = end;
	range->section.source = SFU_SOURCE_MAPPED;
	return SFU_SECTION_READY;
}

void sfu_facts_find_keeps_fp(struct sfu_scan *scan, struct sfu_range *range)
{
	bool is_sampled = scan->reason == SFU_SCAN_SAMPLE;
	/* Both conditions limit the memory that read-ahead charges to the control group. */
	bool may_read_ahead = is_sampled && !scan->prefault.nr_cold;
	struct vm_area_struct *vma = find_vma(scan->mm, range->start);
	struct file *file = vma->vm_file;
	struct sfu_code_facts facts = {};
	struct sfu_code_id id;
	const struct sfu_code_id *code = identify_code(range, file, &id);

	if (code)
		sfu_file_id_find_facts(code, &facts);
	range->keeps_fp = facts.keeps_fp;
	if (!range->keeps_fp &&
	    scan->nr_pieces < (is_sampled ? PIECES_SAMPLED : PIECES_UNSAMPLED)) {
		range->keeps_fp = sfu_text_keeps_fp(range, vma, code,
						    may_read_ahead ? &scan->prefault : NULL,
						    &scan->nr_pieces);
		range->missed_addr = 0;
		scan->found_new |= !range->keeps_fp && !file && !range->was_read;
		if (range->keeps_fp && code) {
			find_facts(scan, range, file, code, &facts);
			facts.keeps_fp = range->keeps_fp;
			remember_facts(code, &facts);
		}
	}
	scan->found_new |= range->keeps_fp != SFRAME_KEEPS_FP_UNKNOWN;
}
