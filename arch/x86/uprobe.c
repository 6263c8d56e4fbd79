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

/*
 * If the ip follows an int3 that the task has just hit, moves the ip back to the int3. But the ip
 * is correct if the replaced instruction has one byte, and has run. If the kernel does not show
 * which is the case, tries the rows of both addresses:
 * - The row of the ip finds a return address after a call of the probed function: keeps the ip.
 * - Else the row of the int3 finds one after a call with a known target (not call *%reg): moves the
 *   ip. The target may be another function, which has jumped to the probed one (tail call).
 *
 * Exception: the int3 is at the function's start, and both rows find a call of this function. So no
 * push is replaced: a push changes SP, and one row would not find the call. Most other instructions
 * at this place have several bytes. Then the ip is inside such an instruction: moves the ip.
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
	/* An ip at an int3 stays: it has been set back to this int3, or both int3 are padding. */
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
	called_before = find_called(walk, range);
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
 * @ip may be in the uprobe page, which optimized uprobes call. Returns the bytes from SP to the
 * return address of the call; -1 if @ip is at no instruction of the page. The page's code ends with
 * ret, or with ret $n, which also adds n to SP. Sets @freed to n; to 0 for ret.
 */
static int read_page(struct sfu_walk *walk, unsigned long ip, u32 *freed)
{
	/* push %rcx; push %r11; push %rax; mov $..., %rax */
	static const u8 start[] = { 0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0 };
	/* syscall; pop %rax; pop %r11; pop %rcx. Then comes ret or ret $n. */
	static const u8 end[] = { 0x0f, 0x05, 0x58, 0x41, 0x5b, 0x59 };
	/* For each byte of the page's code: 1 + words from SP to RA; 0 inside an instruction. */
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
		/* The system call uprobe() has set SP back to the probed code's, but not yet ip. */
		sp = frame->sp;
	else if (!sfu_walk_read_word(walk, sp, &ra) && sfu_walk_find_range(walk, ra))
		/* @ra may follow no call: uprobe() stores there the ip that a BPF program set. */
		sp += sizeof(ra) + freed;
	else
		return false;
	frame->ip = ra;
	frame->sp = sp;
	return true;
}

/*
 * Since Linux 7.2, an optimized uprobe consists of a lea and a call of the uprobe page. To remove
 * the uprobe, the kernel overwrites only the lea, even while a task handles the uprobe. So this
 * function does not look for a lea: the ip is at the lea if the call is MOVE_BYTES after the ip.
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
	/* uprobe() sets ip and SP one by one: if ip is the probed code's, SP may be the page's. */
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
	/* The system call uretprobe() replaces rax, pushed first, by the real return address. */
	*pops = off == 13 ? 3 : off == 15 ? 2 : off == 16;
	if (code[0] == BREAKPOINT)		/* the trampoline before Linux 6.11 */
		return off <= BREAKPOINT_BYTES;
	return !memcmp(code, start, sizeof(start)) &&
	       !memcmp(code + sizeof(start) + 4, end, sizeof(end));
}
