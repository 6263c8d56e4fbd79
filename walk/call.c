// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the call instruction before a return address, and the function that the call enters. */
#include "walk/walk.h"

/* Sets @func to the function that the call before @ra enters. Returns false if it is unknown. */
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

bool sfu_call_is_before(struct sfu_walk *walk, unsigned long ra)
{
	unsigned long func;

	return sfu_arch_read_call(walk, ra, &func) != SFU_CALL_NONE;
}

bool sfu_call_may_return_to(struct sfu_walk *walk, unsigned long ra)
{
	return sfu_call_is_before(walk, ra) || sfu_signal_is_stub_at(walk, ra);
}
