// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls: what does the code before a return address call? */
#include "sframe_arch.h"
#include "walk/frame.h"

/*
 * Finds the function that the call before @ra has entered. Returns false if it is not known. The
 * call may be direct, or go through a word in memory, or through a PLT slot that has been resolved.
 */
bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func)
{
	unsigned long slot;

	switch (sfu_arch_read_call(walk, ra, func)) {
	case SFU_CALL_SLOT:
		return !sfu_walk_read_word(walk, *func, func);
	case SFU_CALL_DIRECT:
		return sfu_arch_read_plt(walk, *func, &slot) &&
		       (!slot || !sfu_walk_read_word(walk, slot, func));
	default:
		return false;
	}
}

/* Returns true if a call is before @ra. */
bool sfu_call_is_before(struct sfu_walk *walk, unsigned long ra)
{
	unsigned long func;

	return sfu_arch_read_call(walk, ra, &func) != SFU_CALL_NONE;
}

/* Returns true if a function may return to @ra: it was called, or is a signal handler. */
bool sfu_call_may_return_to(struct sfu_walk *walk, unsigned long ra)
{
	return sfu_call_is_before(walk, ra) || sfu_arch_is_sigreturn(walk, ra);
}
