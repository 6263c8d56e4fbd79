// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: finds the caller of a frame without an SFrame row, or whose row needs SP while the
 * walk's SP may be wrong. A wrong frame is worse than a short stack: if none of these kinds of
 * evidence confirms the caller, the walk ends.
 *
 *	kind	evidence			strength		checked by
 *	-------	------------------------------	----------------------	----------------------
 *	code	instructions at the ip begin	exact			find_by_code()
 *		or end a function
 *	link	arm64: the link register has	exact, if it is not	sfu_arch_fallback()
 *		the caller's address		used for data
 *	proof	the return address at FP is of	may miss callers if the	sfu_record_is_proved()
 *		a call that enters a function	code at the ip has made
 *		without row, in the ip's file	no record
 *	kept FP	a scan saw that the code at	may miss a caller if	sfu_record_is_kept(),
 *		the ip keeps frame pointers	it has made no record,	leaves_stack()
 *						like the kernel's walk
 *	chain	frame records lead up to a row,	may miss callers that	sfu_chain_enter()
 *		or the start of program/thread	make no record
 *
 * If SP may be wrong, the caller that a row finds by SP needs evidence, too. The call before its
 * return address may enter the row's function (is_proved() in walk.c). Else code that keeps frame
 * pointers may confirm SP, or give the record (sfu_fallback_by_row()).
 */
#include "walk/fallback.h"

static bool leaves_stack(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;

	if (READ_ONCE(sfu_proved_only) || frame->is_activation ||
	    walk->nr_switches == SFU_MAX_SWITCHES || !sfu_keeps_fp(walk, frame) ||
	    !sfu_record_find_on_other_stack(walk, frame, caller))
		return false;
	caller->by_kept_fp = true;
	caller->sp_unverified = true;
	walk->nr_switches++;
	return true;
}

static bool find_by_code(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;
	const struct sfu_range *range;
	struct sframe_row row;

	if (!frame->is_activation) {
		/*
		 * The ip is a return address. After a call that never returns, it may be the start
		 * of another function, whose code tells nothing of this frame. Files have such
		 * calls, so use only code in anonymous memory. There, trampolines of "python3 -X
		 * perf" only call a function that returns, then return.
		 */
		range = sfu_walk_range_of(walk, frame);
		if (frame->sp_unverified || !range || range->vma.file ||
		    !sfu_section_is(&range->section, SFU_SECTION_NONE))
			return false;
	}
	return sfu_arch_read_row(walk, &row) && !sfu_walk_find_caller(walk, &row, caller) &&
	       sfu_call_may_return_to(walk, caller->ip);
}

/* Largest stack alignment, in bytes, that may_be_realigned() detects: code with AVX-512 uses 64. */
#define MAX_REALIGNED	64

/*
 * Returns true if the callee may have realigned its stack. Such a callee has copied its return
 * address next to the saved FP. The present frame's SP is then too low: it was computed from the
 * copy. The original return address, which equals the ip, is a little above this SP.
 */
static bool may_be_realigned(struct sfu_walk *walk)
{
	unsigned long words[MAX_REALIGNED / sizeof(long)];
	unsigned int i;

	if (!sfu_walk_read_code(walk, words, walk->frame.sp, sizeof(words)))
		return true;
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (sfu_arch_strip_ra(words[i]) == walk->frame.ip)
			return true;
	return false;
}

/* Returns true if @row describes a frame record (saved FP, return address) below the CFA. */
static bool is_of_record(const struct sframe_row *row)
{
	return row->ra.how == SFRAME_RULE_CFA_MEM && row->fp.how == SFRAME_RULE_CFA_MEM &&
	       row->ra.off == row->fp.off + (int)sizeof(long) && row->ra.off < 0;
}

/*
 * Finds the caller by @row, which needs SP, although the walk's value of SP may be wrong. Returns
 * true if a call precedes the caller's return address, and one of these finds the caller:
 * - By SP, only on x86: the callee keeps frame pointers, and its FP has led to this frame. SP then
 *   is the end of the callee's frame record. It is right unless the callee has realigned its stack.
 *   step_by_row() has not found that the call enters this function. So a direct call enters some
 *   other function. An indirect call is accepted: its target is not known for sure.
 * - By FP: this frame's code keeps frame pointers, so FP points to the saved FP. @row tells how far
 *   the CFA is above the saved FP.
 */
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller)
{
	struct sframe_row by_fp;
	unsigned long func;
	enum sfu_call call;

	if (READ_ONCE(sfu_proved_only))
		return false;
	if (SFU_ARCH_REG_RA < 0 && walk->frame.by_kept_fp && !may_be_realigned(walk) &&
	    !sfu_walk_find_caller(walk, row, caller)) {
		call = sfu_arch_read_call(walk, caller->ip, &func);
		if (call == SFU_CALL_SLOT || call == SFU_CALL_REGISTER)
			return true;
	}
	by_fp = *row;
	by_fp.cfa = (struct sframe_rule){
		.how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = -row->fp.off,
	};
	return sfu_keeps_fp(walk, &walk->frame) && walk->frame.fp >= walk->frame.sp &&
	       is_of_record(row) && !sfu_walk_find_caller(walk, &by_fp, caller) &&
	       sfu_call_is_before(walk, caller->ip);
}

/*
 * Returns true if the frame is in an entry point: code of libc, libstdc++, Boost or Go that starts
 * a program or thread. Most stacks end there. The code has no row: its instructions identify it.
 */
bool sfu_is_entrypoint(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	enum sfu_start start;

	if (frame->is_activation)
		return false;
	start = sfu_arch_read_start(walk);
	/*
	 * Other code may look like a program's start. So SP must be near the process's first SP
	 * and, in code like _start, FP must be 0.
	 */
	if (start == SFU_START_NONE || (start == SFU_START_ENTRY && frame->fp) ||
	    (start != SFU_START_THREAD && !sfu_is_near_start(frame)))
		return false;
	/*
	 * Store this ip in the process's map: later walks end at this ip, and try neither FP nor
	 * this test. Store nothing while it is unknown if the code keeps frame pointers: FP may yet
	 * lead walks to a caller. A forked child writes nothing to a map inherited from its parent.
	 */
	if (!sfu_keeps_fp_is_unknown(walk) && !walk->lookup.is_inherited)
		WRITE_ONCE(*(start == SFU_START_THREAD ? &walk->map->thread_ra :
							 &walk->map->main_ra), frame->ip);
	return true;
}

/*
 * Moves the walk from a frame without a row to its caller. If no evidence confirms one, returns
 * SFU_STOP_ENTRYPOINT in code that starts a program or thread, else SFU_STOP_NODATA.
 */
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk)
{
	struct sfu_frame caller;
	enum sfu_stop stop;

	if (sfu_is_known_entrypoint(walk))
		return SFU_STOP_ENTRYPOINT;
	if (sfu_walk_charge(walk, SFU_FALLBACK_COST))
		return SFU_STOP_BUDGET;
	if (sfu_signal_is_at_return(walk))
		return sfu_signal_step(walk);
	stop = find_by_code(walk, &caller) ? SFU_STOP_NONE : sfu_arch_fallback(walk, &caller);
	if (stop == SFU_STOP_NODATA && leaves_stack(walk, &caller))
		stop = SFU_STOP_NONE;
	if (!stop)
		sfu_walk_enter(walk, &caller,
			       caller.by_kept_fp ? SFU_METHOD_FP_HABIT : SFU_METHOD_FP);
	if (stop != SFU_STOP_NODATA)
		return stop;
	if (sfu_is_entrypoint(walk))
		return SFU_STOP_ENTRYPOINT;
	walk->wants_keeps_fp |= sfu_keeps_fp_is_unknown(walk);
	return SFU_STOP_NODATA;
}
