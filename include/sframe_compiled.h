/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A compiled table: all rows of an SFrame section in the form in which a sample finds them fastest.
 * See task/sframe_compile.c.
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

/* Distinct rows of a table at most. The most that is known is 886, of Debian's cc1. */
#define SFRAME_COMPILED_MAX_ROWS	0x10000u

/* Entries and slots of a table at most. libxul has 20 million. */
#define SFRAME_COMPILED_MAX_ENTRIES	(256u << 20)

/**
 * struct sframe_compiled_row - what a row says, in a form that can be compared
 * @off: offsets of the rules of CFA, RA and FP
 * @bits: from the lowest bit: register and how of each of these rules; flags of the row
 */
struct sframe_compiled_row {
	s32	off[3];
	u32	bits;
};

/**
 * struct sframe_compiled - a compiled table; constant
 * @first: address of the first slot
 * @nr_slots: slots
 * @nr_entries: entries of all slots
 * @nr_rows: distinct rows
 * @slots: for each slot, and for the end of the last, the number of its first entry. A slot begins
 *	with an entry at offset 0, so that no look-up leaves its slot
 * @entries: the entries
 * @rows: the rows. The first stands for "no row"
 */
struct sframe_compiled {
	u64				first;
	u32				nr_slots;
	u32				nr_entries;
	u32				nr_rows;
	u32				*slots;
	u32				*entries;
	struct sframe_compiled_row	*rows;
};

/**
 * struct sframe_compile - the state of a compilation
 * @hdr: the section; sorted
 * @rd: has the bytes of the section; takes the defect
 * @max_size: bytes that the table may take
 * @table: the table. After the last sframe_compile_measure() the caller sets
 *	&sframe_compiled.slots, with room for one more than &sframe_compiled.nr_slots,
 *	&sframe_compiled.entries, with room for @max_entries, and &sframe_compiled.rows, with room
 *	for @max_rows
 * @max_entries: entries of the table at most
 * @max_rows: distinct rows at most, with "no row"
 * @hash: numbers of rows, with room for twice @max_rows; 0 is a free place
 * @secret: a random number, which the section's author does not know
 * @end: end of the last function
 * @nr_begun: slots that have begun
 * @row: the number of the row that holds after the last entry
 * @nr_block: rows of @block
 * @block: the rows of one block of repetitive code
 */
struct sframe_compile {
	const struct sframe_header	*hdr;
	struct sframe_reader		*rd;
	u64				max_size;
	struct sframe_compiled		table;
	u32				max_entries;
	u32				max_rows;
	u32				*hash;
	u64				secret;
	u64				end;
	u32				nr_begun;
	u32				row;
	u32				nr_block;
	struct sframe_block_row {
		u32	start;
		u32	row;
	}				block[256];
};

int sframe_compile_measure(struct sframe_compile *compile, u32 index);
int sframe_compile_function(struct sframe_compile *compile, u32 index);
void sframe_compile_begin(struct sframe_compile *compile);
void sframe_compile_end(struct sframe_compile *compile);
void sframe_compiled_get_row(const struct sframe_compiled *table, u32 nr, struct sframe_row *row);
u64 sframe_compiled_function(const struct sframe_compiled *table, u64 addr, u32 *most);

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

/**
 * sframe_compiled_find() - find the row that holds at an address
 * @table: the table
 * @addr: address of an instruction, as it was linked; for a return address, one less
 *
 * Context: Any.
 * Return: The number of the row; 0: the table has none there.
 */
static __always_inline u32 sframe_compiled_find(const struct sframe_compiled *table, u64 addr)
{
	u64 slot;
	const u32 *entry = sframe_compiled_entry(table, addr, &slot);

	return entry ? array_index_nospec(*entry & SFRAME_ENTRY_ROW, table->nr_rows) : 0;
}

#endif /* SFRAME_COMPILED_H */
