// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: a process maps or unmaps code, forks, or ends.
 *
 * This file hooks the kernel functions where that happens, and updates the maps. New code
 * is scanned before its first instruction. Removed code is marked as unmapped. A child
 * gets a copy of the map of its parent. A process that ends leaves the table.
 *
 * mmu notifiers would report some of this. But a process that has one waits for a grace
 * period at its end.
 *
 * New code and new children are handled only while somebody profiles. Otherwise a later
 * sample requests the scan.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "sframe_event.h"
#include "sframe_hook.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_request.h"
#include "sframe_scan.h"

#define PROFILED_FOR	(600 * HZ)	/* after the last sample */

static unsigned long profiled_at;	/* in jiffies */

/**
 * sfu_event_profiled() - somebody profiles, or is about to
 *
 * Context: Any, NMI included.
 */
void sfu_event_profiled(void)
{
	unsigned long now = jiffies;

	/* Samples come on all CPUs: most of them do not write. */
	if (now - READ_ONCE(profiled_at) > HZ)
		WRITE_ONCE(profiled_at, now);
}

static bool is_profiled(void)
{
	return time_before(jiffies, READ_ONCE(profiled_at) + PROFILED_FOR);
}

/**
 * sfu_event_mmap() - current has a new mapping, or one that has changed
 * @vma: the mapping
 *
 * Context: Task, mmap_lock held, preemption disabled.
 */
void sfu_event_mmap(struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	struct sfu_process *process;

	if (!vma->vm_file || mm != current->mm || current->flags & PF_KTHREAD ||
	    !is_profiled())
		return;
	rcu_read_lock();
	process = sfu_process_find(mm);
	/* execve(): the new program has no code yet, so an empty map is complete. */
	if (!process && current->in_execve)
		sfu_process_begin(mm, sfu_map_alloc(0, SFU_GFP_HOOK), PAGE_SIZE);
	if (vma->vm_flags & VM_EXEC)
		sfu_request_for_code(current, vma);
	else if (process && READ_ONCE(process->rescan_needed))
		sfu_request_for_process(current, mm);
	rcu_read_unlock();
}

/**
 * sfu_event_unmap() - a mapping has been removed
 * @vma: the mapping
 *
 * Context: Task, mmap_lock held, preemption disabled.
 */
void sfu_event_unmap(struct vm_area_struct *vma)
{
	struct sfu_process *process;
	struct sfu_map *map;

	rcu_read_lock();
	process = sfu_process_find(vma->vm_mm);
	map = process ? rcu_dereference(process->map) : NULL;
	if (map && sfu_map_unmap(map, vma->vm_start, vma->vm_end))
		WRITE_ONCE(process->rescan_needed, true);
	rcu_read_unlock();
}

/**
 * sfu_event_fork() - current has a new child, which has not run yet
 * @child: the child; it may share its memory with current
 *
 * Context: Task, preemption disabled.
 */
void sfu_event_fork(struct task_struct *child)
{
	struct mm_struct *mm = child->mm;
	struct sfu_map *from, *map = NULL;
	struct sfu_process *parent;
	bool needs_scan = true;
	u64 next_key;

	if (!mm || mm == current->mm || !is_profiled())
		return;
	rcu_read_lock();
	parent = sfu_process_find(current->mm);
	from = parent ? rcu_dereference(parent->map) : NULL;
	if (from && mmap_read_trylock(mm)) {
		map = sfu_scan_inherit(from, mm);
		mmap_read_unlock(mm);
	}
	if (map) {
		/* Without a section the child needs no scan, else its page tables are empty. */
		needs_scan = map->nr_sections;
		/* Not before the map: pairs with sfu_process_publish(). */
		smp_rmb();
		next_key = READ_ONCE(parent->next_key);
		sfu_process_begin(mm, map, next_key);
	}
	if (needs_scan)
		sfu_request_for_process(child, mm);
	rcu_read_unlock();
}

/**
 * sfu_event_end() - a process ends: its memory has no users any more
 * @mm: the memory
 *
 * Context: Task, preemption disabled.
 */
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

static void notrace on_profiler(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	sfu_event_profiled();
}

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
	{ "get_callchain_buffers", false, { .func = on_profiler } },
};

/* These hooks are the first to be set, so they are the first to find ftrace turned off. */
static void report_required(const char *function, int err)
{
	if (err == -EBUSY)
		pr_err("ftrace is turned off, and without it no stack can be unwound: turn it on (sysctl kernel.ftrace_enabled=1) and load the module again\n");
	else
		pr_err("this kernel's %s() cannot be traced by ftrace (error %d), so nothing reports when code is unmapped, and stacks might be wrong\n",
		       function, err);
}

/**
 * sfu_event_init() - hook the events
 *
 * Context: May sleep.
 * Return: 0, or the error of a required hook, which has been reported.
 */
int sfu_event_init(void)
{
	unsigned int i;

	sfu_event_profiled();
	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		struct event_hook *hook = &event_hooks[i];
		int err = sfu_hook(&hook->ops, hook->function);

		hook->is_hooked = !err;
		if (!err)
			continue;
		if (hook->is_required) {
			report_required(hook->function, err);
			sfu_event_exit();
			return err;
		}
		pr_info("%s() cannot be traced by ftrace (error %d): new code may lose its first sample\n",
			hook->function, err);
	}
	return 0;
}

/**
 * sfu_event_exit() - take all hooks of events off
 *
 * Context: May sleep.
 */
void sfu_event_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(event_hooks); i++) {
		if (event_hooks[i].is_hooked)
			sfu_unhook(&event_hooks[i].ops);
		event_hooks[i].is_hooked = false;
	}
}
