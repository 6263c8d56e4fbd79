// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of x86_64: calls push the return address, so the frame pointer leads to
 * it, or, where a function begins or ends, the stack pointer.
 */
#include "sframe_arch.h"
#include "sframe_walk.h"

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller,
				enum sfu_method *method)
{
	*method = SFU_METHOD_FP;
	if (sfu_fallback_by_code(walk, caller))
		return SFU_STOP_NONE;
	if (!sfu_fallback_find_record(walk, caller))
		return SFU_STOP_NODATA;
	if (sfu_fallback_is_habitual(walk, caller))
		*method = SFU_METHOD_FP_HABIT;
	else if (!sfu_fallback_is_proved(walk, caller))
		return SFU_STOP_NODATA;
	caller->sp_unverified = true;
	return SFU_STOP_NONE;
}
