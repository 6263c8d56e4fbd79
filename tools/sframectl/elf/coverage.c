// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds which code of a file its own .sframe describes. */
#include "coverage.h"
#include "object.h"
#include "scan.h"

static void add_fde(void *arg, const struct scan_blob *blob, u32 index,
		    const struct sframe_fde *fde)
{
	(void)blob;
	(void)index;
	ranges_add(arg, fde->start, fde->size);
}

static const struct scan_ops add_ops = {
	.fde = add_fde,
};

/**
 * coverage_add_section - add what a section describes
 * @ranges: the addresses that are described; merged afterwards
 * @data: the section; any bytes
 * @addr: its address
 * @size: its bytes
 */
void coverage_add_section(struct ranges *ranges, const void *data, u64 addr, u64 size)
{
	scan(data, addr, size, &add_ops, ranges);
	ranges_merge(ranges);
}

/**
 * coverage_find - find what the .sframe of a file describes
 * @coverage: filled in; the caller frees @coverage->ranges
 * @file: the file; any bytes. The caller closes it
 */
void coverage_find(struct coverage *coverage, const struct file *file)
{
	struct object obj;
	const char *error;

	*coverage = (struct coverage){};
	if (!elf_magic(file))
		return;
	error = object_init(&obj, file);
	coverage->is_elf = obj.is_elf;
	coverage->is_32 = obj.is_elf && obj.elf.ident[EI_CLASS] == ELFCLASS32;
	coverage->has_sframe = !error && obj.is_used && obj.place;
	if (coverage->has_sframe)
		coverage_add_section(&coverage->ranges, obj.data, obj.addr, obj.size);
	if (obj.is_elf)
		coverage->nr_segments = elf_list_code(&obj.elf, coverage->segments);
	/* The caller closes the file. */
	obj.file = (struct file){};
	object_close(&obj);
}
