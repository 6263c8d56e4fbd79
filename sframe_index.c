// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The index of a section: divides its code into slots of equal size, and holds for each slot
 * which functions start there. A search then looks at a few functions.
 *
 * The number of functions bounds the size of an index, also where they are far apart.
 *
 * This file calls nothing of the kernel: it compiles unchanged in the module and on the host.
 */
#include "sframe_index.h"
#include "sframe_quick.h"

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
 * sframe_index_start() - where a function starts
 * @hdr: the section, in this machine's byte order
 * @mem: has the entry of the function
 * @nr: of the function
 *
 * Context: Any.
 * Return: Its address, which nobody has checked.
 */
u64 sframe_index_start(const struct sframe_header *hdr, const struct sframe_memory *mem, u32 nr)
{
	const struct sframe_quick quick = { .hdr = hdr, .mem = mem, .get = sframe_memory_get };
	u64 addr = hdr->fde_addr + (u64)nr * hdr->fde_size, start;

	sframe_quick_start(&quick, sframe_quick_base(hdr), addr,
			   hdr->version == SFRAME_VERSION_3, &start);
	return start;
}

/**
 * sframe_index_add() - add functions to an index
 * @index: from sframe_index_form()
 * @hdr: the section, one that sframe_quick_can_search()
 * @mem: has the entries of these functions
 * @nr: of the first; one more than the last in the call before, at first 0
 * @end: one past the last
 *
 * Context: Any.
 * Return: Whether the functions are sorted so far, as an index needs.
 */
bool sframe_index_add(struct sframe_index *index, const struct sframe_header *hdr,
		      const struct sframe_memory *mem, u32 nr, u32 end)
{
	for (; nr < end; nr++) {
		u64 start = sframe_index_start(hdr, mem, nr);
		u64 slot = (start - hdr->addr - index->first) >> index->shift;

		if (slot >= index->nr || slot + 1 < index->nr_set)
			return false;
		while (index->nr_set <= slot)
			index->starts[index->nr_set++] = nr;
	}
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
