// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of libc, libstdc++ and Go that starts a program or a thread. */
#include <linux/sched.h>

#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

/*
 * Bytes of the stack above the frame that calls main(): at most 450 in glibc of Debian 12
 * and 13 and of unstable, dynamic and static, and 48 in musl.
 */
#define MAX_START_STACK		768

/*
 * The process begins with the stack pointer at start_stack. The frames of _start and of
 * libc's functions are next to it.
 */
static bool is_near_start(const struct sfu_frame *frame)
{
	return READ_ONCE(current->mm->start_stack) - frame->sp <= MAX_START_STACK;
}

static bool starts_program(const struct sfu_frame *frame, const u8 *ra)
{
	return is_near_start(frame) &&
	       (sfu_arch_calls_main(ra) || (!frame->fp && sfu_arch_is_entry(ra)));
}

/* The code around a return address; @ra points to that address. */
struct call_code {
	u8		code[SFU_ARCH_START_BEFORE + SFU_ARCH_START_AFTER];
	const u8	*ra;
	unsigned long	addr;
};

static bool read_call_site(struct sfu_walk *walk, struct call_code *site,
			   unsigned long addr)
{
	site->ra = site->code + SFU_ARCH_START_BEFORE;
	site->addr = addr;
	return sfu_walk_read_code(walk, site->code, addr - SFU_ARCH_START_BEFORE,
				  sizeof(site->code));
}

static bool starts_thread(struct sfu_walk *walk, const struct call_code *site)
{
	unsigned long after = sfu_arch_thread_exit(site->ra, site->addr);
	u8 code[SFU_ARCH_EXIT_BYTES];

	return sfu_arch_starts_thread(site->ra) ||
	       (sfu_walk_read_code(walk, code, after, sizeof(code)) &&
		sfu_arch_exits_thread(code));
}

/* Between libc and the function of a std::thread there is a frame of libstdc++. */
static bool starts_cxx_thread(struct sfu_walk *walk, const struct call_code *site)
{
	unsigned int off = sfu_arch_cxx_thread(site->ra);
	struct call_code outer;
	unsigned long ra;

	return off && !sfu_walk_read_word(walk, walk->frame.sp + off, &ra) &&
	       read_call_site(walk, &outer, ra) && starts_thread(walk, &outer);
}

/*
 * Is the frame in the code of libc, libstdc++ or Go that starts a program or a thread? What
 * is not recognised is honestly reported as nodata, so this is strict.
 */
bool sfu_is_entrypoint(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	struct call_code site;
	unsigned long *known;

	if (frame->is_activation || !read_call_site(walk, &site, frame->ip))
		return false;
	if (starts_program(frame, site.ra))
		known = &walk->map->main_ra;
	else if (starts_thread(walk, &site) || starts_cxx_thread(walk, &site))
		known = &walk->map->thread_ra;
	else
		return false;
	/* Once the habit is known, walks may go on from here. The parent may have other code. */
	if (!sfu_record_lacks_habit(walk) && !walk->lookup.is_borrowed)
		WRITE_ONCE(*known, frame->ip);
	return true;
}

/*
 * Has a walk found such code at this address? Most stacks end there, so it is read once
 * only. A process that puts other code there deceives nobody but itself: a child that has the map
 * of its parent does not rely on it.
 */
bool sfu_is_known_entrypoint(const struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;

	if (frame->is_activation || walk->lookup.is_borrowed)
		return false;
	return frame->ip == READ_ONCE(walk->map->thread_ra) ||
	       (frame->ip == READ_ONCE(walk->map->main_ra) && is_near_start(frame));
}
