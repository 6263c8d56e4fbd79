// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of arm64. Calls leave the return address in the link register, so a function may
 * have no frame, or none yet. The frame pointer then belongs to an outer frame: following it would
 * skip the caller.
 *
 * In an interrupted frame (sampled, or hit by a signal) the link register is known. Its target is
 * the caller if it is code after a call instruction, and
 *
 *	- the ip is in a PLT slot, which has no frame;
 *	- or the target is in another file: after calls of its own, the link register of a function
 *	  leads to its own file;
 *	- or the target is after a call of the present function, see is_entered_by_link().
 *
 * Else the caller is found by the frame pointer, if the code keeps frame pointers, or a call proves
 * the frame record. A proof counts only if the link register is unknown, leads to no code, to the
 * address in the frame record, or to code of the same file without a row. Else it may lead to the
 * real caller, and the frame record belong to an outer one.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/walk.h"

enum link {
	LINK_UNKNOWN,		/* link register unknown, in no code, or as in the frame record */
	LINK_FROM_PLT,
	LINK_TO_OTHER_FILE,
	LINK_TO_SAME_FILE,
};

/* Returns where the link register, @linked->ip, leads. @by_fp->ip is 0 without a frame record. */
static enum link classify_link(struct sfu_walk *walk, const struct sfu_frame *linked,
			       const struct sfu_frame *by_fp)
{
	const struct sfu_range *here, *there;

	if (!linked->ip)
		return LINK_UNKNOWN;
	here = sfu_walk_find_range(walk, walk->frame.ip);
	there = sfu_walk_range_of(walk, linked);
	if (!there)
		return LINK_UNKNOWN;
	if (here && there->vma.file != here->vma.file)
		return LINK_TO_OTHER_FILE;
	return linked->ip == by_fp->ip ? LINK_UNKNOWN : LINK_TO_SAME_FILE;
}

/*
 * Returns true if the link register certainly has the return address of the present function: a
 * direct call before this address enters a function, and the instructions from the start of this
 * function to the ip change neither the link register nor the stack pointer.
 */
static bool is_entered_by_link(struct sfu_walk *walk, const struct sfu_frame *linked)
{
	unsigned long func;

	return sfu_arch_read_call(walk, linked->ip, &func) == SFU_CALL_DIRECT &&
	       sfu_arm64_keeps_link(walk, func, walk->frame.ip);
}

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller)
{
	struct sfu_frame linked = { .sp = walk->frame.sp, .fp = walk->frame.fp }, by_fp = {};
	enum link link = LINK_FROM_PLT;
	enum sfu_stop stop;
	bool may_be_proved;

	if (sfu_walk_has_registers(&walk->frame)) {
		stop = sfu_walk_read_register(walk, SFU_ARCH_REG_RA, &linked.ip);
		if (stop)
			return stop;
		linked.ip = sfu_arch_strip_ra(linked.ip);
	}
	if (!linked.ip || !sfu_arm64_is_in_plt(walk, walk->frame.ip)) {
		if (!sfu_record_find(walk, &by_fp))
			by_fp.ip = 0;
		link = classify_link(walk, &linked, &by_fp);
	}

	if (link != LINK_UNKNOWN && IS_ALIGNED(linked.sp, SFU_ARCH_CFA_ALIGN) &&
	    sfu_walk_range_of(walk, &linked) && sfu_call_may_return_to(walk, linked.ip) &&
	    (link != LINK_TO_SAME_FILE || is_entered_by_link(walk, &linked))) {
		/* A frame record with this return address is the record of the present function. */
		*caller = by_fp.ip == linked.ip ? by_fp : linked;
		/* If the link leads to another file, the function may have moved SP already. */
		caller->sp_unverified = link == LINK_TO_OTHER_FILE;
		return SFU_STOP_NONE;
	}
	if (!by_fp.ip)
		return SFU_STOP_NODATA;
	may_be_proved = link == LINK_UNKNOWN ||
			(link == LINK_TO_SAME_FILE &&
			 sfu_lacks_row(walk, sfu_walk_range_of(walk, &linked),
				       sfu_walk_lookup_ip(&linked)));
	*caller = by_fp;
	if (!sfu_record_is_kept(walk, caller) &&
	    !(may_be_proved && sfu_record_is_proved(walk, caller)))
		return SFU_STOP_NODATA;
	caller->sp_unverified = true;
	return SFU_STOP_NONE;
}

/* Nothing to find: on arm64, rows of the dynamic loader's binding code find the CFA by SP. */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller)
{
	return false;
}
