// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers of several bytes as DWARF stores them: LEB128. */
#include "cfi_number.h"

/* A 64-bit number takes ten bytes. Longer forms are legal, and no tool writes them. */
#define LEB128_MAX	10

u64 cfi_long_number(struct cfi_cursor *cur, bool is_signed)
{
	u32 shift = 0;
	u64 value = 0;
	u8 byte;

	do {
		byte = cfi_byte(cur);
		if (shift == 7 * LEB128_MAX)
			cur->is_bad = true;
		if (cur->is_bad)
			return 0;
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return value;
}
