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
#include "walk/call.h"
#include "walk/frame.h"
#include "walk/uprobe.h"

/* Returns the function that is called at the return address the row finds, or 0. */
static unsigned long find_called(struct sfu_walk *walk, const struct sframe_row *row)
{
	struct sfu_frame caller;
	unsigned long callee;

	return !sfu_walk_find_caller(walk, row, &caller) &&
	       sfu_call_find_callee(walk, caller.ip, &callee) ? callee : 0;
}

/* As find_called(), by the row of the breakpoint before the ip of @walk. */
static unsigned long find_called_before(struct sfu_walk *walk, struct sfu_range *range)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long called = 0;
	struct sframe_row row;

	frame->ip -= SFU_ARCH_BREAKPOINT_BYTES;
	if (!sfu_walk_find_row(walk, range, frame->ip, &row))
		called = find_called(walk, &row);
	frame->ip += SFU_ARCH_BREAKPOINT_BYTES;
	return called;
}

/* Returns true if the kernel is certainly handling a breakpoint of current. */
static bool is_in_breakpoint(void)
{
	if (test_thread_flag(TIF_UPROBE))
		return true;
#ifdef CONFIG_TASKS_TRACE_RCU
	return current->trc_reader_nesting;
#else
	return false;
#endif
}

/* Returns true if a breakpoint is before the ip, and the ip is not the start of a function. */
static bool follows_breakpoint(struct sfu_walk *walk, struct sfu_range *range,
			       struct sframe_row *here)
{
	u8 code[SFU_ARCH_BREAKPOINT_BYTES + 1];
	unsigned long ip = walk->frame.ip;

	if (!SFU_ARCH_BREAKPOINT_BYTES || !range ||
	    !sfu_walk_read_code(walk, code, ip - SFU_ARCH_BREAKPOINT_BYTES, sizeof(code)))
		return false;
	/* While the kernel handles a breakpoint, the ip is at it. Two in a row may be padding. */
	if (code[0] != SFU_ARCH_BREAKPOINT ||
	    code[SFU_ARCH_BREAKPOINT_BYTES] == SFU_ARCH_BREAKPOINT)
		return false;
	if (sfu_walk_find_row(walk, range, ip, here))
		return false;
	here->func = sfu_walk_find_function(walk, here, ip);
	return here->func != ip;
}

/*
 * Returns true if a breakpoint has been hit, and the kernel has not set the ip back to it yet. At
 * first TIF_UPROBE shows that, later the RCU tasks trace lock that is held. For a few
 * instructions between the two only the stack can show whether the replaced instruction
 * is still to come: the row that holds finds a return address after a call of this
 * function; or, if the function was jumped to, after a call of any function. 6.1 has no
 * such lock, and these instructions are all of its handling.
 */
static bool is_after_breakpoint(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	struct sfu_range *range = sfu_walk_find_range(walk, frame->ip);
	unsigned long called_before;
	struct sframe_row here;
	bool is_called;

	if (!follows_breakpoint(walk, range, &here))
		return false;
	if (is_in_breakpoint())
		return true;
	is_called = find_called(walk, &here) == here.func;
	if (is_called && frame->ip - SFU_ARCH_BREAKPOINT_BYTES != here.func)
		return false;
	/*
	 * Both rows may find that call. Then the instruction does not move the stack pointer. As
	 * the first of a function it has more than one byte, and the ip is in the middle of it.
	 */
	called_before = find_called_before(walk, range);
	return is_called ? called_before == here.func : called_before;
}

/* Finds where the trampoline of a uretprobe returns to, and the stack pointer there. */
static bool find_trampoline_caller(struct sfu_walk *walk, unsigned int off,
				   unsigned long *ra, unsigned long *sp)
{
	unsigned int pops = sfu_arch_trampoline_pops(off);
	struct return_instance entry;

	/*
	 * Before the probe is handled the list has the address, after that the stack. Behind the
	 * first pop, the probe has been handled. An entry that fits there is that of a caller.
	 */
	if ((!pops || pops * sizeof(*ra) >= SFU_ARCH_TRAMPOLINE_PUSHES) &&
	    sfu_uretprobe_find(walk, *sp, SFU_ARCH_TRAMPOLINE_PUSHES, &entry)) {
		*sp = entry.stack + SFU_ARCH_PUSHED_BY_CALL;
		*ra = entry.orig_ret_vaddr;
		return true;
	}
	*sp += pops * sizeof(*ra);
	return pops && !sfu_walk_read_word(walk, *sp - sizeof(*ra), ra);
}

/* Leaves the trampoline of a uretprobe for the code that called the function. */
static void leave_trampoline(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned int off = offset_in_page(frame->ip);
	u8 code[SFU_ARCH_TRAMPOLINE_BYTES] = {};
	unsigned long sp = frame->sp, ra;

	if (off >= sizeof(code))
		return;
	/* The page may be executable and not readable. Then the registers decide. */
	sfu_walk_read_code(walk, code, frame->ip - off, sizeof(code));
	if (!sfu_arch_is_trampoline(frame->regs, frame->ip, code))
		return;
	if (!find_trampoline_caller(walk, off, &ra, &sp) || !sfu_walk_find_range(walk, ra))
		return;
	frame->ip = ra;
	frame->sp = sp;
}

/* Returns as sfu_arch_probe_page_pushed(), for the code at @ip. */
static int probe_page_pushed(struct sfu_walk *walk, unsigned long ip, u32 *freed)
{
	u8 code[SFU_ARCH_PROBE_PAGE_BYTES + 1];
	unsigned int off = offset_in_page(ip);

	if (off >= SFU_ARCH_PROBE_PAGE_BYTES ||
	    !sfu_walk_read_code(walk, code, ip - off, SFU_ARCH_PROBE_PAGE_BYTES))
		return -1;
	return sfu_arch_probe_page_pushed(code, off, freed);
}

/*
 * Returns true if a call of the page of optimized uprobes is at @addr. The kernel leaves the call
 * there when it takes the probe away. @freed: as by sfu_arch_probe_page_pushed().
 */
static bool is_page_call(struct sfu_walk *walk, unsigned long addr, u32 *freed)
{
	unsigned long to, ra = addr + SFU_ARCH_PROBE_CALL_BYTES;
	u8 code[SFU_ARCH_CALL_BYTES];

	return SFU_ARCH_PROBE_CALL_BYTES &&
	       sfu_walk_read_code(walk, code, ra - sizeof(code), sizeof(code)) &&
	       sfu_arch_decode_call(code, ra, &to) == SFU_CALL_DIRECT && PAGE_ALIGNED(to) &&
	       !probe_page_pushed(walk, to, freed);
}

/* The instruction before such a call has moved the stack pointer. It may be replaced since. */
static bool is_probe_call(struct sfu_walk *walk, unsigned long addr)
{
	u32 freed;

	return is_page_call(walk, addr, &freed) && freed == SFU_ARCH_PROBE_MOVED;
}

/*
 * Undoes the call of an optimized uprobe. Before the call, the stack pointer has moved. When the
 * kernel goes back to the page, it lowers the stack pointer first and sets the ip last. Meanwhile
 * the probe may be taken away.
 */
static bool leave_probe_call(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long ra;

	if (is_probe_call(walk, frame->ip)) {
		frame->ip -= SFU_ARCH_PROBE_MOVE_BYTES;
		frame->sp += SFU_ARCH_PROBE_MOVED;
		return true;
	}
	if (!is_probe_call(walk, frame->ip + SFU_ARCH_PROBE_MOVE_BYTES))
		return false;
	if (!sfu_walk_read_word(walk, frame->sp + SFU_ARCH_PROBE_PUSHES, &ra) &&
	    ra == frame->ip + SFU_ARCH_PROBE_MOVE_BYTES + SFU_ARCH_PROBE_CALL_BYTES)
		frame->sp += SFU_ARCH_PROBE_PUSHES + sizeof(ra) + SFU_ARCH_PROBE_MOVED;
	return true;
}

/* Reads the address at @sp. Returns true if a call of an optimized uprobe returns to it. */
static bool read_probe_return(struct sfu_walk *walk, unsigned long sp, unsigned long *ra)
{
	u32 freed;

	return !sfu_walk_read_word(walk, sp, ra) && sfu_walk_find_range(walk, *ra) &&
	       is_page_call(walk, *ra - SFU_ARCH_PROBE_CALL_BYTES, &freed);
}

/*
 * Leaves the page that an optimized uprobe calls, for the code after the probe. A deferred stack of
 * such a probe begins there. When the kernel begins to handle the probe, it raises the stack
 * pointer to where that was before, and sets the ip some instructions later.
 */
static bool leave_probe_page(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long sp, ra;
	int pushed;
	u32 freed;

	pushed = probe_page_pushed(walk, frame->ip, &freed);
	if (pushed < 0)
		return false;
	sp = frame->sp + pushed;
	if (read_probe_return(walk, sp, &ra))
		sp += sizeof(ra) + freed;
	else if (pushed == SFU_ARCH_PROBE_PUSHES &&
		 read_probe_return(walk, frame->sp - freed - sizeof(ra), &ra))
		sp = frame->sp;
	else if (!sfu_walk_read_word(walk, sp, &ra) && sfu_walk_find_range(walk, ra))
		/* A BPF program has chosen another address. */
		sp += sizeof(ra) + freed;
	else
		return false;
	frame->ip = ra;
	frame->sp = sp;
	return true;
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
	else if (has_met_one && is_after_breakpoint(walk))
		frame->ip -= SFU_ARCH_BREAKPOINT_BYTES;
	else if (!leave_probe_page(walk) && !leave_probe_call(walk))
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
	if (!leave_probe_page(walk) && !leave_probe_call(walk))
		leave_trampoline(walk);
	*frame = walk->frame;
	walk->frame = here;
}
