/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quick look-up in a section that is in memory, for KUnit and the fuzzer. */
#ifndef QUICK_MEMORY_H
#define QUICK_MEMORY_H

#include "sframe_quick.h"

/**
 * struct quick_memory - a section in memory
 * @bytes: where it is
 * @addr: the address that its header has for the first byte
 */
struct quick_memory {
	const u8	*bytes;
	u64		addr;
};

static __always_inline bool quick_memory_get(const void *memory, u64 addr, u32 size, u64 *val)
{
	const struct quick_memory *mem = memory;

	/* Both machines that the module is for store the lowest byte first. */
	*val = 0;
	memcpy(val, mem->bytes + (addr - mem->addr), size);
	return true;
}

/* Returns as sframe_quick_find(). */
static inline int quick_memory_find(const struct sframe_header *hdr, const struct quick_memory *mem,
				    u64 pc, u32 *rows, struct sframe_plain_row *row)
{
	const struct sframe_quick quick = {
		.hdr = hdr, .mem = mem, .get = quick_memory_get, .pc = pc,
	};

	return sframe_quick_find(&quick, rows, row);
}

#endif /* QUICK_MEMORY_H */
