/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a row to the one word that the fast path works with, see union sfu_fast_row.
 */
#ifndef SFU_PACK_H
#define SFU_PACK_H

#include "sframe_arch.h"
#include "sframe_cache.h"

/* The bits of SFU_FAST_HOW are free. */
static_assert(SFU_ARCH_CFA_ALIGN > SFU_FAST_HOW);

/*
 * Returns a row in one word. The offsets are those from the base; @how says what the base is, and
 * whether the frame pointer is saved. Where calls push the return address, it is next to the CFA.
 */
static __always_inline union sfu_fast_row sfu_pack_row(s64 cfa, s64 ra, s64 fp, u16 how)
{
	const u64 most = cfa - sizeof(long);	/* for the start of a word below the CFA */

	if (!IS_ALIGNED(cfa, SFU_ARCH_CFA_ALIGN) || most > U16_MAX - sizeof(long))
		return SFU_OTHER_ROW;
	if (SFU_ARCH_REG_RA < 0 ? (u64)ra != most : (u64)ra > most)
		return SFU_OTHER_ROW;
	if (!(how & SFU_FAST_FP_SAVED))
		fp = 0;
	else if ((u64)fp > most)
		return SFU_OTHER_ROW;
	/* By shifts: compilers insert members one by one. */
	return (union sfu_fast_row){ .word = cfa | how | (u64)ra << 16 | (u64)fp << 32 };
}

#endif /* SFU_PACK_H */
