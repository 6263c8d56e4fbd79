// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains of frame records: many frames in a row by the frame pointer. */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"

/*
 * Reads the frame record of @frame, whose range is @range, into @caller. Returns the range of the
 * caller if the return address is in code, and follows a call; else NULL. A signal's stub and the
 * trampoline of uretprobes, which begins a page, are left to the general path.
 */
static __always_inline struct sfu_range *read_record(struct sfu_walk *walk,
						     const struct sfu_frame *frame,
						     struct sfu_range *range,
						     struct sfu_frame *caller)
{
	u8 code[SFU_ARCH_CALL_BYTES + SFU_ARCH_SIGRETURN_BYTES] __uninitialized;
	const u8 *at_ra = code + SFU_ARCH_CALL_BYTES;
	unsigned long record[2] __uninitialized;	/* frame pointer, return address */
	const bool is_low = sfu_record_is_low(frame);
	struct sfu_range *outer;

	if (!sfu_record_links_up(frame, is_low) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return NULL;
	caller->ip = sfu_arch_strip_ra(record[1]);
	caller->sp = frame->fp + sizeof(record) + (is_low ? SFU_ARCH_LOW_RECORD : 0);
	caller->fp = record[0];
	outer = sfu_walk_find_range(walk, caller->ip - 1);
	if (!outer || (outer != range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    PAGE_ALIGNED(caller->ip) ||
	    !sfu_walk_read_code(walk, code, caller->ip - SFU_ARCH_CALL_BYTES, sizeof(code)) ||
	    sfu_arch_is_stub(at_ra) || !sfu_arch_follows_call(at_ra))
		return NULL;
	return outer;
}

/*
 * Enters at most @max more callers by frame pointers, after a first one, and sets @ips to their
 * addresses. Returns their number. sfu_fallback_step() finds these callers, too, and takes much
 * longer: runtimes have deep stacks of such frames. There is no row, both functions keep frame
 * pointers, the caller's record is further up, and the return address follows a call.
 */
unsigned int sfu_chain_follow(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_frame caller __uninitialized, *frame = &walk->frame;
	struct sfu_range *outer, *range = sfu_walk_range_of(walk, frame);
	unsigned int nr;

	if (!range || !max || sfu_arch_is_sigreturn(walk, frame->ip))
		return 0;
	for (nr = 0; nr < max; nr++) {
		if (range->keeps_fp != SFRAME_KEEPS_FP_YES || sfu_is_known_entrypoint(walk) ||
		    !sfu_lacks_row(walk, range, frame->ip - 1))
			break;
		outer = read_record(walk, frame, range, &caller);
		if (!outer || outer->keeps_fp != SFRAME_KEEPS_FP_YES ||
		    !sfu_record_links_up(&caller, sfu_record_is_low(frame) &&
						  sfu_record_is_low(&caller)))
			break;
		frame->ip = caller.ip;
		frame->sp = caller.sp;
		frame->fp = caller.fp;
		range = outer;
		ips[nr] = frame->ip;
	}
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	if (nr)
		frame->sp_unverified = true;
	return nr;
}

/* A chain of this length needs no end. perf takes no more frames. */
#define MAX_LINKS	127

/*
 * In a file whose functions keep no frame pointers, one record may belong to a function further up
 * the stack, or be data. A chain counts if at least this many of its frames are in such files. With
 * 2, a function that uses alloca() leads past its callees. With 6, shallow stacks of SBCL end.
 */
#define MIN_IN_FILE	3

/*
 * Returns true if a chain may lead through the code of this range. A record skips callers that keep
 * no frame pointer. So the chain ends in a file with rows, and in code of a JIT in which a scan has
 * seen such functions.
 */
static bool may_be_in_chain(const struct sfu_range *range)
{
	if (range->keeps_fp == SFRAME_KEEPS_FP_YES)
		return true;
	if (range->vma.file)
		return range->has_no_data;
	return range->keeps_fp == SFRAME_KEEPS_FP_UNKNOWN && !sfu_has_rows(range);
}

/*
 * Moves the frame of the walk to the end of the chain. Sets @ips to the addresses of the first @max
 * callers, and @last to the frame of the last of these. Returns the number of links, or 0 if the
 * chain is not whole.
 */
static unsigned int find_end(struct sfu_walk *walk, u64 *ips, unsigned int max,
			     struct sfu_frame *last)
{
	struct sfu_frame caller, *frame = &walk->frame;
	/* A chain that had no room for all of its links goes on. */
	unsigned int nr, nr_in_file = frame->is_in_chain ? MIN_IN_FILE : 0;
	struct sfu_range *range = sfu_walk_range_of(walk, frame), *callee_range = range;
	struct sframe_row row;
	int err;

	if (!range)
		return 0;
	for (nr = 0;; nr++) {
		err = !sfu_has_rows(range) ? -ENOENT :
		      sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(frame), &row);
		if (nr && (!err || nr == MAX_LINKS || sfu_is_known_entrypoint(walk)))
			break;
		/* Most callers are in the range of their callee: their code is not read. */
		if (nr && (range != callee_range || !sfu_record_links_up(frame, false)) &&
		    sfu_is_entrypoint(walk))
			break;
		nr_in_file += range->vma.file && !range->is_unnamed &&
			      range->keeps_fp != SFRAME_KEEPS_FP_YES;
		if (err != -ENOENT || !may_be_in_chain(range) || sfu_record_is_low(frame))
			return 0;
		callee_range = range;
		range = read_record(walk, frame, range, &caller);
		if (!range)
			return 0;
		*frame = (struct sfu_frame){
			.ip = caller.ip,
			.sp = caller.sp,
			.fp = caller.fp,
			.sp_unverified = true,
			.trusts_fp = callee_range->keeps_fp == SFRAME_KEEPS_FP_YES,
			.is_in_chain = true,
		};
		if (nr < max) {
			ips[nr] = frame->ip;
			*last = *frame;
		}
	}
	return !nr_in_file || nr_in_file >= MIN_IN_FILE ? nr : 0;
}

/*
 * Enters at most @max callers by a chain of frame records, where no frame by itself has evidence.
 * Sets @ips to their addresses, and returns their number. Each record is further up the stack and
 * leads to code after a call. The chain arrives where a program or a thread begins, or at a
 * function with a row, or has MAX_LINKS links. If not, this returns 0, and the frame does not
 * change. Some runtimes (SBCL) make records, and their functions begin in ways that do not show it.
 */
unsigned int sfu_chain_enter(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	const struct sfu_frame first = walk->frame;
	struct sfu_frame last;
	unsigned int nr;

	if (READ_ONCE(sfu_proved_only))
		return 0;
	nr = find_end(walk, ips, max, &last);
	nr = min(nr, max);
	walk->frame = nr ? last : first;
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	return nr;
}
