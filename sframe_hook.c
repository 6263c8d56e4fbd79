// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: ftrace calls a function of the module at the entry of a kernel function.
 *
 * If ftrace finds that code which it patches is not as expected, it prints a warning and shuts
 * itself down until the next boot (ftrace_kill()). From then on no hook can be set or removed. The
 * kernel continues to call the hooks that are set, so the module must stay in memory.
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
 * Sets the filter of the ftrace hook @ops to the address of @function: a filter by name would also
 * match static functions of modules. kallsyms_lookup_name() is not exported, but a kprobe looks its
 * symbol up, even if it cannot be registered. A disabled kprobe patches no code.
 */
static int set_filter(struct ftrace_ops *ops, const char *function)
{
	struct kprobe probe = {
		.symbol_name	= function,
		.flags		= KPROBE_FLAG_DISABLED,
	};
	void *addr = ops->private;
	char symbol[KSYM_SYMBOL_LEN] = "";
	int err;

	if (!sfu_hook_is_alive())
		return -ESHUTDOWN;
	if (!addr) {
		if (!register_kprobe(&probe))
			unregister_kprobe(&probe);
		addr = probe.addr;
	}
	if (addr)
		sprint_symbol_no_offset(symbol, (unsigned long)addr);
	if (!addr || strchr(symbol, '['))	/* "function [module]" */
		return -ENODEV;
	ops->private = addr;
	err = ftrace_set_filter_ip(ops, (unsigned long)addr, 0, 1);
	return err == -EINVAL ? -ENODEV : err;
}

/* Frees the filter. Kernel 6.12 leaves a dangling pointer, so all members of ftrace are cleared. */
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
 * sfu_hook() - call a function at the entry of a function of the kernel
 * @ops: the hook, with the function to call. It is permanent: kernel.ftrace_enabled=0 is refused
 *	while it is set. @ops->private remembers the address of @function
 * @function: name of the function; functions of modules are not hooked
 *
 * Context: May sleep.
 * Return: 0; -ENODEV if the kernel has no such function, or ftrace cannot trace it; -EBUSY if
 * ftrace is turned off, or another user of ftrace owns the function; -ESHUTDOWN if ftrace has shut
 * itself down; -ENOMEM; another error of ftrace.
 */
int sfu_hook(struct ftrace_ops *ops, const char *function)
{
	int err = set_filter(ops, function);

	if (err)
		return err;
	ops->flags |= FTRACE_OPS_FL_PERMANENT;
	err = register_ftrace_function(ops);
	if (!sfu_hook_is_alive()) {
		/* ftrace has shut itself down, but may have set the hook: the module must stay. */
		sfu_hook_abandon();
		return -ESHUTDOWN;
	}
	if (err)
		forget_filter(ops);
	return err;
}

/* Like sfu_hook(), for hooks without which the module does not load: logs errors. */
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
 * Removes a hook. When this returns, no processor runs the hook any more, unless ftrace has shut
 * itself down: then the kernel may call the hook for ever.
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
	/* For this unused hook, ftrace refuses address 0 by -ENODEV only after its shutdown. */
	static struct ftrace_ops spare;

	return ftrace_set_filter_ip(&spare, 0, 0, 0) != -ENODEV;
}

/*
 * Called when ftrace has shut itself down: logs it once, and takes a reference to the module, which
 * can then not be unloaded. Any context but NMI.
 */
void sfu_hook_abandon(void)
{
	if (xchg(&is_abandoned, true))
		return;
	__module_get(THIS_MODULE);
	pr_err("ftrace has shut itself down: stacks are left to the kernel until the next boot\n");
}

/*
 * Called at unload, after sfu_unhook() for all hooks. If ftrace has refused to remove one of them,
 * this never returns: the kernel would call freed memory, and it is too late to refuse to unload.
 */
void sfu_hook_exit(void)
{
	while (READ_ONCE(is_abandoned))
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}
