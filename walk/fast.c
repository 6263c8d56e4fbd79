// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path of a walk: enters one frame after another, as long as their rows are packed rows.
 *
 * Here a frame is a stack pointer and a frame pointer, and a row is one u64 (walk/row_cache.h). A
 * step finds the row in the row cache or in the table, and adds the row's offset to one of the two
 * pointers. The sum is the CFA, which is the caller's stack pointer. The step reads the return
 * address, and the caller's frame pointer if the row says where it is saved. It finds the caller
 * that sfu_walk_find_caller() would find.
 *
 * Speculation: all reads of the stack are inside one window of user memory, which begins at the
 * stack pointer of the first frame. sfu_user_open() is a barrier, or each read masks its address.
 * sfu_row_pack() accepts only rows whose reads are between the base register and the CFA above it.
 * So each step checks only its CFA. If the processor mispredicts this check, it reads a few frames
 * too far up, each of at most 64 KiB. These reads stay in the hole between user and kernel
 * addresses, which has at least 2^47 bytes.
 */
#include <linux/nospec.h>

#include "compat.h"
#include "walk/user.h"
#include "walk/walk.h"

/* Why follow() has returned, and which function continues the walk. */
enum fast_end {
	FAST_MISSED,	/* a row is not in the row cache: sfu_section_add_row() decodes it */
	FAST_OUTSIDE,	/* the caller's code is outside of the range: enter_outer() enters it */
	FAST_OTHER,	/* the row cannot be packed, or a step fails: walk_slow() does the step */
	FAST_FULL,	/* the array is full, or the budget too small for another frame */
};

/* The state of the fast path, made by sfu_fast_callers() for the frames of one walk. */
struct fast_walk {
	unsigned long		sp;		/* SP of the frame; if FAST_OUTSIDE: its caller's */
	unsigned long		fp;		/* FP of the frame; if FAST_OUTSIDE: its caller's */
	unsigned long		ra;		/* return address outside of the range */
	u64			key;		/* key of the last frame's row in row caches */
	u64			row;		/* packed row of the last frame, for FAST_OTHER */
	u64			*ips;		/* where to store the address of the next frame */
	u64			*end;		/* end of the array that @ips points into */
	unsigned long		first_ra;	/* lowest return address in the code range */
	unsigned long		size;		/* length of the code range in bytes */
	struct sfu_row_cache	cache;		/* row cache that has rows of the range's section */
	u64			section;	/* number that row caches use for the section */
	u64			key_of_ra;	/* added to a return address, gives the row's key */
	const struct sfu_table	*table;		/* kernel's table of the section's rows, or NULL */
	u64			linked_of_key;	/* added to a key, gives the address in the table */
	unsigned int		nr_missed;	/* rows found in the table, not in the row cache */
};

/* Finds a row in the kernel's table, adds it to the row cache, and returns it; 0: no table. */
static noinline u64 find_in_table(struct fast_walk *fast, u64 key)
{
	const struct sfu_table *table = fast->table;
	u64 row;

	if (!table)
		return 0;
	row = table->packed_rows[sframe_compiled_find(&table->compiled, key + fast->linked_of_key)];
	sfu_row_cache_add(fast->cache, fast->section, key, row);
	fast->nr_missed++;
	return row;
}

/*
 * Enters callers as long as their ip stays in one range, and stores their addresses. The loop keeps
 * its variables in registers: with another function inlined, there would be too few registers.
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
			/* FP may have any value: the mask bounds it in speculation, too. */
			base = array_index_nospec(fp, end);
			if (row & SFU_ROW_IS_OTHER || base < sp ||
			    !IS_ALIGNED(base, SFU_ARCH_CFA_ALIGN))
				break;
		}
		cfa = base + (row & SFU_ROW_CFA);
		if (cfa > end)
			break;
		/* If calls push the return address (x86), it is the last word below the CFA. */
		sfu_user_get_word(ra, SFU_ARCH_REG_RA < 0 ? cfa - sizeof(ra) :
				  base + FIELD_GET(SFU_ROW_RA, row), close);
		if (row & SFU_ROW_SAVES_FP) {	/* a read that fails must leave FP unchanged */
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

/* Sets @fast for the range walk->last. Returns false if the fast path cannot use its rows. */
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
	fast->table = section->table;
	fast->linked_of_key = -section->key_base - section->bias;
	return sfu_section_is(section, SFU_SECTION_READY) && !section->entry_size;
}

static __always_inline enum sfu_stop enter_outer(struct fast_walk *fast, struct sfu_walk *walk)
{
	struct sfu_frame caller = { .ip = fast->ra, .sp = fast->sp, .fp = fast->fp };
	enum sfu_stop stop;

	if (sfu_walk_charge(walk, SFU_RANGE_COST + SFU_FAST_COST))
		return SFU_STOP_BUDGET;
	stop = sfu_walk_check_caller(walk, &caller);
	/* If the budget ended in the search for a uretprobe, this is the real reason to stop. */
	if (stop)
		return walk->lookup.rd.budget ? stop : SFU_STOP_BUDGET;
	*fast->ips++ = caller.ip;
	fast->ra = caller.ip;
	return SFU_STOP_NONE;
}

/*
 * The fast path of sfu_walk_callers(), with the same parameters. walk->last is the range of the
 * present frame. Returns SFU_STOP_NONE, and 0 in @nr, if walk_slow() must find the next caller. A
 * KUnit test may replace this function in its own task.
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
		if (why == FAST_OTHER ||
		    (why == FAST_MISSED &&
		     !sfu_section_add_row(&walk->last->section, lookup, fast.key)))
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
		walk->frame = (struct sfu_frame){
			.ip = fast.ips[-1], .sp = fast.sp, .fp = fast.fp,
		};
	walk->nr_frames[SFU_METHOD_SFRAME] += *nr;
	return stop;
}
