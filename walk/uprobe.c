// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uprobes: where the sampled code and its return addresses would be without them.
 *
 * A pending uretprobe has replaced a return address on the stack. While the kernel
 * handles a breakpoint, a copied instruction or a trampoline, the saved ip is in a
 * place that no row describes. The walk begins where the program would be without
 * uprobes.
 *
 * Known gaps. The kernel replaces a return address before it lists it: a walk between the two ends
 * as bad-ra. A processor that copies byte by byte (rep movsb) may be interrupted meanwhile, and the
 * walk reads a mix of both addresses. On x86, uretprobe() changes ip before it lowers SP by three
 * words: a sample between the two has a wrong frame.
 */
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "sframe_arch.h"
#include "walk/frame.h"
#include "walk/uprobe.h"

#define PUSHED_BY_CALL	(SFU_ARCH_REG_RA < 0 ? sizeof(long) : 0)	/* bytes */

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
static bool find_pending(struct sfu_walk *walk, unsigned long cfa, unsigned long room,
			 struct return_instance *entry)
{
	struct uprobe_task *utask = current->utask;
	unsigned int nr;

	entry->next = utask ? utask->return_instances : NULL;
	for (nr = 0; entry->next && nr < MAX_URETPROBE_DEPTH; nr++) {
		if (sfu_walk_charge(walk, SFU_RETURN_COST) ||
		    get_kernel_nofault(*entry, entry->next))
			return false;
		if (entry->stack + PUSHED_BY_CALL - cfa <= room)
			return true;
	}
	return false;
}

/*
 * Returns where the function was called from whose frame ends at @cfa, if a uretprobe has replaced
 * the return address @ra, which is the start of a page. Else returns @ra.
 */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra)
{
	struct return_instance entry;

	return find_pending(walk, cfa, 0, &entry) ? entry.orig_ret_vaddr : ra;
}

/*
 * Leaves the trampoline of a uretprobe for the code that called the function. Until the trampoline
 * takes the first word off the stack, the kernel may not have handled the uretprobe yet: then the
 * list of pending ones has the return address. Later the stack has it, and an entry of the list
 * that fits is one of a caller.
 */
static void leave_trampoline(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	struct return_instance entry;
	unsigned long sp = frame->sp, ra;
	unsigned int pops;

	if (!sfu_arch_is_trampoline(walk, &pops))
		return;
	if ((!pops || pops * sizeof(ra) >= SFU_ARCH_TRAMPOLINE_PUSHES) &&
	    find_pending(walk, sp, SFU_ARCH_TRAMPOLINE_PUSHES, &entry)) {
		sp = entry.stack + PUSHED_BY_CALL;
		ra = entry.orig_ret_vaddr;
	} else {
		sp += pops * sizeof(ra);
		if (!pops || sfu_walk_read_word(walk, sp - sizeof(ra), &ra))
			return;
	}
	if (!sfu_walk_find_range(walk, ra))
		return;
	frame->ip = ra;
	frame->sp = sp;
}

/* Puts the sampled frame where it would be without uprobes. The walk has just begun, with a map. */
void sfu_uprobe_undo(struct sfu_walk *walk)
{
	struct uprobe_task *utask = current->utask;
	struct sfu_frame *frame = &walk->frame;
	bool has_met_one = utask || test_thread_flag(TIF_UPROBE);

	/* In a copy of the instruction, or just after it. */
	if (utask && utask->xol_vaddr &&
	    frame->ip - utask->xol_vaddr <= UPROBE_XOL_SLOT_BYTES)
		frame->ip += utask->vaddr - utask->xol_vaddr;
	else if (!(has_met_one && sfu_arch_leave_breakpoint(walk)) && !sfu_arch_leave_call(walk))
		leave_trampoline(walk);
}

/*
 * Puts a frame that a signal has interrupted where it would be without uprobes. The system calls of
 * uprobes return to the page that they come from, and a signal strikes there. It may also strike
 * before the call of that page.
 */
void sfu_uprobe_leave(struct sfu_walk *walk, struct sfu_frame *frame)
{
	struct sfu_frame here = walk->frame;

	walk->frame = *frame;
	if (!sfu_arch_leave_call(walk))
		leave_trampoline(walk);
	*frame = walk->frame;
	walk->frame = here;
}
