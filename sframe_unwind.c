// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframe_unwind: precise user-space stack traces from SFrame data.
 *
 * perf and BPF take user stacks in one of two ways. perf_callchain_user() runs
 * with the sample, in NMI, interrupt or task context; we enter it by ftrace,
 * store our frames and leave the original nothing to add. unwind_user(), where
 * the kernel has it, runs on the way back to user mode and may sleep; we take
 * its place. Both use one walk; what differs is whether a read may fault.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/srcu.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_stats.h"
#include "sframe_walk.h"

#define CREATE_TRACE_POINTS
#include "sframe_trace.h"

static bool enabled = true;
module_param(enabled, bool, 0644);
MODULE_PARM_DESC(enabled, "unwind (default); else leave all stacks to the kernel");

/* The one place where a walk's end is told: counted, and traced. */
static void walk_end(const struct sfu_walk *walk, struct pt_regs *regs)
{
	unsigned int i, nr_frames = 1;

	sfu_count(stops[walk->stop]);
	for (i = 0; i < NR_SFU_METHODS; i++) {
		sfu_count_many(frames[i], walk->nr_frames[i]);
		nr_frames += walk->nr_frames[i];
	}
	sfu_count_many(cache_hits, walk->nr_cached);
	sfu_count_many(cache_misses, walk->nr_missed);
	trace_sfu_walk(instruction_pointer(regs), walk->frame.ip, nr_frames,
		       sfu_stop_names[walk->stop]);
}

static bool decline(enum sfu_decline why)
{
	sfu_count(declined[why]);
	return false;
}

/* Is this a stack for us? The registers are those of user mode. */
static bool may_walk(struct pt_regs *regs)
{
	if (!READ_ONCE(enabled))
		return decline(SFU_DECLINE_DISABLED);
	sfu_map_note_profiler();
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return decline(SFU_DECLINE_KTHREAD);
	if (current->flags & PF_VCPU)
		return decline(SFU_DECLINE_GUEST);
	if (!user_mode(regs) || !sfu_arch_unwindable(regs))
		return decline(SFU_DECLINE_COMPAT);
	return true;
}

/* The kernel knows frame pointers itself. New code may bring a section along. */
static bool has_sections(struct sfu_map *map, struct pt_regs *regs)
{
	if (!map || map->nr_sections)
		return true;
	if (!sfu_map_find(map, instruction_pointer(regs)))
		sfu_map_ask(current->mm, map);
	return decline(SFU_DECLINE_NOSECTION);
}

/* ---- the synchronous hook: any context ---- */

/* The callers' addresses, to where perf_callchain_store() would put each. */
static void store_callers(struct perf_callchain_entry_ctx *ctx,
			  struct sfu_walk *walk)
{
	struct perf_callchain_entry *entry = ctx->entry;
	unsigned int nr;
	u64 beyond;

	while (ctx->nr < ctx->max_stack) {
		nr = sfu_walk_callers(walk, &entry->ip[entry->nr],
				      ctx->max_stack - ctx->nr);
		if (!nr)
			return;
		entry->nr += nr;
		ctx->nr += nr;
	}
	if (sfu_walk_callers(walk, &beyond, 1))
		walk->stop = SFU_STOP_FULL;
}

static void store_frames(struct perf_callchain_entry_ctx *ctx,
			 struct sfu_map *map, struct pt_regs *regs)
{
	struct sfu_walk walk;

	sfu_count(walks);
	sfu_walk_init(&walk, map, regs, false);
	if (perf_callchain_store(ctx, walk.frame.ip))
		walk.stop = SFU_STOP_FULL;
	else
		store_callers(ctx, &walk);
	walk_end(&walk, regs);
	if (walk.lacking)
		sfu_map_ask(current->mm, map);

	/* No room: what the original would store goes nowhere. */
	ctx->nr = ctx->max_stack;
}

static void notrace on_callchain_user(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops,
				      struct ftrace_regs *fregs)
{
	struct perf_callchain_entry_ctx *ctx =
		(void *)ftrace_regs_get_argument(fregs, 0);
	struct pt_regs *regs = (void *)ftrace_regs_get_argument(fregs, 1);
	struct sfu_map *map;

	if (!may_walk(regs))
		return;
	rcu_read_lock();
	map = sfu_map_lookup(current->mm);
	if (has_sections(map, regs))
		store_frames(ctx, map, regs);
	rcu_read_unlock();
}

static struct ftrace_ops callchain_ops = {
	.func	= on_callchain_user,
	/* Not silenced by kernel.ftrace_enabled=0. */
	.flags	= FTRACE_OPS_FL_PERMANENT,
};

/* ---- the deferred hook: task context, may sleep ---- */

/* Who is in replace_unwind_user(); ftrace does not wait for sleepers. */
DEFINE_STATIC_SRCU(deferred_srcu);

static void trace_frames(struct unwind_stacktrace *trace, unsigned int max,
			 struct sfu_map *map, struct sfu_walk *walk)
{
	u64 ip;

	sfu_walk_init(walk, map, task_pt_regs(current), true);
	trace->nr = 0;
	do {
		if (trace->nr == max) {
			walk->stop = SFU_STOP_FULL;
			break;
		}
		trace->entries[trace->nr++] = walk->frame.ip;
	} while (sfu_walk_callers(walk, &ip, 1));
}

/* What was not learned yet can be learned here and now, once. */
static void trace_learning(struct unwind_stacktrace *trace, unsigned int max)
{
	struct mm_struct *mm = current->mm;
	bool learned = false;
	struct sfu_walk walk;
	struct sfu_map *map;

	sfu_count(walks);
	for (;;) {
		map = sfu_map_get(mm);
		trace_frames(trace, max, map, &walk);
		sfu_map_put(map);
		if (!walk.lacking || learned)
			break;
		sfu_map_learn(mm, map);
		learned = true;
	}
	walk_end(&walk, task_pt_regs(current));
}

static int replace_unwind_user(struct unwind_stacktrace *trace, unsigned int max)
{
	int idx = srcu_read_lock(&deferred_srcu);

	trace->nr = 0;
	if (max)
		trace_learning(trace, max);
	srcu_read_unlock(&deferred_srcu, idx);
	return max ? 0 : -EINVAL;
}

static void notrace on_unwind_user(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops,
				   struct ftrace_regs *fregs)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long target = (unsigned long)replace_unwind_user;
	bool ours;

	if (!may_walk(regs))
		return;
	rcu_read_lock();
	ours = has_sections(sfu_map_lookup(current->mm), regs);
	rcu_read_unlock();
	if (ours)
		ftrace_regs_set_instruction_pointer(fregs, target);
}

static struct ftrace_ops unwind_user_ops = {
	.func	= on_unwind_user,
	.flags	= FTRACE_OPS_FL_PERMANENT | FTRACE_OPS_FL_IPMODIFY,
};

/* ---- the hooks of the process map: task context ---- */

static void notrace on_mmap(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_map_on_mmap((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_unmap(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_map_on_unmap((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_fork(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_map_on_fork((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_process_exit(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops,
				    struct ftrace_regs *fregs)
{
	sfu_map_on_exit((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_profiler(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_map_note_profiler();
}

/**
 * struct map_hook - a function of the kernel at which the process map is told
 * @function: its name
 * @required: else code loses its first sample, and no more
 * @ops: hooks it
 * @hooked: done
 */
struct map_hook {
	const char		*function;
	bool			required;
	struct ftrace_ops	ops;
	bool			hooked;
};

static struct map_hook map_hooks[] = {
	/* Each removed mapping, whole, once it is out of the mm. */
	{ "unlink_anon_vmas", true, { .func = on_unmap } },
	{ "exit_mmap", true, { .func = on_process_exit } },
	{ "perf_event_mmap", false, { .func = on_mmap } },
	{ "perf_event_fork", false, { .func = on_fork } },
	{ "get_callchain_buffers", false, { .func = on_profiler } },
};

/* ---- the hooks, together ---- */

static bool hooked_deferred;

static int hook(struct ftrace_ops *ops, const char *function)
{
	char filter[KSYM_NAME_LEN];	/* ftrace parses it in place */
	int err;

	strscpy(filter, function);
	err = ftrace_set_filter(ops, filter, strlen(filter), 1);
	err = err ? -ENODEV : register_ftrace_function(ops);
	if (err)
		ftrace_free_filter(ops);
	return err;
}

static void unhook(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	ftrace_free_filter(ops);
}

static int hook_callchain(void)
{
	static const char function[] = "perf_callchain_user";
	int err = hook(&callchain_ops, function);

	if (err == -ENODEV)
		pr_err("this kernel's %s() cannot be traced by ftrace, so no stack can be unwound; a kernel with CONFIG_PERF_EVENTS and CONFIG_DYNAMIC_FTRACE_WITH_ARGS is needed\n",
		       function);
	else if (err)
		pr_err("ftrace refused to hook %s(): error %d\n", function, err);
	return err;
}

/* Not all kernels can defer, and we can do without. */
static void hook_unwind_user(void)
{
	static const char function[] = "unwind_user";
	int err;

	if (!SFU_HAVE_UNWIND_USER)
		return;
	err = hook(&unwind_user_ops, function);
	if (err == -EBUSY)
		pr_warn("another user of ftrace (a live patch?) owns %s(): deferred stacks are left to the kernel, --call-graph=sframe,sync still works\n",
			function);
	else if (err)
		pr_warn("%s() cannot be hooked (error %d): deferred stacks are left to the kernel, --call-graph=sframe,sync still works\n",
			function, err);
	hooked_deferred = !err;
}

static void unhook_unwind_user(void)
{
	if (!hooked_deferred)
		return;
	unhook(&unwind_user_ops);
	/* From the trampoline into the read-side section, and out of it. */
	synchronize_rcu_tasks();
	synchronize_srcu(&deferred_srcu);
	synchronize_rcu_tasks();
}

static void unhook_map(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_hooks); i++) {
		if (map_hooks[i].hooked)
			unhook(&map_hooks[i].ops);
		map_hooks[i].hooked = false;
	}
}

/* Hooked first of all, so this is also who finds ftrace turned off. */
static void tell_map_not_hooked(const char *function, int err)
{
	if (err == -EBUSY)
		pr_err("ftrace is turned off, and without it no stack can be unwound: turn it on (sysctl kernel.ftrace_enabled=1) and load the module again\n");
	else
		pr_err("this kernel's %s() cannot be traced by ftrace (error %d), so nothing tells when code is unmapped, and stacks might be wrong\n",
		       function, err);
}

static int hook_map(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_hooks); i++) {
		struct map_hook *map_hook = &map_hooks[i];
		int err;

		map_hook->ops.flags = FTRACE_OPS_FL_PERMANENT;
		err = hook(&map_hook->ops, map_hook->function);
		map_hook->hooked = !err;
		if (!err)
			continue;
		if (map_hook->required) {
			tell_map_not_hooked(map_hook->function, err);
			unhook_map();
			return err;
		}
		pr_info("%s() cannot be traced by ftrace (error %d): new code may lose its first sample\n",
			map_hook->function, err);
	}
	return 0;
}

static int hooks_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", hooked_deferred ? "sync,deferred" : "sync");
}

static int hooks_set(const char *val, const struct kernel_param *kp)
{
	return -EPERM;
}

static const struct kernel_param_ops hooks_ops = {
	.get	= hooks_get,
	.set	= hooks_set,
};
module_param_cb(hooks, &hooks_ops, NULL, 0444);
MODULE_PARM_DESC(hooks, "what is unwound: sync, or sync,deferred (read only)");

static int __init sframe_unwind_init(void)
{
	int err;

	err = sfu_map_init();
	if (err)
		return err;
	err = hook_map();
	if (err)
		goto err_map;
	err = hook_callchain();
	if (err)
		goto err_hooks;
	hook_unwind_user();
	sfu_stats_init();
	pr_info("user stacks are unwound from SFrame (%s)\n",
		hooked_deferred ? "synchronous and deferred" : "synchronous");
	return 0;

err_hooks:
	unhook_map();
err_map:
	sfu_map_exit();
	return err;
}

/*
 * Why nobody is left in here, or comes back, when the module goes:
 *
 * Samples, in NMI, interrupt or task context, are in on_callchain_user() or
 * on_unwind_user() with preemption disabled; unregister_ftrace_function() waits
 * for all of them, and for all who are on the way through ftrace's trampoline.
 *
 * Tasks that on_unwind_user() sent to replace_unwind_user() may be preempted
 * or asleep: ahead of its srcu_read_lock(), waited for by the first
 * synchronize_rcu_tasks(), for they have not slept since; inside, by
 * synchronize_srcu(); behind it, by the second synchronize_rcu_tasks().
 *
 * From then on no walk runs, so none asks for learning, and nobody takes a
 * reference on a map. Requests under way and the process maps are sfu_map_exit()'s
 * own argument. Readers of debugfs are waited for by its removal; module
 * parameters are sysfs files, which pin the module.
 */
static void __exit sframe_unwind_exit(void)
{
	sfu_stats_exit();
	unhook_unwind_user();
	unhook(&callchain_ops);
	unhook_map();
	sfu_map_exit();
}

module_init(sframe_unwind_init);
module_exit(sframe_unwind_exit);

MODULE_DESCRIPTION("Precise user-space stack traces from SFrame data");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
