// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Corrects frames in which the kernel is handling a uprobe, on x86_64. When a breakpoint is hit,
 * the saved ip is after the int3 until the kernel sets it back. From Linux 6.18 on, an optimized
 * uprobe is a call in place of a breakpoint. It calls the uprobe page, which the kernel maps.
 */
#include <linux/sched.h>

#include "sframe_arch.h"
#include "walk/walk.h"

#define BREAKPOINT		0xcc
#define BREAKPOINT_BYTES	1

static unsigned long find_called(struct sfu_walk *walk, struct sfu_range *range)
{
	struct sfu_frame caller;
	struct sframe_row row;
	unsigned long func;

	return !sfu_walk_find_row(walk, range, walk->frame.ip, &row) &&
	       !sfu_walk_find_caller(walk, &row, &caller) &&
	       sfu_call_find_callee(walk, caller.ip, &func) ? func : 0;
}

/* Returns true if the kernel is certainly handling a uprobe's breakpoint that current has hit. */
static bool is_in_breakpoint(void)
{
	if (test_thread_flag(TIF_UPROBE))
		return true;
	/*
	 * The kernel clears TIF_UPROBE, then (from Linux 6.12 on) takes the RCU tasks trace lock.
	 * Between these steps, nothing shows that it is handling the breakpoint.
	 */
#ifdef CONFIG_TASKS_TRACE_RCU
	return current->trc_reader_nesting;
#else
	return false;
#endif
}

/* After the instruction that a breakpoint replaced has run, the ip behind it is right. */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	struct sfu_range *range = sfu_walk_find_range(walk, frame->ip);
	unsigned long func, called, called_before;
	u8 code[BREAKPOINT_BYTES + 1];
	struct sframe_row row;

	if (!range || !sfu_walk_read_code(walk, code, frame->ip - BREAKPOINT_BYTES, sizeof(code)))
		return false;
	/* Leave an ip with int3 before and at it: it has been set back, or the int3 are padding. */
	if (code[0] != BREAKPOINT || code[BREAKPOINT_BYTES] == BREAKPOINT ||
	    sfu_walk_find_row(walk, range, frame->ip, &row))
		return false;
	func = sfu_walk_find_function(walk, &row, frame->ip);
	if (func == frame->ip)
		return false;
	if (is_in_breakpoint()) {
		frame->ip -= BREAKPOINT_BYTES;
		return true;
	}
	/* The ip is mostly right if the row at it finds a return address after a call of @func. */
	called = find_called(walk, range);
	frame->ip -= BREAKPOINT_BYTES;
	/* At the int3, accept a call of any known function: it may have jumped to @func. */
	called_before = find_called(walk, range);
	/*
	 * If the rows at int3 and after it both find the call of @func, the replaced instruction
	 * keeps SP. At the start of @func, it then has several bytes: an ip inside it is wrong.
	 */
	if (called == func ? called_before == func && frame->ip == func : called_before)
		return true;
	frame->ip += BREAKPOINT_BYTES;
	return false;
}

/*
 * Since Linux 7.2, lea -0x80(%rsp),%rsp precedes the call to the uprobe page. The page pushes three
 * registers, pops them, and returns by ret $0x80, which undoes lea.
 */
#define CALL_BYTES	5
#define MOVE_BYTES	5	/* length of lea */
#define MOVED		128
#define PAGE_PUSHES	24

/*
 * If @ip is in the uprobe page, returns the bytes from SP to the return address; else -1. Sets
 * @freed to n if the page returns by ret $n, which then adds n to SP; to 0 if by ret.
 */
static int read_page(struct sfu_walk *walk, unsigned long ip, u32 *freed)
{
	/* push %rcx; push %r11; push %rax; mov $..., %rax */
	static const u8 start[] = { 0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0 };
	/* syscall; pop %rax; pop %r11; pop %rcx. Then comes ret or ret $n. */
	static const u8 end[] = { 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59 };
	/* By offset of @ip in the page: 1 + words from SP to RA; 0 inside an instruction. */
	static const u8 pushed[] = { 1, 2, 0, 3, 4, 0, 0, 0, 0, 0, 0, 4, 0, 4, 3, 0, 2, 1 };
	unsigned int off = offset_in_page(ip);
	u8 code[sizeof(start) + 4 + sizeof(end) + 3];
	const u8 *ret = code + sizeof(code) - 3;

	if (off >= sizeof(pushed) || !sfu_walk_read_code(walk, code, ip - off, sizeof(code)) ||
	    memcmp(code, start, sizeof(start)) || memcmp(ret - sizeof(end), end, sizeof(end)) ||
	    (ret[0] != 0xc3 && ret[0] != 0xc2))
		return -1;
	*freed = ret[0] == 0xc2 ? ret[1] | ret[2] << 8 : 0;
	return pushed[off] ? (pushed[off] - 1) * (int)sizeof(long) : -1;
}

static bool is_page_call(struct sfu_walk *walk, unsigned long addr, u32 *freed)
{
	unsigned long to;

	return sfu_arch_read_call(walk, addr + CALL_BYTES, &to) == SFU_CALL_DIRECT &&
	       PAGE_ALIGNED(to) && !read_page(walk, to, freed);
}

static bool read_return(struct sfu_walk *walk, unsigned long sp, unsigned long *ra)
{
	u32 freed;

	return !sfu_walk_read_word(walk, sp, ra) && sfu_walk_find_range(walk, *ra) &&
	       is_page_call(walk, *ra - CALL_BYTES, &freed);
}

static bool leave_page(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long sp, ra;
	int pushed;
	u32 freed;

	/* The ip may be in the uprobe page, e.g. if perf defers the stack of a uprobe event. */
	pushed = read_page(walk, frame->ip, &freed);
	if (pushed < 0)
		return false;
	sp = frame->sp + pushed;
	if (read_return(walk, sp, &ra))
		sp += sizeof(ra) + freed;
	else if (pushed == PAGE_PUSHES && read_return(walk, frame->sp - freed - sizeof(ra), &ra))
		/* The kernel has raised SP to its value before the uprobe, but not yet set ip. */
		sp = frame->sp;
	else if (!sfu_walk_read_word(walk, sp, &ra) && sfu_walk_find_range(walk, ra))
		/* Take @ra even without call before it: a uprobe's BPF program may have set it. */
		sp += sizeof(ra) + freed;
	else
		return false;
	frame->ip = ra;
	frame->sp = sp;
	return true;
}

bool sfu_arch_leave_call(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long ra;
	u32 freed;

	if (leave_page(walk))
		return true;
	if (is_page_call(walk, frame->ip, &freed) && freed == MOVED) {
		frame->ip -= MOVE_BYTES;
		frame->sp += MOVED;
		return true;
	}
	/* Test the call after lea, not lea: the kernel removes a uprobe by overwriting only lea. */
	if (!is_page_call(walk, frame->ip + MOVE_BYTES, &freed) || freed != MOVED)
		return false;
	/* Raise SP if the kernel lowered it to return to the uprobe page, but not yet set ip. */
	if (!sfu_walk_read_word(walk, frame->sp + PAGE_PUSHES, &ra) &&
	    ra == frame->ip + MOVE_BYTES + CALL_BYTES)
		frame->sp += PAGE_PUSHES + sizeof(ra) + MOVED;
	return true;
}

bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops)
{
	/* push %rax; push %rcx; push %r11; mov $..., %rax */
	static const u8 start[] = { 0x50, 0x51, 0x41, 0x53, 0x48, 0xc7, 0xc0 };
	/* syscall; pop %r11; pop %rcx; ret */
	static const u8 end[] = { 0x0f, 0x05, 0x41, 0x5b, 0x59, 0xc3 };
	unsigned int off = offset_in_page(walk->frame.ip);
	u8 code[sizeof(start) + 4 + sizeof(end)];

	if (off >= sizeof(code) ||
	    !sfu_walk_read_code(walk, code, walk->frame.ip - off, sizeof(code)))
		return false;
	/* uretprobe() puts the probed function's return address in place of the pushed rax. */
	*pops = off == 13 ? 3 : off == 15 ? 2 : off == 16;
	if (code[0] == BREAKPOINT)		/* the trampoline before Linux 6.11 */
		return off <= BREAKPOINT_BYTES;
	return !memcmp(code, start, sizeof(start)) &&
	       !memcmp(code + sizeof(start) + 4, end, sizeof(end));
}
