// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The index of a section: divides its code into slots of equal size, and holds for each slot
 * which functions start there. A search then looks at a few functions.
 *
 * The number of functions bounds the size of an index, also where they are far apart.
 *
 * This file calls nothing of the kernel, and reads nothing: it compiles unchanged in the module
 * and on the host.
 */
#include "sframe_index.h"

/**
 * sframe_index_form() - choose the form of an index
 * @index: set to an index without starts
 * @hdr: the section, sorted
 * @first: where the first function starts
 * @last: where the last function starts
 *
 * Context: Any.
 * Return: The number of &sframe_index.starts; 0: an index is of no use.
 */
u32 sframe_index_form(struct sframe_index *index, const struct sframe_header *hdr,
		      u64 first, u64 last)
{
	u32 most = hdr->num_fdes / SFRAME_INDEX_FUNCTIONS;
	u8 shift = SFRAME_INDEX_MIN_SHIFT;

	if (hdr->num_fdes < SFRAME_INDEX_LEAST || first > last)
		return 0;
	while ((last - first) >> shift >= most)
		shift++;
	*index = (struct sframe_index){
		.first = first - hdr->addr,
		.nr = ((last - first) >> shift) + 1,
		.shift = shift,
	};
	return index->nr + 1;
}

/**
 * sframe_index_add() - add a function to an index
 * @index: from sframe_index_form()
 * @hdr: the section
 * @nr: of the function; one more than in the last call, from 0 on
 * @start: where it starts
 *
 * Context: Any.
 * Return: Whether the functions are sorted so far, as an index needs.
 */
bool sframe_index_add(struct sframe_index *index, const struct sframe_header *hdr, u32 nr,
		      u64 start)
{
	u64 slot = (start - hdr->addr - index->first) >> index->shift;

	if (slot >= index->nr || slot + 1 < index->nr_set)
		return false;
	while (index->nr_set <= slot)
		index->starts[index->nr_set++] = nr;
	return true;
}

/**
 * sframe_index_end() - complete an index
 * @index: has all functions
 * @hdr: the section
 *
 * Context: Any.
 */
void sframe_index_end(struct sframe_index *index, const struct sframe_header *hdr)
{
	while (index->nr_set <= index->nr)
		index->starts[index->nr_set++] = hdr->num_fdes;
}
