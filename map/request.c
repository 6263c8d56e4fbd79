// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for a scan of a process: one of its tasks scans it when it returns to user mode.
 *
 * The scan is task work: it has the priority and the control group of the process. A sleeping task
 * may never run its task work, so a later request moves the work to another task.
 *
 * A sample may come in an NMI, or while the scheduler holds a lock. So the sample only queues an
 * irq work, which adds the task work. If the sample interrupted user mode, the task then scans
 * before its next user instruction.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/task_work.h>

#include "compat.h"
#include "map/scan.h"
#include "sframe_stats.h"

/*
 * A sleeping task may never run the task work that scans. So a later request moves this work to
 * another task. With interrupts off, it searches at most this many of the sleeping task's works.
 * There may be many: a task that closes files has one task work for each file.
 * If this limit were half, more requests would stay in sleeping tasks.
 * If it were twice as large, interrupts would be off for longer.
 */
#define TAKE_BACK_MAX	64

/* Number of pending and running irq works and task works. Each holds a reference to a process. */
static atomic_t nr_held;

static void release_process(struct sfu_process *process)
{
	sfu_process_put(process);
	/* Pairs with sfu_request_exit(). */
	atomic_dec_return_release(&nr_held);
}

/*
 * Cancels pending task work of @task: @work or, if @work is NULL, the first work that calls @func.
 * Returns the work; NULL if the first @max_works works lack it, or @task already runs its works.
 * The kernel does not export task_work_cancel().
 */
struct callback_head *sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
					   void (*func)(struct callback_head *work),
					   unsigned int max_works)
{
	struct callback_head **link = &task->task_works, *entry;
	unsigned long flags;

	/*
	 * A task takes its works out of the list without a lock. Before it runs them, it takes and
	 * drops pi_lock. So no entry of the list is freed while this function holds pi_lock.
	 */
	raw_spin_lock_irqsave(&task->pi_lock, flags);
	entry = READ_ONCE(*link);
	while (entry && max_works) {
		if (work ? entry != work : entry->func != func) {
			max_works--;
			link = &entry->next;
			entry = READ_ONCE(*link);
		} else if (try_cmpxchg(link, &entry, entry->next)) {
			break;
		}
	}
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	return max_works ? entry : NULL;
}

static bool take_back(struct sfu_request *request)
{
	lockdep_assert_held(&request->lock);
	if (!sfu_cancel_task_work(request->holder, &request->work, NULL, TAKE_BACK_MAX))
		return false;
	WRITE_ONCE(request->holder, NULL);
	return true;
}

/*
 * Makes @task the holder of the request for a scan: adds the task work that scans to @task. First
 * cancels the work in the old holder, if any. If it cannot be cancelled, that holder remains.
 */
static void give_request(struct sfu_process *process, struct task_struct *task,
			 enum sfu_scan_reason reason)
{
	struct sfu_request *request = &process->request;
	bool had_holder, has_holder;
	unsigned long flags;

	raw_spin_lock_irqsave(&request->lock, flags);
	WRITE_ONCE(request->reason, max(request->reason, reason));
	had_holder = request->holder;
	if ((!had_holder || (request->holder != task && take_back(request))) &&
	    !request->is_closed && !task_work_add(task, &request->work, SFU_TWA_RESUME))
		WRITE_ONCE(request->holder, task);
	has_holder = request->holder;
	/* A task, the holder, now has the task work: this work needs a reference to @process. */
	if (has_holder && !had_holder) {
		refcount_inc(&process->refs);
		atomic_inc(&nr_held);
	}
	raw_spin_unlock_irqrestore(&request->lock, flags);
	if (had_holder && !has_holder)
		release_process(process);
}

static void serve_in_task(struct callback_head *work)
{
	struct sfu_process *process = container_of(work, struct sfu_process, request.work);
	struct sfu_request *request = &process->request;
	enum sfu_scan_reason reason;
	bool is_wanted;

	raw_spin_lock_irq(&request->lock);
	WRITE_ONCE(request->holder, NULL);
	reason = request->reason;
	WRITE_ONCE(request->reason, SFU_SCAN_NONE);
	is_wanted = !request->is_closed;
	raw_spin_unlock_irq(&request->lock);
	/* Do not scan if current is exiting and has no mm, or has another mm after execve(). */
	if (is_wanted && current->mm == process->mm)
		sfu_scan(process, reason);
	sfu_spares_refill(2);
	release_process(process);
}

static void give_to_sampled(struct irq_work *irq_work)
{
	struct sfu_process *process = container_of(irq_work, struct sfu_process, request.irq_work);
	struct task_struct *task = process->request.sampled;

	give_request(process, task, SFU_SCAN_SAMPLE);
	/* Pairs with sfu_request_for_sample(). */
	smp_store_release(&process->request.sampled, NULL);
	put_task_struct(task);
	release_process(process);
}

void sfu_request_init(struct sfu_request *request)
{
	raw_spin_lock_init(&request->lock);
	init_task_work(&request->work, serve_in_task);
	request->irq_work = IRQ_WORK_INIT_HARD(give_to_sampled);
}

/*
 * Called for a sample: requests that current scans @process before it returns to user mode. If this
 * is not possible yet, does nothing: later samples try again.
 */
void sfu_request_for_sample(struct sfu_process *process)
{
	struct sfu_request *request;

	/* @process is NULL if the sample could not add it to the hash table of processes. */
	if (!process || !sfu_quota_may_scan(&process->quota, SFU_SCAN_SAMPLE))
		return;
	request = &process->request;
	if (READ_ONCE(request->holder) == current || READ_ONCE(request->sampled) ||
	    cmpxchg(&request->sampled, NULL, current))
		return;
	if (!refcount_inc_not_zero(&process->refs)) {
		WRITE_ONCE(request->sampled, NULL);
		return;
	}
	atomic_inc(&nr_held);
	get_task_struct(current);
	irq_work_queue(&request->irq_work);
	sfu_count(scan_requests);
}

void sfu_request_for_event(struct sfu_process *process, struct task_struct *task)
{
	/* A system call may change thousands of mappings: only the first change requests a scan. */
	if (READ_ONCE(process->request.holder) == task &&
	    READ_ONCE(process->request.reason) >= SFU_SCAN_NEW_CODE)
		return;
	if (sfu_quota_may_scan(&process->quota, SFU_SCAN_NEW_CODE))
		give_request(process, task, SFU_SCAN_NEW_CODE);
}

/*
 * Cancels the scan request of a process that leaves the hash table, and refuses new ones. If its
 * task work cannot be cancelled, this work will not scan.
 */
void sfu_request_close(struct sfu_process *process)
{
	struct sfu_request *request = &process->request;
	bool is_left;

	scoped_guard(raw_spinlock_irqsave, &request->lock) {
		request->is_closed = true;
		is_left = request->holder && take_back(request);
	}
	if (is_left)
		release_process(process);
}

/* At unload, cancels the task works that scan, in all tasks: a sleeping task may never run them. */
static void take_all_back(void)
{
	struct task_struct *group, *task;
	struct callback_head *work;

	guard(rcu)();
	for_each_process_thread(group, task) {
		/* A task may hold several requests: for its mm before execve(), and its new mm. */
		while ((work = sfu_cancel_task_work(task, NULL, serve_in_task, UINT_MAX))) {
			struct sfu_process *process =
				container_of(work, struct sfu_process, request.work);

			/*
			 * @task could not end before it had run this work. Now the work is
			 * cancelled, and only guard(rcu) above keeps @task in memory. Other CPUs
			 * may still find @task in request.holder, under request.lock. So clear
			 * request.holder before the end of guard(rcu).
			 */
			raw_spin_lock_irq(&process->request.lock);
			WRITE_ONCE(process->request.holder, NULL);
			raw_spin_unlock_irq(&process->request.lock);
			release_process(process);
		}
	}
}

/*
 * At unload, waits until no request for a scan is pending, and no task scans for one. The caller
 * has removed all hooks, and sfu_processes_close() has closed all requests.
 */
void sfu_request_exit(void)
{
	unsigned long log_at = jiffies + 5 * HZ;

	if (atomic_read(&nr_held))
		take_all_back();
	/*
	 * Wait until release_process(), which pairs with this read, was called for each irq work
	 * and each task work that scans. These works wait for nothing that a process controls. But
	 * a task may have to close a file before it scans: this may wait for a socket or a
	 * server. Then the unload waits, too.
	 */
	while (atomic_read_acquire(&nr_held)) {
		schedule_timeout_uninterruptible(1);
		if (time_before(jiffies, log_at))
			continue;
		pr_warn("unloading waits for a task that reads ahead or closes files\n");
		log_at = jiffies + MAX_JIFFY_OFFSET;
	}
	/*
	 * A task may be preempted in the last instructions of serve_in_task(), where it never
	 * sleeps. So wait until each task has slept or been in user mode: it has left this code.
	 */
	synchronize_rcu_tasks();
	/* Wait for the end of give_to_sampled(), which runs with interrupts disabled. */
	synchronize_rcu();
}
