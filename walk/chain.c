// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows chains of frame records (saved frame pointer, return address) through many frames. */
#include "walk/fallback.h"

/*
 * Reads the frame record at FP of @frame, whose code is in @range. Sets ip, SP and FP of @caller.
 * Returns the executable mapping with the return address. Returns NULL if none has this address,
 * the record is below SP, or no call precedes the return address.
 */
static __always_inline struct sfu_range *read_record(struct sfu_walk *walk,
						     const struct sfu_frame *frame,
						     struct sfu_range *range,
						     struct sfu_frame *caller)
{
	u8 code[SFU_ARCH_CALL_BYTES + SFU_ARCH_SIGRETURN_BYTES] __uninitialized;
	const u8 *at_ra = code + SFU_ARCH_CALL_BYTES;
	unsigned long record[2] __uninitialized;
	struct sfu_range *outer;

	if (!sfu_record_links_up(frame, frame) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return NULL;
	caller->ip = sfu_arch_strip_ra(record[1]);
	caller->sp = frame->fp + sizeof(record) +
		     (sfu_record_is_low(frame) ? SFU_ARCH_LOW_RECORD : 0);
	caller->fp = record[0];
	outer = sfu_walk_find_range(walk, caller->ip - 1);
	/*
	 * Leave the rt_sigreturn stub to step() in walk/walk.c. Leave to it any address at the
	 * start of a page, too: it may be the uretprobe trampoline.
	 */
	if (!outer || (outer != range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    PAGE_ALIGNED(caller->ip) ||
	    !sfu_walk_read_code(walk, code, caller->ip - SFU_ARCH_CALL_BYTES, sizeof(code)) ||
	    sfu_arch_is_stub(at_ra) || !sfu_arch_follows_call(at_ra))
		return NULL;
	return outer;
}

/*
 * Goes from the present frame to at most @max callers by frame records. Stores their return
 * addresses in @ips, and returns their number. In deep stacks of runtimes, this is faster than
 * sfu_fallback_step(). Called only if &sfu_frame.by_kept_fp is set. The present frame is then at a
 * return address, so its function has already made its record.
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

/* A chain of frame records counts as complete after 127: by default, perf stores no more frames. */
#define MAX_LINKS	127

/*
 * A chain of frame records may have frames in files that may not keep frame pointers. If it has
 * any, it needs at least this many. In these files, FP may be data, or lead to the record of an
 * outer function: functions with alloca() make one. One or two such frames may be an accident. With
 * a limit of 2, accepted chains skip callers. With 6, shallow stacks of SBCL (a Lisp) end early.
 */
#define MIN_IN_FILE	3

static bool may_be_in_chain(const struct sfu_range *range)
{
	if (range->keeps_fp == SFRAME_KEEPS_FP_YES)
		return true;
	/* Refuse files with rows: chains skip callers that make no record, but rows find them. */
	if (range->vma.file)
		return range->has_no_data;	/* has_no_data is false until a scan of the file */
	/* Accept JIT code without rows, unless a scan has seen that it keeps no frame pointers. */
	return range->keeps_fp == SFRAME_KEEPS_FP_UNKNOWN && !sfu_has_rows(range);
}

/*
 * Follows a chain of frame records to its end. The walk's present frame is then the last one of the
 * chain. Stores the return addresses of the first @max callers in @ips, and the frame of the last
 * caller stored in @last. Returns the number of callers in the chain; 0 if the chain is not valid.
 */
static unsigned int find_end(struct sfu_walk *walk, u64 *ips, unsigned int max,
			     struct sfu_frame *last)
{
	struct sfu_frame caller = { .sp_unverified = true, .is_in_chain = true };
	struct sfu_frame *frame = &walk->frame;
	/* A chain longer than @max takes several calls. Only the first call checks MIN_IN_FILE. */
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
		/*
		 * sfu_is_entrypoint() tests if code starts a program or thread. It is slow, so call
		 * it only for callers whose code is likely to do so. Most of this code is in libc,
		 * and has called another mapping. In other such code, FP (mostly 0) has no record.
		 */
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
 * Called if no other evidence (see walk/fallback.c) confirms a caller of the present frame. Goes to
 * at most @max callers by a chain of frame records. Stores their return addresses in @ips, and
 * returns their number. Returns 0, with the present frame unchanged, if the chain is not valid.
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
