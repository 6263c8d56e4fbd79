// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: a callback at the entry of a kernel function, by ftrace.
 */
#include <linux/ftrace.h>
#include <linux/string.h>

#include "sframe_hook.h"

/* 6.12 leaves a pointer to the filter that it has freed: the next hook begins anew. */
static void forget_filter(struct ftrace_ops *ops)
{
	ftrace_free_filter(ops);
	*ops = (struct ftrace_ops){
		.func = ops->func,
		.flags = ops->flags & FTRACE_OPS_FL_IPMODIFY,
	};
}

/**
 * sfu_hook() - call back at the entry of a kernel function
 * @ops: the callback. The hook is permanent: kernel.ftrace_enabled=0 is refused while
 *	it exists
 * @function: name of the function
 *
 * Context: May sleep.
 * Return: 0; -ENODEV if ftrace cannot trace the function; -EBUSY if ftrace is turned
 * off, or another user of ftrace owns the function; another error of ftrace.
 */
int sfu_hook(struct ftrace_ops *ops, const char *function)
{
	char filter[KSYM_NAME_LEN];	/* ftrace parses it in place */
	int err;

	ops->flags |= FTRACE_OPS_FL_PERMANENT;
	strscpy(filter, function);
	err = ftrace_set_filter(ops, filter, strlen(filter), 1);
	err = err ? -ENODEV : register_ftrace_function(ops);
	if (err)
		forget_filter(ops);
	return err;
}

/**
 * sfu_unhook() - call back no more
 * @ops: the callback; no CPU runs it when this returns
 *
 * Context: May sleep.
 */
void sfu_unhook(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	forget_filter(ops);
}

bool sfu_hook_is_alive(void)
{
	return true;
}
