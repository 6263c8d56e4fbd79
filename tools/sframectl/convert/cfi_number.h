/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as DWARF stores them, read from bytes that may be anything.
 *
 * A read past the end returns 0 and sets &cfi_cursor.is_bad. The caller checks it once, after
 * all of its reads.
 */
#ifndef CFI_NUMBER_H
#define CFI_NUMBER_H

#include "sframe_types.h"

/**
 * struct cfi_cursor - a place in bytes that are read forward
 * @pos: the next byte
 * @end: the first byte that must not be read
 * @is_bad: a number was cut off by @end, or does not fit 64 bits
 */
struct cfi_cursor {
	const u8	*pos;
	const u8	*end;
	bool		is_bad;
};

/* All files are little endian. */
static inline u64 cfi_fixed(struct cfi_cursor *cur, u32 size)
{
	u64 value = 0;

	if ((size_t)(cur->end - cur->pos) < size) {
		cur->pos = cur->end;
		cur->is_bad = true;
		return 0;
	}
	memcpy(&value, cur->pos, size);
	cur->pos += size;
	return value;
}

static inline s64 cfi_signed(u64 value, u32 size)
{
	u32 unused = 64 - 8 * size;

	return (s64)(value << unused) >> unused;
}

static inline u8 cfi_byte(struct cfi_cursor *cur)
{
	if (cur->pos == cur->end) {
		cur->is_bad = true;
		return 0;
	}
	return *cur->pos++;
}

u64 cfi_long_number(struct cfi_cursor *cur, bool is_signed);

/* Nearly all numbers have one byte. */
static inline u64 cfi_uleb(struct cfi_cursor *cur)
{
	if (cur->pos != cur->end && *cur->pos < 0x80)
		return *cur->pos++;
	return cfi_long_number(cur, false);
}

static inline s64 cfi_sleb(struct cfi_cursor *cur)
{
	if (cur->pos != cur->end && *cur->pos < 0x80)
		return (s64)((u64)*cur->pos++ << 57) >> 57;
	return cfi_long_number(cur, true);
}

/* Takes @len bytes. An empty cursor that is bad follows from a length that is too large. */
static inline struct cfi_cursor cfi_block(struct cfi_cursor *cur, u64 len)
{
	struct cfi_cursor block = { cur->pos, cur->pos, cur->is_bad };

	if (len > (u64)(cur->end - cur->pos)) {
		cur->pos = cur->end;
		cur->is_bad = true;
		block.is_bad = true;
		return block;
	}
	cur->pos += len;
	block.end = cur->pos;
	return block;
}

#endif /* CFI_NUMBER_H */
