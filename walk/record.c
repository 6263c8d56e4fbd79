// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frame records (saved frame pointer, return address): finds callers, and checks the evidence.
 *
 * Code without a row may use the frame pointer for data: a record alone is no evidence. This file
 * checks two kinds of evidence (walk/fallback.c lists all):
 * - The code of the frame keeps frame pointers. This is checked first: it needs fewer reads.
 * - The call before the return address enters a function without a row. The frame has no row
 *   either, so it may be a frame of this function.
 */
#include <linux/moduleparam.h>

#include "walk/fallback.h"

bool sfu_proved_only;
module_param_named(proved_only, sfu_proved_only, bool, 0644);
MODULE_PARM_DESC(proved_only, "follow a frame pointer only where a call proves it: Y leaves out frames of files that keep frame pointers, where no call is known (default N)");

bool sfu_keeps_fp(struct sfu_walk *walk, const struct sfu_frame *frame)
{
	struct sfu_range *range = sfu_walk_range_of(walk, frame);

	return range && range->keeps_fp == SFRAME_KEEPS_FP_YES;
}

/* Sets @caller from a frame record at FP; false if invalid. Wrong if code uses FP for data. */
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;
	const bool is_low = sfu_record_is_low(frame);
	/* The CFA is right above the frame record. On arm64, Go leaves one word between them. */
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
 * Returns true if the call before @caller->ip (a return address) proves @caller. It must enter a
 * function without a row, in the present frame's file. If it enters any other function, FP has led
 * to the record of an outer frame.
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
	 * If the file has neither rows nor frame pointers, FP may lead to the record of any outer
	 * function. Then the code of @caller must keep frame pointers. The kernel's walk by FP
	 * finds the same caller, so an error is no worse.
	 */
	if (there->has_no_data && !sfu_keeps_fp(walk, caller))
		return false;
	return sfu_lacks_row(walk, there, func);
}

/*
 * FP must be at least this many bytes below SP to count as on another stack. A nearer FP mostly
 * leads to the record of a function that has returned. With twice this, near stacks are missed.
 */
#define MIN_STACK_DISTANCE	0x10000

/*
 * Finds the caller of @frame if FP leads to another stack, at lower addresses. A goroutine, on a
 * stack of its own, calls C and parts of Go's runtime on the thread's stack. @frame must not be
 * sampled or hit by a signal: its function may be switching stacks.
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

/* Returns true if an interpreter may have pushed @caller->ip and jumped, without a call. */
static bool is_pushed_return(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *range = sfu_walk_range_of(walk, caller);
	unsigned long ra;

	return range && !range->vma.file && range->keeps_fp == SFRAME_KEEPS_FP_YES &&
	       !sfu_walk_read_word(walk, caller->fp + sizeof(ra), &ra) &&
	       sfu_walk_find_range(walk, sfu_arch_strip_ra(ra) - 1);
}

/*
 * @caller was found by FP. Returns true if the present frame's code keeps frame pointers, and FP
 * and ip of @caller pass the checks below. Then also sets &sfu_frame.by_kept_fp of @caller.
 */
bool sfu_record_is_kept(struct sfu_walk *walk, struct sfu_frame *caller)
{
	struct sfu_frame next;

	if (READ_ONCE(sfu_proved_only) || !sfu_keeps_fp(walk, &walk->frame))
		return false;
	/* If @caller's code keeps frame pointers, too, FP leads to a frame record, or is 0. */
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

bool sfu_keeps_fp_is_unknown(struct sfu_walk *walk)
{
	struct sfu_range *range = sfu_walk_range_of(walk, &walk->frame);

	if (READ_ONCE(sfu_proved_only) || !range || range->keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
		return false;
	/* Tell the next scan where to read code first. A child must not write to a parent's map. */
	if (!range->vma.file && !walk->lookup.is_inherited)
		WRITE_ONCE(range->missed_addr, sfu_walk_lookup_ip(&walk->frame));
	return true;
}
