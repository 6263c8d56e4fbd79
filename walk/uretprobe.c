// SPDX-License-Identifier: GPL-2.0-or-later
/* Pending uretprobes: the return addresses that the kernel has replaced. */
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "sframe_arch.h"
#include "walk/frame.h"
#include "walk/uprobe.h"

/*
 * Finds the pending uretprobe of the function whose frame ends at @cfa, or at most
 * @room above it. The list has the innermost function first. Functions that jump to
 * each other at their end have entries with the same return address, so the first
 * entry that fits is right. Entries of functions that longjmp() has left stay for a
 * while, but they lie below the stack pointer.
 *
 * The list belongs to current. The walk has interrupted current, or runs in it, so
 * the list does not change meanwhile. But 6.12 frees some entries before it unlinks
 * them: reading such an entry must do no harm.
 */
bool sfu_uretprobe_find(struct sfu_walk *walk, unsigned long cfa, unsigned long room,
			struct return_instance *entry)
{
	struct uprobe_task *utask = current->utask;
	unsigned int nr;

	entry->next = utask ? utask->return_instances : NULL;
	for (nr = 0; entry->next && nr < MAX_URETPROBE_DEPTH; nr++) {
		if (sfu_walk_charge(walk, SFU_RETURN_COST) ||
		    get_kernel_nofault(*entry, entry->next))
			return false;
		if (entry->stack + SFU_PUSHED_BY_CALL - cfa <= room)
			return true;
	}
	return false;
}

/*
 * Returns where the function was called from whose frame ends at @cfa, if a uretprobe has replaced
 * the return address @ra, which is the start of a page. Else returns @ra.
 */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa,
				 unsigned long ra)
{
	struct return_instance entry;

	return sfu_uretprobe_find(walk, cfa, 0, &entry) ? entry.orig_ret_vaddr : ra;
}
