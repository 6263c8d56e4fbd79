// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frame records (saved frame pointer, return address): finds callers, and checks the evidence.
 *
 * Code without a row may use the frame pointer for data: a record alone is no evidence. This file
 * checks two kinds of evidence (walk/fallback.c lists all):
 * - The code of the frame keeps frame pointers. This is checked first: it needs fewer reads.
 * - The code before the return address is a call of some function F without a row. The present
 *   frame has no row either, so it may be the frame of F that this call has made.
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
	/*
	 * Take the end of the frame record for the CFA. This may be too low, see
	 * &sfu_frame.sp_unverified. In Go on arm64, a word or more is between record and CFA.
	 */
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
 * @caller was found by FP. Returns true if it may be the caller of the present function P, which
 * has no row. If P has made no frame record, FP is that of some outer function instead. The call
 * before @caller->ip has entered the function whose FP it is. This function is not P if it has a
 * row, or is in another file than P. Else it may be P: without a row, the start of P is not known.
 * If it is another function after all, the walk misses P's caller.
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
	 * has_no_data: the file has no rows, and keeps no frame pointers. So all its functions pass
	 * the last test, and FP may be that of any outer frame. Then require that @caller's code
	 * keeps frame pointers. The kernel's own unwinder, which only follows FP, finds the same
	 * caller, so an error is no worse.
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
 * Finds the caller of @frame if FP points to a record on another stack, at lower addresses. This is
 * so in Go: goroutines have stacks of their own, but C and parts of Go's runtime, which they call,
 * use the thread's stack. The ip of @frame must be a return address. A function that a sample or
 * signal has interrupted may be switching stacks: FP may be of one stack, and SP of another.
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
 * Returns true if @caller may be a frame of an interpreter (as in OpenJDK) that has pushed the
 * return address @caller->ip, and jumped to a method: then no call is before this address.
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
	/* Tell the next scan which code to read; but not in a map that still is the parent's. */
	if (!range->vma.file && !walk->lookup.is_inherited)
		WRITE_ONCE(range->missed_addr, sfu_walk_lookup_ip(&walk->frame));
	return true;
}
