// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests: who scans a process, and when.
 *
 * A sample requests a scan if the map has missed something. An event (new code, a new
 * process) requests one before the code runs. Both use the same carrier.
 *
 * For a sample, the task itself scans, as task work, only if the sample has interrupted
 * user mode. Otherwise the task may sleep in its system call; task work cannot be
 * cancelled, and would keep the module from being unloaded. For an event, the task scans
 * when its system call returns, unless it is traced. In all other cases a worker scans.
 *
 * The sample side must not allocate. It claims a request from a fixed array. Events
 * allocate theirs.
 */
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include <asm/irq_regs.h>

#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_request.h"
#include "sframe_scan.h"
#include "sframe_stats.h"

enum request_source {
	FROM_SAMPLE,
	FROM_NEW_CODE,
	FROM_NEW_PROCESS,	/* or one with &sfu_process.rescan_needed */
};

/**
 * struct sfu_request - a request to scan a process
 * @mm: its memory; pinned. A claimed request is in use while this is set
 * @source: the source of the request
 * @seen: FROM_SAMPLE: the map that has missed something; only compared
 * @start: FROM_NEW_CODE: first address
 * @end: FROM_NEW_CODE: one past the last address
 * @by_task: FROM_SAMPLE: the task itself scans, else a worker
 * @task_work: runs in the task
 * @irq_work: from NMI to @work
 * @work: runs in a worker
 */
struct sfu_request {
	struct mm_struct	*mm;
	enum request_source	source;
	const struct sfu_map	*seen;
	unsigned long		start;
	unsigned long		end;
	bool			by_task;
	struct callback_head	task_work;
	struct irq_work		irq_work;
	struct work_struct	work;
};

static struct sfu_request claimable[64];	/* FROM_SAMPLE */
static atomic_t nr_allocated;
static struct workqueue_struct *scanners;

/* Has another scan found the new code already? The caller holds &sfu_process.lock. */
static bool knows_code(const struct sfu_process *process,
		       const struct sfu_request *request)
{
	struct sfu_map *map = sfu_process_locked_map(process);
	struct sfu_range *range = map ? sfu_map_find(map, request->start) : NULL;

	return range && range->start == request->start && range->end == request->end;
}

/*
 * The task that causes an event scans at once. A worker has others to serve, and scans
 * only if a scan is due.
 */
static void scan_for_event(const struct sfu_request *request)
{
	struct sfu_process *process = sfu_process_get(request->mm);
	bool is_new_code = request->source == FROM_NEW_CODE;
	bool in_task = !(current->flags & PF_KTHREAD);

	if (!process)
		return;
	mutex_lock(&process->lock);
	if (!(is_new_code && knows_code(process, request)) &&
	    (in_task || sfu_scan_is_due(process)))
		/* A new process has empty page tables: check its known sections, too. */
		sfu_scan_process(process, !is_new_code);
	mutex_unlock(&process->lock);
}

static void serve_request(const struct sfu_request *request)
{
	if (request->source == FROM_SAMPLE)
		sfu_scan_mm(request->mm, request->seen);
	else
		scan_for_event(request);
}

static void finish_request(struct sfu_request *request)
{
	struct mm_struct *mm = request->mm;

	if (request->source == FROM_SAMPLE) {
		/* Pairs with the cmpxchg() in claim_request(), and no_request_is_left(). */
		smp_store_release(&request->mm, NULL);
		mmdrop(mm);
		return;
	}
	mmdrop(mm);
	kfree(request);
	/* Pairs with no_request_is_left(). */
	atomic_dec_return_release(&nr_allocated);
}

static void serve_in_task(struct callback_head *head)
{
	struct sfu_request *request =
		container_of(head, struct sfu_request, task_work);

	/* An exiting task may have given up its memory. */
	if (current->mm == request->mm)
		serve_request(request);
	finish_request(request);
}

static void serve_in_worker(struct work_struct *work)
{
	struct sfu_request *request = container_of(work, struct sfu_request, work);
	struct mm_struct *mm = request->mm;

	/* A process that has ended needs no scan. */
	if (mmget_not_zero(mm)) {
		kthread_use_mm(mm);
		serve_request(request);
		kthread_unuse_mm(mm);
		mmput(mm);
	}
	finish_request(request);
}

static void queue_request(struct irq_work *irq_work)
{
	struct sfu_request *request =
		container_of(irq_work, struct sfu_request, irq_work);

	queue_work(scanners, &request->work);
}

/* A pending worker request does not block a task-work request for the same mm. */
static struct sfu_request *claim_request(struct mm_struct *mm, bool by_task)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(claimable); i++)
		if (READ_ONCE(claimable[i].mm) == mm &&
		    READ_ONCE(claimable[i].by_task) >= by_task)
			return NULL;
	for (i = 0; i < ARRAY_SIZE(claimable); i++)
		if (!READ_ONCE(claimable[i].mm) && !cmpxchg(&claimable[i].mm, NULL, mm))
			return &claimable[i];
	return NULL;
}

/*
 * Is current certain to return to user mode next? A task in a system call may first
 * sleep for ever, and task work cannot be cancelled.
 */
static bool returns_to_user(void)
{
	struct pt_regs *regs;

	if (in_nmi())
		return sfu_arch_nmi_from_user();
	if (!in_hardirq())
		return false;
	regs = get_irq_regs();
	return regs && user_mode(regs);
}

/**
 * sfu_request_for_sample() - request a scan of the current process
 * @mm: current->mm
 * @seen: the map that has missed something, or NULL; only compared
 *
 * Nothing happens if a scan has already been requested, or all requests are in use.
 * The next sample tries again.
 *
 * Context: Any, NMI included.
 */
void sfu_request_for_sample(struct mm_struct *mm, const struct sfu_map *seen)
{
	bool by_task = returns_to_user();
	struct sfu_request *request = claim_request(mm, by_task);

	if (!request)
		return;
	sfu_count(scan_requests);
	mmgrab(mm);
	request->seen = seen;
	WRITE_ONCE(request->by_task, by_task);
	if (by_task && !task_work_add(current, &request->task_work,
				      in_nmi() ? TWA_NMI_CURRENT : TWA_RESUME))
		return;
	irq_work_queue(&request->irq_work);
}

/*
 * Lets @task scan on its next way to user mode. A traced task may be stopped on that way
 * for as long as the tracer likes, so a worker scans for it.
 */
static void request_for_event(struct task_struct *task, const struct sfu_request *values)
{
	struct sfu_request *request = kmalloc(sizeof(*request), SFU_GFP_HOOK);

	if (!request)
		return;
	*request = *values;
	mmgrab(request->mm);
	init_task_work(&request->task_work, serve_in_task);
	INIT_WORK(&request->work, serve_in_worker);
	atomic_inc(&nr_allocated);
	if (task->ptrace || task_work_add(task, &request->task_work, TWA_RESUME))
		queue_work(scanners, &request->work);
}

/**
 * sfu_request_for_code() - request a scan of new code, before it runs
 * @task: a task of the process
 * @code: the VMA of the code
 *
 * If there is no memory, nothing is requested. A later sample requests the scan.
 *
 * Context: Task, mmap_lock held; does not sleep.
 */
void sfu_request_for_code(struct task_struct *task, const struct vm_area_struct *code)
{
	request_for_event(task, &(struct sfu_request){
		.mm = code->vm_mm,
		.source = FROM_NEW_CODE,
		.start = code->vm_start,
		.end = code->vm_end,
	});
}

/**
 * sfu_request_for_process() - request a scan of all of a process
 * @task: a task of the process
 * @mm: its memory
 *
 * If there is no memory, nothing is requested. A later sample requests the scan.
 *
 * Context: Task; does not sleep.
 */
void sfu_request_for_process(struct task_struct *task, struct mm_struct *mm)
{
	request_for_event(task, &(struct sfu_request){
		.mm = mm,
		.source = FROM_NEW_PROCESS,
	});
}

static bool no_request_is_left(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(claimable); i++)
		/* Pairs with finish_request(). */
		if (smp_load_acquire(&claimable[i].mm))
			return false;
	/* Pairs with finish_request(). */
	return !atomic_read_acquire(&nr_allocated);
}

/**
 * sfu_request_init() - get ready to scan
 *
 * Context: May sleep.
 * Return: 0, or -ENOMEM.
 */
int sfu_request_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(claimable); i++) {
		claimable[i].source = FROM_SAMPLE;
		init_task_work(&claimable[i].task_work, serve_in_task);
		claimable[i].irq_work = IRQ_WORK_INIT_HARD(queue_request);
		INIT_WORK(&claimable[i].work, serve_in_worker);
	}
	scanners = alloc_workqueue("sframe_unwind", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return scanners ? 0 : -ENOMEM;
}

/**
 * sfu_request_exit() - wait for all requests
 *
 * No hook and no walk is left, so no new request can come. Each request ends: task work
 * is pending only in a task that returns to user mode or exits; irq work and workers run
 * by themselves. After synchronize_rcu_tasks() no task is left in the tail of
 * serve_in_task(), where it does not sleep.
 *
 * Context: May sleep.
 */
void sfu_request_exit(void)
{
	unsigned int i;

	while (!no_request_is_left())
		schedule_timeout_uninterruptible(1);
	for (i = 0; i < ARRAY_SIZE(claimable); i++)
		irq_work_sync(&claimable[i].irq_work);
	destroy_workqueue(scanners);
	synchronize_rcu_tasks();
}
