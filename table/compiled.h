/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A compiled table: all rows of an SFrame section in the form in which a sample finds them fastest.
 * See table/compile.c.
 */
#ifndef SFRAME_COMPILED_H
#define SFRAME_COMPILED_H

#include "sframe_core.h"

/*
 * An entry says which row holds from its address on. From the lowest bit: the number of the row; a
 * bit that is set if a function begins there; the offset in the slot. Entries of a slot ascend.
 */
#define SFRAME_ENTRY_ROW	0x1fffffu
#define SFRAME_ENTRY_BEGINS	0x200000u
#define SFRAME_ENTRY_OFF_SHIFT	22
#define SFRAME_SLOT_BITS	10
#define SFRAME_SLOT_SIZE	0x400u

/* Distinct rows of a table at most. Doubled, a hostile section takes twice the memory for them. */
#define SFRAME_COMPILED_MAX_ROWS	0x10000u

/* Entries and slots of a table at most: 1 GiB. Halved, no known program would lose its table. */
#define SFRAME_COMPILED_MAX_ENTRIES	(256u << 20)

/* What a row says, in a form that can be compared. */
struct sframe_compiled_row {
	s32	off[3];		/* offsets of the rules of CFA, RA and FP */
	u32	bits;		/* from the lowest: register and how of each; flags of the row */
};

/*
 * A compiled table; constant. @slots has, for each slot and for the end of the last, the number of
 * its first entry. A slot begins with an entry at offset 0, so that no look-up leaves its slot.
 */
struct sframe_compiled {
	u64				first;		/* address of the first slot */
	u32				nr_slots;
	u32				nr_entries;	/* of all slots */
	u32				nr_rows;	/* distinct rows */
	u32				*slots;
	u32				*entries;
	struct sframe_compiled_row	*rows;		/* the first stands for "no row" */
};

/*
 * The state of a compilation. After the last sframe_compile_measure() the caller sets in @table:
 * &sframe_compiled.slots, with room for one more than &sframe_compiled.nr_slots,
 * &sframe_compiled.entries, with room for @max_entries, and &sframe_compiled.rows, with room for
 * @max_rows. @hash has room for twice @max_rows. The author of the section does not know @secret.
 */
struct sframe_compile {
	const struct sframe_header	*hdr;		/* of a sorted section */
	struct sframe_reader		*rd;		/* has its bytes; takes the defect */
	u64				max_size;	/* bytes that the table may take */
	struct sframe_compiled		table;
	u32				max_entries;	/* of the table */
	u32				max_rows;	/* distinct rows, with "no row" */
	u32				*hash;		/* numbers of rows; 0: a free place */
	u64				secret;		/* a random number */
	u64				end;		/* of the last function */
	u32				nr_begun;	/* slots that have begun */
	u32				row;		/* number; it holds after the last entry */
	u32				nr_block;	/* rows of @block */
	struct sframe_block_row {
		u32	start;
		u32	row;
	}				block[256];	/* of one block of repetitive code */
};

int sframe_compile_measure(struct sframe_compile *compile, u32 index);
int sframe_compile_function(struct sframe_compile *compile, u32 index);
void sframe_compile_begin(struct sframe_compile *compile);
void sframe_compile_end(struct sframe_compile *compile);
void sframe_compiled_get_row(const struct sframe_compiled *table, u32 nr, struct sframe_row *row);
u64 sframe_compiled_function(const struct sframe_compiled *table, u64 addr, u32 *max_lookups);

/*
 * Finds the entry that holds at @addr, and its slot. Returns NULL if the table begins after the
 * address, or ends before it.
 *
 * Speculation: a process chooses the address, and the bytes of a user's file are in the table. The
 * slot is masked. Both ends of the slot are numbers of entries, and the search never goes below the
 * first or above the last of them: half of one entry is none.
 */
static __always_inline const u32 *sframe_compiled_entry(const struct sframe_compiled *table,
							u64 addr, u64 *slot)
{
	u64 off = addr - table->first;
	u32 key = (u32)off << SFRAME_ENTRY_OFF_SHIFT | SFRAME_ENTRY_BEGINS | SFRAME_ENTRY_ROW;
	const u32 *entry;
	u32 left;

	off >>= SFRAME_SLOT_BITS;
	if (off >= table->nr_slots)
		return NULL;
	off = array_index_nospec(off, table->nr_slots);
	entry = table->entries + table->slots[off];
	left = table->slots[off + 1] - table->slots[off];
	while (left > 1) {
		u32 half = left / 2;

		entry += entry[half] <= key ? half : 0;
		left -= half;
	}
	*slot = off;
	return entry;
}

/*
 * Returns the number of the row that holds at the address of an instruction, as it was linked; for
 * a return address, one less. 0: the table has no row there.
 */
static __always_inline u32 sframe_compiled_find(const struct sframe_compiled *table, u64 addr)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(table, addr, &slot);

	return entry ? array_index_nospec(*entry & SFRAME_ENTRY_ROW, table->nr_rows) : 0;
}

#endif /* SFRAME_COMPILED_H */
