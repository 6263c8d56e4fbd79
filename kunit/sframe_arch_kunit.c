// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of sframe_arch.h: the registers of user mode, and the masks that a mispredicted check
 * leaves in force, of user addresses and of register numbers.
 *
 * A mask depends on the value alone. So it does the same to a value that a check would have
 * refused, and that these tests pass without the check.
 *
 * No test can tell whether a mask is there that stands right after the check of what it masks: no
 * value that the check refuses gets to it. Such masks are those of the frame pointer in follow(),
 * of a header's version and ABI, and of a table's slot and row.
 */
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>

#include "common.h"
#include "sframe_arch.h"
#include "walk/user.h"
#include "user_arch.h"

#define NR_CHECKED	256	/* a register number is a byte */

static unsigned long secret;

static void mask_user_keeps_user_addresses(struct kunit *test)
{
	const unsigned long addrs[] = {
		0, 1, PAGE_SIZE - 1, 0x7fff00001000, TASK_SIZE_MAX - 8, TASK_SIZE_MAX - 1,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		KUNIT_EXPECT_EQ(test, sfu_arch_mask_user(addrs[i]), addrs[i]);
}

/* On arm64 unsafe_get_user() has the mask. */
static void mask_user_leads_to_no_kernel_memory(struct kunit *test)
{
	const unsigned long addrs[] = {
		TASK_SIZE_MAX, TASK_SIZE_MAX + 8, PAGE_OFFSET, (unsigned long)&secret,
		(unsigned long)mask_user_leads_to_no_kernel_memory, ~0UL - 7, ~0UL,
	};
	unsigned int i;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "addresses are masked where they are read");
	for (i = 0; i < ARRAY_SIZE(addrs); i++)
		KUNIT_EXPECT_EQ_MSG(test, sfu_arch_mask_user(addrs[i]), ~0UL, "of 0x%lx", addrs[i]);
}

static void reg_with_a_number_too_high(struct kunit *test)
{
	struct pt_regs regs;
	unsigned int reg;

	memset(&regs, 0xee, sizeof(regs));
	user_regs_set_first(&regs, 0x1234);
	for (reg = SFU_ARCH_NR_REGS; reg < NR_CHECKED; reg++)
		KUNIT_EXPECT_EQ_MSG(test, sfu_arch_reg(&regs, reg), 0x1234, "register %u", reg);
}

/* x86: the context of a signal has the registers in another order. Its word 13 is rax. */
static void sigcontext_with_a_number_too_high(struct kunit *test)
{
	unsigned int reg;

	if (!IS_ENABLED(CONFIG_X86_64))
		kunit_skip(test, "the context has the registers in the order of their numbers");
	for (reg = SFU_ARCH_NR_REGS; reg < NR_CHECKED; reg++)
		KUNIT_EXPECT_EQ_MSG(test, sfu_arch_sigcontext_word(reg), 13, "register %u", reg);
}

/* ---- x86: has the code that enters the kernel stored the registers of user mode? ---- */

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

#endif /* CONFIG_X86_64 */

static struct kunit_case arch_tests[] = {
	KUNIT_CASE(mask_user_keeps_user_addresses),
	KUNIT_CASE(mask_user_leads_to_no_kernel_memory),
	KUNIT_CASE(reg_with_a_number_too_high),
	KUNIT_CASE(sigcontext_with_a_number_too_high),
#ifdef CONFIG_X86_64
	KUNIT_CASE_PARAM(entry_is_known, entry_gen_params),
	KUNIT_CASE(entry_of_task),
#endif
	{}
};

static struct kunit_suite arch_suite = { .name = "sframe_arch", .test_cases = arch_tests };

kunit_test_suite(arch_suite);
