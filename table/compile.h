/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compiled SFrame sections: the number of the row for each address, and all distinct rows. */
#ifndef SFRAME_COMPILE_H
#define SFRAME_COMPILE_H

#include "sframe_core.h"

/*
 * An entry says which row holds from its address to the next entry. From the lowest bit: the number
 * of the row; a flag, set if a function begins there; the offset in the slot. Entries ascend.
 */
#define SFRAME_ENTRY_ROW	0x1fffffu
#define SFRAME_ENTRY_BEGINS	0x200000u
#define SFRAME_ENTRY_OFF_SHIFT	22
#define SFRAME_SLOT_BITS	10
#define SFRAME_SLOT_SIZE	0x400u

/*
 * A compiled section, made by table/compile.c. A slot is SFRAME_SLOT_SIZE bytes of code. @slots has
 * the index of the first entry of each slot, and then the end of the last slot. Each slot begins
 * with an entry at offset 0, so a look-up never leaves its slot.
 */
struct sframe_compiled {
	u64				first;		/* address of the first slot, as linked */
	u32				nr_slots;
	u32				nr_entries;	/* number of @entries in all slots */
	u32				nr_rows;	/* number of @rows, with row 0 */
	u32				*slots;
	u32				*entries;
	/* distinct rows; row 0 means "no row"; func, start and pcmask of the others are 0 */
	struct sframe_row		*rows;
};

/*
 * The state of a compilation. After the first pass, the caller allocates the arrays of @compiled:
 * @slots with &sframe_compiled.nr_slots + 1 elements, @entries with @max_entries, @rows with
 * @max_rows; and @hash with 2 * @max_rows. The author of the section does not know @secret, and so
 * cannot choose rows that collide in @hash.
 */
struct sframe_compile {
	const struct sframe_header	*hdr;		/* header of the section, which is sorted */
	struct sframe_reader		*rd;		/* reads the section; records a defect */
	u64				max_size;	/* limit of @entries and @slots, in bytes */
	u64				secret;		/* random key for @hash */
	struct sframe_compiled		compiled;	/* the compiled section */
	u32				index;		/* number of the function being compiled */
	u32				max_entries;	/* upper limit for the number of entries */
	u32				max_rows;	/* upper limit for the number of rows */
	u32				*hash;		/* hash table of row numbers; 0: empty */
	u64				end;		/* end address of the previous function */
	u32				nr_begun;	/* number of slots begun so far */
	u32				row;		/* row number in the last entry */
	u32				nr_block;	/* number of rows in @block */
	struct sframe_block_row {
		u32	start;
		u32	row;
	}				block[256];	/* rows of one block of repetitive code */
};

int sframe_compile_measure(struct sframe_compile *compile);
int sframe_compile_fill(struct sframe_compile *compile);
u64 sframe_compiled_function(const struct sframe_compiled *compiled, u64 addr, u32 *max_lookups);

/*
 * Returns the entry that holds at @addr, which is as linked, and sets @slot to its slot. Returns
 * NULL if @addr is in no slot.
 *
 * Spectre: the process chooses @addr, and a user may have written the section. So the slot is
 * masked. A mispredicted search stays in the slot: with one entry left, half of the entries is 0.
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

/* Returns the number of the row for the code at @addr, which is as linked; or 0: no row. */
static __always_inline u32 sframe_compiled_find(const struct sframe_compiled *compiled, u64 addr)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(compiled, addr, &slot);

	return entry ? array_index_nospec(*entry & SFRAME_ENTRY_ROW, compiled->nr_rows) : 0;
}

#endif /* SFRAME_COMPILE_H */
