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

/* The @i-th data word of a row, of those that have @size bytes each. */
static __always_inline s64 sfu_stored_word(const u8 *words, u32 i, u32 size)
{
	switch (size) {
	case 1:
		return (s8)words[i];
	case 2:
		return (s16)((const struct sframe_any_u16 *)words)[i].v;
	default:
		return (s32)((const struct sframe_any_u32 *)words)[i].v;
	}
}

/*
 * Returns a row in one word, from its @nr words as they are stored: the CFA, the return address
 * where a call leaves it in a register, and the frame pointer if it is saved.
 */
static __always_inline union sfu_fast_row sfu_pack_words(u8 info, const u8 *words, u32 nr, u32 size)
{
	const bool has_ra = SFU_ARCH_REG_RA >= 0, has_fp = nr == 2 + has_ra;
	u16 how = (SFRAME_FRE_BASE_SP(info) ? 0 : SFU_FAST_FP) | (has_fp ? SFU_FAST_FP_SAVED : 0);
	s64 cfa = sfu_stored_word(words, 0, size);
	s64 ra = cfa + (has_ra ? sfu_stored_word(words, 1, size) : -(s64)sizeof(long));
	s64 fp = cfa + (has_fp ? sfu_stored_word(words, 1 + has_ra, size) : 0);

	return sfu_pack_row(cfa, ra, fp, how);
}

/* A row has so many words, and one more if the frame pointer is saved. */
#define SFU_PLAIN_WORDS	(SFU_ARCH_REG_RA < 0 ? 1 : 2)

/* The info word of a row with @nr words of 2^@bits bytes; the CFA's base and the RA are 0 in it. */
#define SFU_PLAIN_INFO(nr, bits)	((nr) << 1 | (bits) << 5)

/**
 * sfu_pack_stored() - a row of the default form in one word
 * @info: its info word
 * @words: its data words as they are stored
 *
 * Context: Any.
 * Return: The word, or SFU_OTHER_ROW if the row does not fit, or is the outermost.
 */
static __always_inline union sfu_fast_row sfu_pack_stored(u8 info, const u8 *words)
{
	switch (info & 0x7e) {
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS, 0):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS, 1);
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS + 1, 0):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS + 1, 1);
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS, 1):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS, 2);
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS + 1, 1):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS + 1, 2);
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS, 2):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS, 4);
	case SFU_PLAIN_INFO(SFU_PLAIN_WORDS + 1, 2):
		return sfu_pack_words(info, words, SFU_PLAIN_WORDS + 1, 4);
	default:
		return SFU_OTHER_ROW;
	}
}

#endif /* SFU_PACK_H */
