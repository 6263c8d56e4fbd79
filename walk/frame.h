/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame of a walk, and what finds its caller. See walk/frame.c.
 *
 * All functions run in any context, NMI included, and wait for nothing. Preemption is disabled from
 * sfu_walk_init() to the end of the walk.
 */
#ifndef SFU_FRAME_H
#define SFU_FRAME_H

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
#define SFU_RECORD_COST		200	/* a frame of sfu_chain_follow(), besides reads */
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

/*
 * The parts of the walk use the functions below. Only sfu_walk_enter(), the fast path, the two
 * steps, sfu_chain_follow(), sfu_chain_enter() and sfu_uprobe_undo() change the frame for
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
 * Takes what some work costs from the budget of the walk. Returns -E2BIG if the budget is spent.
 */
static inline int sfu_walk_charge(struct sfu_walk *walk, unsigned int cost)
{
	return sframe_charge(&walk->lookup.rd, cost);
}

enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr,
				 unsigned long *val);
enum sfu_stop sfu_walk_read_register(struct sfu_walk *walk, unsigned int reg,
				     unsigned long *val);
bool sfu_walk_read_code(struct sfu_walk *walk, void *code, unsigned long addr,
			size_t len);
struct sfu_range *sfu_walk_find_range(struct sfu_walk *walk, unsigned long addr);
int sfu_walk_find_row(struct sfu_walk *walk, struct sfu_range *range, unsigned long addr,
		      struct sframe_row *row);
u64 sfu_walk_find_function(struct sfu_walk *walk, const struct sframe_row *row,
			   unsigned long addr);
enum sfu_stop sfu_walk_find_caller_above(struct sfu_walk *walk, const struct sframe_row *row,
					 unsigned long below, struct sfu_frame *caller);
enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk, const struct sframe_row *row,
				   struct sfu_frame *caller);
enum sfu_stop sfu_walk_check_caller(struct sfu_walk *walk, struct sfu_frame *caller);
void sfu_walk_enter(struct sfu_walk *walk, const struct sfu_frame *caller,
		    enum sfu_method method);

#endif /* SFU_FRAME_H */
