// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * owner - owns unwind_user(), as a live patch of it does, and leaves it as it is
 *
 * Only one user of ftrace may replace a function.
 */
#include <linux/ftrace.h>
#include <linux/module.h>

static void leave_alone(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
}

static struct ftrace_ops owner_ops = {
	.func	= leave_alone,
	.flags	= FTRACE_OPS_FL_IPMODIFY,
};

static int __init owner_init(void)
{
	unsigned char function[] = "unwind_user";
	int err = ftrace_set_filter(&owner_ops, function, sizeof(function) - 1, 1);

	return err ?: register_ftrace_function(&owner_ops);
}
module_init(owner_init);

static void __exit owner_exit(void)
{
	unregister_ftrace_function(&owner_ops);
	ftrace_free_filter(&owner_ops);
}
module_exit(owner_exit);

MODULE_DESCRIPTION("Owns unwind_user() by ftrace");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
