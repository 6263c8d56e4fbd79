// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watch: the time during which the hooks of events (mmap(), munmap(), fork(), exit) are set.
 *
 * These hooks slow processes down, so they are set only while a profiler runs. A new profiler sets
 * the hooks before its system call returns. If a profiler is older than the module, its first
 * sample queues a work that sets the hooks. The hooks and all maps are removed when no profiler is
 * left, and no sample has come for PROFILED_FOR.
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
 * Jiffies from the last sample to the removal of the hooks of mmap(), munmap(), fork() and exit.
 * With half, the hooks are removed and set again and again for a profiler with rare samples.
 * With the double, the hooks slow processes down for longer after a profiler has ended.
 */
#define PROFILED_FOR	(10 * HZ)

/*
 * Jiffies without a sample after which the number of profilers is set to 0. It may be too high:
 * after get_callchain_buffers() fails, no put_callchain_buffers() lowers it again.
 * If this time were half, a profiler with rare samples might lose first samples.
 * If it were twice as long, hooks might stay set in vain for longer.
 */
#define FORGOTTEN_AFTER	(600 * HZ)

/* Time in jiffies at which the last sample came, or a profiler last began or ended. */
static unsigned long profiled_at;
static atomic_t nr_profilers;		/* number of running profilers that the module saw begin */
static bool is_sampled;			/* a sample has come since the last profiler ended */

bool sfu_watch_is_idle(unsigned long now)
{
	/* Jiffies since the last sample; negative if a sample came after @now was read. */
	long quiet = now - READ_ONCE(profiled_at);

	if (atomic_read(&nr_profilers) && quiet >= FORGOTTEN_AFTER) {
		WRITE_ONCE(is_sampled, false);
		atomic_set(&nr_profilers, 0);
	}
	return !atomic_read(&nr_profilers) && quiet >= PROFILED_FOR;
}

bool sfu_watch_expects_samples(void)
{
	return READ_ONCE(is_sampled) || atomic_read(&nr_profilers);
}

static DEFINE_MUTEX(watch_lock);
static bool is_watching;	/* written under watch_lock */
static bool is_over;		/* module unloads or ftrace has shut down; under watch_lock */
static unsigned long start_at;	/* no sample tries to set hooks before this time, in jiffies */

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
	/*
	 * Cancel the delayed check. If it stayed pending, schedule_delayed_work() in queue_check()
	 * would do nothing. Then the next sample could not set the hooks at once.
	 */
	cancel_delayed_work(&watch_check);
	sfu_processes_close();
	sfu_event_remove_hooks();
}

static void check_watch(struct work_struct *work)
{
	guard(mutex)(&watch_lock);
	/* If ftrace has shut down, no hook can be set or removed any more. */
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

/* Called for a sample, in any context. Returns false if the hooks of munmap() etc. are not set. */
bool sfu_watch_sample(void)
{
	unsigned long now = jiffies;

	/* All CPUs share profiled_at and is_sampled: write them only if they must change. */
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

/* Task where start_task_work is pending or running; NULL: a new profiler may use this work. */
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
	/*
	 * To set the hooks of mmap() etc. may sleep, and this hook must not: so task work does it.
	 * A kernel thread runs no task work. If current is one, the first sample sets the hooks.
	 */
	if (READ_ONCE(is_watching) || current->flags & PF_KTHREAD)
		return;
	if (!cmpxchg(&starter, NULL, current) &&
	    task_work_add(current, &start_task_work, SFU_TWA_RESUME))
		WRITE_ONCE(starter, NULL);
}

/* Hook of put_callchain_buffers(): a profiler ends. */
static void notrace on_profiler_end(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	/*
	 * If no profiler is left, mmap() etc. shall request no more scans. A profiler older than
	 * the module is not counted, but may still run: its next sample sets is_sampled again.
	 */
	if (atomic_dec_if_positive(&nr_profilers) <= 0)
		WRITE_ONCE(is_sampled, false);
}

static struct ftrace_ops profiler_ops = { .func = on_profiler };
static struct ftrace_ops profiler_end_ops = { .func = on_profiler_end };

/* At load, sets the hooks of mmap() etc., as a profiler may run already. */
int sfu_watch_init(void)
{
	int err;

	profiled_at = jiffies;
	start_at = jiffies;
	scoped_guard(mutex, &watch_lock)
		err = start_watch();
	/* Count profilers only if their end, put_callchain_buffers(), can be hooked, too. */
	if (!err && !sfu_hook(&profiler_end_ops, "put_callchain_buffers"))
		sfu_hook(&profiler_ops, "get_callchain_buffers");
	return err;
}

/*
 * At unload, removes the hooks of mmap() etc., and all processes. The caller has removed the hooks
 * of samples.
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
	/* While @starter is set, and for an RCU grace period after that, the task exists. */
	scoped_guard(rcu) {
		task = READ_ONCE(starter);
		if (task && sfu_cancel_task_work(task, &start_task_work, NULL, UINT_MAX))
			WRITE_ONCE(starter, NULL);
	}
	/*
	 * If the task already runs its task works, start_task_work could not be cancelled. So wait
	 * until start_in_task() clears @starter, by smp_store_release(). As is_over is set,
	 * start_in_task() waits only for watch_lock, which is not held here: no deadlock.
	 */
	while (smp_load_acquire(&starter))
		schedule_timeout_uninterruptible(1);
	cancel_delayed_work_sync(&watch_check);
	/* start_in_task() may not have returned yet. Wait for that: unloading frees its code. */
	synchronize_rcu_tasks();
}
