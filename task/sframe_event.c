// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: a process maps or unmaps code, forks, or ends.
 *
 * This file hooks the kernel functions where that happens, and updates the maps. New code
 * is scanned before its first instruction. Removed code is marked as unmapped. A child
 * shares the map of its parent. A process that ends leaves the table.
 *
 * The hooks are set only while somebody profiles, so that nobody else pays for them. A
 * profiler that asks for call chains returns from its system call when they are set. A
 * sample of an older profiler sets them a moment later. They are removed, and all maps with
 * them, when there is no profiler and no sample has come for PROFILED_FOR. Samples that
 * come without the hooks are left to the kernel.
 *
 * The hooks may run with preemption disabled. They allocate nothing, and take raw spinlocks
 * only. They try the mmap_lock of a child that has not run yet. Their work does not grow with what
 * a process has mapped.
 *
 * mmu notifiers would report some of this. But a process that has one waits for a grace
 * period at its end.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "sframe_event.h"
#include "sframe_hook.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_request.h"
#include "sframe_scan.h"

#define PROFILED_FOR	(10 * HZ)	/* after the last sample */
#define FORGOTTEN_AFTER	(600 * HZ)	/* without a sample */
#define LOOK_MAX	64		/* ranges of a map that is compared with a child */
#define SCAN_EVENT_MAX	1024		/* mappings of a process that is scanned for an event */
#define SCAN_CHILD_MAX	256		/* ranges of a child that is scanned for its fork */

static unsigned long profiled_at;	/* in jiffies */
static atomic_t nr_profilers;		/* at most; those from before the module are not known */
static bool is_sampled;			/* since a profiler has ended */

/*
 * Does nobody profile any more at this time, in jiffies? perf_event_open() may fail after it has
 * asked for call chains, and does not take that back. So profilers that do not sample for long are
 * forgotten. The next sample shows that there is one.
 */
bool sfu_event_is_idle(unsigned long now)
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
 * May samples come? If not, the hooks are still set for a while, and keep the maps right. But
 * no process is scanned for an event. A profiler that is older than the module shows itself
 * by its samples.
 */
static bool expects_samples(void)
{
	return READ_ONCE(is_sampled) || atomic_read(&nr_profilers);
}

/* ---- the events ---- */

/* A scan that looks at so many mappings takes long. It is left to a sample. */
static bool has_many_mappings(const struct mm_struct *mm)
{
	return READ_ONCE(mm->map_count) > SCAN_EVENT_MAX;
}

/* Does the mapping have code, or is it where a section should be? */
static bool may_have_code_or_section(const struct sfu_process *process,
				     const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_EXEC ||
	       (vma->vm_start < READ_ONCE(process->awaited_end) &&
		vma->vm_end > READ_ONCE(process->awaited_start));
}

/*
 * Current has a new mapping, or one that has changed. Its mmap_lock is held. A process that is not
 * known and runs already is left to its first sample, and so is anonymous code.
 */
void sfu_event_mmap(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct sfu_process *process;

	if (!(vma->vm_file || vma->vm_flags & VM_EXEC) || mm != current->mm ||
	    current->flags & PF_KTHREAD || !expects_samples())
		return;
	rcu_read_lock_sched();
	process = sfu_process_find(mm);
	/* execve(): the new program has no code yet, so an empty map is complete. */
	if (!process && current->in_execve && vma->vm_file)
		process = sfu_process_add(mm, sfu_map_get_empty());
	if (process && may_have_code_or_section(process, vma)) {
		WRITE_ONCE(process->has_new_code, true);
		if (vma->vm_file && !has_many_mappings(mm))
			sfu_request_for_event(process, current);
	}
	rcu_read_unlock_sched();
}

/* A mapping has been removed. The mmap_lock of the process is held. */
void sfu_event_unmap(struct vm_area_struct *vma)
{
	struct sfu_process *process;

	rcu_read_lock_sched();
	process = sfu_process_find(vma->vm_mm);
	if (process && !sfu_process_unmap(process, vma->vm_start, vma->vm_end) &&
	    vma->vm_mm == current->mm && expects_samples() && !has_many_mappings(current->mm))
		sfu_request_for_event(process, current);
	rcu_read_unlock_sched();
}

/*
 * Is the map of the parent right for its child, too? Other threads may have changed it since the
 * child's mappings were copied, and MADV_DONTFORK leaves some out. So this looks at the mappings
 * of the child. Nobody changes these yet.
 */
static bool matches_child(struct mm_struct *child, const struct sfu_map *map)
{
	bool matches;

	if (!map->nr_ranges || map->nr_ranges > LOOK_MAX || !mmap_read_trylock(child))
		return false;
	matches = sfu_scan_map_matches(map, child);
	mmap_read_unlock(child);
	return matches;
}

/*
 * Does the map of a process, which the caller reads next, have all code that events have reported?
 * A scan, which holds the lock, forgets the events before it publishes the map.
 */
static bool is_map_complete(struct sfu_process *process)
{
	bool is_complete = !READ_ONCE(process->has_new_code);

	/* A scan that has forgotten the events has the lock, or had it. */
	smp_rmb();
	is_complete &= !mutex_is_locked(&process->lock);
	/* If it has released the lock, its map is there. */
	smp_rmb();
	return is_complete;
}

/*
 * Adds the child of a process, which has this map. Takes the reference of the caller to it. If
 * the map is not complete, the parent may have code that the map does not have, and the child needs
 * a scan. If the parent has used up its scans for events, this scan waits for the child's first
 * sample: no sample completes the map of the parent, so each of its children would be scanned.
 */
static void add_child(struct task_struct *child, struct sfu_process *parent, struct sfu_map *map,
		      bool is_complete)
{
	bool matches = is_complete && matches_child(child->mm, map);
	struct sfu_process *process;

	if (!matches && (has_many_mappings(child->mm) || map->nr_ranges > SCAN_CHILD_MAX ||
			 !READ_ONCE(parent->event_scans))) {
		sfu_map_put(map);
		return;
	}
	process = sfu_process_add_child(child->mm, parent, map, matches);
	if (process && !matches)
		sfu_request_for_event(process, child);
}

/*
 * Current has a new child, which has not run yet, and may share its memory with current. A child
 * that has all code of its parent's map needs no scan. One that may not, and has very many
 * mappings, is left to its first sample.
 */
void sfu_event_fork(struct task_struct *child)
{
	struct mm_struct *mm = child->mm;
	struct sfu_process *parent;
	struct sfu_map *map;
	bool is_complete;

	if (!mm || mm == current->mm || !expects_samples())
		return;
	rcu_read_lock();
	parent = sfu_process_find(current->mm);
	is_complete = parent && is_map_complete(parent);
	map = parent ? sfu_process_get_map(parent) : NULL;
	if (map)
		add_child(child, parent, map, is_complete);
	rcu_read_unlock();
}

/* A process ends: its memory has no users any more. */
void sfu_event_end(struct mm_struct *mm)
{
	sfu_process_end(mm);
}

static void notrace on_mmap(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_event_mmap((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_unmap(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_event_unmap((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_fork(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_event_fork((void *)ftrace_regs_get_argument(fregs, 0));
}

static void notrace on_process_end(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_event_end((void *)ftrace_regs_get_argument(fregs, 0));
}

/* ---- the hooks of the events ---- */

/**
 * struct event_hook - a kernel function that reports an event
 * @function: its name
 * @is_required: the module cannot load without it. A missing optional hook costs new
 *	code its first sample
 * @ops: the hook
 * @is_hooked: the hook is set
 */
struct event_hook {
	const char		*function;
	bool			is_required;
	struct ftrace_ops	ops;
	bool			is_hooked;
};

static struct event_hook event_hooks[] = {
	/* Each removed mapping, whole, once it is out of the mm. */
	{ "unlink_anon_vmas", true, { .func = on_unmap } },
	{ "exit_mmap", true, { .func = on_process_end } },
	{ "perf_event_mmap", false, { .func = on_mmap } },
	{ "perf_event_fork", false, { .func = on_fork } },
};

static void remove_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		if (event_hooks[i].is_hooked)
			sfu_unhook(&event_hooks[i].ops);
		event_hooks[i].is_hooked = false;
	}
}

static int set_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		struct event_hook *hook = &event_hooks[i];
		int err = hook->is_required ? sfu_hook_required(&hook->ops, hook->function) :
					      sfu_hook(&hook->ops, hook->function);

		hook->is_hooked = !err;
		if (!err)
			continue;
		if (hook->is_required) {
			remove_hooks();
			return err;
		}
		pr_info_once("%s() cannot be traced by ftrace (error %d): new code may lose its first sample\n",
			     hook->function, err);
	}
	return 0;
}

/* ---- the watch: the time during which the hooks are set ---- */

static DEFINE_MUTEX(watch_lock);
static bool is_watching;	/* written under watch_lock */
static bool is_over;		/* the module goes, or ftrace has died; likewise */
static unsigned long start_at;	/* after an error: no other attempt before; in jiffies */

static void check_watch(struct work_struct *work);
static DECLARE_DELAYED_WORK(watch_check, check_watch);

static int start_watch(void)
{
	int err = 0;

	mutex_lock(&watch_lock);
	if (!is_watching && !is_over) {
		err = set_hooks();
		WRITE_ONCE(start_at, jiffies + (err ? PROFILED_FOR : 0));
		if (!err) {
			sfu_process_open();
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
	sfu_process_close();
	/* A walk may still use a map: its process must not unmap code unnoticed. */
	synchronize_rcu();
	remove_hooks();
}

/* Without ftrace nothing reports that code is unmapped, so no map can be trusted. */
static void check_watch(struct work_struct *work)
{
	mutex_lock(&watch_lock);
	if (!is_over && !sfu_hook_is_alive()) {
		sfu_hook_abandon();
		WRITE_ONCE(is_over, true);
	}
	if (is_over || sfu_event_is_idle(jiffies))
		stop_watch();
	else
		schedule_delayed_work(&watch_check, PROFILED_FOR);
	mutex_unlock(&watch_lock);
}

/* The hooks of samples are set already, so the module has to stay if ftrace has died. */
static void start_watch_late(void)
{
	if (start_watch() != -ESHUTDOWN)
		return;
	sfu_hook_abandon();
	mutex_lock(&watch_lock);
	WRITE_ONCE(is_over, true);
	mutex_unlock(&watch_lock);
}

static void start_in_worker(struct work_struct *work)
{
	start_watch_late();
}

static DECLARE_WORK(start_work, start_in_worker);

static void queue_start(struct irq_work *irq_work)
{
	schedule_work(&start_work);
}

static struct irq_work start_irq_work = IRQ_WORK_INIT_HARD(queue_start);

/* The rest of sfu_event_profiled(), for the first sample, and while the hooks are not set. */
static noinline bool profile_unwatched(unsigned long now)
{
	if (!READ_ONCE(is_sampled))
		WRITE_ONCE(is_sampled, true);
	if (READ_ONCE(is_watching))
		return true;
	if (!READ_ONCE(is_over) && time_after_eq(now, READ_ONCE(start_at)))
		irq_work_queue(&start_irq_work);
	return false;
}

/*
 * A sample has been taken. Returns false if the hooks are not set, and the kernel has to walk. Any
 * context, NMI included.
 */
bool sfu_event_profiled(void)
{
	unsigned long now = jiffies;

	/* Samples come on all CPUs: most of them do not write. */
	if (now - READ_ONCE(profiled_at) > HZ)
		WRITE_ONCE(profiled_at, now);
	if (likely(READ_ONCE(is_sampled) && READ_ONCE(is_watching)))
		return true;
	return profile_unwatched(now);
}

/* The task that asks for call chains, and has not set the hooks yet. Under starter_lock. */
static struct task_struct *starter;
static DEFINE_RAW_SPINLOCK(starter_lock);
static atomic_t nr_starting;

static void start_in_task(struct callback_head *head)
{
	raw_spin_lock_irq(&starter_lock);
	starter = NULL;
	raw_spin_unlock_irq(&starter_lock);
	start_watch_late();
	/* Pairs with sfu_event_exit(). */
	atomic_dec_return_release(&nr_starting);
}

static struct callback_head start_task_work = { .func = start_in_task };

/* perf_event_open() or bpf() asks for call chains. */
static void notrace on_profiler(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	unsigned long flags;

	WRITE_ONCE(profiled_at, jiffies);
	atomic_inc(&nr_profilers);
	if (READ_ONCE(is_watching))
		return;
	/* Kernel threads do not return to user mode. */
	if (current->flags & PF_KTHREAD) {
		irq_work_queue(&start_irq_work);
		return;
	}
	raw_spin_lock_irqsave(&starter_lock, flags);
	if (!starter && !task_work_add(current, &start_task_work, SFU_TWA_RESUME)) {
		starter = current;
		atomic_inc(&nr_starting);
	}
	raw_spin_unlock_irqrestore(&starter_lock, flags);
}

/* A profiler needs no more call chains. It may be older than the module. */
static void notrace on_profiler_end(unsigned long ip, unsigned long parent_ip,
				    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	WRITE_ONCE(profiled_at, jiffies);
	/* It takes no more samples. Those of others set this again. */
	if (atomic_dec_if_positive(&nr_profilers) <= 0)
		WRITE_ONCE(is_sampled, false);
}

static struct ftrace_ops profiler_ops = { .func = on_profiler };
static struct ftrace_ops profiler_end_ops = { .func = on_profiler_end };
static bool hooked_profiler, hooked_profiler_end;

static void cancel_starter(void)
{
	raw_spin_lock_irq(&starter_lock);
	if (starter && sfu_cancel_task_work(starter, &start_task_work, UINT_MAX)) {
		starter = NULL;
		atomic_dec(&nr_starting);
	}
	raw_spin_unlock_irq(&starter_lock);
}

/* Hooks the events: somebody may profile already. Returns the error of a required hook. */
int sfu_event_init(void)
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
 * Takes all hooks of events off, and forgets all processes. No sample comes any more. A starter is
 * cancelled, or waits for nothing but ftrace. After synchronize_rcu_tasks() no task is left in the
 * tail of start_in_task().
 */
void sfu_event_exit(void)
{
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
	cancel_delayed_work_sync(&watch_check);
	cancel_starter();
	/* Pairs with start_in_task(). */
	while (atomic_read_acquire(&nr_starting))
		schedule_timeout_uninterruptible(1);
	synchronize_rcu_tasks();
}
