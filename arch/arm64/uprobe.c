// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames in which the kernel is handling a uprobe, on arm64. */
#include "sframe_arch.h"
#include "walk/walk.h"

/* Nothing to correct: on arm64, the saved ip is at the breakpoint, not after it. */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	return false;
}

/* Nothing to correct: arm64 has no optimized uprobes (calls instead of breakpoints). */
bool sfu_arch_leave_call(struct sfu_walk *walk)
{
	return false;
}

/*
 * The uretprobe trampoline is a breakpoint at the start of a page, which may be unreadable. The
 * probed function has returned to it, so the link register has its address. In any other function
 * at the start of a page, the link register has another address.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int off = offset_in_page(walk->frame.ip);

	*pops = 0;
	return regs && off < 4 && regs->regs[30] == walk->frame.ip - off;
}
