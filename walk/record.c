// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frame records (saved frame pointer, return address): finds callers, and checks the evidence.
 *
 * Code without a row may use the frame pointer for data, so a record alone shows nothing. Two kinds
 * of evidence are checked here (walk/fallback.c lists all): first that the code keeps frame
 * pointers, which needs fewer reads; then a proof by a call.
 */
#include <linux/moduleparam.h>

#include "walk/fallback.h"

bool sfu_proved_only;
module_param_named(proved_only, sfu_proved_only, bool, 0644);
MODULE_PARM_DESC(proved_only, "follow a frame pointer only where a call proves it: Y leaves out frames of files that keep frame pointers, where no call is known (default N)");

/* Returns true if a scan has found that the code in the frame's range keeps frame pointers. */
bool sfu_keeps_fp(struct sfu_walk *walk, const struct sfu_frame *frame)
{
	struct sfu_range *range = sfu_walk_range_of(walk, frame);

	return range && range->keeps_fp == SFRAME_KEEPS_FP_YES;
}

/* Finds the caller in the present frame's record. Nothing confirms yet that this is the caller. */
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;
	const bool is_low = sfu_record_is_low(frame);
	/* The CFA is right above a frame record; but one word higher in Go's low records. */
	const int cfa = 16 + (is_low ? SFU_ARCH_LOW_RECORD : 0);
	const struct sframe_row row = {
		.cfa = { .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = cfa },
		.ra = { .how = SFRAME_RULE_CFA_MEM, .off = 8 - cfa },
		.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -cfa },
	};

	return sfu_record_links_up(frame, frame) && (!is_low || sfu_keeps_fp(walk, frame)) &&
	       !sfu_walk_find_caller(walk, &row, caller);
}

/*
 * Returns true if a call proves @caller: the call before its return address enters a function that
 * is in the file of the present frame and has no row. If the call enters another function, the
 * record belongs to an outer caller.
 */
bool sfu_record_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *here, *there;
	unsigned long func;

	if (!sfu_call_find_callee(walk, caller->ip, &func))
		return false;
	here = sfu_walk_range_of(walk, &walk->frame);
	there = sfu_map_find(walk->map, func);
	if (!here || !there || here->vma.file != there->vma.file)
		return false;
	/*
	 * If the file has neither rows nor frame pointers, the record may be of any outer function.
	 * It counts only if the caller's code keeps FP: the kernel's walk finds this caller, too.
	 */
	if (there->has_no_data && !sfu_keeps_fp(walk, caller))
		return false;
	return sfu_lacks_row(walk, there, func);
}

/*
 * Least distance, in bytes, from SP down to a frame record on another stack. Most nearer records
 * belong to functions that have returned. With the double, no caller is found on stacks close by.
 */
#define MIN_STACK_DISTANCE	0x10000

/*
 * Finds the caller of @frame on another stack at lower addresses, to which FP leads. Go runs C, and
 * parts of its runtime, on the stack of the thread, and the goroutine that calls them has a stack
 * of its own. @frame must not be sampled or hit by a signal: it may be in a stack switch.
 */
bool sfu_record_find_on_other_stack(struct sfu_walk *walk, const struct sfu_frame *frame,
				    struct sfu_frame *caller)
{
	const struct sfu_frame present = walk->frame;
	bool found;

	if (!frame->fp || frame->fp >= frame->sp || frame->sp - frame->fp < MIN_STACK_DISTANCE)
		return false;
	walk->frame = *frame;
	walk->frame.sp = frame->fp;
	found = sfu_record_find(walk, caller);
	walk->frame = present;
	return found && sfu_keeps_fp(walk, caller) &&
	       (!caller->fp || sfu_record_links_up(caller, frame)) &&
	       sfu_call_is_before(walk, caller->ip);
}

/*
 * Returns true if @caller is in anonymous code that keeps frame pointers, and its record leads to
 * code. This replaces the check for a call: interpreters may push a return address and jump.
 */
static bool is_pushed_return(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *range = sfu_walk_range_of(walk, caller);
	unsigned long ra;

	return range && !range->vma.file && range->keeps_fp == SFRAME_KEEPS_FP_YES &&
	       !sfu_walk_read_word(walk, caller->fp + sizeof(ra), &ra) &&
	       sfu_walk_find_range(walk, sfu_arch_strip_ra(ra) - 1);
}

/*
 * Returns true, and sets &sfu_frame.by_kept_fp of @caller (see sfu_record_find()), if the code of
 * the present frame keeps frame pointers. Unless the caller's FP is 0, its return address must
 * follow a call, and if its code keeps frame pointers, too, its FP must lead to a next record.
 */
bool sfu_record_is_kept(struct sfu_walk *walk, struct sfu_frame *caller)
{
	struct sfu_frame next;

	if (READ_ONCE(sfu_proved_only) || !sfu_keeps_fp(walk, &walk->frame))
		return false;
	if (caller->fp && sfu_keeps_fp(walk, caller) &&
	    !sfu_record_links_up(caller, &walk->frame) &&
	    !sfu_record_find_on_other_stack(walk, caller, &next))
		return false;
	if (caller->fp && !sfu_call_may_return_to(walk, caller->ip) &&
	    !is_pushed_return(walk, caller))
		return false;
	caller->by_kept_fp = true;
	return true;
}

/*
 * Returns true if no scan has found out whether the code of the present frame keeps frame pointers:
 * after a scan, a walk may get further. If the ip is in anonymous code, stores it in the range: the
 * next scan reads the code around it.
 */
bool sfu_keeps_fp_is_unknown(struct sfu_walk *walk)
{
	struct sfu_range *range = sfu_walk_range_of(walk, &walk->frame);

	if (READ_ONCE(sfu_proved_only) || !range || range->keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
		return false;
	/* Walks write nothing to a map that is inherited from the parent. */
	if (!range->vma.file && !walk->lookup.is_inherited)
		WRITE_ONCE(range->missed_addr, sfu_walk_lookup_ip(&walk->frame));
	return true;
}
