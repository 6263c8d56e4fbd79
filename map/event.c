// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: a process maps or unmaps code, forks, or ends.
 *
 * This file hooks the kernel functions where that happens, and updates the maps. New code
 * is scanned before its first instruction. Removed code is marked as unmapped. A child
 * shares the map of its parent. A process that ends leaves the table.
 *
 * The hooks may run with preemption disabled. They allocate nothing, and take raw spinlocks
 * only. They try the mmap_lock of a child that has not run yet. Their work does not grow with what
 * a process has mapped.
 *
 * mmu notifiers would report some of these events. But a process that has a notifier waits for a
 * grace period at its end.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>

#include "compat.h"
#include "map/event.h"
#include "map/map.h"
#include "map/process.h"
#include "map/scan.h"
#include "sframe_hook.h"
#include "table/table.h"

/*
 * A map with more ranges is not compared with a child: preemption is disabled meanwhile. Half: more
 * children are scanned. Twice: preemption is disabled for longer.
 */
#define MATCH_MAX_RANGES	64

/*
 * A process with more mappings, or a child with more ranges, is not scanned for an event: the scan
 * takes long, and a sample may never come. Half: more processes lose their first sample. Twice: a
 * process without a sample may spend longer on one scan.
 */
#define SCAN_EVENT_MAX		1024
#define SCAN_CHILD_MAX		256

static bool has_many_mappings(const struct mm_struct *mm)
{
	return READ_ONCE(mm->map_count) > SCAN_EVENT_MAX;
}

/*
 * Current has a new mapping, or one that has changed. Its mmap_lock is held. If the mapping has
 * code, or is where a section should be, the next scan finds it. Anonymous code, and a process that
 * is not known and runs already, are left to their first sample.
 */
void sfu_event_mmap(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct sfu_process *process;

	if (!(vma->vm_file || vma->vm_flags & VM_EXEC) || mm != current->mm ||
	    current->flags & PF_KTHREAD || !sfu_watch_expects_samples())
		return;
	rcu_read_lock_sched();
	process = sfu_processes_find(mm);
	/* execve(): the new program has no code yet, so an empty map is complete. */
	if (!process && current->in_execve && vma->vm_file)
		process = sfu_processes_add(mm, sfu_map_get_empty());
	if (process && (vma->vm_flags & VM_EXEC ||
			(vma->vm_start < READ_ONCE(process->vma_hints.await_end) &&
			 vma->vm_end > READ_ONCE(process->vma_hints.await_start)))) {
		WRITE_ONCE(process->vma_hints.has_new_code, true);
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
	process = sfu_processes_find(vma->vm_mm);
	if (process)
		sfu_jit_unmap(process, vma->vm_start, vma->vm_end);
	if (process && !sfu_process_unmap(process, vma->vm_start, vma->vm_end) &&
	    vma->vm_mm == current->mm && sfu_watch_expects_samples() &&
	    !has_many_mappings(current->mm))
		sfu_request_for_event(process, current);
	rcu_read_unlock_sched();
}

/*
 * Returns true if the map of the parent is right for its child, too. Other threads may have changed
 * the map since the child's mappings were copied, and MADV_DONTFORK leaves mappings out. So the map
 * is compared with the mappings of the child, which has not run yet.
 */
static bool matches_child(struct mm_struct *child, const struct sfu_map *map)
{
	bool matches;

	if (!map->nr_ranges || map->nr_ranges > MATCH_MAX_RANGES || !mmap_read_trylock(child))
		return false;
	matches = sfu_vmas_match(child, map);
	mmap_read_unlock(child);
	return matches;
}

/*
 * Returns true if the map of a process, which the caller reads next, has all code that events have
 * reported. A scan holds the lock. It clears has_new_code before it publishes the map.
 */
static bool is_map_complete(struct sfu_process *process)
{
	bool is_complete = !READ_ONCE(process->vma_hints.has_new_code);

	/* A scan that has cleared has_new_code has the lock, or had it. */
	smp_rmb();
	is_complete &= !mutex_is_locked(&process->lock);
	/* If the scan has released the lock, its map is published. */
	smp_rmb();
	return is_complete;
}

/*
 * Current has a new child, which has not run yet, and may share its memory with current.
 *
 * The child uses the map of its parent until its first scan. A child that has all code of a
 * complete map is scanned when a sample or new code needs a scan. Any other child is scanned before
 * it enters user mode: the parent's other threads may have changed the map since the child's
 * mappings were copied. Until then the stack of the child is the stack of the parent's call, and
 * leads to code that both have.
 *
 * A child that needs a scan is left to its first sample if the scan takes long, or if the parent
 * has used up its scans for events: no sample completes the map of the parent, so each of its
 * children would be scanned.
 */
void sfu_event_fork(struct task_struct *child)
{
	struct sfu_process *parent, *process;
	struct mm_struct *mm = child->mm;
	bool is_complete, matches;
	struct sfu_map *map;

	if (!mm || mm == current->mm || !sfu_watch_expects_samples())
		return;
	rcu_read_lock();
	parent = sfu_processes_find(current->mm);
	is_complete = parent && is_map_complete(parent);
	map = parent ? sfu_process_get_map(parent) : NULL;
	if (!map)
		goto out;
	matches = is_complete && matches_child(mm, map);
	if (!matches && (has_many_mappings(mm) || map->nr_ranges > SCAN_CHILD_MAX ||
			 !READ_ONCE(parent->quota.event_scans))) {
		sfu_map_put(map);
		goto out;
	}
	process = sfu_processes_add(mm, map);
	if (!process)
		goto out;
	process->inherited.map = map;
	process->inherited.matches = matches;
	process->vma_hints = parent->vma_hints;
	process->vma_hints.has_new_code = !matches;
	if (!matches)
		sfu_request_for_event(process, child);
out:
	rcu_read_unlock();
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
	sfu_processes_end((void *)ftrace_regs_get_argument(fregs, 0));
}

/* Kernel functions that report events. The module cannot load without those that are required. */
static struct event_hook {
	const char		*function;
	bool			is_required;
	struct ftrace_ops	ops;
	bool			is_hooked;
} event_hooks[] = {
	/* Each removed mapping, whole, once it is out of the mm. */
	{ "unlink_anon_vmas", true, { .func = on_unmap } },
	{ "exit_mmap", true, { .func = on_process_end } },
	{ "perf_event_mmap", false, { .func = on_mmap } },
	{ "perf_event_fork", false, { .func = on_fork } },
};

void sfu_event_remove_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		if (event_hooks[i].is_hooked)
			sfu_unhook(&event_hooks[i].ops);
		event_hooks[i].is_hooked = false;
	}
}

/* Returns the error of a hook that is required; then no hook is set. May sleep. */
int sfu_event_set_hooks(void)
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
			sfu_event_remove_hooks();
			return err;
		}
		pr_info_once("%s() cannot be hooked (error %d): new code may lose its first sample\n",
			     hook->function, err);
	}
	return 0;
}
