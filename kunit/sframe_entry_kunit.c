// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of x86: has the code that enters the kernel stored the registers of user mode? */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>

#include "common.h"
#include "sframe_arch.h"

#ifdef CONFIG_X86_64

#define ENTRY	0xffffffff81800080UL	/* of system calls */

/* A stack of a processor, which interrupts from user mode use first. */
struct entry_page {
	u8		room[PAGE_SIZE - sizeof(struct pt_regs)];	/* the rest of the page */
	struct pt_regs	regs;		/* its end */
};

enum place {
	IN_USER_STACK,
	IN_REGS,		/* the registers that are stored */
	IN_TASK_STACK,		/* below them */
	IN_ENTRY_STACK,
};

/* From objdump of Debian's kernels 6.12 and 7.2: offsets are the same. */
static const struct entry_case {
	const char	*name;
	unsigned long	off;		/* of the interrupted code from ENTRY */
	enum place	place;		/* of its stack pointer */
	unsigned int	at;		/* bytes from there */
	bool		is_same;	/* the entry stack has the same ip and SP */
	bool		is_entering;
} entry_cases[] = {
	{ "system call, first instruction", 0, IN_USER_STACK, 0x1000, true, true },
	{ "system call, SP not yet loaded", 0x23, IN_USER_STACK, 0x1000, true, true },
	{ "system call, SP loaded", 0x2b, IN_REGS, sizeof(struct pt_regs), true, true },
	{ "system call, SS stored", 0x2d, IN_REGS, sizeof(struct pt_regs) - 8, true, true },
	{ "system call, ip stored", 0x39, IN_REGS, 16 * 8, true, true },
	{ "system call, BP stored", 0x4a, IN_REGS, 4 * 8, true, true },
	{ "system call, all but one stored", 0x50, IN_REGS, 8, true, true },
	{ "system call, all stored", 0x52, IN_REGS, 0, true, false },
	{ "system call, about to call", 0x77, IN_REGS, 0, true, false },
	{ "system call, calls", 0xaa, IN_REGS, 0, true, false },
	{ "return, registers are loaded", 0xe0, IN_REGS, 32, true, false },
	{ "return, on the entry stack", 0x100, IN_ENTRY_STACK, PAGE_SIZE - 16, false, false },
	{ "return, SP of user mode", 0x120, IN_USER_STACK, 0x1000, false, false },
	{ "in a system call", 0x100000, IN_TASK_STACK, 0x200, false, false },
	{ "code before", -0x40UL, IN_TASK_STACK, 0x200, false, false },
	{ "interrupt, pushed", 0x1000, IN_ENTRY_STACK, PAGE_SIZE - 5 * 8, false, true },
	{ "interrupt, stored there", 0x1000, IN_ENTRY_STACK, PAGE_SIZE - 21 * 8, false, true },
	{ "interrupt, lower", 0x1000, IN_ENTRY_STACK, 0, false, true },
	{ "interrupt, copied", 0x1000, IN_ENTRY_STACK, PAGE_SIZE - 21 * 8, true, false },
	{ "interrupt, on the task's stack", 0x1000, IN_TASK_STACK, 8, false, false },
};

NAMED_CASES(entry);

static unsigned long address_of(const struct entry_case *c, const struct entry_page *page,
				const struct pt_regs *user)
{
	switch (c->place) {
	case IN_USER_STACK:
		return 0x7ffffffff000 - c->at;
	case IN_REGS:
		return (unsigned long)user + c->at;
	case IN_TASK_STACK:
		return (unsigned long)user - c->at;
	default:
		return (unsigned long)page + c->at;
	}
}

static void entry_is_known(struct kunit *test)
{
	const struct entry_case *c = test->param_value;
	struct entry_page *page = test_alloc(test, sizeof(*page));
	struct pt_regs user = { .ip = 0x401000, .sp = 0x7fffffffe000 }, kernel = {};

	page->regs.ip = user.ip;
	page->regs.sp = c->is_same ? user.sp : user.sp + 16;
	kernel.ip = ENTRY + c->off;
	kernel.sp = address_of(c, page, &user);
	KUNIT_EXPECT_EQ(test, sfu_x86_is_entering(&kernel, &user, ENTRY, &page->regs),
			c->is_entering);
	if (c->is_same)
		return;
	page->regs = (struct pt_regs){ .ip = user.ip + 2, .sp = user.sp };
	KUNIT_EXPECT_EQ(test, sfu_x86_is_entering(&kernel, &user, ENTRY, &page->regs),
			c->is_entering);
}

/* A task is not in an NMI. Other registers are not those of the last entry. */
static void entry_of_task(struct kunit *test)
{
	struct pt_regs regs = *task_pt_regs(current);

	KUNIT_EXPECT_TRUE(test, sfu_arch_has_user_registers(task_pt_regs(current)));
	KUNIT_EXPECT_TRUE(test, sfu_arch_has_user_registers(&regs));
}

static struct kunit_case entry_tests[] = {
	KUNIT_CASE_PARAM(entry_is_known, entry_gen_params),
	KUNIT_CASE(entry_of_task),
	{}
};

static struct kunit_suite entry_suite = { .name = "sframe_entry", .test_cases = entry_tests };

kunit_test_suite(entry_suite);

#endif /* CONFIG_X86_64 */
