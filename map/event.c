// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: ftrace hooks of kernel functions in which a process maps or unmaps code, forks, or ends.
 *
 * Preemption may be disabled in the hooks: they do bounded work, allocate nothing, and wait for no
 * lock but raw spinlocks. MMU notifiers would make a process wait for a grace period at its end.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/mm.h>

#include "compat.h"
#include "map/scan.h"
#include "sframe_hook.h"
#include "table/table.h"

/*
 * Maximum of ranges in a parent's map that fork() compares with the VMAs of the child; above it,
 * the child is scanned. With half, more are scanned; with the double, preemption is off for longer.
 */
#define MATCH_MAX_RANGES	64

/*
 * After mmap(), munmap() or fork(), the process should be scanned before a sample comes. But a scan
 * of many mappings takes long, and is in vain if no sample comes. So in processes that exceed these
 * limits, only the first sample requests the scan, and lacks callers. If the limits were half, more
 * first samples would lack callers. If they were double, more long scans would be in vain.
 */
#define SCAN_EVENT_MAX		1024	/* maximum of mappings of the process */
/* If the parent has more executable mappings than this, fork() requests no scan of the child. */
#define SCAN_CHILD_MAX		256

static bool has_many_mappings(const struct mm_struct *mm)
{
	return READ_ONCE(mm->map_count) > SCAN_EVENT_MAX;
}

/*
 * Called under mmap_lock, after mmap() or mprotect() has changed @vma. Requests a scan if @vma maps
 * a file, and is executable or may be an .sframe section that the last scan did not find.
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
	/* A new program in execve() has no code but @vma: its process begins with an empty map. */
	if (!process && current->in_execve && vma->vm_file)
		process = sfu_processes_add(mm, sfu_map_get_empty());
	if (process && (vma->vm_flags & VM_EXEC ||
			(vma->vm_start < READ_ONCE(process->vma_hints.await_end) &&
			 vma->vm_end > READ_ONCE(process->vma_hints.await_start)))) {
		WRITE_ONCE(process->vma_hints.has_new_code, true);
		/* Scan for files only: in anonymous code, the first sample requests a scan. */
		if (vma->vm_file && !has_many_mappings(mm))
			sfu_request_for_event(process, current);
	}
	rcu_read_unlock_sched();
}

/* Makes walks stop using code and sections in @vma, which has left its mm. Under mmap_lock. */
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
 * Returns true if a forked child maps all code in @map, the map of its parent. The child lacks code
 * with MADV_DONTFORK, and code that another thread mapped after fork() had copied the VMAs.
 */
static bool matches_child(struct mm_struct *child, const struct sfu_map *map)
{
	bool matches;

	/* Do not wait for mmap_lock: preemption may be disabled. */
	if (!map->nr_ranges || map->nr_ranges > MATCH_MAX_RANGES || !mmap_read_trylock(child))
		return false;
	matches = sfu_vmas_match(child, map);
	mmap_read_unlock(child);
	return matches;
}

/* Returns true if the map lists all code that mmap() reported. Call this before reading the map. */
static bool is_map_complete(struct sfu_process *process)
{
	/*
	 * mmap() of code sets has_new_code. A scan takes the lock, clears has_new_code, publishes
	 * the new map, and drops the lock. So the map may lack code if has_new_code is set or the
	 * lock is held. Test the lock last: else a scan could take it, and clear has_new_code,
	 * between the two tests. Then the old map would seem complete.
	 */
	bool is_complete = !smp_load_acquire(&process->vma_hints.has_new_code) &&
			   !mutex_is_locked(&process->lock);

	/* Without this barrier, the caller may read the map before the lock: an old map. */
	smp_rmb();
	return is_complete;
}

/*
 * Called after current has forked @child, which has not run yet. Lets @child use its parent's map
 * until its own first scan. Ignores threads and vfork().
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
	/*
	 * Request no scan at fork() if it would be long, or the parent has used up its quota of
	 * scans: the child's first sample will request it. Samples raise the quota. Without the
	 * quota, each child of a parent that is never sampled would be scanned.
	 */
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
	/*
	 * The child scans before it enters user mode. Until then, walks may use the parent's map:
	 * the child's stack is a copy of the parent's at fork(), so its frames are in code that
	 * both processes map.
	 */
	if (!matches)
		sfu_request_for_event(process, child);
}

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

static struct event_hook {
	const char		*function;
	bool			is_required;
	struct ftrace_ops	ops;
} event_hooks[] = {
	/* munmap(): the kernel calls unlink_anon_vmas() for each VMA that it removes. */
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

/* Sets all hooks, and returns 0. If a required hook fails, sets none, and returns the error. */
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
