// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests for a scan of a process: the next time one of its tasks returns to user mode, it scans.
 *
 * The scan is task work, so it has the priority and the control group of the process. Each struct
 * sfu_process contains one request: nothing is allocated. Task work of a sleeping task may stay
 * pending for ever. So a later request moves the task work to another task. The end of the process
 * or of the module cancels the request.
 *
 * A sample may come in an NMI, or while the scheduler holds a lock. So it only queues an irq work,
 * which adds the task work: before the next user instruction if the sample interrupted user mode.
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
 * Maximum of task works of a task that are searched, with interrupts disabled, to move a request to
 * another task: it may have half a million, one for each file that it closes. A request behind more
 * works stays. With half, this is more frequent; with the double, interrupts are off for longer.
 */
#define TAKE_BACK_MAX	64

/* Number of references to processes that pending irq works and task works hold. */
static atomic_t nr_held;

static void release_process(struct sfu_process *process)
{
	sfu_process_put(process);
	/* Pairs with sfu_request_exit(). */
	atomic_dec_return_release(&nr_held);
}

/*
 * Cancels pending task work of @task: @work or, if @work is NULL, the first work that calls @func.
 * Returns the work; NULL if it is not among the first @max_works works, or the task has begun to
 * run its works. Takes pi_lock. Any context but NMI.
 *
 * The kernel does not export task_work_cancel(). A task takes its works out of the list without a
 * lock, and then takes and drops pi_lock before it runs them. So while this function holds pi_lock,
 * no entry of the list is freed.
 */
struct callback_head *sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
					   void (*func)(struct callback_head *work),
					   unsigned int max_works)
{
	struct callback_head **link = &task->task_works, *entry;
	unsigned long flags;

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

/* Cancels the task work of a request. Returns false if the work runs already, or will run. */
static bool take_back(struct sfu_request *request)
{
	lockdep_assert_held(&request->lock);
	if (!sfu_cancel_task_work(request->holder, &request->work, NULL, TAKE_BACK_MAX))
		return false;
	WRITE_ONCE(request->holder, NULL);
	return true;
}

/*
 * Makes @task the holder of the request, the task whose task work scans, unless the task work of
 * the last holder cannot be cancelled. A request with a holder has a reference of the process.
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
	/* An exiting task has no mm to scan, and after execve() a task has another mm. */
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
 * Requests a scan of the process of current: an irq work makes current the holder of the request.
 * Does nothing if current is the holder, another sample is making a request, @process is NULL
 * because no spare process was left, or the quota allows no scan yet: the next sample tries again.
 */
void sfu_request_for_sample(struct sfu_process *process)
{
	struct sfu_request *request;

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

/* After mmap(), munmap() or fork(): lets @task scan the process before it returns to user mode. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task)
{
	/* Return early if requested already: a system call may change thousands of mappings. */
	if (READ_ONCE(process->request.holder) == task &&
	    READ_ONCE(process->request.reason) >= SFU_SCAN_NEW_CODE)
		return;
	if (sfu_quota_may_scan(&process->quota, SFU_SCAN_NEW_CODE))
		give_request(process, task, SFU_SCAN_NEW_CODE);
}

/* Cancels the request for a scan, and refuses new ones. Task work that is left does not scan. */
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

/*
 * Cancels pending task work of closed requests, because its task may sleep for ever. A task that
 * has called execve() may have task work of several processes.
 */
static void take_all_back(void)
{
	struct task_struct *group, *task;
	struct callback_head *work;

	guard(rcu)();
	for_each_process_thread(group, task) {
		while ((work = sfu_cancel_task_work(task, NULL, serve_in_task, UINT_MAX))) {
			struct sfu_process *process =
				container_of(work, struct sfu_process, request.work);

			/* Locked: after the holder has exited, give_request() may still run. */
			raw_spin_lock_irq(&process->request.lock);
			WRITE_ONCE(process->request.holder, NULL);
			raw_spin_unlock_irq(&process->request.lock);
			release_process(process);
		}
	}
}

/*
 * Waits until no request for a scan is pending or being served. No hook and no walk is left, and
 * sfu_processes_close() has closed all requests.
 *
 * Tasks may have begun to run their task works, and irq works may be queued. Task works of the
 * module wait for nothing that a process controls. But before them a task may run task works of
 * files that it has closed by close_range() or exit, and these may wait for a socket or a server.
 *
 * After synchronize_rcu_tasks(), no task is in the last instructions of serve_in_task(), where it
 * does not sleep. After synchronize_rcu(), no CPU is in the last instructions of give_to_sampled(),
 * which runs with interrupts disabled.
 */
void sfu_request_exit(void)
{
	unsigned long log_at = jiffies + 5 * HZ;

	if (atomic_read(&nr_held))
		take_all_back();
	/* Pairs with release_process(). */
	while (atomic_read_acquire(&nr_held)) {
		schedule_timeout_uninterruptible(1);
		if (time_before(jiffies, log_at))
			continue;
		pr_warn("unloading waits for a task that reads ahead or closes files\n");
		log_at = jiffies + MAX_JIFFY_OFFSET;
	}
	synchronize_rcu_tasks();
	synchronize_rcu();
}
