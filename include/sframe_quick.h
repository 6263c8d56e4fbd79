/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quick look-up: finds the function and the row of an address, in a sound section of the
 * common form. It is inlined in the window of user memory (sample/sframe_user.c); tests inline it
 * for memory of their own.
 *
 * It leaves everything else to sframe_find_row(), by -EAGAIN: an unsorted table, the other byte
 * order, functions without rows, and all that is malformed. What it finds in a sorted table is what
 * sframe_find_row() finds. The bytes may change meanwhile: each value is checked after it is read.
 *
 * The bounds of the header hold for each read: the ways to read check nothing. If the processor
 * mispredicts a check, it reads what comes after the section, by as many rows as it runs ahead.
 *
 * No function that is not inlined may be called here: the memory may be a window of user memory.
 */
#ifndef SFRAME_QUICK_H
#define SFRAME_QUICK_H

#include "sframe_core.h"

/**
 * typedef sframe_get_t - reads a number of @size bytes, 1, 2, 4 or 8, at @addr to @val
 *
 * Return: false if it is not readable now.
 */
typedef bool (*sframe_get_t)(const void *mem, u64 addr, u32 size, u64 *val);

/**
 * struct sframe_quick - one quick look-up
 * @hdr: the section
 * @mem: for @get
 * @get: the way to read; a constant
 * @pc: the address, below 2^63
 */
struct sframe_quick {
	const struct sframe_header	*hdr;
	const void			*mem;
	sframe_get_t			get;
	u64				pc;
};

/*
 * The address that starts are relative to. If @own is all ones, each start is also relative to the
 * place where it is stored. Both are constant in a search.
 */
struct sframe_base {
	u64	addr;
	u64	own;
};

static __always_inline struct sframe_base sframe_quick_base(const struct sframe_header *hdr)
{
	bool is_pcrel = hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL;

	return (struct sframe_base){
		.addr = is_pcrel ? 0 : hdr->addr,
		.own = is_pcrel ? ~0ull : 0,
	};
}

static __always_inline bool sframe_quick_get(const struct sframe_quick *quick, u64 addr,
					     u32 size, u64 *val)
{
	return quick->get(quick->mem, addr, size, val);
}

/* Sets @start to the start of the function whose entry is at @addr. */
static __always_inline bool sframe_quick_start(const struct sframe_quick *quick,
					       struct sframe_base base, u64 addr, bool is_v3,
					       u64 *start)
{
	u64 val;

	if (!sframe_quick_get(quick, addr, is_v3 ? 8 : 4, &val))
		return false;
	if (!is_v3)
		val = (s64)(s32)val;
	*start = val + base.addr + (addr & base.own);
	return true;
}

/* So few entries are searched one after the other. */
#define SFRAME_QUICK_FEW	4

/*
 * Sets @nr to the number of entries that start at or below the address. Each step halves what is
 * left, whatever the processor predicts.
 */
static __always_inline int sframe_quick_search(const struct sframe_quick *quick,
					       struct sframe_base base, bool is_v3, u32 *nr)
{
	u64 fde_size = is_v3 ? sizeof(struct sframe_raw_fde_v3) : quick->hdr->fde_size;
	u64 pc = quick->pc, addr, start, starts = 0;
	u32 below = 0, left = quick->hdr->num_fdes;

	while (left > SFRAME_QUICK_FEW) {
		u32 half = left / 2;

		addr = quick->hdr->fde_addr + (below + half - 1) * fde_size;
		if (!sframe_quick_start(quick, base, addr, is_v3, &start))
			return -EFAULT;
		starts |= start;
		below += start <= pc ? half : 0;
		left -= half;
	}
	addr = quick->hdr->fde_addr + below * fde_size;
	for (; left; left--, below++, addr += fde_size) {
		if (!sframe_quick_start(quick, base, addr, is_v3, &start))
			return -EFAULT;
		starts |= start;
		if (start > pc)
			break;
	}
	*nr = below;
	/* No function starts in the upper half of all addresses. */
	return starts >> 63 ? -EAGAIN : 0;
}

/* The address is not in the last function that starts at or below it. -ENOENT: nor in another. */
static __always_inline int sframe_quick_miss(const struct sframe_quick *quick,
					     struct sframe_base base, u64 addr, bool is_v3,
					     bool is_first, u64 start)
{
	u64 before;

	if (is_first)
		return -ENOENT;
	if (!sframe_quick_start(quick, base, addr - quick->hdr->fde_size, is_v3, &before))
		return -EFAULT;
	return before < start ? -ENOENT : -EAGAIN;
}

/**
 * struct sframe_quick_fde - what a quick look-up needs of a function
 * @start: address
 * @rows: address of its rows
 * @nr_rows: how many
 * @info: the info word
 * @rep_size: size of the blocks, if the rows describe blocks
 * @form: SFRAME_PLAIN_*
 */
struct sframe_quick_fde {
	u64	start;
	u64	rows;
	u32	nr_rows;
	u8	info;
	u8	rep_size;
	u16	form;
};

/* Reads what V3 stores before the rows. */
static __always_inline int sframe_quick_attr(const struct sframe_quick *quick, u32 fre_off,
					     struct sframe_quick_fde *fde)
{
	u64 addr = quick->hdr->fre_addr + fre_off;
	u64 head, rep_size;

	if ((u64)fre_off + sizeof(struct sframe_raw_attr_v3) > quick->hdr->fre_len)
		return -EAGAIN;
	if (!sframe_quick_get(quick, addr, 4, &head) ||
	    !sframe_quick_get(quick, addr + 4, 1, &rep_size))
		return -EFAULT;
	if (SFRAME_FDE_TYPE(head >> 24) > SFRAME_FDE_TYPE_FLEX)
		return -EAGAIN;
	fde->form = head >> 16 & SFRAME_PLAIN_FORM;
	fde->rows = addr + sizeof(struct sframe_raw_attr_v3);
	fde->nr_rows = (u16)head;
	fde->info = head >> 16;
	fde->rep_size = rep_size;
	return 0;
}

/* Reads what V1 and V2 store in the entry. */
static __always_inline int sframe_quick_tail(const struct sframe_quick *quick, u64 addr,
					     u32 fre_off, struct sframe_quick_fde *fde)
{
	u64 num_fres, info, rep_size = 0;

	if (!sframe_quick_get(quick, addr + offsetof(struct sframe_raw_fde_v1, num_fres), 4,
			      &num_fres) ||
	    !sframe_quick_get(quick, addr + offsetof(struct sframe_raw_fde_v1, info), 1, &info))
		return -EFAULT;
	if (quick->hdr->version == SFRAME_VERSION_2) {
		if (!sframe_quick_get(quick, addr + offsetof(struct sframe_raw_fde_v2, rep_size),
				      1, &rep_size))
			return -EFAULT;
	} else if (quick->hdr->abi == SFRAME_ABI_AMD64_LE) {
		rep_size = SFRAME_V1_AMD64_REP_SIZE;
	}
	fde->rows = quick->hdr->fre_addr + fre_off;
	fde->nr_rows = num_fres;
	fde->info = info;
	fde->rep_size = rep_size;
	fde->form = info & SFRAME_PLAIN_PCMASK;
	return 0;
}

/*
 * Reads the @nr-th entry, and what belongs to it. If the processor mispredicts that @nr is not 0,
 * it reads the end of the header.
 */
static __always_inline int sframe_quick_entry(const struct sframe_quick *quick,
					      struct sframe_base base, u32 nr, bool is_v3,
					      struct sframe_quick_fde *fde)
{
	u64 fde_size = is_v3 ? sizeof(struct sframe_raw_fde_v3) : quick->hdr->fde_size;
	u64 addr = quick->hdr->fde_addr + nr * fde_size - fde_size;
	u64 size_addr = addr + (is_v3 ? offsetof(struct sframe_raw_fde_v3, size) :
					offsetof(struct sframe_raw_fde_v1, size));
	u64 start, size;
	u32 fre_off;

	/* The size, and the offset of the rows. */
	if (!sframe_quick_start(quick, base, addr, is_v3, &start) ||
	    !sframe_quick_get(quick, size_addr, 8, &size))
		return -EFAULT;
	fre_off = size >> 32;
	size = (u32)size;
	if (start > quick->pc)
		return -EAGAIN;
	if (quick->pc - start >= size || start < quick->hdr->code_start ||
	    start + size > quick->hdr->code_end)
		return (start | (start + size)) >> 63 ? -EAGAIN :
		       sframe_quick_miss(quick, base, addr, is_v3, nr == 1, start);
	if (fre_off >= quick->hdr->fre_len)
		return -EAGAIN;
	fde->start = start;
	return is_v3 ? sframe_quick_attr(quick, fre_off, fde) :
		       sframe_quick_tail(quick, addr, fre_off, fde);
}

static __always_inline int sframe_quick_function(const struct sframe_quick *quick,
						 bool is_v3,
						 struct sframe_quick_fde *fde)
{
	struct sframe_base base = sframe_quick_base(quick->hdr);
	u32 nr;
	int err = sframe_quick_search(quick, base, is_v3, &nr);

	if (err)
		return err;
	return nr ? sframe_quick_entry(quick, base, nr, is_v3, fde) : -ENOENT;
}

/* Reads @size bytes of data words, 24 at most. */
static __always_inline int sframe_quick_words(const struct sframe_quick *quick, u64 addr,
					      u32 size, u64 end, struct sframe_plain_row *row)
{
	u64 *words = row->words;	/* a check of the array's bounds would be a call */
	u64 val, i;

	/* One read is enough for most rows. It must not touch a page that may be absent. */
	if (size <= sizeof(val) && addr + sizeof(val) <= end &&
	    addr % 4096 <= 4096 - sizeof(val))
		return sframe_quick_get(quick, addr, sizeof(val), words) ? 0 : -EFAULT;
	words[0] = 0;
	words[1] = 0;
	words[2] = 0;
	for (i = 0; i < size; i++) {
		if (!sframe_quick_get(quick, addr + i, 1, &val))
			return -EFAULT;
		words[i / 8] |= val << i % 8 * 8;
	}
	return 0;
}

/*
 * Finds the last row that starts at or below @off, among at most @rows rows. Takes the rows that
 * it has examined from @rows. The row after it is checked, too, as sframe_find_row() does.
 */
static __always_inline int sframe_quick_row(const struct sframe_quick *quick,
					    const struct sframe_quick_fde *fde, u32 off,
					    u32 addr_size, u32 *rows,
					    struct sframe_plain_row *row)
{
	u64 end = quick->hdr->fre_addr + quick->hdr->fre_len;
	u64 last = end - addr_size - 1;		/* where a row may begin */
	u32 left = min_t(u32, fde->nr_rows, *rows), nr = left;
	u64 addr = fde->rows, start, info, found = 0, found_info = 0, least = 0;
	const u16 *size_of = sframe_words_sizes;	/* as in sframe_quick_words() */
	u32 size, sizes = 0;

	while (left) {
		if (addr > last)
			return -EAGAIN;
		if (!sframe_quick_get(quick, addr, addr_size, &start) ||
		    !sframe_quick_get(quick, addr + addr_size, 1, &info))
			return -EFAULT;
		size = size_of[(u8)info];
		sizes |= size;
		if (start < least)
			return -EAGAIN;
		addr += addr_size + 1 + size;
		if (start > off)
			break;
		found = addr;
		found_info = info;
		least = start + 1;
		left--;
	}
	*rows -= nr - left;
	if (addr > end || sizes & SFRAME_NO_SIZE)
		return -EAGAIN;
	if (!left && nr < fde->nr_rows)
		return -E2BIG;
	if (!found)
		return -ENOENT;
	size = size_of[(u8)found_info];
	if (size > sizeof(row->words))
		return -EAGAIN;
	row->start = least - 1;
	row->info = found_info;
	return sframe_quick_words(quick, found - size, size, end, row);
}

/**
 * sframe_quick_find() - find the row that holds at an address
 * @quick: the look-up
 * @rows: examine at most so many rows; those that were examined are subtracted
 * @row: set with 0
 *
 * Context: As that of the reads.
 * Return: 0; -ENOENT if nothing is known of the address; -EFAULT if it is not readable now;
 * -E2BIG if the function has more rows than @rows; -EAGAIN: sframe_find_row() finds out.
 */
static __always_inline int sframe_quick_find(const struct sframe_quick *quick, u32 *rows,
					     struct sframe_plain_row *row)
{
	struct sframe_quick_fde fde;
	u32 off;
	int err;

	if (quick->hdr->version == SFRAME_VERSION_3)
		err = sframe_quick_function(quick, true, &fde);
	else
		err = sframe_quick_function(quick, false, &fde);
	if (err)
		return err;
	row->func = fde.start;
	row->form = fde.form;
	if (!fde.nr_rows)
		return -EAGAIN;
	off = quick->pc - fde.start;
	if (fde.form & SFRAME_PLAIN_PCMASK) {
		if (!fde.rep_size)
			return -EAGAIN;
		off %= fde.rep_size;
	}
	switch (SFRAME_FDE_FRE_TYPE(fde.info)) {
	case SFRAME_FRE_TYPE_ADDR1:
		return sframe_quick_row(quick, &fde, off, 1, rows, row);
	case SFRAME_FRE_TYPE_ADDR2:
		return sframe_quick_row(quick, &fde, off, 2, rows, row);
	case SFRAME_FRE_TYPE_ADDR4:
		return sframe_quick_row(quick, &fde, off, 4, rows, row);
	default:
		return -EAGAIN;
	}
}

/* Is the section one that a quick look-up can search? */
static inline bool sframe_quick_can_search(const struct sframe_header *hdr)
{
	return hdr->flags & SFRAME_F_FDE_SORTED && !hdr->swapped;
}

#endif /* SFRAME_QUICK_H */
