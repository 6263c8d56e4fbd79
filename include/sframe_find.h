/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the row (unwind rule) for an address in the bytes of an SFrame section. The caller passes a
 * function that reads a number: from user memory (walk/user.c), or from a buffer (sframe_core.c).
 * All code here, and this function, are inlined: between user_access_begin() and user_access_end(),
 * no function may be called.
 *
 * The section may be hostile, and may change between two reads. Each value is checked against the
 * bounds of the header after it is read, and only the checked value is used.
 *
 * Spectre: no address is masked. After a mispredicted check,
 * - the search for a function moves by whole FDEs, so it reads the FDE table or bytes next to it;
 * - reads of rows go at most some 8 GiB above the section, because its offsets have 32 bits;
 * - bit fields of info words are too small to index beyond an array of the decoder.
 */
#ifndef SFRAME_FIND_H
#define SFRAME_FIND_H

#include "sframe_core.h"

/* Reads a number of @size bytes (1, 2, 4 or 8) to @val. Returns false if it is not readable now. */
typedef bool (*sframe_get_t)(const struct sframe_header *hdr, struct sframe_reader *rd, u64 addr,
			     u32 size, u64 *val);

/* Arguments that all functions of one look-up share. Each caller of sframe_find() sets them. */
struct sframe_reading {
	const struct sframe_header	*hdr;
	struct sframe_reader		*rd;
	/* Function that reads a number of the section. Callers set a constant, so it is inlined. */
	sframe_get_t			get;
};

static __always_inline bool sframe_get(const struct sframe_reading *from, u64 addr, u32 size,
				       u64 *val)
{
	return from->get(from->hdr, from->rd, addr, size, val);
}

/* Reads a function's start from its FDE at @addr: stored as a distance from FDE or section. */
static __always_inline bool sframe_get_start(const struct sframe_reading *from, u64 addr,
					     bool is_v3, bool is_pcrel, u64 *start)
{
	u64 val;

	if (!sframe_get(from, addr, is_v3 ? 8 : 4, &val))
		return false;
	*start = (is_v3 ? val : (u64)(s32)val) + (is_pcrel ? addr : from->hdr->addr);
	return true;
}

static __always_inline u64 sframe_entry_size(const struct sframe_header *hdr, bool is_v3)
{
	return is_v3 ? sizeof(struct sframe_raw_fde_v3) : hdr->fde_size;
}

static __always_inline bool sframe_get_entry(const struct sframe_reading *from, u64 addr,
					     bool is_v3, struct sframe_fde *fde)
{
	u64 size_addr = addr + (is_v3 ? offsetof(struct sframe_raw_fde_v3, size) :
					offsetof(struct sframe_raw_fde_v1, size));
	bool is_pcrel = from->hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL;
	u64 size, fre_off;

	if (!sframe_get_start(from, addr, is_v3, is_pcrel, &fde->start) ||
	    !sframe_get(from, size_addr, 4, &size) || !sframe_get(from, size_addr + 4, 4, &fre_off))
		return false;
	fde->size = size;
	fde->fre_off = fre_off;
	return true;
}

/* Reads a function's row count, type etc.: in V3 before its rows, else in its FDE at @addr. */
static __always_inline int sframe_get_rest(const struct sframe_reading *from, u64 addr,
					   bool is_v3, struct sframe_fde *fde)
{
	const struct sframe_header *hdr = from->hdr;
	u64 nr, info, info2 = 0, rep_size = 0;

	if (is_v3) {
		if ((u64)fde->fre_off + sizeof(struct sframe_raw_attr_v3) > hdr->fre_len)
			return sframe_malformed(from->rd, SFRAME_DEFECT_FRE_OFF);
		addr = hdr->fre_addr + fde->fre_off;
		fde->fre_off += sizeof(struct sframe_raw_attr_v3);
		if (!sframe_get(from, addr, 2, &nr) || !sframe_get(from, addr + 2, 1, &info) ||
		    !sframe_get(from, addr + 3, 1, &info2) ||
		    !sframe_get(from, addr + 4, 1, &rep_size))
			return -EFAULT;
		if (SFRAME_FDE_TYPE(info2) > SFRAME_FDE_TYPE_FLEX)
			return sframe_unsupported(from->rd, SFRAME_DEFECT_FDE_TYPE);
	} else {
		/* An FDE of V2 begins with the fields of V1, so the offsets for V1 serve both. */
		const u64 nr_addr = addr + offsetof(struct sframe_raw_fde_v1, num_fres);

		if (!sframe_get(from, nr_addr, 4, &nr) || !sframe_get(from, nr_addr + 4, 1, &info))
			return -EFAULT;
		if (hdr->version == SFRAME_VERSION_1)
			rep_size = hdr->abi == SFRAME_ABI_AMD64_LE ? SFRAME_V1_AMD64_REP_SIZE : 0;
		else if (!sframe_get(from, nr_addr + 5, 1, &rep_size))
			return -EFAULT;
	}
	fde->num_fres = nr;
	fde->fre_type = SFRAME_FDE_FRE_TYPE(info);
	fde->rep_size = rep_size;
	fde->pcmask = SFRAME_FDE_PCMASK(info);
	fde->flex = info2 & SFRAME_FDE_TYPE_FLEX;
	fde->signal = is_v3 && SFRAME_FDE_SIGNAL(info);
	fde->pauth_key_b = SFRAME_FDE_PAUTH_KEY_B(info);
	if (fde->fre_type > SFRAME_FRE_TYPE_ADDR4)
		return sframe_malformed(from->rd, SFRAME_DEFECT_FRE_TYPE);
	if (unlikely(fde->pcmask) && !fde->rep_size)
		return sframe_malformed(from->rd, SFRAME_DEFECT_REP_SIZE);
	if (fde->num_fres && fde->fre_off >= hdr->fre_len)
		return sframe_malformed(from->rd, SFRAME_DEFECT_FRE_OFF);
	return 0;
}

/* Returns true if the function is in the lower half of all addresses, where all user code is. */
static __always_inline bool sframe_is_of_user(const struct sframe_fde *fde)
{
	return !((fde->start | (fde->start + fde->size)) >> 63);
}

/*
 * Returns true if @pc is in the function, and the function is within the bounds of the code. The
 * linker mold does not know SFrame: it leaves FDEs of discarded functions, with address 0.
 */
static __always_inline bool sframe_covers(const struct sframe_header *hdr,
					  const struct sframe_fde *fde, u64 pc)
{
	/* start + size cannot wrap: start < @code_end, which is below 2^63, and size < 2^32. */
	return pc - fde->start < fde->size && fde->start >= hdr->code_start &&
	       fde->start < hdr->code_end && fde->start + fde->size <= hdr->code_end;
}

/* Binary search: sets @at to the last FDE that starts at or below @pc, or else to the first FDE. */
static __always_inline int sframe_search(const struct sframe_reading *from, u64 pc, bool is_v3,
					 bool is_pcrel, u64 *at)
{
	u64 size = sframe_entry_size(from->hdr, is_v3), left = from->hdr->num_fdes;
	u64 found = from->hdr->fde_addr, addr, start, starts = 0;

	/* Spectre: a mispredicted comparison takes the wrong half. Both halves are in the table. */
	while (left > 1) {
		u64 half = left / 2;

		addr = found + half * size;
		if (!sframe_get_start(from, addr, is_v3, is_pcrel, &start))
			return -EFAULT;
		starts |= start;
		found = start <= pc ? addr : found;
		left -= half;
	}
	*at = found;
	return starts >> 63 ? sframe_malformed(from->rd, SFRAME_DEFECT_FDE_RANGE) : 0;
}

/*
 * Called if the FDE at @at does not cover @pc: tries the FDEs before it that have the same start.
 * Two functions can have the same start if one has size 0. Their FDEs may be in any order.
 */
static __always_inline int sframe_step_back(const struct sframe_reading *from, u64 pc, bool is_v3,
					    u64 *at, struct sframe_fde *fde)
{
	const struct sframe_header *hdr = from->hdr;
	u64 start = fde->start;
	int err = 0;

	while (!err) {
		if (!sframe_is_of_user(fde))
			return sframe_malformed(from->rd, SFRAME_DEFECT_FDE_RANGE);
		if (fde->start > start)
			return sframe_malformed(from->rd, SFRAME_DEFECT_FDE_ORDER);
		if (sframe_covers(hdr, fde, pc))
			return 0;
		if (*at == hdr->fde_addr)
			return -ENOENT;
		*at -= sframe_entry_size(hdr, is_v3);
		if (!sframe_get_entry(from, *at, is_v3, fde))
			return -EFAULT;
		if (fde->start < start)
			return -ENOENT;
		err = sframe_charge(from->rd, SFRAME_ENTRY_COST);
	}
	return err;
}

/* Searches all FDEs for the function that covers @pc: lld leaves the FDEs of a section unsorted. */
static __always_inline int sframe_scan(const struct sframe_reading *from, u64 pc, bool is_v3,
				       u64 *at, struct sframe_fde *fde)
{
	u32 left = from->hdr->num_fdes;
	int err = 0;

	for (*at = from->hdr->fde_addr; left && !err; left--) {
		if (!sframe_get_entry(from, *at, is_v3, fde))
			return -EFAULT;
		if (!sframe_is_of_user(fde))
			return sframe_malformed(from->rd, SFRAME_DEFECT_FDE_RANGE);
		if (sframe_covers(from->hdr, fde, pc))
			return 0;
		*at += sframe_entry_size(from->hdr, is_v3);
		err = sframe_charge(from->rd, SFRAME_ENTRY_COST);
	}
	return err ?: -ENOENT;
}

static __always_inline int sframe_find_function(const struct sframe_reading *from, u64 pc,
						bool is_v3, struct sframe_fde *fde)
{
	const struct sframe_header *hdr = from->hdr;
	u64 at;
	int err;

	if (!(hdr->flags & SFRAME_F_FDE_SORTED) || !hdr->num_fdes) {
		err = sframe_scan(from, pc, is_v3, &at, fde);
		return err ?: sframe_get_rest(from, at, is_v3, fde);
	}
	if (hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL)
		err = sframe_search(from, pc, is_v3, true, &at);
	else
		err = sframe_search(from, pc, is_v3, false, &at);
	if (err)
		return err;
	if (!sframe_get_entry(from, at, is_v3, fde))
		return -EFAULT;
	if (!sframe_covers(hdr, fde, pc))
		err = sframe_step_back(from, pc, is_v3, &at, fde);
	return err ?: sframe_get_rest(from, at, is_v3, fde);
}

static __always_inline bool sframe_get_words(const struct sframe_reading *from, u64 addr, u32 size,
					     struct sframe_raw_row *raw)
{
	/* Use a pointer: for array indices, UBSAN adds function calls. No call is allowed here. */
	s32 *word = raw->words;
	const u32 unused = 32 - 8 * size;
	u64 end = addr + SFRAME_FRE_NR_WORDS(raw->info) * size, val;

	for (; addr < end; addr += size) {
		if (!sframe_get(from, addr, size, &val))
			return false;
		*word++ = (s32)((u32)val << unused) >> unused;
	}
	return true;
}

/* The caller has checked the row's info word. */
static __always_inline bool sframe_get_all_words(const struct sframe_reading *from, u64 addr,
						 struct sframe_raw_row *raw)
{
	switch (SFRAME_FRE_WORD_SIZE(raw->info)) {
	case 0:
		return sframe_get_words(from, addr, 1, raw);
	case 1:
		return sframe_get_words(from, addr, 2, raw);
	default:
		return sframe_get_words(from, addr, 4, raw);
	}
}

/* Finds a function's last row with start <= @off. Checks it, all rows before it and the next. */
static __always_inline int sframe_find_raw(const struct sframe_reading *from,
					   const struct sframe_fde *fde, u32 off, u32 addr_size,
					   struct sframe_raw_row *raw)
{
	u64 addr = from->hdr->fre_addr + fde->fre_off;
	u64 end = from->hdr->fre_addr + from->hdr->fre_len;
	/* No row can begin above @last: its start offset and info byte would not end by @end. */
	u64 last = end - addr_size - 1;
	u64 start, info, found = 0, found_info = 0, least = 0;
	/* Use a pointer: for array indices, UBSAN adds function calls. No call is allowed here. */
	const u16 *size_of = sframe_words_sizes;
	enum sframe_defect defect = SFRAME_DEFECT_FRE_CUT;
	u32 max_rows = fde->num_fres, nr = 0, sizes = 0, size;

	if ((u64)max_rows * SFRAME_ROW_COST > from->rd->budget)
		max_rows = from->rd->budget / SFRAME_ROW_COST;
	while (nr < max_rows) {
		nr++;
		if (addr > last)
			goto malformed_row;
		if (!sframe_get(from, addr, addr_size, &start) ||
		    !sframe_get(from, addr + addr_size, 1, &info))
			return -EFAULT;
		if (start < least) {
			defect = SFRAME_DEFECT_FRE_ORDER;
			goto malformed_row;
		}
		size = size_of[SFRAME_FRE_SIZE_INDEX(info)];
		/* @size is SFRAME_NO_SIZE if invalid. To save time, test for it after the loop. */
		sizes |= size;
		addr += addr_size + 1 + size;
		if (start > off)
			goto checked;
		found = addr;
		found_info = info;
		least = start + 1;
	}
	if (max_rows < fde->num_fres) {
		from->rd->budget = 0;
		return -E2BIG;
	}
checked:
	from->rd->budget -= nr * SFRAME_ROW_COST;
	if (sizes & SFRAME_NO_SIZE || addr > end)
		goto malformed;
	if (!found)
		return -ENOENT;
	raw->start = least - 1;
	raw->info = found_info;
	addr = found - size_of[SFRAME_FRE_SIZE_INDEX(found_info)];
	return sframe_get_all_words(from, addr, raw) ? 0 : -EFAULT;

malformed_row:
	from->rd->budget -= nr * SFRAME_ROW_COST;
malformed:
	return sframe_malformed(from->rd,
				sizes & SFRAME_NO_SIZE ? SFRAME_DEFECT_WORD_SIZE : defect);
}

static __always_inline void sframe_set_function(const struct sframe_fde *fde,
						struct sframe_raw_row *raw)
{
	raw->func = fde->start;
	raw->form = (fde->pcmask ? SFRAME_FORM_PCMASK : 0) | (fde->flex ? SFRAME_FORM_FLEX : 0) |
		    (fde->signal ? SFRAME_FORM_SIGNAL : 0) |
		    (fde->num_fres ? 0 : SFRAME_FORM_EMPTY);
}

/*
 * Finds the row for @pc: address of an instruction or, for a return address, last byte of the call.
 * Stores it undecoded in @raw, for sframe_decode_found(). Returns 0, or an error of sframe_core.c.
 */
static __always_inline int sframe_find(const struct sframe_reading *from, u64 pc,
				       struct sframe_raw_row *raw)
{
	struct sframe_fde fde;
	u32 off;
	int err = sframe_charge(from->rd, SFRAME_FIND_COST);

	if (err)
		return err;
	if (from->hdr->version == SFRAME_VERSION_3)
		err = sframe_find_function(from, pc, true, &fde);
	else
		err = sframe_find_function(from, pc, false, &fde);
	if (err)
		return err;
	sframe_set_function(&fde, raw);
	if (!fde.num_fres) {
		raw->start = 0;
		raw->info = 0;
		return 0;
	}
	off = pc - fde.start;
	if (fde.pcmask)
		off %= fde.rep_size;
	if (fde.fre_type == SFRAME_FRE_TYPE_ADDR1)
		return sframe_find_raw(from, &fde, off, 1, raw);
	if (fde.fre_type == SFRAME_FRE_TYPE_ADDR2)
		return sframe_find_raw(from, &fde, off, 2, raw);
	return sframe_find_raw(from, &fde, off, 4, raw);
}

#endif /* SFRAME_FIND_H */
