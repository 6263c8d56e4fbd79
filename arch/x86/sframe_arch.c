// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of x86_64: calls push the return address, so only the frame pointer
 * can lead to it.
 */
#include "sframe_arch.h"
#include "sframe_walk.h"

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller)
{
	if (!sfu_fallback_find_record(walk, caller) || !sfu_fallback_is_proved(walk, caller))
		return SFU_STOP_NODATA;
	caller->sp_unverified = true;
	return SFU_STOP_NONE;
}
