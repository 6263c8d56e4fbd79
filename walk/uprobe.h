/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hides uprobes from a walk. See walk/uprobe.c, which needs CONFIG_UPROBES. */
#ifndef SFU_UPROBE_H
#define SFU_UPROBE_H

#include "walk/frame.h"

/* Call these functions only if sfu_uprobe_is_used() has returned true. */
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

#endif /* SFU_UPROBE_H */
