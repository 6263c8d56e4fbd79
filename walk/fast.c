// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path of a walk: goes from frame to frame, as long as each SFrame row is packed in a u64
 * (walk/row_cache.h).
 *
 * A step finds the row in a row cache, or in the kernel's compiled table. The CFA, which is the
 * caller's SP, is SP or FP plus the row's offset. The step then reads the return address and, if it
 * is saved, the caller's FP. It finds what sfu_walk_find_caller() would find.
 *
 * Speculation: user code sets SP, FP and the stack's content. These must not make the processor
 * read kernel memory before a check fails. A step reads only from a base (SP or FP) to the CFA, at
 * most 64 KiB above (sfu_row_pack()). A mask makes an FP outside of user memory 0, even if the
 * processor speculates. Then FP must not be below SP, and the CFA must be in user memory.
 * - If the processor mispredicts the check of FP, it reads other user memory.
 * - If it mispredicts the check of the CFA, it may read above user memory: at most 64 KiB for each
 *   frame that it runs ahead. Kernel memory is at least 2^47 bytes above user memory.
 * On x86, sfu_user_open() checks the first SP, then has a speculation barrier. On arm64, each read
 * masks its address.
 */
#include <linux/nospec.h>

#include "compat.h"
#include "walk/user.h"
#include "walk/walk.h"

/* Why follow(), the loop of the fast path, has ended, and which function continues the walk. */
enum fast_end {
	FAST_MISSED,	/* the row is not cached: sfu_section_add_row() reads it from .sframe */
	FAST_OUTSIDE,	/* the caller is in another mapping, or in none: enter_outer() finds out */
	FAST_OTHER,	/* row too large for a u64, or check or read fails: walk_slow() continues */
	FAST_FULL,	/* no room in @ips for an address, or the instruction budget is spent */
};

struct fast_walk {
	/*
	 * SP and FP of the last frame found, or of the present frame if none is. The last frame's
	 * address is @ips[-1]. After FAST_OUTSIDE, it is @ra instead, outside of the mapping.
	 */
	unsigned long		sp;
	unsigned long		fp;
	unsigned long		ra;
	u64			key;		/* key of the row: address of code + key_base */
	u64			row;		/* last row: a packed row, or SFU_ROW_* */
	u64			*ips;
	u64			*end;
	/*
	 * The executable mapping with the frame's code: its lowest return address, and its size in
	 * bytes. The lowest is start + 1: a return address counts as part of the call before it.
	 */
	unsigned long		first_ra;
	unsigned long		size;
	struct sfu_row_cache	cache;
	u64			section;
	u64			key_of_ra;	/* add it to a return address to get @key */
	const struct sfu_table	*table;
	u64			linked_of_key;	/* add it to @key for the address in the ELF file */
	unsigned int		nr_missed;	/* number of rows found in @table, not in @cache */
};

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
 * Goes from caller to caller, as long as they are in the first frame's executable mapping, and
 * stores their return addresses. Neither this function nor find_in_table() is inlined: the loop
 * then keeps its variables in registers.
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
			/* User code can set any FP: this mask bounds FP also in speculation. */
			base = array_index_nospec(fp, end);
			if (row & SFU_ROW_IS_OTHER || base < sp ||
			    !IS_ALIGNED(base, SFU_ARCH_CFA_ALIGN))
				break;
		}
		cfa = base + (row & SFU_ROW_CFA);
		if (cfa > end)
			break;
		sfu_user_get_word(ra, SFU_ARCH_REG_RA < 0 ? cfa - sizeof(ra) :
				  base + FIELD_GET(SFU_ROW_RA, row), close);
		if (row & SFU_ROW_SAVES_FP) {	/* @fp changes only if this read succeeds */
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

/* Prepares @fast for code at @addr in range walk->last. Returns false if walk_slow() must step. */
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
	/* If the search for a uretprobe has spent the instruction budget, say so. */
	if (stop)
		return walk->lookup.rd.budget ? stop : SFU_STOP_BUDGET;
	*fast->ips++ = caller.ip;
	fast->ra = caller.ip;
	return SFU_STOP_NONE;
}

/*
 * The fast path of sfu_walk_callers(): finds at most @max callers, stores their addresses in @ips,
 * and their number in @nr. If it finds none and returns SFU_STOP_NONE, walk_slow() must try.
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
	/* sfu_walk_callers() has set walk->last to the mapping of the present frame's code. */
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
