// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls: what does the code before a return address call? */
#include "sframe_arch.h"
#include "walk/call.h"
#include "walk/frame.h"

/*
 * Finds the function that the call before @ra has entered. Returns false if it is not known. The
 * call may be direct, or go through a word in memory, or through a PLT slot that has been resolved.
 */
bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func)
{
	u8 call[SFU_ARCH_CALL_BYTES], plt[SFU_ARCH_PLT_BYTES];
	unsigned long word;

	if (!sfu_walk_read_code(walk, call, ra - sizeof(call), sizeof(call)))
		return false;
	switch (sfu_arch_decode_call(call, ra, func)) {
	case SFU_CALL_SLOT:
		return !sfu_walk_read_word(walk, *func, func);
	case SFU_CALL_DIRECT:
		break;
	default:
		return false;
	}
	if (!sfu_walk_read_code(walk, plt, *func, sizeof(plt)))
		return false;
	if (!sfu_arch_decode_plt(plt, *func, &word))
		return true;
	return !sfu_walk_read_word(walk, word, func);
}

enum sfu_call_site sfu_call_classify_site(struct sfu_walk *walk, unsigned long ra)
{
	u8 code[SFU_ARCH_CALL_SITE];

	if (!sfu_walk_read_code(walk, code, ra - sizeof(code), sizeof(code)))
		return SFU_SITE_NONE;
	if (sfu_arch_follows_direct_call(code + sizeof(code)))
		return SFU_SITE_OF_DIRECT_CALL;
	return sfu_arch_follows_indirect_call(code + sizeof(code)) ? SFU_SITE_OF_INDIRECT_CALL :
								     SFU_SITE_NONE;
}
