/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quick look-up: finds the function and the row of an address, in a sound section of the
 * common form. It is inlined where the memory is: each user has its own way to read.
 *
 * It leaves everything else to sframe_find_row(), by -EAGAIN: an unsorted table, the other byte
 * order, and all that is malformed. What it finds in a sorted table is what
 * sframe_find_row() finds. The bytes may change meanwhile: each value is read once, and checked.
 *
 * No function that is not inlined may be called here: the memory may be a window of user memory.
 */
#ifndef SFRAME_QUICK_H
#define SFRAME_QUICK_H

#include "sframe_core.h"
#include "sframe_index.h"

/**
 * typedef sframe_get_t - reads a number of @size bytes, 1, 2, 4 or 8, at @addr to @val
 *
 * Return: false if it is not readable now.
 */
typedef bool (*sframe_get_t)(const struct sframe_memory *mem, u64 addr, u32 size, u64 *val);

/**
 * struct sframe_quick - one quick look-up
 * @hdr: the section
 * @mem: for @get
 * @get: the way to read; a constant
 * @pc: the address
 */
struct sframe_quick {
	const struct sframe_header	*hdr;
	const struct sframe_memory	*mem;
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

/* Sets @nr to the number of entries that start at or below the address, if @span is right. */
static __always_inline int sframe_quick_bisect(const struct sframe_quick *quick,
					       struct sframe_base base,
					       const struct sframe_span *span, bool is_v3,
					       u32 *nr)
{
	u64 fde_size = is_v3 ? sizeof(struct sframe_raw_fde_v3) : quick->hdr->fde_size;
	u64 fde_addr = quick->hdr->fde_addr, pc = quick->pc, start, starts = 0;
	u32 lo = span->first, hi = span->end;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (!sframe_quick_start(quick, base, fde_addr + mid * fde_size, is_v3, &start))
			return -EFAULT;
		starts |= start;
		if (start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* No function starts in the upper half of all addresses. */
	if (starts >> 63)
		return -EAGAIN;
	*nr = lo;
	/* The span says that the next entry, which was not read, starts above the address. */
	if (lo < span->end || lo == quick->hdr->num_fdes)
		return 0;
	if (!sframe_quick_start(quick, base, fde_addr + lo * fde_size, is_v3, &start))
		return -EFAULT;
	return start > pc ? 0 : -EAGAIN;
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

static __always_inline void sframe_quick_set_info(struct sframe_fde *fde, u8 info)
{
	fde->fre_type = SFRAME_FDE_FRE_TYPE(info);
	fde->pcmask = SFRAME_FDE_PCMASK(info);
	fde->pauth_key_b = SFRAME_FDE_PAUTH_KEY_B(info);
}

/* Reads what V3 stores before the rows. */
static __always_inline int sframe_quick_attr(const struct sframe_quick *quick,
					     struct sframe_fde *fde)
{
	u64 addr = quick->hdr->fre_addr + fde->fre_off;
	u64 head, rep_size;

	if ((u64)fde->fre_off + sizeof(struct sframe_raw_attr_v3) > quick->hdr->fre_len)
		return -EAGAIN;
	if (!sframe_quick_get(quick, addr, 4, &head) ||
	    !sframe_quick_get(quick, addr + 4, 1, &rep_size))
		return -EFAULT;
	if (SFRAME_FDE_TYPE(head >> 24) > SFRAME_FDE_TYPE_FLEX)
		return -EAGAIN;
	fde->fre_off += sizeof(struct sframe_raw_attr_v3);
	fde->num_fres = (u16)head;
	fde->rep_size = rep_size;
	fde->flex = SFRAME_FDE_TYPE(head >> 24) == SFRAME_FDE_TYPE_FLEX;
	fde->signal = SFRAME_FDE_SIGNAL(head >> 16);
	sframe_quick_set_info(fde, head >> 16);
	return 0;
}

/* Reads what V1 and V2 store in the entry. */
static __always_inline int sframe_quick_tail(const struct sframe_quick *quick, u64 addr,
					     struct sframe_fde *fde)
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
	fde->num_fres = num_fres;
	fde->rep_size = rep_size;
	fde->flex = false;
	fde->signal = false;
	sframe_quick_set_info(fde, info);
	return 0;
}

/* Reads the entry at @index, which is not the first unless it is 0, and what belongs to it. */
static __always_inline int sframe_quick_entry(const struct sframe_quick *quick,
					      struct sframe_base base, u32 index, bool is_v3,
					      struct sframe_fde *fde)
{
	u64 addr = quick->hdr->fde_addr + (u64)index * quick->hdr->fde_size;
	u64 size_addr = addr + (is_v3 ? offsetof(struct sframe_raw_fde_v3, size) :
					offsetof(struct sframe_raw_fde_v1, size));
	u64 size, fre_off;

	if (!sframe_quick_start(quick, base, addr, is_v3, &fde->start) ||
	    !sframe_quick_get(quick, size_addr, 4, &size) ||
	    !sframe_quick_get(quick, size_addr + 4, 4, &fre_off))
		return -EFAULT;
	if (fde->start > quick->pc || (fde->start | (fde->start + size)) >> 63)
		return -EAGAIN;
	if (quick->pc - fde->start >= size)
		return sframe_quick_miss(quick, base, addr, is_v3, index == 0, fde->start);
	fde->size = size;
	fde->fre_off = fre_off;
	return is_v3 ? sframe_quick_attr(quick, fde) : sframe_quick_tail(quick, addr, fde);
}

static __always_inline int sframe_quick_function(const struct sframe_quick *quick,
						 const struct sframe_span *span, bool is_v3,
						 struct sframe_fde *fde)
{
	struct sframe_base base = sframe_quick_base(quick->hdr);
	u32 nr;
	int err = sframe_quick_bisect(quick, base, span, is_v3, &nr);

	if (err)
		return err;
	return nr ? sframe_quick_entry(quick, base, nr - 1, is_v3, fde) : -ENOENT;
}

/* Copies the row at @addr, whose data words have @size bytes. */
static __always_inline int sframe_quick_copy(const struct sframe_quick *quick, u64 addr,
					     u32 size, u64 end, struct sframe_raw_row *raw)
{
	u32 word = 1u << SFRAME_FRE_WORD_SIZE(raw->info), i;
	u8 *words = raw->words;	/* a check of the array's bounds would call a function */
	u64 val;

	/* One read is enough for most rows. It must not touch a page that may be absent. */
	if (size <= sizeof(val) && addr + sizeof(val) <= end && addr % 4096 <= 4096 - sizeof(val)) {
		if (!sframe_quick_get(quick, addr, sizeof(val), &val))
			return -EFAULT;
		*(struct sframe_any_u64 *)words = (struct sframe_any_u64){ val };
		return 0;
	}
	for (i = 0; i < size; i += word) {
		if (word == 1) {
			if (!sframe_quick_get(quick, addr + i, 1, &val))
				return -EFAULT;
			words[i] = val;
		} else if (word == 2) {
			if (!sframe_quick_get(quick, addr + i, 2, &val))
				return -EFAULT;
			*(struct sframe_any_u16 *)(words + i) = (struct sframe_any_u16){ val };
		} else {
			if (!sframe_quick_get(quick, addr + i, 4, &val))
				return -EFAULT;
			*(struct sframe_any_u32 *)(words + i) = (struct sframe_any_u32){ val };
		}
	}
	return 0;
}

/* Rows of the flexible form have at most 6 words. */
#define SFRAME_QUICK_MAX_SIZE	24

/*
 * Finds the last row that starts at or below @off, among at most @rows rows. Takes the rows that
 * it has examined from @rows. The row after it is checked, too, as sframe_find_row() does.
 */
static __always_inline int sframe_quick_row(const struct sframe_quick *quick,
					    const struct sframe_fde *fde, u32 off,
					    u32 addr_size, u32 *rows,
					    struct sframe_raw_row *raw)
{
	u64 addr = quick->hdr->fre_addr + fde->fre_off;
	u64 end = quick->hdr->fre_addr + quick->hdr->fre_len;
	u32 left = min_t(u32, fde->num_fres, *rows), nr = left;
	u64 start, info, found = 0, found_start = 0, found_info = 0, least = 0;
	const u16 *size_of = sframe_words_sizes;	/* as in sframe_quick_copy() */
	u32 size, sizes = 0;

	while (left) {
		if (addr + addr_size + 1 > end)
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
		found = addr - size;
		found_start = start;
		found_info = info;
		least = start + 1;
		left--;
	}
	*rows -= nr - left;
	if (addr > end || sizes & SFRAME_NO_SIZE)
		return -EAGAIN;
	if (!left && nr < fde->num_fres)
		return -E2BIG;
	if (!found)
		return -ENOENT;
	size = size_of[(u8)found_info];
	if (size > SFRAME_QUICK_MAX_SIZE)
		return -EAGAIN;
	raw->start = found_start;
	raw->info = found_info;
	return sframe_quick_copy(quick, found, size, end, raw);
}

/**
 * sframe_quick_find() - find the row that holds at an address, as it is stored
 * @quick: the look-up
 * @span: the entries among which the function is looked for
 * @rows: examine at most so many rows; those that were examined are subtracted
 * @fde: set to the function with 0
 * @raw: set to the row with 0
 *
 * @span is a hint. If it is wrong, the look-up notices, and returns -EAGAIN.
 *
 * Context: As that of the reads.
 * Return: 0; -ENOENT if nothing is known of the address; -EFAULT if it is not readable now;
 * -E2BIG if the function has more rows than @rows; -EAGAIN: sframe_find_row() finds out.
 */
static __always_inline int sframe_quick_find(const struct sframe_quick *quick,
					     const struct sframe_span *span, u32 *rows,
					     struct sframe_fde *fde, struct sframe_raw_row *raw)
{
	u32 off;
	int err;

	if (quick->hdr->version == SFRAME_VERSION_3)
		err = sframe_quick_function(quick, span, true, fde);
	else
		err = sframe_quick_function(quick, span, false, fde);
	if (err)
		return err;
	if (!fde->num_fres || fde->fre_off >= quick->hdr->fre_len ||
	    (fde->pcmask && !fde->rep_size))
		return -EAGAIN;
	off = quick->pc - fde->start;
	if (fde->pcmask)
		off %= fde->rep_size;
	switch (fde->fre_type) {
	case SFRAME_FRE_TYPE_ADDR1:
		return sframe_quick_row(quick, fde, off, 1, rows, raw);
	case SFRAME_FRE_TYPE_ADDR2:
		return sframe_quick_row(quick, fde, off, 2, rows, raw);
	case SFRAME_FRE_TYPE_ADDR4:
		return sframe_quick_row(quick, fde, off, 4, rows, raw);
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
