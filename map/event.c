// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: hooks of the kernel functions by which a process maps or unmaps code, forks, or ends.
 *
 * The hooks may run with preemption disabled. They allocate nothing, take raw spinlocks only, and
 * try to take mmap_lock only of a child that has not run yet. Their work is bounded. MMU notifiers
 * are not used: a process that has a notifier waits for a grace period when it ends.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>

#include "compat.h"
#include "map/scan.h"
#include "sframe_hook.h"
#include "table/table.h"

/*
 * A map with more ranges is not compared with the VMAs of a forked child, because preemption is
 * disabled. With half, more children are scanned; with the double, it is disabled for longer.
 */
#define MATCH_MAX_RANGES	64

/*
 * mmap(), munmap() and fork() request no scan of a process with more than SCAN_EVENT_MAX mappings,
 * nor fork() of a child whose parent has more than SCAN_CHILD_MAX ranges: the scan takes long, and
 * a sample may never come. With half, more processes lose their first sample; with the double, a
 * process that is never sampled may spend more time on one scan.
 */
#define SCAN_EVENT_MAX		1024
#define SCAN_CHILD_MAX		256

static bool has_many_mappings(const struct mm_struct *mm)
{
	return READ_ONCE(mm->map_count) > SCAN_EVENT_MAX;
}

/*
 * Called after @vma was mapped or changed, under mmap_lock. Requests a scan if @vma maps a file as
 * code, or where the last scan missed a section. Anonymous code waits for its first sample, as does
 * a running process that is not in the hash table.
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
	/* In execve(), this is the first mapping of the new program, so an empty map is right. */
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

/* Called after @vma was removed from its mm, under mmap_lock. */
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
 * Returns true if @map, of the parent, also describes the child, which has not run yet. They differ
 * if another thread of the parent maps code after fork() has copied the VMAs, or by MADV_DONTFORK.
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
 * Returns true if the map that the caller reads after this call has all code that mmap() has
 * reported. A scan takes the lock, clears has_new_code, publishes the map, and releases the lock.
 */
static bool is_map_complete(struct sfu_process *process)
{
	/* Read the lock after the flag: scans clear has_new_code only while they hold the lock. */
	bool is_complete = !smp_load_acquire(&process->vma_hints.has_new_code) &&
			   !mutex_is_locked(&process->lock);

	/* Read the map after the lock: scans publish the map before they release the lock. */
	smp_rmb();
	return is_complete;
}

/*
 * Called after current has forked @child, which has not run yet, and may be a thread of current.
 *
 * A child inherits the map of its parent until its first scan. If the map does not match the VMAs
 * of the child, the child is scanned before it enters user mode. Until then its stack is a copy of
 * the stack of the parent's fork() call, and leads to code that both processes have.
 *
 * If this scan takes long, or the parent has no scan for events left, the child gets no map, and
 * waits for its first sample: else a parent without samples would have all its children scanned.
 */
void sfu_event_fork(struct task_struct *child)
{
	struct sfu_process *parent, *process;
	struct mm_struct *mm = child->mm;
	bool is_complete, matches;
	struct sfu_map *map;

	if (!mm || mm == current->mm || !sfu_watch_expects_samples())
		return;
	guard(rcu)();
	parent = sfu_processes_find(current->mm);
	if (!parent)
		return;
	is_complete = is_map_complete(parent);
	map = sfu_process_get_map(parent);
	if (!map)
		return;
	matches = is_complete && matches_child(mm, map);
	if (!matches && (has_many_mappings(mm) || map->nr_ranges > SCAN_CHILD_MAX ||
			 !READ_ONCE(parent->quota.event_scans))) {
		sfu_map_put(map);
		return;
	}
	process = sfu_processes_add(mm, map);
	if (!process)
		return;
	process->inherited.map = map;
	process->inherited.matches = matches;
	process->vma_hints = parent->vma_hints;
	process->vma_hints.has_new_code = !matches;
	if (!matches)
		sfu_request_for_event(process, child);
}

/* Defines a callback that passes the first argument of the hooked kernel function to @handle(). */
#define DEFINE_CALLBACK(name, handle)						\
static void notrace name(unsigned long ip, unsigned long parent_ip,		\
			 struct ftrace_ops *ops, struct ftrace_regs *fregs)	\
{										\
	handle((void *)ftrace_regs_get_argument(fregs, 0));			\
}

DEFINE_CALLBACK(on_mmap, sfu_event_mmap)
DEFINE_CALLBACK(on_unmap, sfu_event_unmap)
DEFINE_CALLBACK(on_fork, sfu_event_fork)
DEFINE_CALLBACK(on_process_end, sfu_processes_end)

/* The hooked kernel functions. If a required one cannot be hooked, the module does not load. */
static struct event_hook {
	const char		*function;
	bool			is_required;
	struct ftrace_ops	ops;
} event_hooks[] = {
	/* The kernel calls unlink_anon_vmas() for each VMA that it has removed from an mm. */
	{ "unlink_anon_vmas", true, { .func = on_unmap } },
	{ "exit_mmap", true, { .func = on_process_end } },
	{ "perf_event_mmap", false, { .func = on_mmap } },
	{ "perf_event_fork", false, { .func = on_fork } },
};

void sfu_event_remove_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++)
		sfu_unhook(&event_hooks[i].ops);
}

/* Sets all these hooks. Returns 0; or the error of a required hook, and then sets none. */
int sfu_event_set_hooks(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		struct event_hook *hook = &event_hooks[i];
		int err = hook->is_required ? sfu_hook_required(&hook->ops, hook->function) :
					      sfu_hook(&hook->ops, hook->function);

		if (err && hook->is_required) {
			sfu_event_remove_hooks();
			return err;
		}
		if (err)
			pr_info_once("%s() cannot be hooked (error %d): new code may lose its first sample\n",
				     hook->function, err);
	}
	return 0;
}
