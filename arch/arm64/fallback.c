// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of arm64: finds the caller of a frame without an SFrame row, by the link register
 * (x30) or by FP. A call stores the return address in x30. A function that makes no frame, or has
 * not made it yet, leaves FP as it is. Then the frame record at FP would skip the caller.
 *
 * x30 is known if a sample or a signal has interrupted the frame. It is taken for the return
 * address if it follows a call (or is the sigreturn stub), and one of these holds:
 *
 *	- The ip is in a PLT: a slot has no frame, the head pushes 16 bytes. FP is not tried then.
 *	- x30 is in another file than the ip. If the function had made a call, x30 would be in
 *	  the function's file.
 *	- The call before x30 enters the present function, see is_entered_by_link().
 *
 * Else the frame record at FP gives the caller, if one of these holds:
 *
 *	- The code at the ip keeps frame pointers.
 *	- The call before the record's return address enters a function without a row, in the
 *	  file of the ip: this may be the present function. This is not enough if x30 points to
 *	  another file or to code with a row: x30 may be the real return address, and the record
 *	  of an outer function without a row in the ip's file. Then callers would be skipped.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/walk.h"

/* Where x30 points, compared with the ip and with the RA in the record at FP ("record's RA"). */
enum link {
	LINK_UNKNOWN,		/* unknown, in no code, or in the ip's file and the record's RA */
	LINK_FROM_PLT,		/* the ip is in a PLT slot, or in the head of a PLT */
	LINK_TO_OTHER_FILE,	/* in another file than the ip; the record's RA may be equal */
	LINK_TO_SAME_FILE,	/* in the ip's file, not the record's RA: may be of an old call */
};

/* Classifies x30 (@linked->ip; 0: unknown). @by_fp->ip is the RA in the record at FP, or 0. */
static enum link classify_link(struct sfu_walk *walk, const struct sfu_frame *linked,
			       const struct sfu_frame *by_fp)
{
	const struct sfu_range *here, *there;

	here = sfu_walk_find_range(walk, walk->frame.ip);
	there = linked->ip ? sfu_walk_range_of(walk, linked) : NULL;
	if (!there)
		return LINK_UNKNOWN;
	if (here && there->vma.file != here->vma.file)
		return LINK_TO_OTHER_FILE;
	return linked->ip == by_fp->ip ? LINK_UNKNOWN : LINK_TO_SAME_FILE;
}

/* Returns true if x30 (@linked->ip) certainly is the return address of the present function. */
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
	if (!linked.ip || !sfu_arm64_is_in_plt(walk, walk->frame.ip, &linked.sp)) {
		if (!sfu_record_find(walk, &by_fp))
			by_fp.ip = 0;
		link = classify_link(walk, &linked, &by_fp);
	}

	if (link != LINK_UNKNOWN && IS_ALIGNED(linked.sp, SFU_ARCH_CFA_ALIGN) &&
	    sfu_walk_range_of(walk, &linked) && sfu_call_may_return_to(walk, linked.ip) &&
	    (link != LINK_TO_SAME_FILE || is_entered_by_link(walk, &linked))) {
		/* A record at FP that holds x30 is this frame's: it gives the caller's SP, FP. */
		*caller = by_fp.ip == linked.ip ? by_fp : linked;
		/*
		 * @linked.sp is the present SP. It is also the caller's SP if the function has not
		 * changed SP. This is certain in a PLT slot and after is_entered_by_link(). Where
		 * x30 only points into another file, it is not: mark SP as unverified.
		 */
		caller->sp_unverified = link == LINK_TO_OTHER_FILE;
		return SFU_STOP_NONE;
	}
	if (!by_fp.ip)
		return SFU_STOP_NODATA;
	/*
	 * If the present function has made a call, x30 points into this function: to code without a
	 * row, in its file. If x30 points elsewhere, it may be the real return address. Then the
	 * record at FP may be an outer function's, so sfu_record_is_proved() proves nothing.
	 */
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

/* Only x86 needs this: there, rows of _dl_runtime_resolve() need rbx. Here, they need only SP. */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller)
{
	return false;
}
