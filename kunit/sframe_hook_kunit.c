// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of hooks, sframe_hook.c: which functions can be hooked, and what is called. */
#include <linux/ftrace.h>

#include "common.h"
#include "sframe_hook.h"

static unsigned int nr_calls, nr_targets, nr_neighbours, nr_untraceable;

/* Functions of the kernel: the tests are built in. The bodies differ, else they might be one. */
static noinline __noclone void sfu_hook_target(void)
{
	nr_targets++;
}

static noinline __noclone void sfu_hook_neighbour(void)
{
	nr_neighbours++;
}

static noinline __noclone notrace void sfu_hook_untraceable(void)
{
	nr_untraceable++;
}

static void notrace on_call(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(nr_calls, nr_calls + 1);
}

static struct ftrace_ops ops;

static void take_off(void *unused)
{
	if (ops.flags & FTRACE_OPS_FL_ENABLED)
		sfu_unhook(&ops);
}

static int hook_init(struct kunit *test)
{
	nr_calls = 0;
	ops = (struct ftrace_ops) { .func = on_call };
	return kunit_add_action_or_reset(test, take_off, NULL);
}

static void expect_calls(struct kunit *test, unsigned int want)
{
	WRITE_ONCE(nr_calls, 0);
	sfu_hook_neighbour();
	sfu_hook_untraceable();
	sfu_hook_target();
	/* The compiler sees that none of these functions changes the number. */
	KUNIT_EXPECT_EQ(test, want, READ_ONCE(nr_calls));
}

static void hook_calls_back(struct kunit *test)
{
	unsigned int i;

	/* Hooks of events come and go. The death of ftrace is the subject of an end-to-end test. */
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, 0, sfu_hook(&ops, "sfu_hook_target"));
		KUNIT_EXPECT_TRUE(test, ops.flags & FTRACE_OPS_FL_PERMANENT);
		KUNIT_EXPECT_TRUE(test, sfu_hook_is_alive());
		expect_calls(test, 1);
		sfu_unhook(&ops);
		expect_calls(test, 0);
	}
}

static const struct refused_case {
	const char	*name;		/* of the function */
} refused_cases[] = {
	{ "" },
	{ "sfu_hook_untraceable" },
	{ "sfu_hook_no_function" },
	{ "sfu_hook_*" },		/* no pattern: a name */
	{ "!sfu_hook_target" },
	{ "sfu_hook_target:mod:ext4" },
	{ "jiffies" },
};

NAMED_CASES(refused);

static void hook_refused(struct kunit *test)
{
	const struct refused_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, -ENODEV, sfu_hook(&ops, c->name));
	KUNIT_EXPECT_EQ(test, -ENODEV, sfu_hook_required(&ops, c->name));
	expect_calls(test, 0);
	KUNIT_EXPECT_TRUE(test, sfu_hook_is_alive());
	/* Nothing of the failure stays. */
	ops = (struct ftrace_ops) { .func = on_call };
	KUNIT_EXPECT_EQ(test, 0, sfu_hook(&ops, "sfu_hook_target"));
	expect_calls(test, 1);
}

static struct ftrace_ops owner = {
	.func	= on_call,
	.flags	= FTRACE_OPS_FL_IPMODIFY,
};

static void hook_owned(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, sfu_hook(&owner, "sfu_hook_target"));
	ops.flags = FTRACE_OPS_FL_IPMODIFY;
	KUNIT_EXPECT_EQ(test, -EBUSY, sfu_hook(&ops, "sfu_hook_target"));
	expect_calls(test, 1);
	sfu_unhook(&owner);
	expect_calls(test, 0);
	KUNIT_EXPECT_EQ(test, 0, sfu_hook(&ops, "sfu_hook_target"));
	expect_calls(test, 1);
}

static struct kunit_case hook_tests[] = {
	KUNIT_CASE(hook_calls_back),
	KUNIT_CASE_PARAM(hook_refused, refused_gen_params),
	KUNIT_CASE(hook_owned),
	{}
};

static struct kunit_suite hook_suite = {
	.name = "sframe_hook", .init = hook_init, .test_cases = hook_tests,
};

kunit_test_suite(hook_suite);
