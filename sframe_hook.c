// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: a callback at the entry of a kernel function, by ftrace.
 *
 * A hook is set by address. A name would also match static functions of modules.
 *
 * ftrace_kill(): if ftrace finds that something is wrong with the code that it patches, it
 * shuts itself down until the next boot. It says so by a warning of its own. From then on
 * it changes no code: a hook that is set stays, and the kernel goes on to call it. No hook
 * can be set or taken off. So the module has to stay in memory, too.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "sframe_hook.h"

static bool is_abandoned;

/*
 * Returns the address of a function, or 0. The kernel exports no look-up of names, but a kprobe
 * looks its name up, even if it cannot be registered. A disabled kprobe patches no code.
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

/* If the kernel has no function of this name, kallsyms may find a function of a module. */
static int set_filter(struct ftrace_ops *ops, const char *function)
{
	unsigned long addr = (unsigned long)ops->private ?: find_function(function);
	char symbol[KSYM_SYMBOL_LEN] = "";
	int err;

	if (!sfu_hook_is_alive())
		return -ESHUTDOWN;
	if (addr)
		sprint_symbol_no_offset(symbol, addr);
	if (!addr || strchr(symbol, '['))	/* "function [module]" */
		return -ENODEV;
	ops->private = (void *)addr;
	err = ftrace_set_filter_ip(ops, addr, 0, 1);
	return err == -EINVAL ? -ENODEV : err;
}

/* Frees the filter. 6.12 leaves a pointer to it, so all that ftrace has stored is cleared. */
static void forget_filter(struct ftrace_ops *ops)
{
	ftrace_free_filter(ops);
	*ops = (struct ftrace_ops){
		.func = ops->func,
		.private = ops->private,
		.flags = ops->flags & FTRACE_OPS_FL_IPMODIFY,
	};
}

/**
 * sfu_hook() - call back at the entry of a function of the kernel
 * @ops: the callback. The hook is permanent: kernel.ftrace_enabled=0 is refused while
 *	it exists. Its member `private` keeps the address of the function
 * @function: name of the function; functions of modules are not hooked
 *
 * Context: May sleep.
 * Return: 0; -ENODEV if the kernel has no such function, or ftrace cannot trace it; -EBUSY
 * if ftrace is turned off, or another user of ftrace owns the function; -ESHUTDOWN if
 * ftrace has shut itself down; -ENOMEM; another error of ftrace.
 */
int sfu_hook(struct ftrace_ops *ops, const char *function)
{
	int err = set_filter(ops, function);

	if (err)
		return err;
	ops->flags |= FTRACE_OPS_FL_PERMANENT;
	err = register_ftrace_function(ops);
	if (!sfu_hook_is_alive()) {
		/* ftrace has died while it set this hook: the function may call the hook. */
		sfu_hook_abandon();
		return -ESHUTDOWN;
	}
	if (err)
		forget_filter(ops);
	return err;
}

/* As sfu_hook(), for a hook without which no stack can be unwound. An error is logged. */
int sfu_hook_required(struct ftrace_ops *ops, const char *function)
{
	int err = sfu_hook(ops, function);

	if (err == -EBUSY)
		pr_err("cannot hook %s(): ftrace is turned off\n", function);
	else if (err == -ESHUTDOWN)
		pr_err("cannot hook %s(): ftrace has shut itself down\n", function);
	else if (err)
		pr_err("cannot hook %s(): error %d\n", function, err);
	return err;
}

/*
 * Takes a hook off. No CPU runs the callback when this returns, unless ftrace has shut itself
 * down. Then all CPUs may run it for ever.
 */
void sfu_unhook(struct ftrace_ops *ops)
{
	int err = unregister_ftrace_function(ops);

	if (err || !sfu_hook_is_alive())
		sfu_hook_abandon();
	else
		forget_filter(ops);
}

/* Returns false if ftrace has shut itself down. May sleep. */
bool sfu_hook_is_alive(void)
{
	/* Never registered. ftrace looks at its own state first, then at the address. */
	static struct ftrace_ops spare;

	return ftrace_set_filter_ip(&spare, 0, 0, 0) != -ENODEV;
}

/*
 * ftrace has shut itself down: leaves the hooks as they are. They may be called for ever, so the
 * module cannot be unloaded from now on. This is logged once. Any context but NMI.
 */
void sfu_hook_abandon(void)
{
	if (xchg(&is_abandoned, true))
		return;
	__module_get(THIS_MODULE);
	pr_err("ftrace has shut itself down: stacks are left to the kernel until the next boot\n");
}

/*
 * The module is about to go: no hook may be left. All hooks have been taken off by sfu_unhook(). If
 * ftrace refused one, this never returns: the function would call memory that is free. Unloading
 * has begun, so it cannot be refused any more. The kernel itself stays usable.
 */
void sfu_hook_exit(void)
{
	while (READ_ONCE(is_abandoned))
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}
