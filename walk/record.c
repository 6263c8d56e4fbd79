// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frame records: the caller that a frame pointer leads to, and the evidence for it.
 *
 * Code without a row may use the frame pointer for data. So a frame record counts only with one of
 * two kinds of evidence:
 *
 *   - A proof: the code before the return address calls a function of the present file that has no
 *     row. If the called function has a row, or is in another file, it is not the present one, and
 *     the record belongs to a function further up the stack.
 *   - Trust: the functions of the file keep frame pointers (map/keeps_fp.h). Then the kernel's
 *     own walk finds this caller, too. Both may skip the caller of a function without a frame.
 *     The return address must follow a call, and the next record must be further up the stack.
 *
 * Trust is tried first, because it needs fewer reads.
 */
#include <linux/moduleparam.h>

#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

bool sfu_proved_only;
module_param_named(proved_only, sfu_proved_only, bool, 0644);
MODULE_PARM_DESC(proved_only, "follow a frame pointer only where a call proves it: Y leaves out frames of files that keep frame pointers, where no call is known (default N)");

/* The frame record as a row. A low record is SFU_ARCH_LOW_RECORD bytes below the usual place. */
static const struct sframe_row fp_row = {
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = 16 },
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 },
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -16 },
};

static const struct sframe_row low_fp_row = {
	.cfa = { .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = 16 + SFU_ARCH_LOW_RECORD },
	.ra = { .how = SFRAME_RULE_CFA_MEM, .off = -8 - SFU_ARCH_LOW_RECORD },
	.fp = { .how = SFRAME_RULE_CFA_MEM, .off = -16 - SFU_ARCH_LOW_RECORD },
};

/* Returns true if the caller's record is further up the stack. Only a low record leads to one. */
static bool caller_links_up(const struct sfu_frame *frame, const struct sfu_frame *caller)
{
	return sfu_record_links_up(caller, sfu_record_is_low(frame) && sfu_record_is_low(caller));
}

/* Returns true if the functions around the frame keep frame pointers. */
bool sfu_keeps_fp(struct sfu_walk *walk, const struct sfu_frame *frame)
{
	struct sfu_range *range = sfu_walk_range_of(walk, frame);

	return range && range->keeps_fp == SFRAME_KEEPS_FP_YES;
}

/* Finds the caller by the frame record. Its return address is in code; that is no evidence yet. */
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;
	const bool is_low = sfu_record_is_low(frame);

	return sfu_record_links_up(frame, is_low) && (!is_low || sfu_keeps_fp(walk, frame)) &&
	       !sfu_walk_find_caller(walk, is_low ? &low_fp_row : &fp_row, caller);
}

/* Returns true if the code of @caller, from sfu_record_find(), calls the present function. */
bool sfu_record_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *here, *there;
	unsigned long func;

	if (!sfu_call_find_callee(walk, caller->ip, &func))
		return false;
	here = sfu_walk_range_of(walk, &walk->frame);
	there = sfu_map_find(walk->map, func);
	/* A function of another file may have called more functions, which have no record. */
	if (!here || !there || here->vma.file != there->vma.file)
		return false;
	/*
	 * In a file without data no function has a row, so the record may belong to any function up
	 * the stack. If the caller's code keeps frame pointers, the kernel's own walk finds it,
	 * too.
	 */
	if (there->has_no_data && !sfu_keeps_fp(walk, caller))
		return false;
	return sfu_lacks_row(walk, there, func);
}

/*
 * A record of another stack is at least this far below the stack pointer. A nearer one most likely
 * belongs to a function that has returned: with half, more such records look like another stack.
 * With the double, stacks that are near each other are not followed.
 */
#define MIN_STACK_DISTANCE	0x10000

/*
 * Finds the caller of @frame, which is no sampled frame, on another stack. Code that keeps frame
 * pointers may call there: Go runs C, and parts of its runtime, on the stack of the thread. The
 * frame pointer still leads to the caller's record, though that stack may be further down.
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
	       (!caller->fp || caller_links_up(frame, caller)) &&
	       sfu_call_is_before(walk, caller->ip);
}

/* Returns true if the caller's frame pointer leads to a further record, or needs not. */
static bool leads_on(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_frame next;

	return !caller->fp || !sfu_keeps_fp(walk, caller) ||
	       caller_links_up(&walk->frame, caller) ||
	       sfu_record_find_on_other_stack(walk, caller, &next);
}

/*
 * Returns true if the record of @caller leads to code, from anonymous code that keeps frame
 * pointers. An interpreter may push the address that a function returns to, and jump: no call is
 * before this address.
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
 * Returns true if @caller, from sfu_record_find(), can be trusted because the present code keeps
 * frame pointers. Then the caller is marked.
 */
bool sfu_record_trusts_fp(struct sfu_walk *walk, struct sfu_frame *caller)
{
	if (READ_ONCE(sfu_proved_only) || !sfu_keeps_fp(walk, &walk->frame) ||
	    !leads_on(walk, caller))
		return false;
	if (caller->fp && !sfu_call_may_return_to(walk, caller->ip) &&
	    !is_pushed_return(walk, caller))
		return false;
	caller->trusts_fp = true;
	return true;
}

/*
 * Returns true if no scan has examined the code of the frame, so the walk may go on once a scan
 * has. A scan examines anonymous code around the address in &sfu_range.asked.
 */
bool sfu_keeps_fp_is_unknown(struct sfu_walk *walk)
{
	struct sfu_range *range = sfu_walk_range_of(walk, &walk->frame);

	if (READ_ONCE(sfu_proved_only) || !range || range->keeps_fp != SFRAME_KEEPS_FP_UNKNOWN)
		return false;
	/* A borrowed map is the parent's. A child requests a map of its own. */
	if (!range->vma.file && !walk->lookup.is_borrowed)
		WRITE_ONCE(range->asked, sfu_walk_lookup_ip(&walk->frame));
	return true;
}
