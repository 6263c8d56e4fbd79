// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: a callback at the entry of a kernel function, by ftrace. A hook is set by address, because
 * a name would also match static functions of modules.
 *
 * ftrace_kill(): if ftrace finds that the code that it patches is not as expected, it prints a
 * warning and shuts itself down until the next boot. From then on no hook can be set or removed.
 * The kernel continues to call the hooks that are set, so the module must stay in memory.
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
 * Returns the address of a function, or 0. kallsyms_lookup_name() is not exported, but a kprobe
 * looks its symbol up, even if it cannot be registered. A disabled kprobe patches no code.
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

/* A name that the kernel itself lacks may belong to a function of a module, which is refused. */
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

/* Frees the filter. Kernel 6.12 leaves a dangling pointer, so all that ftrace stored is cleared. */
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
		/* ftrace has shut itself down meanwhile: the function may call the hook already. */
		sfu_hook_abandon();
		return -ESHUTDOWN;
	}
	if (err)
		forget_filter(ops);
	return err;
}

/* Sets a hook that the module cannot work without, like sfu_hook(), and logs an error. */
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
 * Removes a hook, if it is set. No CPU runs the callback when this returns, unless ftrace has shut
 * itself down: then all CPUs may run it for ever.
 */
void sfu_unhook(struct ftrace_ops *ops)
{
	if (!(ops->flags & FTRACE_OPS_FL_ENABLED))
		return;
	if (unregister_ftrace_function(ops) || !sfu_hook_is_alive())
		sfu_hook_abandon();
	else
		forget_filter(ops);
}

/* Returns false if ftrace has shut itself down. May sleep. */
bool sfu_hook_is_alive(void)
{
	/* Never registered. If ftrace is shut down, it returns -ENODEV before it checks the 0. */
	static struct ftrace_ops spare;

	return ftrace_set_filter_ip(&spare, 0, 0, 0) != -ENODEV;
}

/*
 * Called if ftrace has shut itself down. Its hooks may be called for ever, so a reference prevents
 * the module from being unloaded. This is logged once. Any context but NMI.
 */
void sfu_hook_abandon(void)
{
	if (xchg(&is_abandoned, true))
		return;
	__module_get(THIS_MODULE);
	pr_err("ftrace has shut itself down: stacks are left to the kernel until the next boot\n");
}

/*
 * Called at unload, when no hook may be left. All hooks have been removed by sfu_unhook(). If
 * ftrace has refused to remove one, this never returns: the hooked function would call freed
 * memory. Unloading has begun, and cannot be refused any more. The kernel itself stays usable.
 */
void sfu_hook_exit(void)
{
	while (READ_ONCE(is_abandoned))
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}
