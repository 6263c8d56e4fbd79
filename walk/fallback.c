// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: finds the caller of a frame without a row, or of a frame whose row needs the stack
 * pointer while it is unverified.
 *
 * Where a function begins or ends, the instructions show where the return address is. This is
 * exact, and is tried first. sfu_arch_fallback() then uses frame records (record.c) and, on arm64,
 * the link register. If no single caller has evidence, the walk tries the chain of frame records as
 * a whole (chain.c). If that fails, too, the walk ends: a wrong frame is worse than a short stack.
 */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"
#include "walk/walk.h"

/*
 * Finds a caller on another stack, see sfu_record_find_on_other_stack(). Not for an interrupted
 * frame: its function may be in the middle of a stack switch.
 */
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

/*
 * Finds the caller by the instructions at the ip. The return address must follow a call, or be the
 * rt_sigreturn stub. Unrelated code may follow a call that does not return. So instructions at a
 * return address count only in anonymous memory: Python's trampolines only call and return.
 */
static bool find_by_code(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;
	const struct sfu_range *range;
	struct sframe_row row;

	if (!frame->is_activation) {
		range = sfu_walk_range_of(walk, frame);
		if (frame->sp_unverified || !range || range->vma.file ||
		    !sfu_section_is(&range->section, SFU_SECTION_NONE))
			return false;
	}
	return sfu_arch_read_row(walk, &row) && !sfu_walk_find_caller(walk, &row, caller) &&
	       sfu_call_may_return_to(walk, caller->ip);
}

/*
 * Largest alignment of the stack, in bytes, that may_be_realigned() detects. Half would miss
 * functions that align for AVX-512.
 */
#define MAX_REALIGNED	64

/*
 * Returns true if the callee may have realigned the stack. Compilers then push a copy of the return
 * address for the frame record. The original is a little above the copy, and @sp is wrong.
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

/*
 * If @row describes a frame record below the CFA, sets @by_fp to a row that finds this record by
 * FP. (A return address above the CFA shows that the CFA is not the caller's stack pointer.)
 */
static bool row_of_record(const struct sframe_row *row, struct sframe_row *by_fp)
{
	if (row->ra.how != SFRAME_RULE_CFA_MEM || row->fp.how != SFRAME_RULE_CFA_MEM ||
	    row->ra.off != row->fp.off + (int)sizeof(long) || row->ra.off >= 0)
		return false;
	*by_fp = *row;
	by_fp->cfa = (struct sframe_rule){
		.how = SFRAME_RULE_REG,
		.reg = SFU_ARCH_REG_FP,
		.off = -row->fp.off,
	};
	return true;
}

/*
 * Finds the caller of a frame whose row needs the unverified stack pointer. The return address must
 * follow a call, and there must be evidence of one of two kinds. Either a frame pointer has found
 * the frame, and the callee has not realigned the stack: the stack pointer is right. Or the row
 * describes a frame record, and the code keeps frame pointers: the frame pointer leads to it.
 */
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller)
{
	struct sframe_row by_fp;
	unsigned long func;
	enum sfu_call call;

	if (READ_ONCE(sfu_proved_only))
		return false;
	/* Calls push the return address: if not realigned, the caller's SP is right above it. */
	if (SFU_ARCH_REG_RA < 0 && walk->frame.by_kept_fp && !may_be_realigned(walk) &&
	    !sfu_walk_find_caller(walk, row, caller)) {
		call = sfu_arch_read_call(walk, caller->ip, &func);
		if (call == SFU_CALL_SLOT || call == SFU_CALL_REGISTER)
			return true;
	}
	return sfu_keeps_fp(walk, &walk->frame) && walk->frame.fp >= walk->frame.sp &&
	       row_of_record(row, &by_fp) && !sfu_walk_find_caller(walk, &by_fp, caller) &&
	       sfu_call_is_before(walk, caller->ip);
}

/*
 * Enters the caller of a frame without a row. Returns SFU_STOP_NONE. Without evidence for a caller,
 * returns SFU_STOP_ENTRYPOINT at an entry point, and SFU_STOP_NODATA elsewhere. Else
 * SFU_STOP_SIGNAL (at a signal frame), SFU_STOP_STACK or SFU_STOP_BUDGET.
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
