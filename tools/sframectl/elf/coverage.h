/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code of a file its own .sframe describes. */
#ifndef SFRAMECTL_COVERAGE_H
#define SFRAMECTL_COVERAGE_H

#include "file.h"
#include "ranges.h"
#include "uapi/sframe_unwind.h"

/**
 * struct coverage - what a file is, and which code its .sframe describes
 * @is_elf: it is an ELF file
 * @is_32: and that of a 32-bit program
 * @has_sframe: it has an .sframe that the module can find
 * @ranges: the addresses that this describes, merged
 * @segments: where its code is loaded
 * @nr_segments: how many
 */
struct coverage {
	bool		is_elf;
	bool		is_32;
	bool		has_sframe;
	struct ranges	ranges;
	struct sframe_segment segments[SFRAME_SEGMENTS_MAX];
	u32		nr_segments;
};

void coverage_find(struct coverage *coverage, const struct file *file);
void coverage_add_section(struct ranges *ranges, const void *data, u64 addr, u64 size);

#endif /* SFRAMECTL_COVERAGE_H */
