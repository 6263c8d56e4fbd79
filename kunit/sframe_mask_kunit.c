// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the masks that a mispredicted check leaves in force: of user addresses, and of
 * register numbers.
 *
 * A mask depends on the value alone. So it does the same to a value that a check would have
 * refused, and that these tests pass without the check.
 *
 * No test can tell whether a mask is there that stands right after the check of what it masks: no
 * value that the check refuses gets to it. Such masks are those of the frame pointer in follow(),
 * of a header's version and ABI, and of a table's slot and row.
 */
#include <kunit/test.h>
#include <linux/ptrace.h>

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

static struct kunit_case mask_cases[] = {
	KUNIT_CASE(mask_user_keeps_user_addresses),
	KUNIT_CASE(mask_user_leads_to_no_kernel_memory),
	KUNIT_CASE(reg_with_a_number_too_high),
	KUNIT_CASE(sigcontext_with_a_number_too_high),
	{}
};

static struct kunit_suite mask_suite = { .name = "sframe_mask", .test_cases = mask_cases };

kunit_test_suite(mask_suite);
