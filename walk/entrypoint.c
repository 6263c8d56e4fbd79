// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entry points: the code of libc, libstdc++ and Go that starts a program or a thread.
 *
 * Such code is outermost in most stacks, and has no row. It is recognised by its instructions, and
 * the walk ends there with SFU_STOP_ENTRYPOINT.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

/*
 * Returns true if the frame is in code that starts a program or a thread. Other code may look like
 * the code that starts a program, but its frame pointer or its place in the stack differ.
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
	/* Once a scan has examined the code, walks may go on. A borrowed map is the parent's. */
	if (!sfu_keeps_fp_is_unknown(walk) && !walk->lookup.is_borrowed)
		WRITE_ONCE(*known, frame->ip);
	return true;
}
