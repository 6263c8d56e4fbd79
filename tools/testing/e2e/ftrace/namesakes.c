// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * namesakes - static functions with the names of functions that sframe_unwind hooks
 *
 * Nothing may hook them: their arguments are not those of the kernel's functions.
 */
#include <linux/module.h>

#define NAMESAKE(name)							\
	static noinline void name(unsigned long arg)			\
	{								\
		asm volatile("" : : "r" (arg));				\
	}

/* All traceable: nothing here is notrace. */
NAMESAKE(exit_mmap)
NAMESAKE(get_callchain_buffers)
NAMESAKE(perf_callchain_user)
NAMESAKE(perf_event_fork)
NAMESAKE(perf_event_mmap)
NAMESAKE(put_callchain_buffers)
NAMESAKE(unlink_anon_vmas)
NAMESAKE(unwind_user)

/* The kernel has no function of this name. */
NAMESAKE(sfu_only_in_a_module)

static void (*const namesakes[])(unsigned long arg) = {
	exit_mmap, get_callchain_buffers, perf_callchain_user, perf_event_fork, perf_event_mmap,
	put_callchain_buffers, unlink_anon_vmas, unwind_user, sfu_only_in_a_module,
};

/* A callback that takes the argument for a pointer dies here. */
static int call_set(const char *val, const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(namesakes); i++)
		namesakes[i](i);
	return 0;
}

static const struct kernel_param_ops call_ops = {
	.set	= call_set,
};
module_param_cb(call, &call_ops, NULL, 0200);
MODULE_PARM_DESC(call, "call all functions (write only)");

MODULE_DESCRIPTION("Functions of a module that have the names of kernel functions");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
