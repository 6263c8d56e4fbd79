/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The look-up in a verified section: finds the function and the plain row of an address. It is for
 * tables in kernel memory, of which sframe_verify_function() has accepted each function when they
 * were loaded. Nobody can change them or their index since then. So nothing is checked again:
 * functions are sorted and do not overlap, each row lies in the section, and rows ascend.
 *
 * It finds rows of the common form, and leaves everything else to the quick look-up.
 *
 * Speculation: a process chooses the address. The slot of the index is masked. If the processor
 * mispredicts a check, it reads the entry before the first, which is the end of the header; one
 * after the last, which is made of rows, so that a user's file says what is in it; the rows of
 * another function; or what comes after the rows, by as many as it runs ahead. The offset of the
 * rows is masked. What it finds there says only where the next row is, at most 65 bytes further on.
 */
#ifndef SFRAME_VERIFIED_H
#define SFRAME_VERIFIED_H

#include "sframe_core.h"
#include "sframe_index.h"

/**
 * struct sframe_verified - a verified section in memory; constant
 * @entries: its functions
 * @rows: its rows
 * @starts: &sframe_index.starts, or @all
 * @rows_len: bytes of @rows
 * @nr: slots of the index, or 1
 * @shift: a slot has 2^@shift bytes
 * @all: instead of an index: one slot with all functions
 * @beside: added to an address, is where the code would be if it lay beside the section in memory.
 *	A start is relative to where it is stored, so it leads there
 * @first: where the first function, with which the first slot begins, would be
 */
struct sframe_verified {
	const struct sframe_raw_fde_v3	*entries;
	const u8			*rows;
	const u32			*starts;
	u32				rows_len;
	u32				nr;
	u8				shift;
	u32				all[2];
	u64				beside;
	u64				first;
};

/**
 * sframe_verified_init() - prepare for look-ups
 * @table: set
 * @hdr: the section, of which sframe_verify_function() has accepted all functions
 * @bytes: where it is
 * @index: of the section, or NULL
 * @base: look-ups add this to each address
 *
 * Return: Whether it is of the form that "sframectl convert" writes, and its index reaches over
 * 4 GiB at most. No look-up is possible else.
 */
static inline bool sframe_verified_init(struct sframe_verified *table,
					const struct sframe_header *hdr, const u8 *bytes,
					const struct sframe_index *index, u64 base)
{
	const u8 *first = bytes + (hdr->fde_addr - hdr->addr);
	const struct sframe_raw_fde_v3 *entries = (const void *)first;

	if (!hdr->num_fdes || hdr->version != SFRAME_VERSION_3 || hdr->swapped ||
	    hdr->flags != (SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL))
		return false;
	*table = (struct sframe_verified){
		.entries = entries,
		.rows = bytes + (hdr->fre_addr - hdr->addr),
		.starts = index ? index->starts : table->all,
		.rows_len = hdr->fre_len,
		.nr = index ? index->nr : 1,
		.shift = index ? index->shift : 32,
		.all = { 0, hdr->num_fdes },
		.beside = (unsigned long)bytes - hdr->addr - base,
		.first = (unsigned long)entries + entries->start,
	};
	/* An offset in a function has 32 bits then. */
	return (u64)table->nr << table->shift <= 1ull << 32;
}

/* So few entries are searched one after the other. */
#define SFRAME_VERIFIED_FEW	4

/* How far the function of an entry starts above @pc; both are beside the section. */
static __always_inline s64 sframe_verified_above(const struct sframe_raw_fde_v3 *entry, u64 pc)
{
	return entry->start + (unsigned long)entry - pc;
}

/* Finds the last function that starts at or below @pc, among those of @slot or right before it. */
static __always_inline const struct sframe_raw_fde_v3 *
sframe_verified_search(const struct sframe_verified *table, u64 slot, u64 pc)
{
	const struct sframe_raw_fde_v3 *entry = table->entries + table->starts[slot];
	u32 left = table->starts[slot + 1] - table->starts[slot];

	while (left > SFRAME_VERIFIED_FEW) {
		u32 half = left / 2;

		entry += sframe_verified_above(entry + half, pc) <= 0 ? half : 0;
		left -= half;
	}
	for (; left && sframe_verified_above(entry, pc) <= 0; left--)
		entry++;
	return entry - 1;
}

/*
 * Finds the last of @nr rows that starts at or below @off, where starts have @addr_size bytes.
 * Returns its info word, or NULL. Sets @nr to the rows after it.
 */
static __always_inline const u8 *sframe_verified_row(const u8 *p, u32 *nr, u32 off, u32 addr_size)
{
	const u8 *found = NULL;
	u32 left = *nr;

	do {
		u32 start = addr_size == 1 ? *p :
			    addr_size == 2 ? ((const struct sframe_any_u16 *)p)->v :
					     ((const struct sframe_any_u32 *)p)->v;

		if (start > off)
			break;
		found = p + addr_size;
		p = found + 1 + sframe_words_sizes[*found];
	} while (--left);
	*nr = left;
	return found;
}

/**
 * sframe_verified_find() - find the plain row that holds at an address
 * @table: the section
 * @pc: address of an instruction, plus the base; for a return address, one less
 * @rows: examine at most so many rows; set to those that were examined, with a row
 *
 * Context: Any.
 * Return: The row, from its info word on. NULL: sframe_quick_find() finds out.
 */
static __always_inline const u8 *sframe_verified_find(const struct sframe_verified *table, u64 pc,
						      u32 *rows)
{
	const struct sframe_raw_fde_v3 *entry;
	const struct sframe_raw_attr_v3 *attr;
	const u8 *first, *found;
	u32 left, off;
	u64 slot;

	pc += table->beside;
	slot = (pc - table->first) >> table->shift;
	if (slot >= table->nr)
		return NULL;
	entry = sframe_verified_search(table, array_index_nospec(slot, table->nr), pc);
	if (entry < table->entries)
		return NULL;
	off = -sframe_verified_above(entry, pc);
	if (off >= entry->size)
		return NULL;

	attr = (const void *)(table->rows + array_index_nospec(entry->fre_off, table->rows_len));
	left = attr->num_fres;
	if ((attr->info | attr->info2 << 8) & SFRAME_PLAIN_FORM || left - 1 >= *rows)
		return NULL;
	first = (const u8 *)(attr + 1);
	switch (SFRAME_FDE_FRE_TYPE(attr->info)) {
	case SFRAME_FRE_TYPE_ADDR1:
		found = sframe_verified_row(first, &left, off, 1);
		break;
	case SFRAME_FRE_TYPE_ADDR2:
		found = sframe_verified_row(first, &left, off, 2);
		break;
	default:
		found = sframe_verified_row(first, &left, off, 4);
		break;
	}
	*rows = attr->num_fres - left;
	return found;
}

#endif /* SFRAME_VERIFIED_H */
