// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hides uprobes: finds the ip, and the return addresses, that the task would have without uprobes.
 *
 * A pending uretprobe has replaced a return address on the stack. While the kernel handles a
 * uprobe, the saved ip may be after a breakpoint, in an instruction copied out of line, or in a
 * trampoline. No row describes it. So the walk begins where the program would be without uprobes.
 *
 * Known gaps:
 * - The kernel replaces a return address before it adds the original to the list of pending
 *   uretprobes: a walk in between ends with "bad-ra".
 * - A walk that interrupts the replacement byte by byte (rep movsb) reads a mix of both addresses.
 * - On x86, the system call uretprobe() lowers SP by three words before it sets ip back: a sample
 *   in between has a wrong frame.
 */
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include "walk/walk.h"

#define PUSHED_BY_CALL	(SFU_ARCH_REG_RA < 0 ? sizeof(long) : 0)	/* bytes */

/*
 * Finds a function's pending uretprobe among current's return_instances. @cfa is the function's CFA
 * or, after the uretprobe trampoline has pushed words, at most @room bytes below its CFA.
 */
static bool find_pending(struct sfu_walk *walk, unsigned long cfa, unsigned long room,
			 struct return_instance *entry)
{
	struct uprobe_task *utask = current->utask;
	unsigned int nr;

	/* Only current adds or removes entries, and it cannot do so before this walk ends. */
	entry->next = utask ? utask->return_instances : NULL;
	for (nr = 0; entry->next && nr < MAX_URETPROBE_DEPTH; nr++) {
		/* Linux 6.12 may free an entry before it unlinks it: a plain read could fault. */
		if (sfu_walk_charge(walk, SFU_RETURN_COST) ||
		    get_kernel_nofault(*entry, entry->next))
			return false;
		/*
		 * Compare the entry's stack address with @cfa. The first match is right: after tail
		 * calls, all entries of a frame have the same original return address. Entries of
		 * frames that longjmp() has left are below SP, and do not match.
		 */
		if (entry->stack + PUSHED_BY_CALL - cfa <= room)
			return true;
	}
	return false;
}

unsigned long sfu_uprobe_real_ra(struct sfu_walk *walk, unsigned long cfa, unsigned long ra)
{
	struct return_instance entry;

	return find_pending(walk, cfa, 0, &entry) ? entry.orig_ret_vaddr : ra;
}

/* Moves a frame in the uretprobe trampoline to the return address of the probed function. */
static void leave_trampoline(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	struct return_instance entry;
	unsigned long sp = frame->sp, ra;
	unsigned int pops;

	if (!sfu_arch_is_trampoline(walk, &pops))
		return;
	/*
	 * On x86 since Linux 6.11, the trampoline pushes words, makes the system call uretprobe(),
	 * pops words and returns. At first, the return address is only in return_instances. The
	 * system call moves it to the stack: only entries of outer functions are left. If a word
	 * has been popped, the system call is over: do not search return_instances.
	 */
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
 * Called for a frame that a sample or signal has hit. It may be in code that exists only for
 * uprobes: the uretprobe trampoline, the call in place of an optimized uprobe's breakpoint, or the
 * page that this call enters. Then sets ip and SP as they would be if no probe were set.
 */
void sfu_uprobe_leave(struct sfu_walk *walk)
{
	if (!sfu_arch_leave_call(walk))
		leave_trampoline(walk);
}

void sfu_uprobe_undo(struct sfu_walk *walk)
{
	struct uprobe_task *utask = current->utask;
	struct sfu_frame *frame = &walk->frame;

	/* Moves an ip in or after the out-of-line copy of a probed instruction to the original. */
	if (utask && utask->xol_vaddr && frame->ip - utask->xol_vaddr <= UPROBE_XOL_SLOT_BYTES)
		frame->ip += utask->vaddr - utask->xol_vaddr;
	else if (!(utask || test_thread_flag(TIF_UPROBE)) || !sfu_arch_leave_breakpoint(walk))
		sfu_uprobe_leave(walk);
}
