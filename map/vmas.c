// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the VMAs of a process with the ranges of a map. */
#include <linux/elf.h>
#include <linux/mm.h>

#include "map/scan.h"

/* Returns the VMA that maps @file at @addr, or NULL. */
static struct vm_area_struct *find_mapping(struct mm_struct *mm, unsigned long addr,
					   const struct file *file)
{
	struct vm_area_struct *vma = find_vma(mm, addr);

	return vma && vma->vm_start <= addr && vma->vm_file == file ? vma : NULL;
}

bool sfu_vma_is_vdso(struct vm_area_struct *vma)
{
	const char *name = vma->vm_ops && vma->vm_ops->name ? vma->vm_ops->name(vma) : NULL;

	return name && !strcmp(name, "[vdso]");
}

/*
 * Returns true if @range, of the last map, describes @vma. It is enough to compare pointers to
 * struct file: until a range is marked as unmapped, its mapping holds a reference of the file, so
 * no other file can have this address.
 */
bool sfu_vma_is_of(const struct vm_area_struct *vma, const struct sfu_range *range)
{
	return range->start == vma->vm_start && range->end == vma->vm_end &&
	       range->vma.file == vma->vm_file && range->vma.offset == sfu_vma_offset(vma);
}

/* Returns true if the file of a range is mapped at both ends of the range's SFrame section. */
bool sfu_vmas_have_section(struct mm_struct *mm, const struct sfu_range *range)
{
	const struct file *file = range->vma.file;
	unsigned long last = range->section.end - 1;
	struct vm_area_struct *vma = find_mapping(mm, range->section.start, file);

	return vma && (last < vma->vm_end || find_mapping(mm, last, file));
}

/*
 * Returns true if the section of @range, of the last map, is READY, but not mapped: the hook of
 * munmap() has not run yet, or the parent has mapped the section after fork() copied the VMAs.
 */
bool sfu_vmas_have_lost_section(struct mm_struct *mm, const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY) &&
	       range->section.source == SFU_SOURCE_MAPPED && !sfu_vmas_have_section(mm, range);
}

/* Returns true if @mm has all code and sections of the map, and no VMA in its unmapped ranges. */
bool sfu_vmas_match(struct mm_struct *mm, const struct sfu_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		const struct sfu_range *range = &map->ranges[i];
		const struct vm_area_struct *vma = find_vma(mm, range->start);
		bool has_code = vma && vma->vm_flags & VM_EXEC && sfu_vma_is_of(vma, range);
		bool has_any = vma && vma->vm_start < range->end;

		if (READ_ONCE(range->unmapped) ? has_any : !has_code)
			return false;
		if (sfu_vmas_have_lost_section(mm, range))
			return false;
	}
	return true;
}

/*
 * Sets @start and @end to the ends of a range, together with adjacent executable VMAs of its file:
 * mprotect() may have split a VMA within a function. Leaves out the ELF header at the file's start.
 */
void sfu_vmas_find_code(struct mm_struct *mm, const struct sfu_range *range, u64 *start, u64 *end)
{
	const struct file *file = range->vma.file;
	struct vm_area_struct *before = find_mapping(mm, range->start - 1, file);
	struct vm_area_struct *after = find_mapping(mm, range->end, file);
	u64 offset = range->vma.offset;

	*start = range->start;
	*end = range->end;
	if (after && after->vm_flags & VM_EXEC &&
	    offset + (range->end - range->start) == sfu_vma_offset(after))
		*end = after->vm_end;
	if (before && before->vm_flags & VM_EXEC &&
	    sfu_vma_offset(before) + (before->vm_end - before->vm_start) == offset) {
		*start = before->vm_start;
		offset = sfu_vma_offset(before);
	}
	if (!offset)
		*start += sizeof(struct elf64_hdr);
}
