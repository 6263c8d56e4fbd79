// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hooks: ftrace calls a function of the module at the entry of a kernel function.
 *
 * If ftrace finds unexpected code where it patches, it warns, and shuts itself down until the next
 * boot (ftrace_kill()). Then no hook can be set or removed. The kernel still calls the hooks that
 * are set, so the module must stay in memory.
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

/* Filters @ops by the address of @function: a name would also match static functions of modules. */
static int set_filter(struct ftrace_ops *ops, const char *function)
{
	struct kprobe probe = {
		.symbol_name	= function,
		.flags		= KPROBE_FLAG_DISABLED,	/* a disabled kprobe patches no code */
	};
	void *addr = ops->private;
	char symbol[KSYM_SYMBOL_LEN] = "";
	int err;

	if (!sfu_hook_is_alive())
		return -ESHUTDOWN;
	/* kallsyms_lookup_name() is not exported: let register_kprobe() look up the address. */
	if (!addr) {
		if (!register_kprobe(&probe))
			unregister_kprobe(&probe);
		/* .addr is set even if register_kprobe() found the function, but refused it. */
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

static void forget_filter(struct ftrace_ops *ops)
{
	ftrace_free_filter(ops);
	/* Kernel 6.12 leaves a dangling pointer to the filter in @ops. */
	*ops = (struct ftrace_ops){
		.func = ops->func,
		.private = ops->private,
		.flags = ops->flags & FTRACE_OPS_FL_IPMODIFY,
	};
}

/**
 * sfu_hook() - call a function at the entry of a function of the kernel
 * @ops: the hook, with the function to call. @ops->private remembers the address of @function
 * @function: name of the function; functions of modules are not hooked
 *
 * Context: May sleep.
 * Return:
 * * 0 - the hook is set
 * * -ENODEV - the kernel has no such function, or ftrace cannot trace it
 * * -EBUSY - ftrace is turned off, or another user of ftrace owns the function
 * * -ESHUTDOWN - ftrace has shut itself down
 * * -ENOMEM, or another error of ftrace
 */
int sfu_hook(struct ftrace_ops *ops, const char *function)
{
	int err = set_filter(ops, function);

	if (err)
		return err;
	/* While the hook is set, kernel.ftrace_enabled=0 is refused. */
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

/* Removes a hook. On return, no processor runs it any more, unless ftrace has shut itself down. */
void sfu_unhook(struct ftrace_ops *ops)
{
	if (!(ops->flags & FTRACE_OPS_FL_ENABLED))
		return;
	if (unregister_ftrace_function(ops) || !sfu_hook_is_alive())
		sfu_hook_abandon();
	else
		forget_filter(ops);
}

/* Returns false if ftrace has shut itself down: then no hook can be set or removed. May sleep. */
bool sfu_hook_is_alive(void)
{
	/* Try a filter for address 0. ftrace refuses it, with -ENODEV only if it has shut down. */
	static struct ftrace_ops spare;

	return ftrace_set_filter_ip(&spare, 0, 0, 0) != -ENODEV;
}

/* Called if ftrace has shut itself down: logs it once, and prevents unloading. Not in NMI. */
void sfu_hook_abandon(void)
{
	if (xchg(&is_abandoned, true))
		return;
	__module_get(THIS_MODULE);
	pr_err("ftrace has shut itself down: stacks are left to the kernel until the next boot\n");
}

/* Called at unload, after removal of all hooks. Sleeps forever if ftrace has shut itself down. */
void sfu_hook_exit(void)
{
	/* The kernel may still call hooks: keep their code. It is too late to refuse the unload. */
	while (READ_ONCE(is_abandoned))
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}
