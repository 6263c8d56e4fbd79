// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: a callback at the entry of a kernel function, by ftrace.
 *
 * A hook is set by address. A name would also match static functions of modules.
 */
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/string.h>

#include "sframe_hook.h"

/*
 * The kernel exports no look-up of names. A kprobe does it, and this one is disabled: it
 * patches no code. If it cannot be registered, it has still looked the name up.
 */
static unsigned long find_function(const char *function)
{
	struct kprobe probe = {
		.symbol_name	= function,
		.flags		= KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);
	unsigned long addr = (unsigned long)probe.addr;

	if (!err)
		unregister_kprobe(&probe);
	return addr;
}

/* kallsyms prefers the kernel's functions. But the kernel may have none of this name. */
static bool is_of_module(unsigned long addr)
{
	char symbol[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(symbol, addr);
	return strchr(symbol, '[');	/* "function [module]" */
}

static int set_filter(struct ftrace_ops *ops, const char *function)
{
	unsigned long addr = (unsigned long)ops->private ?: find_function(function);
	int err;

	if (!addr || is_of_module(addr))
		return -ENODEV;
	ops->private = (void *)addr;
	err = ftrace_set_filter_ip(ops, addr, 0, 1);
	return err == -EINVAL ? -ENODEV : err;
}

/**
 * sfu_hook() - call back at the entry of a function of the kernel
 * @ops: the callback. The hook is permanent: kernel.ftrace_enabled=0 is refused while
 *	it exists. Its member `private` keeps the address of the function
 * @function: name of the function; functions of modules are not hooked
 *
 * Context: May sleep.
 * Return: 0; -ENODEV if the kernel has no such function, or ftrace cannot trace it; -EBUSY
 * if ftrace is turned off, or another user of ftrace owns the function; another error of
 * ftrace.
 */
int sfu_hook(struct ftrace_ops *ops, const char *function)
{
	int err = set_filter(ops, function);

	if (err)
		return err;
	ops->flags |= FTRACE_OPS_FL_PERMANENT;
	err = register_ftrace_function(ops);
	if (err)
		ftrace_free_filter(ops);
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
	ftrace_free_filter(ops);
}
