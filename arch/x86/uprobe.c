// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames in which the kernel is handling a uprobe, on x86_64. When a breakpoint is hit, the saved
 * ip is after the int3 until the kernel sets it back. From 6.18 on, an optimized uprobe is a call
 * instead of a breakpoint. It calls code in a page that the kernel maps, the uprobe page.
 */
#include <linux/sched.h>

#include "sframe_arch.h"
#include "walk/walk.h"

#define BREAKPOINT		0xcc
#define BREAKPOINT_BYTES	1

/*
 * Finds the caller by the row at the ip. Returns the address of the function that the caller calls
 * by the instruction before its return address; 0 if row, caller or function are unknown.
 */
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
#ifdef CONFIG_TASKS_TRACE_RCU
	return current->trc_reader_nesting;
#else
	return false;
#endif
}

/*
 * If the byte before the ip is a uprobe's breakpoint, either the replaced instruction has run, or
 * the kernel is about to set the ip back. At first TIF_UPROBE shows the latter, later the RCU tasks
 * trace lock, which kernels after 6.1 hold. Without both, only the stack decides: of the row at the
 * ip and the row at the breakpoint, the valid one finds a return address after a call of this
 * function (or of any function, if a jump has entered this one).
 */
bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	struct sfu_range *range = sfu_walk_find_range(walk, frame->ip);
	unsigned long func, called, called_before;
	u8 code[BREAKPOINT_BYTES + 1];
	struct sframe_row row;

	if (!range || !sfu_walk_read_code(walk, code, frame->ip - BREAKPOINT_BYTES, sizeof(code)))
		return false;
	/* An ip at a breakpoint needs no change. Two breakpoints in a row may be padding. */
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
	called = find_called(walk, range);
	frame->ip -= BREAKPOINT_BYTES;
	/*
	 * If both rows find the call, the replaced instruction does not move SP. If the function
	 * begins with it, it is longer than a byte: the ip is in its middle, after the breakpoint.
	 */
	called_before = find_called(walk, range);
	if (called == func ? called_before == func && frame->ip == func : called_before)
		return true;
	frame->ip += BREAKPOINT_BYTES;
	return false;
}

/*
 * An optimized uprobe is a call of the uprobe page; since 7.2, lea -0x80(%rsp),%rsp precedes it.
 * The page pushes three registers below the return address; its ret frees the 128 bytes of lea.
 */
#define CALL_BYTES	5
#define MOVE_BYTES	5	/* length of lea */
#define MOVED		128
#define PAGE_PUSHES	24

/*
 * Returns the distance in bytes from SP to the return address in the uprobe page; -1 if @ip is in
 * other code than this: push %rcx; push %r11; push %rax; mov $..., %rax; syscall; pop %rax; pop
 * %r11; pop %rcx; ret. Sets @freed to the bytes that ret frees above the return address.
 */
static int read_page(struct sfu_walk *walk, unsigned long ip, u32 *freed)
{
	static const u8 start[] = { 0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0 };
	static const u8 end[] = { 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59 };
	/* 1 + the number of words pushed at each offset in the page; 0: inside an instruction. */
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

/* Returns true if the code at @addr calls the uprobe page. Sets @freed as read_page() does. */
static bool is_page_call(struct sfu_walk *walk, unsigned long addr, u32 *freed)
{
	unsigned long to;

	return sfu_arch_read_call(walk, addr + CALL_BYTES, &to) == SFU_CALL_DIRECT &&
	       PAGE_ALIGNED(to) && !read_page(walk, to, freed);
}

/* Reads the word at @sp to @ra. Returns true if it is the return address of a uprobe page call. */
static bool read_return(struct sfu_walk *walk, unsigned long sp, unsigned long *ra)
{
	u32 freed;

	return !sfu_walk_read_word(walk, sp, ra) && sfu_walk_find_range(walk, *ra) &&
	       is_page_call(walk, *ra - CALL_BYTES, &freed);
}

/*
 * If the ip is in the uprobe page, moves the frame to the code after the probe. If a probe asks for
 * a deferred stack, this stack begins in the page. When the kernel begins to handle the probe, it
 * raises SP to its value before the probe, and changes the ip only some instructions later.
 */
static bool leave_page(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long sp, ra;
	int pushed;
	u32 freed;

	pushed = read_page(walk, frame->ip, &freed);
	if (pushed < 0)
		return false;
	sp = frame->sp + pushed;
	if (read_return(walk, sp, &ra))
		sp += sizeof(ra) + freed;
	else if (pushed == PAGE_PUSHES && read_return(walk, frame->sp - freed - sizeof(ra), &ra))
		sp = frame->sp;
	else if (!sfu_walk_read_word(walk, sp, &ra) && sfu_walk_find_range(walk, ra))
		/* A BPF program may have set another return address, after no call. */
		sp += sizeof(ra) + freed;
	else
		return false;
	frame->ip = ra;
	frame->sp = sp;
	return true;
}

/*
 * Corrects a frame in the uprobe page, or at lea or call of an optimized uprobe. At the call, lea
 * has lowered SP. At lea, the kernel may be about to return to the page: it lowers SP first and
 * sets the ip last. Looks for the call only: it stays when the kernel removes the uprobe and lea.
 */
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
	if (!is_page_call(walk, frame->ip + MOVE_BYTES, &freed) || freed != MOVED)
		return false;
	if (!sfu_walk_read_word(walk, frame->sp + PAGE_PUSHES, &ra) &&
	    ra == frame->ip + MOVE_BYTES + CALL_BYTES)
		frame->sp += PAGE_PUSHES + sizeof(ra) + MOVED;
	return true;
}

/*
 * The uretprobe trampoline: push %rax; push %rcx; push %r11; mov $..., %rax; syscall; pop %r11; pop
 * %rcx; ret. The system call replaces the pushed %rax by the return address. Before Linux 6.11, the
 * trampoline is a breakpoint.
 */
bool sfu_arch_is_trampoline(struct sfu_walk *walk, unsigned int *pops)
{
	static const u8 start[] = { 0x50, 0x51, 0x41, 0x53, 0x48, 0xc7, 0xc0 };
	static const u8 end[] = { 0x0f, 0x05, 0x41, 0x5b, 0x59, 0xc3 };
	unsigned int off = offset_in_page(walk->frame.ip);
	u8 code[sizeof(start) + 4 + sizeof(end)];

	if (off >= sizeof(code) ||
	    !sfu_walk_read_code(walk, code, walk->frame.ip - off, sizeof(code)))
		return false;
	*pops = off == 13 ? 3 : off == 15 ? 2 : off == 16;
	if (code[0] == BREAKPOINT)
		return off <= BREAKPOINT_BYTES;
	return !memcmp(code, start, sizeof(start)) &&
	       !memcmp(code + sizeof(start) + 4, end, sizeof(end));
}
