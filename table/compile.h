/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled SFrame sections: the row number for each address of code, and all distinct rows. */
#ifndef SFRAME_COMPILE_H
#define SFRAME_COMPILE_H

#include "sframe_core.h"

/*
 * An entry of a compiled section (32 bits) says which row is valid from its address up to the next
 * entry's address. Entries ascend by address.
 */
#define SFRAME_ENTRY_ROW	0x1fffffu
#define SFRAME_ENTRY_BEGINS	0x200000u
#define SFRAME_ENTRY_OFF_SHIFT	22		/* bits 22-31: entry's offset in its KiB of code */
#define SFRAME_SLOT_BITS	10
#define SFRAME_SLOT_SIZE	0x400u

/*
 * A compiled SFrame section. Its code is divided into slots of 1 KiB. Each slot begins with an
 * entry for its first address, so a look-up searches only the entries of one slot.
 */
struct sframe_compiled {
	u64				first;		/* linked address of the first 1 KiB slot */
	u32				nr_slots;
	u32				nr_entries;
	u32				nr_rows;
	/* index in @entries of each 1 KiB slot's first entry; one more element holds @nr_entries */
	u32				*slots;
	u32				*entries;
	struct sframe_row		*rows;		/* distinct rows; row 0 means "no row" */
};

/*
 * State of the two passes that compile an SFrame section. The caller sets the members before
 * @compiled, and zeroes the others. After the first pass, the caller allocates @hash and the arrays
 * of @compiled. Its @slots needs nr_slots + 1 elements: the last is the end of the last slot.
 */
struct sframe_compile {
	const struct sframe_header	*hdr;		/* already checked */
	struct sframe_reader		*rd;
	/* limit in bytes of entries + slots (one per KiB of code); a larger section gives -E2BIG */
	u64				max_size;
	/* random key to hash rows: the author of a section cannot choose rows that collide */
	u64				secret;
	struct sframe_compiled		compiled;
	u32				index;
	u32				max_entries;	/* elements to allocate for entries */
	u32				max_rows;	/* elements to allocate for rows */
	/* hash table of row numbers, with 2 * @max_rows elements; 0: unused element */
	u32				*hash;
	u64				end;		/* end address of the previous function */
	u32				nr_begun;	/* elements of compiled.slots set so far */
	/* row number in the last entry of compiled.entries; 0 while there is no entry yet */
	u32				row;
	u32				nr_block;
	struct sframe_block_row {
		u32	start;
		u32	row;
	}				block[256];	/* the rows that describe each PLT stub */
};

int sframe_compile_measure(struct sframe_compile *compile);
int sframe_compile_fill(struct sframe_compile *compile);
u64 sframe_compiled_function(const struct sframe_compiled *compiled, u64 addr, u32 *max_lookups);

/*
 * Returns the last entry at or below the linked address @addr in a compiled section.
 * Sets @slot to the number of the 1 KiB slot of @addr. Returns NULL if @addr is in no slot.
 */
static __always_inline const u32 *sframe_compiled_entry(const struct sframe_compiled *compiled,
							u64 addr, u64 *slot)
{
	u64 off = addr - compiled->first;
	u32 key = (u32)off << SFRAME_ENTRY_OFF_SHIFT | SFRAME_ENTRY_BEGINS | SFRAME_ENTRY_ROW;
	const u32 *entry;
	u32 left;

	off >>= SFRAME_SLOT_BITS;
	if (off >= compiled->nr_slots)
		return NULL;
	/* Spectre: mask the slot number. A hostile process chooses @addr, and maybe the section. */
	off = array_index_nospec(off, compiled->nr_slots);
	entry = compiled->entries + compiled->slots[off];
	left = compiled->slots[off + 1] - compiled->slots[off];
	/*
	 * Spectre: the CPU may mispredict the end of this loop, and run it on with left == 1. Then
	 * half is 0, and the loop adds 0 to @entry. So @entry stays in its slot, without a mask.
	 */
	while (left > 1) {
		u32 half = left / 2;

		entry += entry[half] <= key ? half : 0;
		left -= half;
	}
	*slot = off;
	return entry;
}

/* Returns the number of the row for the code at the linked address @addr; 0: it has no row. */
static __always_inline u32 sframe_compiled_find(const struct sframe_compiled *compiled, u64 addr)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(compiled, addr, &slot);

	return entry ? array_index_nospec(*entry & SFRAME_ENTRY_ROW, compiled->nr_rows) : 0;
}

#endif /* SFRAME_COMPILE_H */
