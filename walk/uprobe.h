/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Uprobes: walk/uprobe.c, and walk/uretprobe.c for pending uretprobes.
 */
#ifndef SFU_UPROBE_H
#define SFU_UPROBE_H

#include "walk/frame.h"

#ifdef CONFIG_UPROBES
struct return_instance;

#define SFU_PUSHED_BY_CALL	(SFU_ARCH_REG_RA < 0 ? sizeof(long) : 0)	/* bytes */

/* walk/uretprobe.c */
bool sfu_uretprobe_find(struct sfu_walk *walk, unsigned long cfa, unsigned long room,
			struct return_instance *entry);
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa,
				 unsigned long ra);

/* walk/uprobe.c */
void sfu_uprobe_undo(struct sfu_walk *walk);
void sfu_uprobe_leave(struct sfu_walk *walk, struct sfu_frame *frame);

/*
 * Has current uprobes, or is it about to handle one? The first optimized one of a task comes
 * without a breakpoint.
 */
static inline bool sfu_uprobe_is_used(void)
{
	return current->utask || test_thread_flag(TIF_UPROBE) ||
	       sfu_may_have_optimized_uprobes(current->mm);
}
#else
static inline unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk,
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

#endif /* SFU_UPROBE_H */
