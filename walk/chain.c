// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows chains of frame records (saved frame pointer, return address) through many frames. */
#include "walk/fallback.h"

/*
 * Sets ip, SP and FP of @caller by the frame record of @frame, whose code is in @range. Returns the
 * range with the return address; NULL if no range has it or it does not follow a call. Also returns
 * NULL if it is the rt_sigreturn stub, or the start of a page, where the uretprobe trampoline may
 * be: step() in walk/walk.c handles both.
 */
static __always_inline struct sfu_range *read_record(struct sfu_walk *walk,
						     const struct sfu_frame *frame,
						     struct sfu_range *range,
						     struct sfu_frame *caller)
{
	u8 code[SFU_ARCH_CALL_BYTES + SFU_ARCH_SIGRETURN_BYTES] __uninitialized;
	const u8 *at_ra = code + SFU_ARCH_CALL_BYTES;
	unsigned long record[2] __uninitialized;	/* frame pointer, return address */
	struct sfu_range *outer;

	if (!sfu_record_links_up(frame, frame) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return NULL;
	caller->ip = sfu_arch_strip_ra(record[1]);
	caller->sp = frame->fp + sizeof(record) +
		     (sfu_record_is_low(frame) ? SFU_ARCH_LOW_RECORD : 0);
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
 * Called after a step has found a caller by the FP of code that keeps frame pointers. Follows frame
 * records to at most @max further callers, stores their addresses in @ips, and returns their
 * number. For the deep stacks of runtimes, this is much faster than sfu_fallback_step(). A caller
 * is entered if its callee has no row, both functions are in code that keeps frame pointers, the
 * caller's record is at a higher address, and the return address follows a call.
 */
unsigned int sfu_chain_follow(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_frame caller __uninitialized, *frame = &walk->frame;
	struct sfu_range *outer, *range = sfu_walk_range_of(walk, frame);
	unsigned int nr;

	if (!range || !max || sfu_signal_is_stub_at(walk, frame->ip))
		return 0;
	for (nr = 0; nr < max; nr++) {
		if (range->keeps_fp != SFRAME_KEEPS_FP_YES || sfu_is_known_entrypoint(walk) ||
		    !sfu_lacks_row(walk, range, frame->ip - 1))
			break;
		outer = read_record(walk, frame, range, &caller);
		if (!outer || outer->keeps_fp != SFRAME_KEEPS_FP_YES ||
		    !sfu_record_links_up(&caller, frame))
			break;
		frame->ip = caller.ip;
		frame->sp = caller.sp;
		frame->fp = caller.fp;
		range = outer;
		ips[nr] = frame->ip;
	}
	frame->sp_unverified |= nr != 0;
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	return nr;
}

/* A chain of so many records is valid even without an end: by default, perf stores 127 frames. */
#define MAX_LINKS	127

/*
 * If a chain has frames in files that perhaps keep no frame pointers, it needs this many of them:
 * one record may be data, or belong to an outer caller. With 2, the record of an outer function
 * that uses alloca() counts, and skips callers. With 6, shallow stacks of SBCL (a Lisp) end early.
 */
#define MIN_IN_FILE	3

/*
 * Returns true if a chain of frame records may lead through the code of @range. A chain skips the
 * callers that make no record. So a file that does not keep frame pointers must have no rows, and
 * in JIT code, a scan must not have seen functions without frame pointers.
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
 * Follows the chain of frame records to its end, and makes the frame there the present frame.
 * Stores the addresses of the first @max callers in @ips, and the last of these frames in @last.
 * Returns the number of callers in the chain, or 0 if the chain is not valid.
 */
static unsigned int find_end(struct sfu_walk *walk, u64 *ips, unsigned int max,
			     struct sfu_frame *last)
{
	struct sfu_frame caller = { .sp_unverified = true, .is_in_chain = true };
	struct sfu_frame *frame = &walk->frame;
	/* If an earlier call has cut this chain at its @max, it has seen MIN_IN_FILE frames. */
	unsigned int nr, nr_in_file = frame->is_in_chain ? MIN_IN_FILE : 0;
	struct sfu_range *outer, *range = sfu_walk_range_of(walk, frame);
	bool may_be_entrypoint = false;
	struct sframe_row row;
	int err;

	if (!range)
		return 0;
	for (nr = 0;; nr++) {
		err = !sfu_has_rows(range) ? -ENOENT :
		      sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(frame), &row);
		if (nr && (!err || nr == MAX_LINKS || sfu_is_known_entrypoint(walk) ||
			   (may_be_entrypoint && sfu_is_entrypoint(walk))))
			break;
		nr_in_file += range->vma.file && !range->is_unnamed &&
			      range->keeps_fp != SFRAME_KEEPS_FP_YES;
		if (err != -ENOENT || !may_be_in_chain(range) || sfu_record_is_low(frame))
			return 0;
		outer = read_record(walk, frame, range, &caller);
		if (!outer)
			return 0;
		/* Reads code to find an entry point only if the range changes or the chain ends. */
		may_be_entrypoint = outer != range || !sfu_record_links_up(&caller, frame);
		caller.by_kept_fp = range->keeps_fp == SFRAME_KEEPS_FP_YES;
		*frame = caller;
		range = outer;
		if (nr < max) {
			ips[nr] = frame->ip;
			*last = *frame;
		}
	}
	return !nr_in_file || nr_in_file >= MIN_IN_FILE ? nr : 0;
}

/*
 * Enters at most @max callers by a chain of frame records, where nothing else confirms a caller.
 * Stores their addresses in @ips, and returns their number. In a valid chain, each record is at a
 * higher address than the one before, and each return address follows a call. The chain ends at an
 * entry point or a function with a row, or has MAX_LINKS records. Without a valid chain, returns 0,
 * and the present frame does not change.
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
