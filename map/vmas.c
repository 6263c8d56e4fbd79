// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the VMAs of a process with its map, which has a range for each executable VMA. */
#include <linux/elf.h>
#include <linux/mm.h>

#include "map/scan.h"

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

bool sfu_vma_is_of(const struct vm_area_struct *vma, const struct sfu_range *range)
{
	/*
	 * It is enough to compare pointers to struct file. A mapping holds a reference to its file
	 * until the hook of munmap() marks @range as unmapped. Until then, the struct file is not
	 * freed, so no other struct file can have its address.
	 */
	return range->start == vma->vm_start && range->end == vma->vm_end &&
	       range->vma.file == vma->vm_file && range->vma.offset == sfu_vma_offset(vma);
}

bool sfu_vmas_have_section(struct mm_struct *mm, const struct sfu_range *range)
{
	const struct file *file = range->vma.file;
	unsigned long last = range->section.end - 1;
	struct vm_area_struct *vma = find_mapping(mm, range->section.start, file);

	return vma && (last < vma->vm_end || find_mapping(mm, last, file));
}

/*
 * Returns true if walks may read the SFrame section of @range, but @mm does not map this section:
 * - after munmap() of the section, until the hook of munmap() has run;
 * - in a forked child: fork() copies the VMAs first, then our hook gives it the parent's map.
 *   In between, another thread may map the section, and a scan may add it to the parent's map.
 */
bool sfu_vmas_have_lost_section(struct mm_struct *mm, const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY) &&
	       range->section.source == SFU_SOURCE_MAPPED && !sfu_vmas_have_section(mm, range);
}

/*
 * Returns true if @mm maps the code and the SFrame section of each range of @map, and maps nothing
 * where @map has ranges that are marked as unmapped. Does not search @mm for other code.
 */
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
 * Finds the bounds of @range and of executable VMAs next to it that continue its file: mprotect()
 * may have split a VMA inside a function. Leaves out the ELF header at the start of a file.
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
