// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests: a task of the process is to scan it, on its next way to user mode.
 *
 * A sample requests a scan if the map has missed something. An event (new code, a new
 * process) requests one before the code runs. The task scans as task work: so the process
 * itself pays for the scan, with its own priority and in its own control group. No worker
 * takes part.
 *
 * A process has one request, which is part of struct sfu_process: nothing is allocated, and
 * processes do not compete for requests. Task work of a task that sleeps may be pending for
 * ever. So a later request of another task takes it away from there. The end of the process
 * or of the module cancels it.
 *
 * A sample may come in an NMI, or under any lock of the scheduler. So it starts an irq work, which
 * adds the task work. If the sample has interrupted user mode, the irq work runs before the next
 * instruction there.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/task_work.h>

#include "compat.h"
#include "map/process.h"
#include "map/request.h"
#include "map/scan.h"
#include "sframe_stats.h"

/* References to processes that irq works and task works hold. */
static atomic_t nr_held;

static bool hold_process(struct sfu_process *process)
{
	if (!refcount_inc_not_zero(&process->refs))
		return false;
	atomic_inc(&nr_held);
	return true;
}

static void release_process(struct sfu_process *process)
{
	sfu_process_put(process);
	/* Pairs with sfu_request_exit(). */
	atomic_dec_return_release(&nr_held);
}

/**
 * sfu_cancel_task_work() - take back task work that is pending
 * @task: the task, which has not run the work yet, or runs it now
 * @work: the work
 * @most: works of the task to look at: a system call may queue one for each file that it closes
 *
 * The kernel does not export task_work_cancel(). A task takes its works out of the list
 * without a lock, and then takes and drops pi_lock before it runs them. So while this
 * function holds pi_lock, no entry of the list goes away.
 *
 * Context: Any but NMI. The caller holds no lock under which pi_lock cannot be taken.
 * Return: Whether the work will not run. Else the task runs it now, or is about to; or @most works
 * are before it.
 */
bool sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
			  unsigned int most)
{
	struct callback_head **link = &task->task_works, *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	entry = READ_ONCE(*link);
	while (entry && most) {
		if (entry != work) {
			most--;
			link = &entry->next;
			entry = READ_ONCE(*link);
		} else if (try_cmpxchg(link, &entry, work->next)) {
			break;
		}
	}
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	return entry == work && most;
}

/* Closed requests whose holders have kept them. Only unloading has to have them back. */
static LIST_HEAD(left_requests);
static DEFINE_RAW_SPINLOCK(left_lock);

/* Under &sfu_request.lock, as that below. */
static void leave_with_holder(struct sfu_request *request)
{
	raw_spin_lock(&left_lock);
	list_add(&request->left, &left_requests);
	raw_spin_unlock(&left_lock);
}

/* The holder has given the request back. */
static void end_holding(struct sfu_request *request)
{
	WRITE_ONCE(request->holder, NULL);
	if (!request->is_closed)
		return;
	raw_spin_lock(&left_lock);
	list_del_init(&request->left);
	raw_spin_unlock(&left_lock);
}

/* Takes the request back from its holder. Under &sfu_request.lock. */
static bool take_back(struct sfu_request *request, unsigned int most)
{
	lockdep_assert_held(&request->lock);
	if (!sfu_cancel_task_work(request->holder, &request->work, most))
		return false;
	end_holding(request);
	return true;
}

/*
 * Works of the last holder that are looked at with interrupts disabled. A request behind more works
 * stays with that holder. A task may have half a million, one for each file that it closes.
 */
#define TAKE_BACK_MOST	64

/*
 * Makes @task the holder of the request. If the last holder is about to serve it, nothing
 * is to be done. Under &sfu_request.lock, and returns whether a reference is left over.
 */
static bool give_to(struct sfu_request *request, struct task_struct *task)
{
	bool has_reference = request->holder;

	if (request->holder == task || (request->holder && !take_back(request, TAKE_BACK_MOST)))
		return false;
	if (request->is_closed || task_work_add(task, &request->work, SFU_TWA_RESUME))
		return has_reference;
	WRITE_ONCE(request->holder, task);
	if (!has_reference) {
		refcount_inc(&container_of(request, struct sfu_process, request)->refs);
		atomic_inc(&nr_held);
	}
	return false;
}

static void give_request(struct sfu_process *process, struct task_struct *task,
			 enum sfu_scan_reason reason)
{
	struct sfu_request *request = &process->request;
	unsigned long flags;
	bool is_left;

	raw_spin_lock_irqsave(&request->lock, flags);
	WRITE_ONCE(request->reason, max(request->reason, reason));
	is_left = give_to(request, task);
	raw_spin_unlock_irqrestore(&request->lock, flags);
	if (is_left)
		release_process(process);
}

/* Removes the holder; returns whether the scan is still wanted, and why. */
static bool begin_to_serve(struct sfu_request *request, enum sfu_scan_reason *reason)
{
	bool is_wanted;

	raw_spin_lock_irq(&request->lock);
	end_holding(request);
	*reason = request->reason;
	WRITE_ONCE(request->reason, SFU_SCAN_NONE);
	is_wanted = !request->is_closed;
	raw_spin_unlock_irq(&request->lock);
	return is_wanted;
}

static void serve_in_task(struct callback_head *work)
{
	struct sfu_process *process =
		container_of(work, struct sfu_process, request.work);
	enum sfu_scan_reason reason;

	/* An exiting task has given up its memory; after execve() a task has another one. */
	if (begin_to_serve(&process->request, &reason) && current->mm == process->mm)
		sfu_scan(process, reason);
	sfu_process_refill();
	release_process(process);
}

static void give_to_sampled(struct irq_work *irq_work)
{
	struct sfu_process *process =
		container_of(irq_work, struct sfu_process, request.irq_work);
	struct task_struct *task = process->request.sampled;

	give_request(process, task, SFU_SCAN_SAMPLE);
	/* Pairs with cmpxchg() in sfu_request_for_sample(). */
	smp_store_release(&process->request.sampled, NULL);
	put_task_struct(task);
	release_process(process);
}

/* The irq work takes the request from its holder. Returns false if it is on its way already. */
static bool give_later(struct sfu_process *process)
{
	struct sfu_request *request = &process->request;

	if (cmpxchg(&request->sampled, NULL, current))
		return false;
	if (!hold_process(process)) {
		WRITE_ONCE(request->sampled, NULL);
		return false;
	}
	get_task_struct(current);
	irq_work_queue(&request->irq_work);
	return true;
}

/* Prepares the request of a process. */
void sfu_request_init(struct sfu_request *request)
{
	raw_spin_lock_init(&request->lock);
	INIT_LIST_HEAD(&request->left);
	init_task_work(&request->work, serve_in_task);
	request->irq_work = IRQ_WORK_INIT_HARD(give_to_sampled);
}

/**
 * sfu_request_for_sample() - request a scan of the current process
 * @process: the process of current, or NULL if it is not known
 *
 * Nothing happens if current is about to scan already, no scan is due, or there is no room
 * for a new process. The next sample tries again.
 */
void sfu_request_for_sample(struct sfu_process *process)
{
	struct sfu_request *request;

	if (!process)
		process = sfu_process_try_add(current->mm);
	if (!process || !sfu_scan_is_due(process, SFU_SCAN_SAMPLE))
		return;
	request = &process->request;
	if (READ_ONCE(request->holder) == current || READ_ONCE(request->sampled))
		return;
	if (give_later(process))
		sfu_count(scan_requests);
}

/*
 * Requests a scan for new code, before @task, of the process, enters user mode again. Preemption
 * may be off.
 */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task)
{
	/* A system call may change thousands of mappings. */
	if (READ_ONCE(process->request.holder) == task &&
	    READ_ONCE(process->request.reason) >= SFU_SCAN_NEW_CODE)
		return;
	if (sfu_scan_is_due(process, SFU_SCAN_NEW_CODE))
		give_request(process, task, SFU_SCAN_NEW_CODE);
}

/*
 * Cancels the request of a process, and refuses more. A task that has many other task works keeps
 * the request, and does nothing for it. Preemption may be disabled.
 */
void sfu_request_close(struct sfu_process *process)
{
	struct sfu_request *request = &process->request;
	bool is_left = false;
	unsigned long flags;

	raw_spin_lock_irqsave(&request->lock, flags);
	request->is_closed = true;
	if (request->holder) {
		is_left = take_back(request, TAKE_BACK_MOST);
		if (!is_left)
			leave_with_holder(request);
	}
	raw_spin_unlock_irqrestore(&request->lock, flags);
	if (is_left)
		release_process(process);
}

/* Returns a process whose closed request its holder has kept, with a reference; or NULL. */
static struct sfu_process *next_left(void)
{
	struct sfu_request *request;
	struct sfu_process *process = NULL;

	raw_spin_lock_irq(&left_lock);
	request = list_first_entry_or_null(&left_requests, struct sfu_request, left);
	if (request) {
		/* The holder takes it from the list before it drops its reference. */
		process = container_of(request, struct sfu_process, request);
		refcount_inc(&process->refs);
		list_del_init(&request->left);
	}
	raw_spin_unlock_irq(&left_lock);
	return process;
}

/* A task that sleeps for ever may have kept a request. Nobody else waits for this search. */
static void take_all_back(void)
{
	struct sfu_process *process;
	bool is_left;

	while ((process = next_left())) {
		raw_spin_lock_irq(&process->request.lock);
		is_left = process->request.holder && take_back(&process->request, UINT_MAX);
		raw_spin_unlock_irq(&process->request.lock);
		if (is_left)
			release_process(process);
		sfu_process_put(process);
		cond_resched();
	}
}

/* After this time, in jiffies, sfu_request_exit() says that it waits. */
#define LATE	(5 * HZ)

/*
 * Waits for the requests that are being served.
 *
 * No hook and no walk is left, and sfu_process_close() has closed all requests. Those that tasks
 * have kept are taken back here. So no task work is pending any more: a task may have taken some
 * to run them, and irq works may be on their way. What runs waits for nothing that a process
 * controls. But a task may run others before ours: if it has closed files by close_range() or by
 * ending, they may wait for a socket or a server. Nobody can take ours from there, so this waits,
 * too, and says so.
 *
 * After synchronize_rcu_tasks() no task is left in the tail of serve_in_task(), where it does
 * not sleep; after synchronize_rcu() no CPU is left in that of give_to_sampled(), which runs
 * with interrupts disabled.
 */
void sfu_request_exit(void)
{
	unsigned long said_at = jiffies + LATE;

	take_all_back();
	/* Pairs with release_process(). */
	while (atomic_read_acquire(&nr_held)) {
		schedule_timeout_uninterruptible(1);
		if (time_before(jiffies, said_at))
			continue;
		pr_warn("unloading waits for a task that looks for the data of its code, perhaps on a slow disk, or that closes a file or socket: wait\n");
		said_at = jiffies + MAX_JIFFY_OFFSET;
	}
	synchronize_rcu_tasks();
	synchronize_rcu();
}
