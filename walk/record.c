// SPDX-License-Identifier: GPL-2.0-or-later
/* Frame records: the caller that a frame pointer leads to, and the evidence for it. */
#include <linux/moduleparam.h>

#include "sframe_arch.h"
#include "walk/call.h"
#include "walk/fallback.h"
#include "walk/frame.h"
#include "walk/signal.h"

bool sfu_proved_only;
module_param_named(proved_only, sfu_proved_only, bool, 0644);
MODULE_PARM_DESC(proved_only, "follow a frame pointer only where a call proves it: Y leaves out frames that only the habit of a file speaks for (default N)");

/* The frame pointer is a row for the same step. */
static const struct sframe_row fp_row = SFU_ARCH_FP_ROW, low_fp_row = SFU_ARCH_LOW_FP_ROW;

/* The same of the caller that the present record leads to: low records lead to low ones. */
static bool caller_links_up(const struct sfu_frame *frame, const struct sfu_frame *caller)
{
	return sfu_record_links_up(caller, sfu_record_is_low(frame) && sfu_record_is_low(caller) ? SFU_ARCH_LOW_RECORD : 0);
}

/* Do the functions around the frame keep frame pointers? */
bool sfu_has_habit(struct sfu_walk *walk, const struct sfu_frame *frame)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(frame));

	return range && range->habit == SFRAME_HABIT_FP;
}

/*
 * Finds the caller that the frame pointer leads to: does it point to a frame record whose return
 * address lies in code? That is no proof yet.
 */
bool sfu_record_find(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;

	if (sfu_record_is_low(frame))
		return sfu_record_links_up(frame, SFU_ARCH_LOW_RECORD) &&
		       sfu_has_habit(walk, frame) &&
		       !sfu_walk_find_caller(walk, &low_fp_row, caller);
	return sfu_record_links_up(frame, 0) && !sfu_walk_find_caller(walk, &fp_row, caller);
}

/* Is it certain that no row holds at @func? Then it may be the function that we are in. */
bool sfu_lacks_row(struct sfu_walk *walk, unsigned long func)
{
	struct sfu_range *range = sfu_map_find(walk->map, func);
	struct sframe_row row;

	return range &&
	       sfu_walk_find_row(walk, range, func, &row) == -ENOENT;
}

/*
 * May a function in the range @there be the one that we are in, or one that has gone on to it? If
 * it is in another file, it may have called any number of functions since, which have left the
 * frame pointer alone.
 */
static bool is_in_same_file(struct sfu_walk *walk, const struct sfu_range *there)
{
	const struct sfu_range *here;

	here = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));
	return here && here->vma.file == there->vma.file;
}

/*
 * Can a call of @func tell whose frame @caller is? In a file without data no function has a row.
 * If it does not keep frame pointers, a record may be that of any function up the stack. But if the
 * caller is code that does, it is the innermost of such code: the kernel's own walk finds it, too.
 */
static bool can_tell(struct sfu_walk *walk, const struct sfu_frame *caller, unsigned long func)
{
	const struct sfu_range *there = sfu_map_find(walk->map, func);

	return there && is_in_same_file(walk, there) &&
	       (!there->has_no_data || sfu_has_habit(walk, caller));
}

/*
 * Is it certain that the code of @caller, from sfu_record_find(), calls a function without
 * a row, in the file of the present frame? If the file has no data at all, the caller's code must
 * also keep frame pointers.
 */
bool sfu_record_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	unsigned long func;

	return sfu_call_find_callee(walk, caller->ip, &func) &&
	       can_tell(walk, caller, func) && sfu_lacks_row(walk, func);
}

/*
 * Bytes from the stack pointer down to a record of another stack, at least. A record that is nearer
 * most likely belongs to a function that has returned.
 */
#define MIN_STACK_DISTANCE	0x10000

/*
 * Code that keeps frame pointers may call on another stack: Go runs C, and parts of its own
 * runtime, on the stack of the thread. The frame pointer of @frame, which has called, then leads to
 * the record of its caller, though that stack may be further down.
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
	return found && sfu_has_habit(walk, caller) &&
	       (!caller->fp || caller_links_up(frame, caller)) &&
	       sfu_call_classify_site(walk, caller->ip) != SFU_SITE_NONE;
}

/* Is the next link of the chain sound, too? The outermost one has no frame pointer. */
static bool leads_on(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_frame next;

	return !caller->fp || !sfu_has_habit(walk, caller) ||
	       caller_links_up(&walk->frame, caller) ||
	       sfu_record_find_on_other_stack(walk, caller, &next);
}

/*
 * An interpreter may push the address that a function returns to, and jump. Nothing calls at such
 * an address. It counts in anonymous code that keeps frame pointers, if the next link of the
 * chain leads to code, too.
 */
static bool is_pushed_return(struct sfu_walk *walk, const struct sfu_frame *caller)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(caller));
	unsigned long ra;

	return range && !range->vma.file && range->habit == SFRAME_HABIT_FP &&
	       !sfu_walk_read_word(walk, caller->fp + sizeof(ra), &ra) &&
	       sfu_walk_find_range(walk, sfu_arch_strip_ra(ra) - 1);
}

/*
 * Does the file of the present frame keep frame pointers, and does @caller, from
 * sfu_record_find(), look like a frame? Then this marks it.
 */
bool sfu_record_is_habitual(struct sfu_walk *walk, struct sfu_frame *caller)
{
	if (READ_ONCE(sfu_proved_only))
		return false;
	if (!sfu_has_habit(walk, &walk->frame) || !leads_on(walk, caller))
		return false;
	if (caller->fp && sfu_call_classify_site(walk, caller->ip) == SFU_SITE_NONE &&
	    !sfu_signal_is_stub(walk, caller->ip) && !is_pushed_return(walk, caller))
		return false;
	caller->by_habit = true;
	return true;
}

/* Could the habit of the code help, if a scan found it? Of much anonymous code, it reads this. */
bool sfu_record_lacks_habit(struct sfu_walk *walk)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));

	if (READ_ONCE(sfu_proved_only) || !range || range->habit != SFRAME_HABIT_UNKNOWN)
		return false;
	/* A child asks for the map that it will have, and leaves the one that it borrows alone. */
	if (!range->vma.file && !walk->lookup.is_borrowed)
		WRITE_ONCE(range->asked, sfu_walk_lookup_ip(&walk->frame));
	return true;
}
