// SPDX-License-Identifier: GPL-2.0-or-later
/* Recognises frames in the uretprobe trampoline. All else for uprobes is in walk/uprobe.c. */
#include "sframe_arch.h"
#include "walk/walk.h"

/* Never corrects the ip: at a uprobe's breakpoint, arm64 saves the breakpoint's address as ip. */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	return false;
}

/* Never corrects ip or SP: arm64 has no optimized uprobes (calls in place of breakpoints). */
bool sfu_arch_leave_call(struct sfu_walk *walk)
{
	return false;
}

/* The uretprobe trampoline is a breakpoint at the start of a page, which may be unreadable. */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops)
{
	const struct pt_regs *regs = walk->frame.regs;
	unsigned int off = offset_in_page(walk->frame.ip);

	*pops = 0;
	/* A ret to the trampoline leaves its address in x30. If x30 differs, this is other code. */
	return regs && off < 4 && regs->regs[30] == walk->frame.ip - off;
}
