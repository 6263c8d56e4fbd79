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
 * Limits of a walk, so that it ends: signal frames that it crosses, and switches to a stack at
 * lower addresses. With half, walks of nested signal handlers, or of Go with cgo, would end early.
 */
#define SFU_MAX_SIGNALS		8
#define SFU_MAX_SWITCHES	4

/* Costs in the budget of a walk, in instructions. With half, a walk could take over 60,000. */
#define SFU_STEP_COST		500	/* cost of a step that the fast path cannot do */
#define SFU_FALLBACK_COST	500	/* extra cost of a step from code without a row */
#define SFU_FAST_COST		48	/* cost of a caller that the fast path finds */
#define SFU_RECORD_COST		200	/* cost of following one frame record, besides reads */
#define SFU_RANGE_COST		300	/* cost of a search for the mapping of an address */
#define SFU_READ_COST		64	/* cost of a read of user memory, besides 1 for each byte */
#define SFU_RETURN_COST		100	/* cost of examining one pending uretprobe of the task */

/* One frame of the user stack: the frame that the walk has entered last, or its possible caller. */
struct sfu_frame {
	unsigned long	ip;		/* address in the code, which the walk reports to perf */
	unsigned long	sp;		/* stack pointer at @ip */
	unsigned long	fp;		/* value of the frame pointer register at @ip */
	bool		is_activation;	/* a sample or signal hit @ip: it is no return address */
	/*
	 * @sp may be wrong. Either the callee's FP has led to it, and the callee may have realigned
	 * its stack. Or (arm64) it is a copy of the callee's SP, which may have moved already.
	 */
	bool		sp_unverified;
	bool		by_kept_fp;	/* found by the FP of a callee that keeps frame pointers */
	bool		is_in_chain;	/* found by following a chain of frame records */
	struct pt_regs	*regs;		/* registers of the sampled frame; NULL in other frames */
	unsigned long	sigcontext;	/* user address of registers that a signal saved; or 0 */
};

/* One walk over the user stack of current, from the sampled frame towards the outermost one. */
struct sfu_walk {
	struct sfu_map		*map;		/* executable mappings; NULL: no scan has run yet */
	struct sfu_range	*last;		/* range that the last search has found, or NULL */
	struct sfu_lookup	lookup;		/* state of row look-ups, and the walk's budget */
	bool			has_memory;	/* user addresses refer to the memory of current */
	bool			wants_code;	/* return address in code that no scan has found */
	bool			wants_keeps_fp;	/* a scan must find out if the code keeps FP */
	struct sfu_frame	frame;		/* present frame: the one entered last */
	unsigned int		nr_signals;	/* signal frames that the walk has crossed */
	unsigned int		nr_switches;	/* switches to another stack, at lower addresses */
	unsigned int		nr_frames[NR_SFU_METHODS];	/* callers found, by method */
};

/*
 * Returns the address whose row describes the frame: for a return address, the byte before it, in
 * the call. If a call ends its function, its return address is already in the next function.
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
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr);

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
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row, unsigned long addr);
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
 * Returns true if @range has rows that need no proof. If a function jumps to code and leaves its
 * frame to it, rows of this code need a proof that the function was called: step_after_jump().
 */
static inline bool sfu_has_rows(const struct sfu_range *range)
{
	return !sfu_section_is(&range->section, SFU_SECTION_NONE) && !range->section.entry_size;
}

/* Returns true if @addr has no row; false if it has one, the look-up fails, or @range is NULL. */
static inline bool sfu_lacks_row(struct sfu_walk *walk, struct sfu_range *range, unsigned long addr)
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

/* Returns true if a walk ended by @stop may get further after a scan of the process's mappings. */
static inline bool sfu_walk_needs_scan(const struct sfu_walk *walk, enum sfu_stop stop)
{
	return stop == SFU_STOP_UNSCANNED || stop == SFU_STOP_SECTION ||
	       (stop == SFU_STOP_RA && walk->wants_code) ||
	       walk->lookup.wants_map || walk->wants_keeps_fp ||
	       (walk->lookup.is_inherited && walk->lookup.bad) ||
	       (stop == SFU_STOP_NODATA && sfu_map_is_older_than_tables(walk->map));
}

/* walk/uprobe.c: compiled only with CONFIG_UPROBES, called only if sfu_uprobe_is_used() is true */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra);
void sfu_uprobe_undo(struct sfu_walk *walk);
void sfu_uprobe_leave(struct sfu_walk *walk);

/*
 * Returns true if current has hit a uprobe, or may be about to handle its first one. If that one is
 * optimized (a call instead of a breakpoint), it leaves no mark in the task: so the mm is checked.
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
