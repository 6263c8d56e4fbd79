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

/* Reads the code around the return address @ra. Returns a pointer to its copy of @ra, or NULL. */
static const u8 *read_around_ra(struct sfu_walk *walk, u8 *code, unsigned long ra)
{
	return sfu_walk_read_code(walk, code, ra - SFU_ARCH_START_BEFORE,
				  SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER) ?
	       code + SFU_ARCH_START_BEFORE : NULL;
}

/* Returns true if the code at @ra, with the address @addr, has called the function of a thread. */
static bool starts_thread(struct sfu_walk *walk, const u8 *ra, unsigned long addr)
{
	u8 code[SFU_ARCH_EXIT_BYTES];

	return sfu_arch_starts_thread(ra) ||
	       (sfu_walk_read_code(walk, code, sfu_arch_thread_exit(ra, addr), sizeof(code)) &&
		sfu_arch_exits_thread(code));
}

/* Returns true if libstdc++'s code at @ra, which libc has called, has called a std::thread. */
static bool starts_cxx_thread(struct sfu_walk *walk, const u8 *ra)
{
	u8 code[SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER];
	unsigned int off = sfu_arch_cxx_thread(ra);
	unsigned long addr;

	if (!off || sfu_walk_read_word(walk, walk->frame.sp + off, &addr))
		return false;
	ra = read_around_ra(walk, code, addr);
	return ra && starts_thread(walk, ra, addr);
}

/* Returns true if the frame is in code that starts a program or a thread. */
bool sfu_is_entrypoint(struct sfu_walk *walk)
{
	u8 code[SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER];
	const struct sfu_frame *frame = &walk->frame;
	unsigned long *known;
	const u8 *ra;

	if (frame->is_activation)
		return false;
	ra = read_around_ra(walk, code, frame->ip);
	if (!ra)
		return false;
	if (sfu_is_near_start(frame) &&
	    (sfu_arch_calls_main(ra) || (!frame->fp && sfu_arch_is_entry(ra))))
		known = &walk->map->main_ra;
	else if (starts_thread(walk, ra, frame->ip) || starts_cxx_thread(walk, ra))
		known = &walk->map->thread_ra;
	else
		return false;
	/* Once a scan has found the habit, walks may go on here. A borrowed map is the parent's. */
	if (!sfu_record_lacks_habit(walk) && !walk->lookup.is_borrowed)
		WRITE_ONCE(*known, frame->ip);
	return true;
}
