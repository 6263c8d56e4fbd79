// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fallback: a step from code without a row, by the frame pointer.
 *
 * Such code may use the frame pointer as it likes. So a frame that the frame pointer
 * leads to needs a reason to be believed. There are two:
 *
 *   - A proof: the code at its return address calls a function of the same file that has no
 *     row. If the called function has a row, or is in another file, it is not the present
 *     one, and the frame belongs to a function further up the stack.
 *   - The habit of the file: its functions keep frame pointers (map/habit.c).
 *     Then the frame is one of those that the kernel's own walk finds. Like that walk it
 *     may skip the caller of a function that has no frame. The frame must also look like
 *     one: its return address follows a call, and its own frame pointer leads on. This is
 *     asked first, for it costs less: a walk has the budget for perf's 127 such frames.
 *
 * Where a function begins or ends, the instruction itself tells where the return address
 * is. That is exact, and needs no frame pointer. At a return address it counts in memory that no
 * file describes: elsewhere the call may not return, and other code may follow it.
 *
 * If a walk would end for want of a reason, the chain of frame pointers as a whole is one.
 *
 * The stack pointer that follows from a frame pointer is unverified. A wrong frame is
 * worse than a short stack: in a file that does not keep frame pointers the walk ends
 * without a proof.
 *
 * sfu_arch_fallback() decides with these parts, for the calls of one architecture.
 *
 * The outermost code of most stacks has no row: it belongs to libc, or to libstdc++. It
 * is recognised by its instructions, and the walk then ends as SFU_STOP_ENTRYPOINT. Nothing
 * follows such code.
 */
#include "sframe_arch.h"
#include "walk/call.h"
#include "walk/fallback.h"
#include "walk/frame.h"
#include "walk/signal.h"

/* A sampled function may be in the middle of a switch, so only a caller is left like this. */
static bool leaves_stack(struct sfu_walk *walk, struct sfu_frame *caller)
{
	const struct sfu_frame *frame = &walk->frame;

	if (READ_ONCE(sfu_proved_only) || frame->is_activation ||
	    walk->nr_switches == SFU_MAX_SWITCHES || !sfu_has_habit(walk, frame) ||
	    !sfu_record_find_on_other_stack(walk, frame, caller))
		return false;
	caller->by_habit = true;
	caller->sp_unverified = true;
	walk->nr_switches++;
	return true;
}

/* The code around the ip. Only the page of the ip is certain to be there: the rest may be 0. */
static bool read_around(struct sfu_walk *walk, u8 *code, unsigned long ip)
{
	unsigned long from = ip - SFU_ARCH_CODE_BEFORE, to = ip + SFU_ARCH_CODE_AFTER;
	unsigned long page = ip & PAGE_MASK, begin, end;

	if (sfu_walk_read_code(walk, code, from, to - from))
		return true;
	begin = max(from, page);
	end = min(to, page + PAGE_SIZE);
	memset(code, 0, to - from);
	return end - begin < to - from &&
	       sfu_walk_read_code(walk, code + (begin - from), begin, end - begin);
}

/* Returns true if the code of the frame is in memory without a file, such as a JIT's or a copy. */
static bool is_anonymous(struct sfu_walk *walk)
{
	const struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));

	return range && !range->vma.file && sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * Finds the caller by the instructions at the ip, if these tell where the return address is, and
 * that follows a call, or is the stub that a signal handler returns to. Trampolines of Python do
 * nothing but call and return.
 */
bool sfu_fallback_by_code(struct sfu_walk *walk, struct sfu_frame *caller)
{
	u8 code[SFU_ARCH_CODE_BEFORE + SFU_ARCH_CODE_AFTER];
	const struct sfu_frame *frame = &walk->frame;
	const u8 *ip = code + SFU_ARCH_CODE_BEFORE;
	struct sframe_row row;

	if (!frame->is_activation && (frame->sp_unverified || !is_anonymous(walk)))
		return false;
	return read_around(walk, code, frame->ip) &&
	       (frame->is_activation ? sfu_arch_row_of_code(ip, frame->ip, &row) :
				       sfu_arch_row_of_end(ip, &row)) &&
	       !sfu_walk_find_caller(walk, &row, caller) &&
	       (sfu_call_classify_site(walk, caller->ip) != SFU_SITE_NONE ||
		sfu_signal_is_stub(walk, caller->ip));
}

/* Bytes that a function may realign its stack by, and still be recognised. */
#define MAX_REALIGNED	64

/*
 * Has the callee realigned the stack? Then it has pushed a copy of its return address, and
 * the address itself is a little further up.
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
 * Sets @by_fp to a row that finds the same frame record by the frame pointer. A record is below the
 * CFA; a row with a return address above it has a CFA that is not the caller's stack pointer.
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
 * Finds the caller by a row that an unverified SP makes doubtful, if it is at the site of a call.
 * There are two ways. The stack pointer may be right after all: it came from code that keeps frame
 * pointers, and that code has not realigned the stack. Or the row describes a frame record, and its
 * code keeps frame pointers. Then the frame pointer points to the record, and the CFA follows from
 * that.
 */
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller)
{
	struct sframe_row by_fp;

	if (READ_ONCE(sfu_proved_only))
		return false;
	if (SFU_ARCH_RECORD_IS_TOP && walk->frame.by_habit && !may_be_realigned(walk) &&
	    !sfu_walk_find_caller(walk, row, caller) &&
	    sfu_call_classify_site(walk, caller->ip) == SFU_SITE_OF_INDIRECT_CALL)
		return true;
	return sfu_has_habit(walk, &walk->frame) && walk->frame.fp >= walk->frame.sp &&
	       row_of_record(row, &by_fp) &&
	       !sfu_walk_find_caller(walk, &by_fp, caller) &&
	       sfu_call_classify_site(walk, caller->ip) != SFU_SITE_NONE;
}

/*
 * One step from code without a row. Returns SFU_STOP_NONE; SFU_STOP_ENTRYPOINT if nothing is proved, and
 * the code is that of libc or libstdc++ which starts a program or a thread; SFU_STOP_NODATA if it
 * is other code; else as sfu_signal_step().
 */
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk)
{
	enum sfu_method method;
	struct sfu_frame caller;
	enum sfu_stop stop;

	if (sfu_is_known_entrypoint(walk))
		return SFU_STOP_ENTRYPOINT;
	if (sfu_walk_charge(walk, SFU_FALLBACK_COST))
		return SFU_STOP_BUDGET;
	if (sfu_signal_is_at_return(walk))
		return sfu_signal_step(walk);
	stop = sfu_arch_fallback(walk, &caller, &method);
	if (stop == SFU_STOP_NODATA && leaves_stack(walk, &caller)) {
		method = SFU_METHOD_FP_HABIT;
		stop = SFU_STOP_NONE;
	}
	if (!stop)
		sfu_walk_enter(walk, &caller, method);
	else if (stop == SFU_STOP_NODATA && sfu_is_entrypoint(walk))
		return SFU_STOP_ENTRYPOINT;
	if (stop == SFU_STOP_NODATA && sfu_record_lacks_habit(walk))
		walk->wants_habit = true;
	return stop;
}
