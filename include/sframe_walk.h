/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk up a user stack, frame by frame. See sframe_walk.c.
 */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include "sframe_core.h"
#include "sframe_stats.h"

struct pt_regs;
struct sfu_map;
struct sfu_region;

#define SFU_MAX_SIGNALS		8		/* signal frames in one walk */

/* What look-ups of one walk may cost: with interrupts off, and without. */
#define SFU_BUDGET_SAMPLE	(256U << 10)
#define SFU_BUDGET_TASK		(16U << 20)

/**
 * struct sfu_frame - one frame of a walk
 * @ip: the address to report
 * @sp: stack pointer
 * @fp: frame pointer
 * @exact: @ip is the next instruction, not behind a call
 * @guessed: @sp was derived from a frame pointer. It is off if that frame was
 *	realigned, for which some functions keep a copy of the return address
 * @regs: all registers, in the sampled frame, else NULL
 * @sigcontext: user address of all registers, behind a signal frame, else 0
 */
struct sfu_frame {
	unsigned long	ip;
	unsigned long	sp;
	unsigned long	fp;
	bool		exact;
	bool		guessed;
	struct pt_regs	*regs;
	unsigned long	sigcontext;
};

/**
 * struct sfu_walk - a walk up the user stack of current
 * @rd: reads user memory, and bounds the look-ups
 * @map: the process's mappings, held by the caller; NULL: nothing is known
 * @last: the region that was found last, or NULL
 * @may_fault: may memory be waited for?
 * @may_inline: user memory may be read without more ado
 * @frame: where we are
 * @complete: it has ended there, if only the next step is to tell
 * @stop: why the walk ended
 * @lacking: @map did not have what learning may bring
 * @nr_signals: signal frames crossed
 * @nr_frames: callers found, by method
 * @nr_cached: rows found in the rule cache
 * @nr_missed: rows that had to be found otherwise
 */
struct sfu_walk {
	struct sframe_reader	rd;
	struct sfu_map		*map;
	struct sfu_region	*last;
	bool			may_fault;
	bool			may_inline;
	struct sfu_frame	frame;
	bool			complete;
	enum sfu_stop		stop;
	bool			lacking;
	unsigned int		nr_signals;
	unsigned int		nr_frames[NR_SFU_METHODS];
	unsigned int		nr_cached;
	unsigned int		nr_missed;
};

void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map,
		   struct pt_regs *regs, bool may_fault);
unsigned int sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max);

#endif /* SFU_WALK_H */
