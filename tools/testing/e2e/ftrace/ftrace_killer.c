// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ftrace_killer - calls ftrace_kill(), as ftrace does when it finds an error in patched code
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>

/* Functions are aligned. The address of a kprobe may be after the landing pad of IBT. */
#define ALIGNMENT	16

static int __init ftrace_killer_init(void)
{
	struct kprobe probe = {
		.symbol_name	= "ftrace_kill",
		.flags		= KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&probe);
	typeof(ftrace_kill) *kill = (void *)round_down((unsigned long)probe.addr, ALIGNMENT);

	if (err)
		return err;
	unregister_kprobe(&probe);
	kill();
	return 0;
}
module_init(ftrace_killer_init);

static void __exit ftrace_killer_exit(void)
{
}
module_exit(ftrace_killer_exit);

MODULE_DESCRIPTION("Shuts ftrace down until the next boot");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
