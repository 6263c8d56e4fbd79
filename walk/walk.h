/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinding of one user stack, frame by frame. See walk/walk.c. All functions run in any
 * context, NMI included, and never wait. During a walk, preemption is disabled.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include <linux/sched.h>

#include "sframe_arch.h"
#include "map/map.h"
#include "map/section.h"
#include "sframe_stats.h"

/*
 * Maximum of signal frames that a walk crosses, and of its switches to a stack at lower addresses.
 * With half of each, walks of nested signal handlers, or of Go with cgo, end early.
 */
#define SFU_MAX_SIGNALS		8
#define SFU_MAX_SWITCHES	4

/*
 * Estimated CPU instructions of each part of a walk. A walk subtracts them from its budget, and
 * ends when the budget is spent (SFU_BUDGET). A walk must execute less than 60,000 instructions. If
 * these estimates were half as large, a walk could execute more.
 */
#define SFU_STEP_COST		500	/* instructions charged for a step out of the fast path */
#define SFU_FALLBACK_COST	500	/* instructions charged in addition if a step has no row */
#define SFU_FAST_COST		48	/* instructions charged for a step in the fast path */
#define SFU_RECORD_COST		200	/* instructions charged for a frame record, besides reads */
#define SFU_RANGE_COST		300	/* instructions charged for the search for a mapping */
#define SFU_READ_COST		64	/* instructions charged for a user read, plus 1 per byte */
#define SFU_RETURN_COST		100	/* instructions charged for each pending uretprobe */

/* One frame of the user stack: the frame that the walk has reached, or its possible caller. */
struct sfu_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
	bool		is_activation;	/* @ip is no return address: a sample or signal hit it */
	/*
	 * True if @sp may be too low:
	 * - If FP of the callee has led here, @sp is the end of the callee's frame record. The
	 *   callee's frame may end above it, for example if the callee has realigned its stack.
	 * - If the link register (arm64) has led here, @sp is the callee's SP, maybe lowered.
	 */
	bool		sp_unverified;
	/* The callee's code keeps frame pointers, and the callee's FP has led to this frame. */
	bool		by_kept_fp;
	bool		is_in_chain;
	struct pt_regs	*regs;		/* sampled registers if the frame was sampled, else NULL */
	unsigned long	sigcontext;	/* user address of the frame's struct sigcontext; or 0 */
};

/* One walk over the user stack of current, from the sampled frame towards the outermost one. */
struct sfu_walk {
	struct sfu_map		*map;		/* map of the process; NULL: a scan must make one */
	struct sfu_range	*last;		/* executable mapping looked up last, or NULL */
	struct sfu_lookup	lookup;		/* row look-ups, and the instruction budget */
	bool			has_memory;	/* page table of current is loaded: reads allowed */
	bool			wants_code;	/* return address in no known code: scan may help */
	bool			wants_keeps_fp;	/* a scan must see if code keeps frame pointers */
	struct sfu_frame	frame;		/* the present frame, which the walk has reached */
	unsigned int		nr_signals;
	unsigned int		nr_switches;
	unsigned int		nr_frames[NR_SFU_METHODS];
};

/*
 * Returns the address whose row describes the frame. For a return address, this is the byte before
 * it: if a call ends its function, its return address is already in the next function.
 */
static inline unsigned long sfu_walk_lookup_ip(const struct sfu_frame *frame)
{
	return frame->is_activation ? frame->ip : frame->ip - 1;
}

static inline bool sfu_walk_has_registers(const struct sfu_frame *frame)
{
	return frame->regs || frame->sigcontext;
}

/* Subtracts @cost from the walk's instruction budget. Returns -E2BIG if the budget is too small. */
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
 * Returns true if @range has SFrame rows that can be trusted. Returns false for JIT code that makes
 * no frame of its own (&sfu_section.entry_start). The row of such code is wrong wherever the code
 * has moved SP. So step_after_jump() checks the return address that this row finds.
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

static inline bool sfu_walk_needs_scan(const struct sfu_walk *walk, enum sfu_stop stop)
{
	return stop == SFU_STOP_UNSCANNED || stop == SFU_STOP_SECTION ||
	       (stop == SFU_STOP_RA && walk->wants_code) ||
	       walk->lookup.wants_map || walk->wants_keeps_fp ||
	       (walk->lookup.is_inherited && walk->lookup.bad) ||
	       (stop == SFU_STOP_NODATA && sfu_map_is_older_than_tables(walk->map));
}

/* walk/uprobe.c: built only with CONFIG_UPROBES. Called only if sfu_uprobe_is_used() is true. */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra);
void sfu_uprobe_undo(struct sfu_walk *walk);
void sfu_uprobe_leave(struct sfu_walk *walk);

/* Returns true if current has hit a uprobe, or may be about to handle its first one. */
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
