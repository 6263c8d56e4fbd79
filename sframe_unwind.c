// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframe_unwind: the two hooks that give user stacks to perf and BPF; init and exit of the module.
 *
 * For a sample, perf calls perf_callchain_user(), in NMI, interrupt or task context. The hook at
 * its entry unwinds the user stack, and stores the frames. It marks the callchain as full: the
 * original function then adds nothing.
 *
 * For deferred callchains, newer kernels call unwind_user() on the way back to user mode, where it
 * may sleep. The module replaces this function by its own. If a walk (the unwinding of one stack)
 * lacks data there, the task scans its own mappings, and walks again. No walk ever sleeps.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/srcu.h>

#include "compat.h"
#include "sframe_arch.h"
#include "sframe_hook.h"
#include "map/map.h"
#include "map/process.h"
#include "walk/row_cache.h"
#include "sframe_stats.h"
#include "table/table.h"
#include "walk/walk.h"

#define CREATE_TRACE_POINTS
#include "sframe_trace.h"

static bool enabled = true;
module_param(enabled, bool, 0644);
MODULE_PARM_DESC(enabled, "unwind user stacks (default); N leaves all of them to the kernel");

static noinline void count_other_methods(const struct sfu_walk *walk)
{
	unsigned int i;

	for (i = SFU_METHOD_SFRAME + 1; i < NR_SFU_METHODS; i++)
		if (walk->nr_frames[i])
			sfu_count_many(frames[i], walk->nr_frames[i]);
}

static __always_inline void report_walk(const struct sfu_walk *walk, struct pt_regs *regs,
					enum sfu_stop stop)
{
	const unsigned int nr_by_rows = walk->nr_frames[SFU_METHOD_SFRAME];
	const unsigned int nr_others = walk->nr_frames[SFU_METHOD_FP] +
				       walk->nr_frames[SFU_METHOD_FP_HABIT] +
				       walk->nr_frames[SFU_METHOD_SIGNAL];
	const unsigned int nr_frames = 1 + nr_by_rows + nr_others;

	if (nr_by_rows)
		sfu_count_many(frames[SFU_METHOD_SFRAME], nr_by_rows);
	if (unlikely(nr_others))
		count_other_methods(walk);
	sfu_count(stops[stop]);
	if (nr_frames == 1)
		sfu_count(firsts[stop]);
	sfu_count_many(depths[stop], nr_frames);
	if (walk->lookup.nr_cached)
		sfu_count_many(cache_hits, walk->lookup.nr_cached);
	if (walk->lookup.nr_missed)
		sfu_count_many(cache_misses, walk->lookup.nr_missed);
	trace_sfu_walk(instruction_pointer(regs), walk->frame.ip, nr_frames, sfu_stop_names[stop]);
}

static bool decline(enum sfu_decline why)
{
	sfu_count(declined[why]);
	return false;
}

static __always_inline bool may_walk(struct pt_regs *regs)
{
	if (!READ_ONCE(enabled) || !sfu_watch_sample())
		return decline(SFU_DECLINE_DISABLED);
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return decline(SFU_DECLINE_KTHREAD);
	/*
	 * PF_VCPU: KVM runs a guest in this task. Then a sample in an interrupt or NMI may have hit
	 * the guest. A sample in task context, for example by a tracepoint of KVM, hits the task.
	 */
	if (current->flags & PF_VCPU && !in_task())
		return decline(SFU_DECLINE_GUEST);
	if (!user_mode(regs) || !sfu_arch_unwindable(regs))
		return decline(SFU_DECLINE_COMPAT);
	return true;
}

/* Requests a scan if the process may have new code or tables. */
static noinline void leave_to_kernel(struct sfu_process *process, struct sfu_map *map,
				     struct pt_regs *regs)
{
	if (map->is_incomplete || sfu_map_is_older_than_tables(map) ||
	    !sfu_map_find(map, instruction_pointer(regs)) ||
	    time_after(jiffies, READ_ONCE(map->valid_until)))
		sfu_request_for_sample(process);
	sfu_quota_count_sample(&process->quota);
	decline(SFU_DECLINE_NOSECTION);
}

static __always_inline bool decline_without_sections(struct sfu_process *process,
						     struct pt_regs *regs)
{
	struct sfu_map *map = sfu_process_map(process);

	/* Without a map, the walk stores only the sampled address, and requests a scan. */
	if (!map || map->nr_sections)
		return false;
	leave_to_kernel(process, map, regs);
	return true;
}

static __always_inline bool needs_scan(struct sfu_process *process, const struct sfu_walk *walk,
				       enum sfu_stop stop)
{
	struct sfu_map *map = walk->map;
	const unsigned long now = jiffies;

	/* Call sfu_jit_must_ask() before the other tests: it also stores the JIT code's address. */
	return (stop == SFU_STOP_NODATA &&
		sfu_jit_must_ask(process, map, sfu_walk_lookup_ip(&walk->frame))) ||
	       sfu_walk_needs_scan(walk, stop) ||
	       (map && map->is_incomplete && stop == SFU_STOP_NODATA) ||
	       (map && time_after(now, READ_ONCE(map->valid_until)));
}

/* @process is NULL if the module does not know the process yet. */
static __always_inline void begin_walk(struct sfu_walk *walk, struct sfu_process *process,
				       struct sfu_row_cache *cache, struct pt_regs *regs)
{
	bool is_inherited;
	struct sfu_map *map = sfu_process_walk_map(process, &is_inherited);

	sfu_walk_init(walk, map, is_inherited, cache, regs);
}

static __always_inline enum sfu_stop store_callers(struct sfu_walk *walk, u64 *ips,
						   unsigned int max, unsigned int *nr)
{
	enum sfu_stop stop = SFU_STOP_NONE;
	unsigned int more;
	u64 beyond;

	*nr = 0;
	while (!stop && *nr < max) {
		stop = sfu_walk_callers(walk, &ips[*nr], max - *nr, &more);
		*nr += more;
	}
	if (stop)
		return stop;
	/* @ips is full. If the walk finds one more caller, the stack is cut off: SFU_STOP_FULL. */
	stop = sfu_walk_callers(walk, &beyond, 1, &more);
	return more ? SFU_STOP_FULL : stop;
}

/* ---- the hook of perf_callchain_user(), which runs in any context ---- */

static void store_frames(struct perf_callchain_entry_ctx *ctx,
			 struct sfu_process *process, struct pt_regs *regs)
{
	enum sfu_stop stop = SFU_STOP_FULL;
	/* To save time, @walk is not cleared: each member is set before it is read. */
	struct sfu_walk walk __uninitialized;
	struct sfu_row_cache *cache = sfu_row_cache_get();

	sfu_count(walks);
	begin_walk(&walk, process, cache, regs);
	if (in_nmi() && !sfu_arch_has_user_registers(regs)) {
		stop = SFU_STOP_NO_REGS;
	} else if (!perf_callchain_store(ctx, walk.frame.ip)) {
		struct perf_callchain_entry *entry = ctx->entry;
		unsigned int nr;

		stop = store_callers(&walk, &entry->ip[entry->nr], ctx->max_stack - ctx->nr, &nr);
		entry->nr += nr;
		ctx->nr += nr;
	}
	sfu_row_cache_put(cache);
	report_walk(&walk, regs, stop);
	if (process)
		sfu_quota_count_sample(&process->quota);
	if (unlikely(!process || needs_scan(process, &walk, stop)))
		sfu_request_for_sample(process ?: sfu_processes_add(current->mm, NULL));

	/* Mark the callchain as full: perf_callchain_user() runs next, and must add nothing. */
	ctx->nr = ctx->max_stack;
}

static void notrace on_callchain_user(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct perf_callchain_entry_ctx *ctx = (void *)ftrace_regs_get_argument(fregs, 0);
	struct pt_regs *regs = (void *)ftrace_regs_get_argument(fregs, 1);
	struct sfu_process *process;

	if (!may_walk(regs))
		return;
	rcu_read_lock_sched();
	process = sfu_processes_find(current->mm);
	if (!decline_without_sections(process, regs))
		store_frames(ctx, process, regs);
	rcu_read_unlock_sched();
}

static struct ftrace_ops callchain_ops = { .func = on_callchain_user };

/* ---- the hook of unwind_user(), which runs in task context ---- */

/* Lets unloading wait for tasks in replace_unwind_user(), where they may sleep. */
DEFINE_STATIC_SRCU(deferred_srcu);

static void trace_and_scan(struct unwind_stacktrace *trace, unsigned int max)
{
	struct mm_struct *mm = current->mm;
	bool has_scanned, is_scan_needed;
	struct sfu_row_cache *cache;
	struct sfu_process *process;
	struct sfu_walk walk;
	enum sfu_stop stop;
	unsigned int nr;

	static_assert(sizeof(*trace->entries) == sizeof(u64));
	sfu_count(walks);
	for (has_scanned = false; ; has_scanned = true) {
		rcu_read_lock_sched();
		process = sfu_processes_find(mm);
		cache = sfu_row_cache_get();
		begin_walk(&walk, process, cache, task_pt_regs(current));
		trace->entries[0] = walk.frame.ip;
		stop = store_callers(&walk, (u64 *)&trace->entries[1], max - 1, &nr);
		trace->nr = 1 + nr;
		sfu_row_cache_put(cache);
		if (process && !has_scanned)
			sfu_quota_count_sample(&process->quota);
		/* needs_scan() reads the map, which may be freed after the RCU lock is dropped. */
		is_scan_needed = !process || needs_scan(process, &walk, stop);
		rcu_read_unlock_sched();
		if (has_scanned || !is_scan_needed)
			break;
		sfu_processes_scan(mm);
	}
	report_walk(&walk, task_pt_regs(current), stop);
}

static int replace_unwind_user(struct unwind_stacktrace *trace, unsigned int max)
{
	int idx = srcu_read_lock(&deferred_srcu);

	trace->nr = 0;
	if (max)
		trace_and_scan(trace, max);
	srcu_read_unlock(&deferred_srcu, idx);
	return max ? 0 : -EINVAL;
}

static void notrace on_unwind_user(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long target = (unsigned long)replace_unwind_user;
	bool declined;

	if (!may_walk(regs))
		return;
	rcu_read_lock();
	declined = decline_without_sections(sfu_processes_find(current->mm), regs);
	rcu_read_unlock();
	if (!declined)
		ftrace_regs_set_instruction_pointer(fregs, target);
}

static struct ftrace_ops unwind_user_ops = {
	.func	= on_unwind_user,
	.flags	= FTRACE_OPS_FL_IPMODIFY,
};

/* ---- sets and removes the hooks of perf_callchain_user() and unwind_user(); init, exit ---- */

static bool hooked_deferred;

static void hook_unwind_user(void)
{
	int err;

	if (!SFU_HAVE_UNWIND_USER)
		return;
	err = sfu_hook(&unwind_user_ops, "unwind_user");
	if (err == -EBUSY)
		pr_warn("another user of ftrace owns unwind_user(): no stack is deferred\n");
	else if (err)
		pr_warn("cannot hook unwind_user(): error %d, no stack is deferred\n", err);
	hooked_deferred = !err;
}

static void unhook_unwind_user(void)
{
	if (!hooked_deferred)
		return;
	sfu_unhook(&unwind_user_ops);
	/*
	 * Wait until no task is in replace_unwind_user(). Tasks sleep there only while they hold
	 * deferred_srcu: synchronize_srcu() waits for these tasks. synchronize_rcu_tasks() waits
	 * until each running or preempted task sleeps or leaves the kernel. Its first call is for
	 * tasks that have not taken deferred_srcu yet, its second for tasks that have released it.
	 */
	synchronize_rcu_tasks();
	synchronize_srcu(&deferred_srcu);
	synchronize_rcu_tasks();
}

static int hooks_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", hooked_deferred ? "sync,deferred" : "sync");
}

static int refuse_set(const char *val, const struct kernel_param *kp)
{
	return -EPERM;
}

static const struct kernel_param_ops hooks_ops = { .get = hooks_get, .set = refuse_set };
module_param_cb(hooks, &hooks_ops, NULL, 0444);
MODULE_PARM_DESC(hooks, "hooks that are set: sync, or sync,deferred (read only)");

static const struct kernel_param_ops summary_ops = { .get = sfu_stats_summary, .set = refuse_set };
module_param_cb(summary, &summary_ops, NULL, 0444);
MODULE_PARM_DESC(summary, "what became of the stacks, a few counters (read only)");

/* The caller has removed all hooks. Waits until no code of the module runs, and frees memory. */
static void free_all(void)
{
	sfu_hook_exit();
	sfu_request_exit();
	sfu_processes_exit();
	sfu_row_cache_exit();
	sfu_files_exit();
}

static int __init sframe_unwind_init(void)
{
	int err;

	err = sfu_files_init();
	if (err)
		return err;
	err = sfu_row_cache_init() ?: sfu_spares_init() ?: sfu_watch_init();
	if (err)
		goto err_watch;
	err = sfu_hook_required(&callchain_ops, "perf_callchain_user");
	if (err)
		goto err_hook;
	err = sfu_device_init();
	if (err)
		goto err_callchain;
	hook_unwind_user();
	sfu_stats_init();
	pr_info("user stacks are unwound from SFrame (%s)\n",
		hooked_deferred ? "synchronous and deferred" : "synchronous");
	return 0;

err_callchain:
	sfu_unhook(&callchain_ops);
err_hook:
	sfu_watch_exit();
err_watch:
	free_all();
	return err;
}

/*
 * When the module is unloaded, no context is left in its code, or enters it again:
 *
 * - An open device holds a reference to the module, so no task is in the functions of the device.
 *   sfu_device_exit() comes first: then no table is loaded any more.
 * - Samples run on_callchain_user() or on_unwind_user(), which do not sleep.
 *   unregister_ftrace_function() waits for them, also on their way through ftrace's trampoline.
 * - Tasks that on_unwind_user() has sent to replace_unwind_user() may sleep there. To wait for
 *   on_unwind_user() is not enough: unhook_unwind_user() waits for these tasks, too.
 * - Without these hooks, no walk runs, requests a scan or takes a reference on a map.
 *   Then only hooks of mmap(), fork() etc. request scans: sfu_watch_exit() removes them.
 * - If ftrace has shut itself down, a hook may be called for ever: sfu_hook_exit() does not return.
 * - For requests, processes and tables, see the functions that free_all() calls.
 * - Counters exist while a task reads them: the removal of a debugfs file or module parameter waits
 *   for its readers.
 */
static void __exit sframe_unwind_exit(void)
{
	sfu_device_exit();
	sfu_stats_exit();
	unhook_unwind_user();
	sfu_unhook(&callchain_ops);
	sfu_watch_exit();
	free_all();
	pr_info("unloaded after %lu stacks\n", sfu_stats_walks());
}

module_init(sframe_unwind_init);
module_exit(sframe_unwind_exit);

MODULE_DESCRIPTION("Precise user-space stack traces from SFrame data");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.2.0");
