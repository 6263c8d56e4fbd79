// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hides uprobes: finds the ip, and the return addresses, that the task would have without uprobes.
 *
 * A pending uretprobe has replaced a return address on the stack. While the kernel handles a
 * breakpoint, an instruction copied out of line, or a trampoline, no row describes the saved ip. So
 * the walk begins where the program would be without uprobes.
 *
 * Known gaps. If the kernel has just replaced a return address, and the original is not in the list
 * of pending uretprobes yet, a walk ends with "bad-ra". If a walk interrupts the replacement byte
 * by byte (rep movsb), it reads a mix of both addresses. On x86, the system call uretprobe()
 * changes ip before it lowers SP by three words: a sample between the two has a wrong frame.
 */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "walk/walk.h"

#define PUSHED_BY_CALL	(SFU_ARCH_REG_RA < 0 ? sizeof(long) : 0)	/* bytes */

/*
 * Finds the pending uretprobe of the function whose frame ends at @cfa, or at most @room bytes
 * above. The list has the innermost function first. After tail calls, the entries of one frame have
 * one original return address, so the first match is right. After longjmp(), entries of abandoned
 * functions stay for a while, but they are below the stack pointer and do not match.
 *
 * The list belongs to current, in which the walk runs, or which the walk has interrupted. So the
 * list does not change meanwhile. But Linux 6.12 frees some entries before it unlinks them:
 * get_kernel_nofault() makes reading such an entry harmless.
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
 * Returns the original return address of the function whose frame ends at @cfa, if a uretprobe has
 * replaced it by @ra, which is the start of a page. Else returns @ra.
 */
unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra)
{
	struct return_instance entry;

	return find_pending(walk, cfa, 0, &entry) ? entry.orig_ret_vaddr : ra;
}

/*
 * Moves a frame in the uretprobe trampoline to the return address of the probed function. Until the
 * trampoline pops its first word, this address may be in the list of pending uretprobes. Later it
 * is on the stack, and a matching entry of the list belongs to an outer function.
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

/*
 * Sets a frame that a signal has interrupted to its state without uprobes. Signals are delivered at
 * the end of system calls, which the uretprobe trampoline makes, and the page that an optimized
 * uprobe calls. A signal may also come right before this call.
 */
void sfu_uprobe_leave(struct sfu_walk *walk)
{
	if (!sfu_arch_leave_call(walk))
		leave_trampoline(walk);
}

/* Sets the sampled frame to its state without uprobes, at the start of a walk that has a map. */
void sfu_uprobe_undo(struct sfu_walk *walk)
{
	struct uprobe_task *utask = current->utask;
	struct sfu_frame *frame = &walk->frame;

	/* Moves an ip in or after the out-of-line copy of an instruction to the original one. */
	if (utask && utask->xol_vaddr && frame->ip - utask->xol_vaddr <= UPROBE_XOL_SLOT_BYTES)
		frame->ip += utask->vaddr - utask->xol_vaddr;
	else if (!(utask || test_thread_flag(TIF_UPROBE)) || !sfu_arch_leave_breakpoint(walk))
		sfu_uprobe_leave(walk);
}
