// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path of a walk: it enters one frame after another, while their rows are packed rows
 * (SFU_ROW_CFA).
 *
 * A frame is a stack pointer and a frame pointer, and a row is one u64. A step looks the row up, in
 * the row cache or in the table, and adds the row's offset to one of the two pointers. The sum is
 * the CFA, the caller's stack pointer. The step reads the return address, and the caller's frame
 * pointer if the row says where it is saved. follow() does nothing else, and ends for one of four
 * reasons:
 *
 *  - a row of a mapped section is not in the cache: sfu_section_add_row() decodes it, and adds it;
 *  - a return address is outside of the range: sfu_walk_check_caller() finds the next range, or the
 *    end of the stack;
 *  - a row is of another kind, or a step fails: the general path does the step, or finds out why;
 *  - there is no room, or no budget, for another frame.
 *
 * A step finds the same caller as sfu_walk_find_caller().
 *
 * Speculation. All reads of the stack are inside of one window of user memory, which begins at the
 * stack pointer of the first frame. sfu_user_open() is a barrier, or each read masks its address.
 * sfu_row_pack() accepts only rows whose CFA is above the base, and whose reads lie between the
 * two. So each step checks only its CFA. If the processor mispredicts that check, it reads a few
 * frames too far up, each of at most 64 KiB. Such reads do not cross the hole above user addresses,
 * which has at least 2^47 bytes.
 */
#include <linux/nospec.h>

#include "compat.h"
#include "sframe_arch.h"
#include "walk/walk.h"
#include "walk/frame.h"
#include "walk/user.h"

/* Why follow() has stopped. */
enum fast_end {
	FAST_MISSED,	/* the row of the last frame is not known */
	FAST_OUTSIDE,	/* the caller, which has not been entered, is outside of the range */
	FAST_OTHER,	/* the last row is of another kind, or a step by it fails */
	FAST_FULL,	/* there is no place for another frame */
};

/* The state of the fast path. */
struct fast_walk {
	unsigned long		sp;		/* of the last frame; FAST_OUTSIDE: of its caller */
	unsigned long		fp;		/* of the same frame as @sp */
	unsigned long		ra;		/* FAST_OUTSIDE: the caller's return address */
	u64			key;		/* of the last frame's row */
	u64			row;		/* FAST_OTHER: the last frame's row */
	u64			*ips;		/* place for the address of the next frame */
	u64			*end;		/* end of the places for addresses */
	unsigned long		first_ra;	/* the lowest return address in the range */
	unsigned long		size;		/* bytes of the range */
	struct sfu_row_cache	cache;		/* for the section of the range */
	u64			section;	/* number of that section */
	u64			key_of_ra;	/* what to add to a return address for its key */
	const struct sfu_compiled *compiled;	/* the section, if it is a table */
	u64			linked_of_key;	/* add it to a key: the address as it was linked */
	unsigned int		nr_missed;	/* rows that were looked up in the table */
};

/* Looks up the row of @key, and remembers it. Returns 0 if the section is no table. */
static noinline u64 find_in_table(struct fast_walk *fast, u64 key)
{
	const struct sfu_compiled *compiled = fast->compiled;
	u64 row;

	if (!compiled)
		return 0;
	row = compiled->fast[sframe_compiled_find(&compiled->table, key + fast->linked_of_key)];
	sfu_row_cache_add(fast->cache, fast->section, key, row);
	fast->nr_missed++;
	return row;
}

/*
 * Enters frames of one range. The loop keeps what it changes in registers, and reads the rest from
 * @fast. If another function were inlined here, there would be too few registers.
 */
static noinline enum fast_end follow(struct fast_walk *fast)
{
	const unsigned long end = TASK_SIZE_MAX, ra_mask = sfu_arch_ra_mask();
	const u64 section = fast->section;
	unsigned long sp = fast->sp, fp = fast->fp, base, cfa, ra, caller_fp;
	const struct sfu_row_set *set;
	enum fast_end why = FAST_OTHER;
	u64 key = fast->key, row = 0, *ips = fast->ips;

	if (!sfu_user_open(sp, end - sp))
		return why;
	for (;;) {
		set = sfu_row_cache_set(fast->cache, key);
		if (likely(sfu_cached_row_is(&set->ways[0], section, key))) {
			row = set->ways[0].row;
		} else if (sfu_cached_row_is(&set->ways[1], section, key)) {
			row = set->ways[1].row;
		} else {
			sfu_user_close();
			row = find_in_table(fast, key);
			if (!row)
				why = FAST_MISSED;
			if (!row || !sfu_user_open(sp, end - sp))
				goto closed;
		}
		base = sp;
		if (unlikely(row & (SFU_ROW_BY_FP | SFU_ROW_IS_OTHER))) {
			/* No process chooses @end, also if the branch is mispredicted. */
			base = array_index_nospec(fp, end);
			if (row & SFU_ROW_IS_OTHER || base < sp ||
			    !IS_ALIGNED(base, SFU_ARCH_CFA_ALIGN))
				break;
		}
		cfa = base + (row & SFU_ROW_CFA);
		if (cfa > end)
			break;
		/* A call pushes it last. A read that fails may set anything. */
		sfu_user_get_word(ra, SFU_ARCH_REG_RA < 0 ? cfa - sizeof(ra) :
				  base + FIELD_GET(SFU_ROW_RA, row), close);
		if (row & SFU_ROW_SAVES_FP) {
			sfu_user_get_word(caller_fp, base + FIELD_GET(SFU_ROW_FP, row), close);
			fp = caller_fp;
		}
		sp = cfa;
		ra &= ra_mask;
		if (unlikely(ra - fast->first_ra >= fast->size)) {
			fast->ra = ra;
			why = FAST_OUTSIDE;
			break;
		}
		*ips++ = ra;
		key = ra + fast->key_of_ra;
		if (unlikely(ips == fast->end)) {
			why = FAST_FULL;
			break;
		}
	}
close:
	sfu_user_close();
closed:
	fast->sp = sp;
	fast->fp = fp;
	fast->key = key;
	fast->row = row;
	fast->ips = ips;
	return why;
}

/* Goes to @addr in the range that was found last. Returns false if its section is not usable. */
static __always_inline bool go_to_range(struct fast_walk *fast, struct sfu_walk *walk,
					unsigned long addr)
{
	const struct sfu_range *range = walk->last;
	const struct sfu_section *section = &range->section;

	fast->first_ra = range->start + 1;
	fast->size = range->end - range->start;
	fast->cache = sfu_lookup_cache(&walk->lookup, section);
	fast->section = section->number;
	fast->key = section->key_base + addr;
	fast->key_of_ra = section->key_base - 1;
	fast->compiled = section->compiled;
	fast->linked_of_key = -section->key_base - section->bias;
	return sfu_section_is(section, SFU_SECTION_READY) && !section->entry_size;
}

/* Enters the caller that is outside of the range. */
static __always_inline enum sfu_stop enter_outer(struct fast_walk *fast, struct sfu_walk *walk)
{
	struct sfu_frame caller = { .ip = fast->ra, .sp = fast->sp, .fp = fast->fp };
	enum sfu_stop stop;

	if (sfu_walk_charge(walk, SFU_RANGE_COST + SFU_FAST_COST))
		return SFU_STOP_BUDGET;
	stop = sfu_walk_check_caller(walk, &caller);
	/* Without budget, the search for a uretprobe finds nothing. */
	if (stop)
		return walk->lookup.rd.budget ? stop : SFU_STOP_BUDGET;
	*fast->ips++ = caller.ip;
	fast->ra = caller.ip;
	return SFU_STOP_NONE;
}

/* Moves the walk over @nr frames. */
static void enter_frames(struct sfu_walk *walk, const struct fast_walk *fast, unsigned int nr)
{
	walk->frame = (struct sfu_frame){
		.ip = fast->ips[-1],
		.sp = fast->sp,
		.fp = fast->fp,
	};
	walk->nr_frames[SFU_METHOD_SFRAME] += nr;
}

/*
 * Enters frames as sfu_walk_callers(). &sfu_walk.last is the range of the frame. Also returns
 * SFU_STOP_NONE if no frame was entered: the general path goes on. A KUnit test may replace this
 * function in its own task.
 */
enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr)
{
	struct sfu_lookup *lookup = &walk->lookup;
	struct fast_walk fast __uninitialized;
	const unsigned int nr_missed = lookup->nr_missed;
	enum sfu_stop stop = SFU_STOP_NONE;
	enum fast_end why = FAST_FULL;

	KUNIT_STATIC_STUB_REDIRECT(sfu_fast_callers, walk, ips, max, nr);
	*nr = 0;
	if (walk->frame.sp_unverified || !walk->frame.sp || walk->frame.sp >= TASK_SIZE_MAX ||
	    !IS_ALIGNED(walk->frame.sp, SFU_ARCH_CFA_ALIGN))
		return SFU_STOP_NONE;
	/* Members are set one by one: to assign the structure clears all of it before. */
	fast.sp = walk->frame.sp;
	fast.fp = walk->frame.fp;
	fast.row = 0;
	fast.ips = ips;
	if (!go_to_range(&fast, walk, sfu_walk_lookup_ip(&walk->frame)))
		return SFU_STOP_NONE;
	for (;;) {
		const u32 budget = lookup->rd.budget;
		const u64 *first = fast.ips;
		u32 cost;

		fast.end = fast.ips + min(max, budget / (SFU_FAST_COST + SFU_TABLE_COST));
		if (fast.end == first)
			break;
		fast.nr_missed = 0;
		why = follow(&fast);
		max -= fast.ips - first;
		lookup->nr_missed += fast.nr_missed;
		cost = (fast.ips - first) * SFU_FAST_COST + fast.nr_missed * SFU_TABLE_COST;
		lookup->rd.budget -= min(budget, cost);
		if (why == FAST_OTHER)
			break;
		if (why == FAST_MISSED &&
		    !sfu_section_add_row(&walk->last->section, lookup, fast.key))
			break;
		if (why == FAST_OUTSIDE) {
			stop = enter_outer(&fast, walk);
			if (stop)
				break;
			max--;
			if (!go_to_range(&fast, walk, fast.ra - 1))
				break;
		}
	}
	if (why == FAST_OTHER && fast.row == SFU_ROW_OUTERMOST)
		stop = SFU_STOP_COMPLETE;
	*nr = fast.ips - ips;
	lookup->nr_cached += *nr - min(*nr, lookup->nr_missed - nr_missed);
	if (*nr)
		enter_frames(walk, &fast, *nr);
	return stop;
}
