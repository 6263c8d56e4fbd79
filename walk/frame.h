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

/*
 * Signal frames in one walk, and times that it goes on further down, on another stack. Each bounds
 * the frames that do not move up. Half of each ends stacks of nested handlers, and of Go with cgo.
 */
#define SFU_MAX_SIGNALS		8
#define SFU_MAX_SWITCHES	4

/* Costs besides look-ups, in instructions, about. With half of them, walks exceed 60,000. */
#define SFU_STEP_COST		500	/* a step of the general path */
#define SFU_FALLBACK_COST	500	/* a step without a row adds this, besides reads */
#define SFU_FAST_COST		48	/* a frame of the fast path */
#define SFU_RECORD_COST		200	/* a frame record of a chain, besides reads */
#define SFU_RANGE_COST		300	/* a search for another range, of up to 2048 */
#define SFU_READ_COST		64	/* a read, and 1 for each byte */
#define SFU_RETURN_COST		100	/* an entry of the list of pending returns */

struct sfu_frame {
	unsigned long	ip;		/* the address to report */
	unsigned long	sp;
	unsigned long	fp;
	bool		is_activation;	/* @ip is the next instruction, not a return address */
	/*
	 * No row gives @sp. A frame pointer gives it, and it is wrong if the function has realigned
	 * the stack. Or (arm64) it is the stack pointer of the callee, which may have moved it.
	 */
	bool		sp_unverified;
	bool		trusts_fp;	/* found because code keeps frame pointers */
	bool		is_in_chain;	/* a chain of frame pointers led to this frame */
	struct pt_regs	*regs;		/* all registers, in the sampled frame, else NULL */
	unsigned long	sigcontext;	/* or their user address, in a frame hit by a signal */
};

/* A walk up the user stack of current. */
struct sfu_walk {
	struct sfu_map		*map;		/* held by the caller; NULL: there is none yet */
	struct sfu_range	*last;		/* the range that was found last, or NULL */
	struct sfu_lookup	lookup;		/* has the budget of the whole walk */
	bool			has_memory;	/* user addresses lead to the memory of current */
	bool			wants_code;	/* the last return address was in no range */
	bool			wants_keeps_fp;	/* no scan has examined the code of a frame */
	struct sfu_frame	frame;		/* the frame that the walk has reached */
	unsigned int		nr_signals;	/* signal frames that the walk has crossed */
	unsigned int		nr_switches;	/* times that it went on further down */
	unsigned int		nr_frames[NR_SFU_METHODS];	/* callers found, by method */
};

/*
 * Returns the address to look up for a frame. A call may be the last instruction of its function,
 * or of its range: then the return address is already outside.
 */
static inline unsigned long sfu_walk_lookup_ip(const struct sfu_frame *frame)
{
	return frame->is_activation ? frame->ip : frame->ip - 1;
}

/* Returns true if all registers of this frame are known. */
static inline bool sfu_walk_has_registers(const struct sfu_frame *frame)
{
	return frame->regs || frame->sigcontext;
}

/* Takes what some work costs from the budget of the walk. Returns -E2BIG if the budget is spent. */
static inline int sfu_walk_charge(struct sfu_walk *walk, unsigned int cost)
{
	return sframe_charge(&walk->lookup.rd, cost);
}

enum sfu_stop sfu_walk_read_word(struct sfu_walk *walk, unsigned long addr, unsigned long *val);
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

/* walk/call.c */
bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
bool sfu_call_is_before(struct sfu_walk *walk, unsigned long ra);
bool sfu_call_may_return_to(struct sfu_walk *walk, unsigned long ra);

/* Finds a row in the section of @range, on the budget of the walk, as sfu_section_find_row(). */
static inline int sfu_walk_find_row(struct sfu_walk *walk, struct sfu_range *range,
				    unsigned long addr, struct sframe_row *row)
{
	return sfu_section_find_row(&range->section, &walk->lookup, addr, row);
}

/* Returns true if rows hold without a proof: code that a function jumps to has other rows. */
static inline bool sfu_has_rows(const struct sfu_range *range)
{
	return !sfu_section_is(&range->section, SFU_SECTION_NONE) && !range->section.entry_size;
}

/* Returns true if @addr is in @range, which may be NULL, and certainly no row holds there. */
static inline bool sfu_lacks_row(struct sfu_walk *walk, struct sfu_range *range,
				 unsigned long addr)
{
	struct sframe_row row __uninitialized;

	return range && (!sfu_has_rows(range) ||
			 sfu_walk_find_row(walk, range, addr, &row) == -ENOENT);
}

/* Finds the range of a frame, or NULL. */
static inline struct sfu_range *sfu_walk_range_of(struct sfu_walk *walk,
						  const struct sfu_frame *frame)
{
	return sfu_walk_find_range(walk, sfu_walk_lookup_ip(frame));
}

/* Finds the caller on the present stack, as sfu_walk_find_caller_above(). */
static inline enum sfu_stop sfu_walk_find_caller(struct sfu_walk *walk,
						 const struct sframe_row *row,
						 struct sfu_frame *caller)
{
	return sfu_walk_find_caller_above(walk, row, walk->frame.sp, caller);
}

/* Moves the walk to @caller, which @method has found. */
static inline void sfu_walk_enter(struct sfu_walk *walk, const struct sfu_frame *caller,
				  enum sfu_method method)
{
	walk->frame = *caller;
	walk->nr_frames[method]++;
}

#endif /* SFU_FRAME_H */
