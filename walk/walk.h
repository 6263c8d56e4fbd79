/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk up a user stack, frame by frame. See walk/walk.c.
 *
 * All functions run in any context, NMI included, and wait for nothing. Preemption is disabled from
 * sfu_walk_init() to the end of the walk.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include <linux/sched.h>

#include "sframe_arch.h"
#include "map/map.h"
#include "map/section.h"
#include "sframe_stats.h"

struct pt_regs;

#define SFU_MAX_SIGNALS		8		/* signal frames in one walk */
#define SFU_MAX_SWITCHES	4		/* times that a walk goes on further down */

/* The costs of a walk besides its look-ups, in instructions, about. */
#define SFU_STEP_COST		500	/* a step by walk_slow(), with what precedes it */
#define SFU_FALLBACK_COST	500	/* its way without a row, besides reads */
#define SFU_FAST_COST		48	/* a frame of the fast path */
#define SFU_RECORD_COST		200	/* a frame of sfu_fallback_follow(), besides reads */
#define SFU_RANGE_COST		300	/* the way of these two to another range, of up to 2048 */
#define SFU_READ_COST		64	/* a read, and 1 for each byte */
#define SFU_RETURN_COST		100	/* an entry of the list of pending returns */

struct sfu_frame {
	unsigned long	ip;		/* the address to report */
	unsigned long	sp;
	unsigned long	fp;
	bool		is_activation;	/* @ip is the next instruction, not a return address */
	/*
	 * No row gives @sp. It follows from a frame pointer, and is wrong if that function was
	 * realigned and has pushed a copy of its return address. Or (arm64) it is the stack
	 * pointer of a callee, which may have moved it.
	 */
	bool		sp_unverified;
	bool		by_habit;	/* only a habit is evidence for this frame */
	bool		is_in_chain;	/* a chain of frame pointers led to this frame */
	struct pt_regs	*regs;		/* all registers, in the sampled frame, else NULL */
	unsigned long	sigcontext;	/* their user address, in a frame hit by a signal, else 0 */
};

/* A walk up the user stack of current. */
struct sfu_walk {
	struct sfu_map		*map;		/* held by the caller; NULL: there is none yet */
	struct sfu_range	*last;		/* the range that was found last, or NULL */
	struct sfu_lookup	lookup;		/* its budget is that of the whole walk */
	/* User addresses lead to the memory of current. Else nothing is read. */
	bool			has_memory;
	/*
	 * The last return address was in no range: code may have been mapped there since the scan.
	 * Valid after SFU_STOP_RA.
	 */
	bool			wants_code;
	bool			wants_habit;	/* a step needs a habit that no scan knows yet */
	struct sfu_frame	frame;		/* the frame that the walk has reached */
	unsigned int		nr_signals;	/* signal frames that the walk has crossed */
	unsigned int		nr_switches;	/* how often it went on down on another stack */
	unsigned int		nr_frames[NR_SFU_METHODS];	/* callers found, by method */
};

void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_borrowed,
		   struct sfu_row_cache *cache, struct pt_regs *regs);
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
			       unsigned int *nr);

/* Can a scan of the process help the next walk that would end like this one? */
static inline bool sfu_walk_needs_scan(const struct sfu_walk *walk, enum sfu_stop stop)
{
	return stop == SFU_STOP_UNSCANNED || stop == SFU_STOP_SECTION ||
	       (stop == SFU_STOP_RA && walk->wants_code) ||
	       walk->lookup.wants_map || (walk->lookup.is_borrowed && walk->lookup.bad) ||
	       walk->wants_habit ||
	       (stop == SFU_STOP_NODATA && sfu_map_lacks_tables(walk->map));
}

/*
 * The parts of the walk use the functions below. Only sfu_walk_enter(), the fast path, the two
 * steps, sfu_fallback_follow(), sfu_fallback_chain() and sfu_uprobe_undo() change the frame for
 * good. The others change at most the budget, the counters, @last and @wants_code.
 */

/*
 * The address to look up for a frame. A call may be the last instruction of its
 * function, or of its range: then the return address is already outside.
 */
static inline unsigned long sfu_walk_lookup_ip(const struct sfu_frame *frame)
{
	return frame->is_activation ? frame->ip : frame->ip - 1;
}

/* Are all registers of this frame known? */
static inline bool sfu_walk_has_registers(const struct sfu_frame *frame)
{
	return frame->regs || frame->sigcontext;
}

/*
 * Takes what some work costs from the budget of the walk. Nothing else changes, also where
 * the walk is constant for the caller. Returns -E2BIG if the budget is spent.
 */
static inline int sfu_walk_charge(const struct sfu_walk *walk, unsigned int cost)
{
	return sframe_charge((struct sframe_reader *)&walk->lookup.rd, cost);
}

enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr,
				 unsigned long *val);
enum sfu_stop sfu_walk_read_register(struct sfu_walk *walk, unsigned int reg,
				     unsigned long *val);
bool sfu_walk_read_code(const struct sfu_walk *walk, void *code, unsigned long addr,
			size_t len);
struct sfu_range *sfu_walk_find_range(struct sfu_walk *walk, unsigned long addr);
int sfu_walk_find_row(struct sfu_walk *walk, struct sfu_range *range, unsigned long addr,
		      struct sframe_row *row);
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row,
			   unsigned long addr);
enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk, const struct sframe_row *row,
				   struct sfu_frame *caller);
enum sfu_stop sfu_walk_check_caller(struct sfu_walk *walk, struct sfu_frame *caller);
void sfu_walk_enter(struct sfu_walk *walk, const struct sfu_frame *caller,
		    enum sfu_method method);

/* walk/fast.c */
enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr);

/* walk/signal.c */
bool sfu_signal_is_stub(const struct sfu_walk *walk, unsigned long addr);
bool sfu_signal_is_at_return(const struct sfu_walk *walk);
enum sfu_stop sfu_signal_step(struct sfu_walk *walk);

/* walk/fallback.c. A caller or function that is not found is undefined. */
bool sfu_fallback_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
bool sfu_fallback_find_record(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_is_proved(struct sfu_walk *walk, const struct sfu_frame *caller);
bool sfu_fallback_lacks_row(struct sfu_walk *walk, unsigned long func);
bool sfu_fallback_has_habit(struct sfu_walk *walk, const struct sfu_frame *frame);
bool sfu_fallback_is_habitual(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_by_code(struct sfu_walk *walk, struct sfu_frame *caller);
bool sfu_fallback_by_row(struct sfu_walk *walk, const struct sframe_row *row,
			 struct sfu_frame *caller);
enum sfu_stop sfu_fallback_step(struct sfu_walk *walk);
unsigned int sfu_fallback_follow(struct sfu_walk *walk, u64 *ips, unsigned int max);
unsigned int sfu_fallback_chain(struct sfu_walk *walk, u64 *ips, unsigned int max);

/* walk/uprobe.c */
#ifdef CONFIG_UPROBES
unsigned long sfu_uprobe_real_ra(const struct sfu_walk *walk, unsigned long cfa,
				 unsigned long ra);
void sfu_uprobe_undo(struct sfu_walk *walk);
void sfu_uprobe_leave(struct sfu_walk *walk, struct sfu_frame *frame);

/*
 * Has current uprobes, or is it about to handle one? The first optimized one of a task comes
 * without a breakpoint.
 */
static inline bool sfu_uprobe_is_used(void)
{
	return current->utask || test_thread_flag(TIF_UPROBE) ||
	       (SFU_ARCH_PROBE_PAGE_BYTES && sfu_may_have_optimized_uprobes(current->mm));
}
#else
static inline unsigned long sfu_uprobe_real_ra(const struct sfu_walk *walk,
					       unsigned long cfa, unsigned long ra)
{
	return ra;
}

static inline void sfu_uprobe_undo(struct sfu_walk *walk)
{
}

static inline void sfu_uprobe_leave(struct sfu_walk *walk, struct sfu_frame *frame)
{
}

static inline bool sfu_uprobe_is_used(void)
{
	return false;
}
#endif

#endif /* SFU_WALK_H */
