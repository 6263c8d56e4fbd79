// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watch: the time during which the hooks of events (mmap(), munmap(), fork(), exit) are set.
 *
 * These hooks slow processes down, so they are set only while a profiler runs. A profiler that
 * requests call chains returns from its system call when the hooks are set. The first sample of a
 * profiler that is older than the module queues a work that sets the hooks. The hooks and all maps
 * are removed when no profiler is left and no sample has come for PROFILED_FOR.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/process.h"
#include "sframe_hook.h"

/*
 * Time from the last sample to the removal of the hooks. With half of it, a profiler that samples
 * rarely sets them again and again; with the double, the hooks slow processes down for longer.
 */
#define PROFILED_FOR	(10 * HZ)

/*
 * Time without a sample until the count of profilers is reset: perf_event_open() may fail after it
 * was counted as a profiler, and is not counted down then. With half of it, a profiler that samples
 * rarely may lose first samples; with the double, the hooks may stay set for longer.
 */
#define FORGOTTEN_AFTER	(600 * HZ)

/* Time of the last sample, or of the last change of nr_profilers, in jiffies. */
static unsigned long profiled_at;
static atomic_t nr_profilers;		/* running profilers, begun after the module was loaded */
static bool is_sampled;			/* a sample has come since a profiler last ended */

/* Returns true if the hooks are to be removed, as nothing profiles at the time @now, in jiffies. */
bool sfu_watch_is_idle(unsigned long now)
{
	/* Jiffies since the last sample; negative if a sample has come after @now. */
	long quiet = now - READ_ONCE(profiled_at);

	if (atomic_read(&nr_profilers) && quiet >= FORGOTTEN_AFTER) {
		WRITE_ONCE(is_sampled, false);
		atomic_set(&nr_profilers, 0);
	}
	return !atomic_read(&nr_profilers) && quiet >= PROFILED_FOR;
}

/* True if a profiler runs. Else, hooks still set keep maps correct, but request no scan. */
bool sfu_watch_expects_samples(void)
{
	return READ_ONCE(is_sampled) || atomic_read(&nr_profilers);
}

static DEFINE_MUTEX(watch_lock);
static bool is_watching;	/* written under watch_lock */
static bool is_over;		/* module unloads, or ftrace has shut down; under watch_lock */
static unsigned long start_at;	/* no attempt to set the hooks before this time, in jiffies */

static void check_watch(struct work_struct *work);
static DECLARE_DELAYED_WORK(watch_check, check_watch);

/* Called under watch_lock. */
static int start_watch(void)
{
	int err = is_watching ? 0 : sfu_event_set_hooks();

	WRITE_ONCE(start_at, jiffies + (err ? PROFILED_FOR : 0));
	if (err)
		return err;
	sfu_processes_open();
	WRITE_ONCE(is_watching, true);
	schedule_delayed_work(&watch_check, PROFILED_FOR);
	return 0;
}

/* Called under watch_lock. */
static void stop_watch(void)
{
	if (!is_watching)
		return;
	WRITE_ONCE(is_watching, false);
	/* A sample queues the work to set the hooks again: this needs a work that is not queued. */
	cancel_delayed_work(&watch_check);
	sfu_processes_close();
	sfu_event_remove_hooks();
}

/*
 * Sets the hooks of mmap(), munmap(), fork() and exit, or removes them if no profiler is left. If
 * ftrace has shut down, no hook works any more: then the module never sets them again.
 */
static void check_watch(struct work_struct *work)
{
	guard(mutex)(&watch_lock);
	if (!is_over && !sfu_hook_is_alive()) {
		sfu_hook_abandon();
		WRITE_ONCE(is_over, true);
	}
	if (is_over || sfu_watch_is_idle(jiffies))
		stop_watch();
	else
		start_watch();
}

static void queue_check(struct irq_work *irq_work)
{
	schedule_delayed_work(&watch_check, 0);
}

static struct irq_work start_irq_work = IRQ_WORK_INIT_HARD(queue_check);

/* Called for each sample, in any context. Returns false if the hooks are not set. */
bool sfu_watch_sample(void)
{
	unsigned long now = jiffies;

	/* Samples come on all CPUs: only few of them write these variables. */
	if (now - READ_ONCE(profiled_at) > HZ)
		WRITE_ONCE(profiled_at, now);
	if (unlikely(!READ_ONCE(is_sampled)))
		WRITE_ONCE(is_sampled, true);
	if (likely(READ_ONCE(is_watching)))
		return true;
	if (!READ_ONCE(is_over) && time_after_eq(now, READ_ONCE(start_at)))
		irq_work_queue(&start_irq_work);
	return false;
}

/* Task that requests call chains, and has task work that sets the hooks; or NULL. */
static struct task_struct *starter;

static void start_in_task(struct callback_head *head)
{
	check_watch(NULL);
	/* Pairs with sfu_watch_exit(). */
	smp_store_release(&starter, NULL);
}

static struct callback_head start_task_work = { .func = start_in_task };

/* Hook of get_callchain_buffers(): a profiler begins, by perf_event_open() or bpf(). */
static void notrace on_profiler(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	atomic_inc(&nr_profilers);
	/* Task work needs a return to user mode. A kernel thread's first sample sets the hooks. */
	if (READ_ONCE(is_watching) || current->flags & PF_KTHREAD)
		return;
	if (!cmpxchg(&starter, NULL, current) &&
	    task_work_add(current, &start_task_work, SFU_TWA_RESUME))
		WRITE_ONCE(starter, NULL);
}

/* Hook of put_callchain_buffers(): a profiler, which may be older than the module, ends. */
static void notrace on_profiler_end(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	/* If another profiler is still running, its next sample sets is_sampled again. */
	if (atomic_dec_if_positive(&nr_profilers) <= 0)
		WRITE_ONCE(is_sampled, false);
}

static struct ftrace_ops profiler_ops = { .func = on_profiler };
static struct ftrace_ops profiler_end_ops = { .func = on_profiler_end };

/* Sets the hooks, as a profiler may run already. Returns 0, or the error of a required hook. */
int sfu_watch_init(void)
{
	int err;

	profiled_at = jiffies;
	start_at = jiffies;
	scoped_guard(mutex, &watch_lock)
		err = start_watch();
	/* Profilers are counted only if the kernel function that ends them is hooked, too. */
	if (!err && !sfu_hook(&profiler_end_ops, "put_callchain_buffers"))
		sfu_hook(&profiler_ops, "get_callchain_buffers");
	return err;
}

/*
 * Removes all hooks of map/event.c and all processes. The caller has removed the hooks of samples.
 * The task work of @starter is cancelled, or runs and waits for nothing but ftrace. The task exists
 * while @starter is set, and for an RCU grace period after that. After synchronize_rcu_tasks(), no
 * task is in the last instructions of start_in_task().
 */
void sfu_watch_exit(void)
{
	struct task_struct *task;

	sfu_unhook(&profiler_ops);
	sfu_unhook(&profiler_end_ops);
	irq_work_sync(&start_irq_work);
	scoped_guard(mutex, &watch_lock) {
		WRITE_ONCE(is_over, true);
		stop_watch();
	}
	scoped_guard(rcu) {
		task = READ_ONCE(starter);
		if (task && sfu_cancel_task_work(task, &start_task_work, NULL, UINT_MAX))
			WRITE_ONCE(starter, NULL);
	}
	/* Pairs with start_in_task(). */
	while (smp_load_acquire(&starter))
		schedule_timeout_uninterruptible(1);
	cancel_delayed_work_sync(&watch_check);
	synchronize_rcu_tasks();
}
