// SPDX-License-Identifier: GPL-2.0-or-later
/* Chains of frame records: many frames in a row by the frame pointer. */
#include "sframe_arch.h"
#include "walk/fallback.h"
#include "walk/frame.h"
#include "walk/signal.h"

/* Is it certain that no row holds at @addr? Most code that keeps frame pointers has no section. */
static __always_inline bool lacks_row(struct sfu_walk *walk, struct sfu_range *range,
				      unsigned long addr)
{
	struct sframe_row row __uninitialized;

	return sfu_section_is(&range->section, SFU_SECTION_NONE) ||
	       sfu_walk_find_row(walk, range, addr, &row) == -ENOENT;
}

/*
 * Reads the frame record of @frame into @caller. Returns true if the return address is in code, and
 * follows a call. @range is the range of the frame; if this returns true, the range of the caller.
 */
static bool read_record(struct sfu_walk *walk, const struct sfu_frame *frame,
			struct sfu_frame *caller, struct sfu_range **range)
{
	const unsigned long below = sfu_record_is_low(frame) ? SFU_ARCH_LOW_RECORD : 0;
	u8 code[SFU_ARCH_CALL_SITE + SFU_ARCH_SIGRETURN_BYTES];
	const u8 *at_ra = code + SFU_ARCH_CALL_SITE;
	unsigned long record[2];	/* the caller's frame pointer, and the return address */
	struct sfu_range *outer;

	if (!sfu_record_links_up(frame, below) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return false;
	caller->ip = sfu_arch_strip_ra(record[1]);
	caller->sp = frame->fp + sizeof(record) + below;
	caller->fp = record[0];
	outer = sfu_walk_find_range(walk, caller->ip - 1);
	if (!outer || (outer != *range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    PAGE_ALIGNED(caller->ip) ||
	    !sfu_walk_read_code(walk, code, caller->ip - SFU_ARCH_CALL_SITE, sizeof(code)) ||
	    sfu_arch_is_sigreturn(at_ra) ||
	    !(sfu_arch_follows_direct_call(at_ra) || sfu_arch_follows_indirect_call(at_ra)))
		return false;
	*range = outer;
	return true;
}

/*
 * Enters the caller that the frame record leads to, if sfu_fallback_step() would do so by habit at
 * once: there is no row, both functions keep frame pointers, the caller's record is further up, and
 * the return address follows a call. Otherwise the frame does not change. @range is that of the
 * frame; it is set to the caller's.
 */
static __always_inline bool follow_record(struct sfu_walk *walk, struct sfu_range **range)
{
	struct sfu_frame *frame = &walk->frame;
	const bool is_low_record = sfu_record_is_low(frame);
	const unsigned long below = is_low_record ? SFU_ARCH_LOW_RECORD : 0;
	unsigned long record[2] __uninitialized;	/* frame pointer, return address */
	struct sfu_frame caller __uninitialized;
	u8 code[SFU_ARCH_CALL_SITE + SFU_ARCH_SIGRETURN_BYTES] __uninitialized;
	const u8 *at_ra = code + SFU_ARCH_CALL_SITE;
	struct sfu_range *outer;

	if ((*range)->habit != SFRAME_HABIT_FP || !sfu_record_links_up(frame, below) ||
	    sfu_is_known_entrypoint(walk) || sfu_walk_charge(walk, SFU_RECORD_COST) ||
	    !lacks_row(walk, *range, frame->ip - 1) ||
	    !sfu_walk_read_code(walk, record, frame->fp, sizeof(record)))
		return false;
	caller.ip = sfu_arch_strip_ra(record[1]);
	caller.sp = frame->fp + sizeof(record) + below;
	caller.fp = record[0];
	outer = sfu_walk_find_range(walk, caller.ip - 1);
	if (!outer || (outer != *range && sfu_walk_charge(walk, SFU_RANGE_COST)) ||
	    outer->habit != SFRAME_HABIT_FP || PAGE_ALIGNED(caller.ip) ||
	    !sfu_record_links_up(&caller, is_low_record && sfu_record_is_low(&caller) ? SFU_ARCH_LOW_RECORD : 0) ||
	    !sfu_walk_read_code(walk, code, caller.ip - SFU_ARCH_CALL_SITE, sizeof(code)) ||
	    sfu_arch_is_sigreturn(at_ra) ||
	    !(sfu_arch_follows_direct_call(at_ra) || sfu_arch_follows_indirect_call(at_ra)))
		return false;
	frame->ip = caller.ip;
	frame->sp = caller.sp;
	frame->fp = caller.fp;
	*range = outer;
	return true;
}

/*
 * Enters at most @max more callers by habit, after a first one, and sets @ips to their addresses.
 * Returns their number. Runtimes have deep stacks of such frames, and sfu_fallback_step() takes
 * three times as long for each.
 */
unsigned int sfu_chain_follow(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_range *range = sfu_walk_find_range(walk, walk->frame.ip - 1);
	unsigned int nr = 0;

	if (!range || !max || sfu_signal_is_stub(walk, walk->frame.ip))
		return 0;
	while (nr < max && follow_record(walk, &range))
		ips[nr++] = walk->frame.ip;
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	if (nr)
		walk->frame.sp_unverified = true;
	return nr;
}

/* perf takes so many frames. */
#define MAX_LINKS	127

/*
 * Returns true if a chain of frame pointers may lead through the code of this range. A record skips
 * the callers that keep no frame pointer. So the chain ends where a scan has seen such functions of
 * a JIT, and in files whose other functions have rows.
 */
static bool may_be_in_chain(const struct sfu_range *range)
{
	if (range->habit == SFRAME_HABIT_FP)
		return true;
	return range->vma.file ? range->has_no_data :
	       range->habit == SFRAME_HABIT_UNKNOWN &&
	       sfu_section_is(&range->section, SFU_SECTION_NONE);
}

/*
 * In a file whose functions keep no frame pointers, one record may be that of a function further up
 * the stack, or data. A chain counts if at least this many of its frames are in such files. With 2,
 * a function that uses alloca() leads past its callees. With 6, shallow stacks of SBCL end.
 */
#define MIN_IN_FILE	3

static bool is_in_file(const struct sfu_range *range)
{
	return range->vma.file && !range->is_unnamed && range->habit != SFRAME_HABIT_FP;
}

/*
 * Returns true if the program or the thread begins in the frame. Most callers in a chain are in the
 * range of their callee, and their records lead on: for these, no code is read.
 */
static bool begins(struct sfu_walk *walk, bool is_other_range)
{
	return sfu_is_known_entrypoint(walk) ||
	       ((is_other_range || !sfu_record_links_up(&walk->frame, 0)) && sfu_is_entrypoint(walk));
}

/*
 * The last evidence, where no frame by itself has any: the chain of frame pointers as a whole. Each
 * record is further up the stack and leads to code after a call, and the chain arrives where a
 * program or a thread begins, or at a function with a row, or has MAX_LINKS links. Some runtimes
 * (SBCL) make records in a way that shows no habit.
 *
 * Enters at most @max callers, sets @ips to their addresses, and returns their number. If the
 * chain is not whole, this is 0, and the frame does not change.
 */
unsigned int sfu_chain_enter(struct sfu_walk *walk, u64 *ips, unsigned int max)
{
	struct sfu_range *range = sfu_walk_find_range(walk, sfu_walk_lookup_ip(&walk->frame));
	struct sfu_range *callee_range = range;
	struct sfu_frame *const frame = &walk->frame, first = *frame, last = first, caller;
	unsigned int nr, nr_in_file = 0;
	struct sframe_row row;
	int err;

	if (READ_ONCE(sfu_proved_only) || !range)
		return 0;
	/* The rest of a chain that had no room. */
	if (first.is_in_chain)
		nr_in_file = MIN_IN_FILE;
	for (nr = 0;; nr++) {
		err = sfu_section_is(&range->section, SFU_SECTION_NONE) ? -ENOENT :
		      sfu_walk_find_row(walk, range, sfu_walk_lookup_ip(frame), &row);
		if (nr && (!err || nr == MAX_LINKS || begins(walk, range != callee_range)))
			break;
		callee_range = range;
		nr_in_file += is_in_file(range);
		if (err != -ENOENT || !may_be_in_chain(range) || sfu_record_is_low(frame) ||
		    !read_record(walk, frame, &caller, &range))
			goto not_whole;
		*frame = (struct sfu_frame){
			.ip = caller.ip,
			.sp = caller.sp,
			.fp = caller.fp,
			.sp_unverified = true,
			.by_habit = callee_range->habit == SFRAME_HABIT_FP,
			.is_in_chain = true,
		};
		if (nr < max) {
			ips[nr] = frame->ip;
			last = *frame;
		}
	}
	if (nr_in_file && nr_in_file < MIN_IN_FILE)
		goto not_whole;
	*frame = last;
	nr = min(nr, max);
	walk->nr_frames[SFU_METHOD_FP_HABIT] += nr;
	return nr;

not_whole:
	*frame = first;
	return 0;
}
