/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An index of a section: from a piece of code to the functions that begin there. See
 * sframe_index.c.
 */
#ifndef SFRAME_INDEX_H
#define SFRAME_INDEX_H

#include "sframe_core.h"

/**
 * struct sframe_span - entries of a sorted table of functions
 * @first: the first
 * @end: one past the last
 *
 * If it is right for an address: the entries before @first start at or below the address, and
 * those from @end on start above it.
 */
struct sframe_span {
	u32	first;
	u32	end;
};

/**
 * struct sframe_index - divides the code of a section into slots of equal size
 * @first: address of the first slot, relative to the section
 * @nr: slots
 * @shift: a slot has 2^@shift bytes
 * @nr_set: of @starts, while the index is made
 * @starts: for each slot, and for the end of the last, the number of functions that start before
 */
struct sframe_index {
	s64	first;
	u32	nr;
	u32	nr_set;
	u8	shift;
	u32	starts[];
};

/**
 * struct sframe_mark - an element of a sorted list
 * @at: by which the list is sorted
 * @value: what belongs to it
 */
struct sframe_mark {
	s32	at;
	u32	value;
};

/**
 * struct sframe_directory - finds functions that the section does not have in order
 * @nr_parts: of the section: a linker may have put several sections together
 * @nr_functions: of all parts
 * @parts: by the number of their first entry; the value is the offset of the part, in bytes
 * @functions: by their start, relative to the section; the value is the number of the entry,
 *	counted through all parts
 */
struct sframe_directory {
	u32			nr_parts;
	u32			nr_functions;
	struct sframe_mark	*parts;
	struct sframe_mark	functions[];
};

#define SFRAME_PART_ALIGN	8	/* bytes */

#define SFRAME_INDEX_LEAST	16	/* functions of a section that has an index */
#define SFRAME_INDEX_FUNCTIONS	2	/* for each slot, at least */
#define SFRAME_INDEX_MIN_SHIFT	6

/* The entries that start in the slot of @pc; without an index, all entries. */
static __always_inline struct sframe_span
sframe_index_span(const struct sframe_index *index, const struct sframe_header *hdr, u64 pc)
{
	struct sframe_span span = { 0, hdr->num_fdes };
	u64 slot;

	if (!index)
		return span;
	slot = (pc - hdr->addr - index->first) >> index->shift;
	if (slot >= index->nr)
		return span;
	slot = array_index_nospec(slot, index->nr);
	span.first = index->starts[slot];
	span.end = index->starts[slot + 1];
	return span;
}

u32 sframe_index_form(struct sframe_index *index, const struct sframe_header *hdr,
		      u64 first, u64 last);
u64 sframe_index_start(const struct sframe_header *hdr, const struct sframe_memory *mem, u32 nr);
bool sframe_index_add(struct sframe_index *index, const struct sframe_header *hdr,
		      const struct sframe_memory *mem, u32 nr, u32 end);
void sframe_index_end(struct sframe_index *index, const struct sframe_header *hdr);

#endif /* SFRAME_INDEX_H */
