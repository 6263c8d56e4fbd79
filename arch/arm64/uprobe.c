// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames of arm64 in which the kernel handles a uprobe. */
#include "sframe_arch.h"
#include "walk/frame.h"

/* A breakpoint leaves the ip at itself. */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	return false;
}

/* No uprobe is optimized. */
bool sfu_arch_leave_call(struct sfu_walk *walk)
{
	return false;
}

/*
 * The trampoline is one breakpoint, in a page that may be executable and not readable.
 * The probed function has returned to it, so the link register holds its address. The
 * link register of a function that begins a page does not hold its own address.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int off = offset_in_page(walk->frame.ip);

	*pops = 0;
	return regs && off < 4 && regs->regs[30] == walk->frame.ip - off;
}
