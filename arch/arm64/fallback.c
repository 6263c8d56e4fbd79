// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback of arm64: calls leave the return address in the link register, so a
 * function may have no frame, or none yet. The frame pointer then belongs to an older
 * frame, and following it skips the caller.
 *
 * The link register is known in the sampled frame, and in one that a signal has
 * interrupted. Where a function begins or ends, the instruction tells where the return address
 * is. That is tried first.
 *
 * Elsewhere the link register decides. The function's own calls leave addresses of
 * its own file there. The table shows what follows:
 *
 *	link register leads to		caller
 *	-------------------------	------------------------------------------
 *	(in a PLT slot) anything	by the link register: slots have no frame
 *	another file			by the link register, or by the frame pointer
 *					if both lead there
 *	a call of the present code	by the link register: see is_entered_by_link()
 *	the same file, maybe a row	by the frame pointer, if the code keeps them. It may be
 *					another part of the function: no proof
 *	code without a row		by the frame pointer, proved, or the code keeps them
 *	the frame pointer's caller	by the frame pointer, proved, or the code keeps them
 *	not known, or no code		by the frame pointer, proved, or the code keeps them
 *
 * A caller by the link register must be code after a call instruction. In another file
 * there may still be one by the frame pointer, if the code keeps them; else there is none.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

enum link {
	LINK_UNKNOWN,		/* or no code, or, in the same file, what the frame pointer finds */
	LINK_FROM_PLT,
	LINK_TO_OTHER_FILE,
	LINK_TO_SAME_FILE,
};

/* The caller by the link register. Its ip is 0 if the register is not known. */
static enum sfu_stop find_linked(struct sfu_walk *walk, struct sfu_frame *linked)
{
	enum sfu_stop stop;

	*linked = (struct sfu_frame){
		.sp = walk->frame.sp,
		.fp = walk->frame.fp,
	};
	if (!sfu_walk_has_registers(&walk->frame))
		return SFU_STOP_NONE;
	stop = sfu_walk_read_register(walk, SFU_ARCH_REG_RA, &linked->ip);
	linked->ip = sfu_arch_strip_ra(linked->ip);
	return stop;
}

/* Classifies where the link register leads to. */
static enum link classify_link(struct sfu_walk *walk, const struct sfu_frame *linked,
			       const struct sfu_frame *by_fp)
{
	const struct sfu_range *here, *there;

	if (!linked->ip)
		return LINK_UNKNOWN;
	here = sfu_walk_find_range(walk, walk->frame.ip);
	there = sfu_walk_find_range(walk, sfu_walk_lookup_ip(linked));
	if (!there)
		return LINK_UNKNOWN;
	if (here && there->vma.file != here->vma.file)
		return LINK_TO_OTHER_FILE;
	return linked->ip == by_fp->ip ? LINK_UNKNOWN : LINK_TO_SAME_FILE;
}

static bool is_linked_sound(struct sfu_walk *walk, const struct sfu_frame *linked)
{
	return IS_ALIGNED(linked->sp, SFU_ARCH_CFA_ALIGN) &&
	       sfu_walk_find_range(walk, sfu_walk_lookup_ip(linked)) &&
	       sfu_call_may_return_to(walk, linked->ip);
}

/*
 * Returns true if the call before the link register's address has entered the function that the
 * ip is in, and the function has changed neither the link register nor the stack pointer yet: the
 * call names the first instruction, and all instructions up to the ip change neither.
 */
static bool is_entered_by_link(struct sfu_walk *walk, const struct sfu_frame *linked)
{
	unsigned long func;

	return sfu_arch_read_call(walk, linked->ip, &func) == SFU_CALL_DIRECT &&
	       sfu_arm64_keeps_link(walk, func, walk->frame.ip);
}

/* Follows the frame pointer to @caller, if there is a reason to. */
static enum sfu_stop follow_fp(struct sfu_walk *walk, struct sfu_frame *caller, bool may_be_proved,
			       enum sfu_method *method)
{
	if (sfu_record_trusts_fp(walk, caller))
		*method = SFU_METHOD_FP_HABIT;
	else if (may_be_proved && sfu_record_is_proved(walk, caller))
		*method = SFU_METHOD_FP;
	else
		return SFU_STOP_NODATA;
	caller->sp_unverified = true;
	return SFU_STOP_NONE;
}

enum sfu_stop sfu_arch_fallback(struct sfu_walk *walk, struct sfu_frame *caller,
				enum sfu_method *method)
{
	struct sfu_frame linked, by_fp;
	enum link link = LINK_FROM_PLT;
	bool has_record = false;
	enum sfu_stop stop;

	*method = SFU_METHOD_FP;
	stop = find_linked(walk, &linked);
	if (stop)
		return stop;
	if (!linked.ip || !sfu_arm64_is_in_plt(walk, walk->frame.ip)) {
		has_record = sfu_record_find(walk, &by_fp);
		if (!has_record)
			by_fp = (struct sfu_frame){};
		link = classify_link(walk, &linked, &by_fp);
	}

	if (has_record)
		*caller = by_fp;
	switch (link) {
	case LINK_FROM_PLT:
	case LINK_TO_OTHER_FILE:
		if (!is_linked_sound(walk, &linked))
			break;
		/* If both lead there, the frame record belongs to this function. */
		if (!has_record || by_fp.ip != linked.ip)
			*caller = linked;
		/* A PLT slot has no frame. Other code may have moved the stack pointer already. */
		caller->sp_unverified = link == LINK_TO_OTHER_FILE;
		return SFU_STOP_NONE;
	case LINK_TO_SAME_FILE:
		if (is_linked_sound(walk, &linked) && is_entered_by_link(walk, &linked)) {
			*caller = linked;
			return SFU_STOP_NONE;
		}
		if (has_record)
			return follow_fp(walk, caller,
					 sfu_lacks_row(walk, sfu_walk_range_of(walk, &linked),
						       sfu_walk_lookup_ip(&linked)), method);
		break;
	case LINK_UNKNOWN:
		if (has_record)
			return follow_fp(walk, caller, true, method);
		break;
	}
	return has_record ? follow_fp(walk, caller, false, method) : SFU_STOP_NODATA;
}

/* Here the loader's code keeps its CFA in the stack pointer. */
bool sfu_arch_find_binding(struct sfu_walk *walk, const struct sframe_row *row,
			   struct sfu_frame *caller)
{
	return false;
}
