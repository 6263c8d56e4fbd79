/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinding of one user stack, frame by frame. See walk/walk.c.
 *
 * All functions run in any context, NMI included, and never wait. Preemption is disabled from
 * sfu_walk_init() to the end of the walk.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include <linux/sched.h>

#include "sframe_arch.h"
#include "map/map.h"
#include "map/section.h"
#include "sframe_stats.h"

/*
 * How often SP may fall in one walk: at a signal frame, and at a switch to a stack at lower
 * addresses. With half, stacks of nested signal handlers, or of Go with cgo, end early.
 */
#define SFU_MAX_SIGNALS		8
#define SFU_MAX_SWITCHES	4

/* Costs of a walk, about in instructions. With half, a walk could take over 60,000 instructions. */
#define SFU_STEP_COST		500	/* cost of one step by the general path */
#define SFU_FALLBACK_COST	500	/* extra cost of a frame without a row, besides reads */
#define SFU_FAST_COST		48	/* cost of one frame that the fast path enters */
#define SFU_RECORD_COST		200	/* cost of a frame record in a chain, besides reads */
#define SFU_RANGE_COST		300	/* cost of a search among all ranges of a map */
#define SFU_READ_COST		64	/* cost of a read of user memory, besides 1 for each byte */
#define SFU_RETURN_COST		100	/* cost of an entry in the list of pending uretprobes */

/* One frame of the user stack: the frame that the walk has entered last, or a possible caller. */
struct sfu_frame {
	unsigned long	ip;		/* address in the function; reported to perf */
	unsigned long	sp;		/* stack pointer at @ip */
	unsigned long	fp;		/* value of the frame pointer register at @ip */
	bool		is_activation;	/* sampled, or hit by a signal: @ip is no return address */
	/*
	 * @sp may be wrong. Either it comes from a frame pointer, and the callee may have realigned
	 * its stack. Or (arm64) it is a copy of the callee's SP, which may have moved already.
	 */
	bool		sp_unverified;
	bool		by_kept_fp;	/* found by the frame pointer of a callee that keeps it */
	bool		is_in_chain;	/* found by a chain of frame records: walk/chain.c */
	struct pt_regs	*regs;		/* registers of the sampled frame; else NULL */
	unsigned long	sigcontext;	/* user address of registers saved by a signal, or 0 */
};

/* One walk over the user stack of current, from the sampled frame towards the outermost one. */
struct sfu_walk {
	struct sfu_map		*map;		/* held by the caller; NULL: no scan has run yet */
	struct sfu_range	*last;		/* result of the last search for a range, or NULL */
	struct sfu_lookup	lookup;		/* state of look-ups of rows, and the budget */
	bool			has_memory;	/* user addresses refer to the memory of current */
	bool			wants_code;	/* scan needed: return address is in no range */
	bool			wants_keeps_fp;	/* scan needed: it finds out if code keeps FP */
	struct sfu_frame	frame;		/* present frame: the frame entered last */
	unsigned int		nr_signals;	/* signal frames that the walk has crossed */
	unsigned int		nr_switches;	/* changes to a stack at lower addresses */
	unsigned int		nr_frames[NR_SFU_METHODS];	/* callers found, by method */
};

/*
 * Returns the address for which to search the row of a frame. The return address of a call that is
 * the last instruction of its function belongs to other code: the address before it is searched.
 */
static inline unsigned long sfu_walk_lookup_ip(const struct sfu_frame *frame)
{
	return frame->is_activation ? frame->ip : frame->ip - 1;
}

/* Returns true if all registers of the frame can be read, not only SP and FP. */
static inline bool sfu_walk_has_registers(const struct sfu_frame *frame)
{
	return frame->regs || frame->sigcontext;
}

/* Subtracts @cost from the budget of the walk. Returns -E2BIG if the budget is too small. */
static inline int sfu_walk_charge(struct sfu_walk *walk, unsigned int cost)
{
	return sframe_charge(&walk->lookup.rd, cost);
}

/* walk/walk.c */
void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_inherited,
		   struct sfu_row_cache *cache, struct pt_regs *regs);
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
			       unsigned int *nr);

/* walk/fast.c */
enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr);

/* walk/signal.c */
bool sfu_signal_is_stub_at(struct sfu_walk *walk, unsigned long addr);
bool sfu_signal_is_at_return(struct sfu_walk *walk);
enum sfu_stop sfu_signal_step(struct sfu_walk *walk);

/* walk/call.c */
bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
bool sfu_call_is_before(struct sfu_walk *walk, unsigned long ra);
bool sfu_call_may_return_to(struct sfu_walk *walk, unsigned long ra);

/* walk/frame.c */
enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr, unsigned long *val);
enum sfu_stop sfu_walk_read_saved(struct sfu_walk *walk, unsigned long sigcontext,
				  unsigned int reg, unsigned long *val);
enum sfu_stop sfu_walk_read_register(struct sfu_walk *walk, unsigned int reg, unsigned long *val);
bool sfu_walk_read_code(struct sfu_walk *walk, void *code, unsigned long addr, size_t len);
bool sfu_walk_read_around(struct sfu_walk *walk, u8 *code, unsigned long ip, unsigned int before,
			  unsigned int after);
struct sfu_range *sfu_walk_find_range(struct sfu_walk *walk, unsigned long addr);
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row,
			   unsigned long addr);
enum sfu_stop sfu_walk_check_caller(struct sfu_walk *walk, struct sfu_frame *caller);
enum sfu_stop sfu_walk_find_caller_above(struct sfu_walk *walk, const struct sframe_row *row,
					 unsigned long below, struct sfu_frame *caller);

static inline enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk,
						 const struct sframe_row *row,
						 struct sfu_frame *caller)
{
	return sfu_walk_find_caller_above(walk, row, walk->frame.sp, caller);
}

static inline struct sfu_range *sfu_walk_range_of(struct sfu_walk *walk,
						  const struct sfu_frame *frame)
{
	return sfu_walk_find_range(walk, sfu_walk_lookup_ip(frame));
}

static inline int sfu_walk_find_row(struct sfu_walk *walk, struct sfu_range *range,
				    unsigned long addr, struct sframe_row *row)
{
	return sfu_section_find_row(&range->section, &walk->lookup, addr, row);
}

/*
 * Returns true if the section of @range has rows that are valid without a proof. Rows of code that
 * a function jumps to need one: see step_after_jump().
 */
static inline bool sfu_has_rows(const struct sfu_range *range)
{
	return !sfu_section_is(&range->section, SFU_SECTION_NONE) && !range->section.entry_size;
}

/* Returns true if a look-up has shown that @addr has no row. Returns false if @range is NULL. */
static inline bool sfu_lacks_row(struct sfu_walk *walk, struct sfu_range *range,
				 unsigned long addr)
{
	struct sframe_row row __uninitialized;

	return range && (!sfu_has_rows(range) ||
			 sfu_walk_find_row(walk, range, addr, &row) == -ENOENT);
}

static inline void sfu_walk_enter(struct sfu_walk *walk, const struct sfu_frame *caller,
				  enum sfu_method method)
{
	walk->frame = *caller;
	walk->nr_frames[method]++;
}

/* Returns true if a scan may let the next walk get further than this one, ended by @stop. */
static inline bool sfu_walk_needs_scan(const struct sfu_walk *walk, enum sfu_stop stop)
{
	return stop == SFU_STOP_UNSCANNED || stop == SFU_STOP_SECTION ||
	       (stop == SFU_STOP_RA && walk->wants_code) ||
	       walk->lookup.wants_map || walk->wants_keeps_fp ||
	       (walk->lookup.is_inherited && walk->lookup.bad) ||
	       (stop == SFU_STOP_NODATA && sfu_map_is_older_than_tables(walk->map));
}

/* walk/uprobe.c: only called if sfu_uprobe_is_used(), and only compiled with CONFIG_UPROBES */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra);
void sfu_uprobe_undo(struct sfu_walk *walk);
void sfu_uprobe_leave(struct sfu_walk *walk);

/*
 * Returns true if current has hit a uprobe, or may be about to handle its first one. A first uprobe
 * that is optimized hits no breakpoint and so leaves no mark in the task: the mm is checked, too.
 */
#ifdef CONFIG_UPROBES
static __always_inline bool sfu_uprobe_is_used(void)
{
	return current->utask || test_thread_flag(TIF_UPROBE) ||
	       sfu_may_have_optimized_uprobes(current->mm);
}
#else
#define sfu_uprobe_is_used()	false
#endif

#endif /* SFU_WALK_H */
