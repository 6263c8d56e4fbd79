// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entry points: the code of libc, libstdc++ and Go that starts a program or a thread.
 *
 * This code is outermost in most stacks, and has no row. A walk recognises it by its instructions,
 * and ends there with SFU_STOP_ENTRYPOINT.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

/*
 * Returns true if the frame is in code that starts a program or a thread. Code that only looks like
 * a program's start is not near the start of the stack or, if it looks like _start, FP is not 0.
 */
bool sfu_is_entrypoint(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	unsigned long *known = &walk->map->main_ra;

	if (frame->is_activation)
		return false;
	switch (sfu_arch_read_start(walk)) {
	case SFU_START_NONE:
		return false;
	case SFU_START_MAIN:
		if (!sfu_is_near_start(frame))
			return false;
		break;
	case SFU_START_ENTRY:
		if (frame->fp || !sfu_is_near_start(frame))
			return false;
		break;
	case SFU_START_THREAD:
		known = &walk->map->thread_ra;
		break;
	}
	/* Remembered, unless a scan may let walks get further here, or the map is the parent's. */
	if (!sfu_keeps_fp_is_unknown(walk) && !walk->lookup.is_inherited)
		WRITE_ONCE(*known, frame->ip);
	return true;
}
