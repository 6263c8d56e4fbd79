// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watch: the time during which the hooks of events are set.
 *
 * The hooks are set only while a profiler runs: at other times they would slow processes down for
 * nothing. A profiler that asks for call chains returns from its system call when they are set. A
 * sample of an older profiler sets them a moment later. They are removed, and all maps with them,
 * when there is no profiler and no sample has come for PROFILED_FOR. Samples that come without the
 * hooks are left to the kernel.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "map/event.h"
#include "map/process.h"
#include "sframe_hook.h"

/*
 * The hooks stay for this time after the last sample. Half: a profiler that samples rarely sets
 * them again and again. Twice: they slow processes down, and maps take memory, for longer.
 */
#define PROFILED_FOR	(10 * HZ)

/*
 * A profiler is forgotten after this time without a sample. Half: a patient profiler may lose first
 * samples. Twice: the hooks stay for longer.
 */
#define FORGOTTEN_AFTER	(600 * HZ)

static unsigned long profiled_at;	/* time of the last sample or profiler, in jiffies */
static atomic_t nr_profilers;		/* without profilers that are older than the module */
static bool is_sampled;			/* a sample has come since a profiler has ended */

/*
 * Returns true if no profiler is left at the time @now, in jiffies. perf_event_open() may fail
 * after it has asked for call chains, and does not take that back. So profilers that take no sample
 * for FORGOTTEN_AFTER are forgotten. The next sample shows that there is one.
 */
bool sfu_watch_is_idle(unsigned long now)
{
	/* A sample may have come after @now: then this is negative. */
	long quiet = now - READ_ONCE(profiled_at);

	if (atomic_read(&nr_profilers) && quiet >= FORGOTTEN_AFTER) {
		WRITE_ONCE(is_sampled, false);
		atomic_set(&nr_profilers, 0);
	}
	return !atomic_read(&nr_profilers) && quiet >= PROFILED_FOR;
}

/*
 * Returns true if a profiler is known, or has taken samples since the last one ended. Otherwise the
 * hooks are still set for a while, and keep the maps right, but no process is scanned for an event.
 */
bool sfu_watch_expects_samples(void)
{
	return READ_ONCE(is_sampled) || atomic_read(&nr_profilers);
}

static DEFINE_MUTEX(watch_lock);
static bool is_watching;	/* written under watch_lock */
static bool is_over;		/* the module goes, or ftrace has died; under watch_lock */
static unsigned long start_at;	/* after an error: no other attempt before; in jiffies */

static void check_watch(struct work_struct *work);
static DECLARE_DELAYED_WORK(watch_check, check_watch);

static int start_watch(void)
{
	int err = 0;

	mutex_lock(&watch_lock);
	if (!is_watching && !is_over) {
		err = sfu_event_set_hooks();
		WRITE_ONCE(start_at, jiffies + (err ? PROFILED_FOR : 0));
		if (!err) {
			sfu_processes_open();
			WRITE_ONCE(is_watching, true);
			schedule_delayed_work(&watch_check, PROFILED_FOR);
		}
	}
	mutex_unlock(&watch_lock);
	return err;
}

/* Under watch_lock. */
static void stop_watch(void)
{
	if (!is_watching)
		return;
	WRITE_ONCE(is_watching, false);
	sfu_processes_close();
	/* A walk may still use a map: its process must not unmap code unnoticed. */
	synchronize_rcu();
	sfu_event_remove_hooks();
}

/* Without ftrace nothing reports that code is unmapped, so no map can be trusted. */
static void check_watch(struct work_struct *work)
{
	mutex_lock(&watch_lock);
	if (!is_over && !sfu_hook_is_alive()) {
		sfu_hook_abandon();
		WRITE_ONCE(is_over, true);
	}
	if (is_over || sfu_watch_is_idle(jiffies))
		stop_watch();
	else
		schedule_delayed_work(&watch_check, PROFILED_FOR);
	mutex_unlock(&watch_lock);
}

/* If ftrace has died, check_watch() ends the watch: the hooks of samples are set already. */
static void start_in_worker(struct work_struct *work)
{
	if (start_watch() == -ESHUTDOWN)
		schedule_delayed_work(&watch_check, 0);
}

static DECLARE_WORK(start_work, start_in_worker);

static void queue_start(struct irq_work *irq_work)
{
	schedule_work(&start_work);
}

static struct irq_work start_irq_work = IRQ_WORK_INIT_HARD(queue_start);

/*
 * A sample has been taken. Returns false if the hooks are not set, and the kernel has to walk. Any
 * context, NMI included.
 */
bool sfu_watch_sample(void)
{
	unsigned long now = jiffies;

	/* Samples come on all CPUs: most of them do not write. */
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

/* A task that asks for call chains, and has not set the hooks yet; or NULL. */
static struct task_struct *starter;

static void start_in_task(struct callback_head *head)
{
	start_in_worker(NULL);
	/* Pairs with sfu_watch_exit(). */
	smp_store_release(&starter, NULL);
}

static struct callback_head start_task_work = { .func = start_in_task };

/* perf_event_open() or bpf() asks for call chains. */
static void notrace on_profiler(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	atomic_inc(&nr_profilers);
	if (READ_ONCE(is_watching))
		return;
	/* Kernel threads do not return to user mode. */
	if (current->flags & PF_KTHREAD)
		irq_work_queue(&start_irq_work);
	else if (!cmpxchg(&starter, NULL, current) &&
		 task_work_add(current, &start_task_work, SFU_TWA_RESUME))
		WRITE_ONCE(starter, NULL);
}

/* A profiler, which may be older than the module, needs no more call chains. */
static void notrace on_profiler_end(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	/* The next sample of another profiler sets @is_sampled again. */
	if (atomic_dec_if_positive(&nr_profilers) <= 0)
		WRITE_ONCE(is_sampled, false);
}

static struct ftrace_ops profiler_ops = { .func = on_profiler };
static struct ftrace_ops profiler_end_ops = { .func = on_profiler_end };
static bool hooked_profiler, hooked_profiler_end;

/* Sets all hooks: a profiler may run already. Returns the error of a required hook. */
int sfu_watch_init(void)
{
	int err;

	profiled_at = jiffies;
	start_at = jiffies;
	err = start_watch();
	if (!err)
		hooked_profiler_end = !sfu_hook(&profiler_end_ops, "put_callchain_buffers");
	if (hooked_profiler_end)
		hooked_profiler = !sfu_hook(&profiler_ops, "get_callchain_buffers");
	return err;
}

/*
 * Removes all hooks of events, and forgets all processes. No sample comes any more. The task work
 * of a starter is cancelled, or it runs and waits for nothing but ftrace. The starter exists as
 * long as @starter is set, and for a grace period of RCU. After synchronize_rcu_tasks() no task is
 * left in the tail of start_in_task().
 */
void sfu_watch_exit(void)
{
	struct task_struct *task;

	if (hooked_profiler)
		sfu_unhook(&profiler_ops);
	if (hooked_profiler_end)
		sfu_unhook(&profiler_end_ops);
	irq_work_sync(&start_irq_work);
	mutex_lock(&watch_lock);
	WRITE_ONCE(is_over, true);
	stop_watch();
	mutex_unlock(&watch_lock);
	cancel_work_sync(&start_work);

	rcu_read_lock();
	task = READ_ONCE(starter);
	if (task && sfu_cancel_task_work(task, &start_task_work, UINT_MAX))
		WRITE_ONCE(starter, NULL);
	rcu_read_unlock();
	/* Pairs with start_in_task(). */
	while (smp_load_acquire(&starter))
		schedule_timeout_uninterruptible(1);
	cancel_delayed_work_sync(&watch_check);
	synchronize_rcu_tasks();
}
