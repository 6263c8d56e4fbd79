// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: finds the caller of a frame without a row, or of a frame whose row needs the stack
 * pointer while this may be wrong. A wrong frame is worse than a short stack. So the walk ends if
 * no evidence of these kinds confirms the caller:
 *
 *	kind	evidence			strength		checked by
 *	-------	------------------------------	----------------------	----------------------
 *	code	instructions at the ip that	exact			find_by_code()
 *		begin or end a function
 *	link	arm64: where the link register	exact, if it is not	sfu_arch_fallback()
 *		leads to			used for data
 *	proof	a call enters a function of	may skip callers in	sfu_record_is_proved()
 *		this file that has no row	this file without row
 *	kept FP	the code at the ip keeps frame	may skip a caller, as	sfu_record_is_kept(),
 *		pointers			the kernel's walk does	leaves_stack()
 *	chain	frame records up to a row or	may skip callers that	sfu_chain_enter()
 *		an entry point			make no record
 *
 * If the stack pointer may be wrong, a row needs evidence, too: a proof that the call enters
 * exactly the function of the row (is_proved() in walk.c), or a kept FP (sfu_fallback_by_row()).
 */
#include "walk/fallback.h"

/*
 * Finds a caller on another stack, to which FP leads: see sfu_record_find_on_other_stack(). Not for
 * a frame that a sample or signal has hit: its function may be in the middle of a stack switch.
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
 * Finds the caller by the instructions of a prologue or epilogue at the ip. At a return address,
 * they may belong to another function, because a call that does not return may end its function. So
 * there they count only in anonymous memory: Python's trampolines only call and return.
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

/* Largest stack alignment that is detected, in bytes. Half of it would miss code with AVX-512. */
#define MAX_REALIGNED	64

/*
 * Returns true if the callee may have realigned its stack. Compilers then push a copy of the return
 * address, next to the saved FP. If the original is a little above the copy, SP is wrong.
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
 * Finds the caller of a frame whose row needs the stack pointer, which may be wrong. The return
 * address must follow a call, and one of two cases must apply. A callee that keeps frame pointers
 * has led to the frame, and has not realigned its stack: then the stack pointer is right. Or the
 * row describes a frame record, and the code keeps frame pointers: then FP leads to this record.
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
 * Returns true if the frame is in an entry point: code of libc, libstdc++ or Go that starts a
 * program or a thread. Its frame is the outermost one of most stacks, has no row, and is recognised
 * by its instructions. Other code may look like a program's start, so its frame must be near the
 * start of the stack and, in code like _start, FP must be 0.
 */
bool sfu_is_entrypoint(struct sfu_walk *walk)
{
	const struct sfu_frame *frame = &walk->frame;
	enum sfu_start start;

	if (frame->is_activation)
		return false;
	start = sfu_arch_read_start(walk);
	if (start == SFU_START_NONE || (start == SFU_START_ENTRY && frame->fp) ||
	    (start != SFU_START_THREAD && !sfu_is_near_start(frame)))
		return false;
	/* Remembers the entry point, unless the map is the parent's or a scan may show a caller. */
	if (!sfu_keeps_fp_is_unknown(walk) && !walk->lookup.is_inherited)
		WRITE_ONCE(*(start == SFU_START_THREAD ? &walk->map->thread_ra :
							 &walk->map->main_ra), frame->ip);
	return true;
}

/*
 * Enters the caller of a frame without a row, and returns SFU_STOP_NONE. Without evidence for a
 * caller: SFU_STOP_ENTRYPOINT, SFU_STOP_NODATA. Errors: SFU_STOP_SIGNAL, _STACK or _BUDGET.
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
