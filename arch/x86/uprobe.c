// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames of x86_64 in which the kernel handles a uprobe. A breakpoint leaves the ip after itself,
 * until the kernel sets it back. From 6.18 on, the kernel replaces some breakpoints by calls of a
 * page of its own (optimized uprobes).
 */
#include <linux/sched.h>

#include "sframe_arch.h"
#include "walk/frame.h"

#define BREAKPOINT		0xcc
#define BREAKPOINT_BYTES	1

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

	frame->ip -= BREAKPOINT_BYTES;
	if (!sfu_walk_find_row(walk, range, frame->ip, &row))
		called = find_called(walk, &row);
	frame->ip += BREAKPOINT_BYTES;
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
	unsigned long ip = walk->frame.ip;
	u8 code[BREAKPOINT_BYTES + 1];

	if (!range || !sfu_walk_read_code(walk, code, ip - BREAKPOINT_BYTES, sizeof(code)))
		return false;
	/* While the kernel handles a breakpoint, the ip is at it. Two in a row may be padding. */
	if (code[0] != BREAKPOINT || code[BREAKPOINT_BYTES] == BREAKPOINT ||
	    sfu_walk_find_row(walk, range, ip, here))
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
	if (is_called && frame->ip - BREAKPOINT_BYTES != here.func)
		return false;
	/*
	 * Both rows may find that call. Then the instruction does not move the stack pointer. As
	 * the first of a function it has more than one byte, and the ip is in the middle of it.
	 */
	called_before = find_called_before(walk, range);
	return is_called ? called_before == here.func : called_before;
}

bool sfu_arch_leave_breakpoint(struct sfu_walk *walk)
{
	if (!is_after_breakpoint(walk))
		return false;
	walk->frame.ip -= BREAKPOINT_BYTES;
	return true;
}

/*
 * Optimized uprobes. From 7.2 on, lea -0x80(%rsp),%rsp and the call replace the probed instruction.
 * The page stores three registers below the return address, and its return frees the 128 bytes.
 */
#define CALL_BYTES	5
#define MOVE_BYTES	5	/* of lea */
#define MOVED		128
#define PAGE_PUSHES	24

/*
 * The page: push %rcx; push %r11; push %rax; mov $..., %rax; syscall; pop %rax; pop %r11; pop %rcx;
 * ret. Returns bytes between the stack pointer and the return address; -1: @ip is in other code.
 * @freed: set to the bytes that the return frees above the return address.
 */
static int read_page(struct sfu_walk *walk, unsigned long ip, u32 *freed)
{
	static const u8 start[] = { 0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0 };
	static const u8 end[] = { 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59 };
	/* At each offset: words on the stack, + 1. 0: no instruction begins there. */
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

/*
 * Returns true if a call of the page is at @addr. The kernel leaves the call there when it takes
 * the probe away. @freed: as by read_page().
 */
static bool is_page_call(struct sfu_walk *walk, unsigned long addr, u32 *freed)
{
	unsigned long to;

	return sfu_arch_read_call(walk, addr + CALL_BYTES, &to) == SFU_CALL_DIRECT &&
	       PAGE_ALIGNED(to) && !read_page(walk, to, freed);
}

/* The instruction before such a call has moved the stack pointer. It may be replaced since. */
static bool is_moved_call(struct sfu_walk *walk, unsigned long addr)
{
	u32 freed;

	return is_page_call(walk, addr, &freed) && freed == MOVED;
}

/*
 * Undoes the call. Before the call, the stack pointer has moved. When the kernel goes back to the
 * page, it lowers the stack pointer first and sets the ip last. Meanwhile the probe may be taken
 * away.
 */
static bool leave_call(struct sfu_walk *walk)
{
	struct sfu_frame *frame = &walk->frame;
	unsigned long ra;

	if (is_moved_call(walk, frame->ip)) {
		frame->ip -= MOVE_BYTES;
		frame->sp += MOVED;
		return true;
	}
	if (!is_moved_call(walk, frame->ip + MOVE_BYTES))
		return false;
	if (!sfu_walk_read_word(walk, frame->sp + PAGE_PUSHES, &ra) &&
	    ra == frame->ip + MOVE_BYTES + CALL_BYTES)
		frame->sp += PAGE_PUSHES + sizeof(ra) + MOVED;
	return true;
}

/* Reads the address at @sp. Returns true if a call of the page returns to it. */
static bool read_return(struct sfu_walk *walk, unsigned long sp, unsigned long *ra)
{
	u32 freed;

	return !sfu_walk_read_word(walk, sp, ra) && sfu_walk_find_range(walk, *ra) &&
	       is_page_call(walk, *ra - CALL_BYTES, &freed);
}

/*
 * Leaves the page for the code after the probe. A deferred stack of such a probe begins there. When
 * the kernel begins to handle the probe, it raises the stack pointer to where that was before, and
 * sets the ip some instructions later.
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
	else if (pushed == PAGE_PUSHES &&
		 read_return(walk, frame->sp - freed - sizeof(ra), &ra))
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

bool sfu_arch_leave_call(struct sfu_walk *walk)
{
	return leave_page(walk) || leave_call(walk);
}

/*
 * The trampoline: push %rax; push %rcx; push %r11; mov $..., %rax; syscall;
 * pop %r11; pop %rcx; ret. The system call stores the return address where %rax was
 * pushed. Before ff474a78cef5 ("uprobe: Add uretprobe syscall to speed up return probe",
 * 6.11) it is one breakpoint.
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
