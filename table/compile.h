/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled SFrame sections: the number of the row for each address, and all distinct rows. */
#ifndef SFRAME_COMPILE_H
#define SFRAME_COMPILE_H

#include "sframe_core.h"

/*
 * A compiled section has entries of 32 bits. Each says which row holds from its address to that of
 * the next entry. From the lowest bit: the number of the row; a flag, set if a function begins at
 * the address; the offset of the address in its slot of 1 KiB. Entries ascend.
 */
#define SFRAME_ENTRY_ROW	0x1fffffu
#define SFRAME_ENTRY_BEGINS	0x200000u
#define SFRAME_ENTRY_OFF_SHIFT	22
#define SFRAME_SLOT_BITS	10
#define SFRAME_SLOT_SIZE	0x400u

/*
 * A compiled SFrame section. Its code is divided into slots of SFRAME_SLOT_SIZE bytes. @slots has,
 * for each slot, the index of its first entry in @entries, and then @nr_entries. Each slot begins
 * with an entry at offset 0, so a look-up searches only the entries of one slot.
 */
struct sframe_compiled {
	u64				first;		/* linked address of the first slot */
	u32				nr_slots;
	u32				nr_entries;	/* number of entries in all slots */
	u32				nr_rows;	/* number of distinct rows, with row 0 */
	u32				*slots;
	u32				*entries;
	/* all distinct rows; row 0 means "no row"; in the others, func, start and pcmask are 0 */
	struct sframe_row		*rows;
};

/*
 * State of the compilation of an SFrame section in two passes. After the first pass, the caller
 * allocates the arrays of @compiled: @slots with &sframe_compiled.nr_slots + 1 elements, @entries
 * with @max_entries, @rows with @max_rows; and @hash with 2 * @max_rows. The author of the section
 * does not know @secret, and so cannot choose rows that collide in @hash.
 */
struct sframe_compile {
	const struct sframe_header	*hdr;		/* checked header; its FDEs are sorted */
	struct sframe_reader		*rd;		/* reads the section; stores a defect */
	u64				max_size;	/* limit of @entries + @slots, in bytes */
	u64				secret;		/* random key for @hash */
	struct sframe_compiled		compiled;	/* the compiled section */
	u32				index;		/* number of the function being compiled */
	u32				max_entries;	/* upper limit for the number of entries */
	u32				max_rows;	/* upper limit for the number of rows */
	u32				*hash;		/* row numbers by hash of row; 0: unused */
	u64				end;		/* end address of the previous function */
	u32				nr_begun;	/* slots of code that have entries so far */
	u32				row;		/* number of the row in the last entry */
	u32				nr_block;	/* number of rows in @block */
	struct sframe_block_row {
		u32	start;
		u32	row;
	}				block[256];	/* rows of a repeated block (PLT slot) */
};

int sframe_compile_measure(struct sframe_compile *compile);
int sframe_compile_fill(struct sframe_compile *compile);
u64 sframe_compiled_function(const struct sframe_compiled *compiled, u64 addr, u32 *max_lookups);

/*
 * Returns the entry that holds at the linked address @addr, and sets @slot to the number of its
 * slot. Returns NULL if @addr is in no slot.
 *
 * Spectre: a hostile process chooses @addr, and its user may have made the section, so the number
 * of the slot is masked. A mispredicted search stays in the slot: half of the one entry left is 0.
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
	off = array_index_nospec(off, compiled->nr_slots);
	entry = compiled->entries + compiled->slots[off];
	left = compiled->slots[off + 1] - compiled->slots[off];
	while (left > 1) {
		u32 half = left / 2;

		entry += entry[half] <= key ? half : 0;
		left -= half;
	}
	*slot = off;
	return entry;
}

/* Returns the number of the row for the code at the linked address @addr; or 0, which is no row. */
static __always_inline u32 sframe_compiled_find(const struct sframe_compiled *compiled, u64 addr)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(compiled, addr, &slot);

	return entry ? array_index_nospec(*entry & SFRAME_ENTRY_ROW, compiled->nr_rows) : 0;
}

#endif /* SFRAME_COMPILE_H */
