// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers as DWARF stores them. */
#include "encoding.h"

s64 read_fixed(const u8 **pos, const u8 *end, int size, bool is_signed)
{
	u64 value = 0;

	if (end - *pos < size) {
		*pos = end;
		return 0;
	}
	memcpy(&value, *pos, size);
	*pos += size;
	if (is_signed && size < 8 && value >> (8 * size - 1))
		value |= ~0ull << 8 * size;
	return value;
}

u64 read_uleb(const u8 **pos, const u8 *end)
{
	u64 value = 0;
	int shift = 0;

	while (*pos < end) {
		u8 byte = *(*pos)++;

		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

s64 read_sleb(const u8 **pos, const u8 *end)
{
	const u8 *start = *pos;
	u64 value = read_uleb(pos, end);
	int bits = 7 * (*pos - start);

	if (bits && bits < 64 && (*pos)[-1] & 0x40)
		value |= ~0ull << bits;
	return value;
}
