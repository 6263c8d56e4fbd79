// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hash table of processes, by mm. Samples search it under RCU.
 *
 * The table has entries only while exit_mmap() and munmap() are hooked. The hook of exit_mmap()
 * removes a process before its mm is freed. So no later mm at the same address finds this process.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>

#include "map/scan.h"
#include "sframe_stats.h"

/* Tries of a sample to take processes_lock. With half as many tries, more samples give up. */
#define LOCK_TRIES	200

static DEFINE_HASHTABLE(processes, 12);

/* Protects changes of the hash table, is_open and last_number. Taken with interrupts disabled. */
static DEFINE_RAW_SPINLOCK(processes_lock);
static bool is_open;
static u64 last_number;

struct sfu_process *sfu_processes_find(struct mm_struct *mm)
{
	struct sfu_process *process;

	hash_for_each_possible_rcu(processes, process, node, (unsigned long)mm,
				   lockdep_is_held(&processes_lock))
		if (process->mm == mm)
			return process;
	return NULL;
}

/* Called under processes_lock. */
static struct sfu_process *add_locked(struct mm_struct *mm, struct sfu_map *map)
{
	struct sfu_process *process;

	if (!is_open || sfu_processes_find(mm))
		return NULL;
	process = sfu_spares_take();
	if (!process)
		return NULL;
	process->mm = mm;
	process->number = ++last_number;
	/* Only execve() and fork() pass a @map: the process is new. Else its age is unknown. */
	process->quota.began_at = map ? ktime_get_mono_fast_ns() : 0;
	process->quota.event_scans = SFU_EVENT_SCANS_MAX;
	sfu_request_init(&process->request);
	RCU_INIT_POINTER(process->map, map);
	hash_add_rcu(processes, &process->node, (unsigned long)mm);
	atomic_long_inc(&sfu_held.processes);
	return process;
}

/*
 * Adds the process of @mm (with mm_users > 0) to the hash table. Takes over the caller's reference
 * to @map, which may be NULL. Returns NULL if the table has the process, or cannot take it now.
 */
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map)
{
	struct sfu_process *process;
	unsigned long flags;
	unsigned int i;

	/*
	 * Without @map, the caller may be a sample, in an NMI that has interrupted the holder of
	 * the lock. So it gives up after LOCK_TRIES. Hooks of mmap() and fork(), with @map, wait.
	 */
	for (i = 0; !raw_spin_trylock_irqsave(&processes_lock, flags); i++) {
		if (!map && i == LOCK_TRIES)
			return NULL;
		cpu_relax();
	}
	process = add_locked(mm, map);
	raw_spin_unlock_irqrestore(&processes_lock, flags);
	if (!process)
		sfu_map_put(map);
	return process;
}

static void remove_process(struct sfu_process *process)
{
	bool was_known;

	scoped_guard(raw_spinlock_irqsave, &processes_lock) {
		was_known = hash_hashed(&process->node);
		hash_del_rcu(&process->node);
	}
	if (!was_known)
		return;
	sfu_request_close(process);
	/*
	 * This process may be a forked child that still shares its parent's map. While the map is
	 * shared, munmap() in the parent must not mark code in it as unmapped: it drops the map, so
	 * that the parent needs a new scan. To end the sharing early, put the map now, not a
	 * grace period later in free_process().
	 */
	sfu_map_put(unrcu_pointer(xchg(&process->map, NULL)));
	sfu_process_put(process);
}

/* Called in exit_mmap(): removes the process of @mm. No task is left that could add it again. */
void sfu_processes_end(struct mm_struct *mm)
{
	struct sfu_process *process;

	guard(rcu)();
	process = sfu_processes_find(mm);
	if (process)
		remove_process(process);
}

struct sfu_process *sfu_processes_get(struct mm_struct *mm)
{
	struct sfu_process *process;

	guard(rcu)();
	process = sfu_processes_find(mm) ?: sfu_processes_add(mm, NULL);
	return process && refcount_inc_not_zero(&process->refs) ? process : NULL;
}

/* For a stack unwound in task context: current scans its process (@mm) at once, as for a sample. */
int sfu_processes_scan(struct mm_struct *mm)
{
	struct sfu_process *process = sfu_processes_get(mm);
	int err;

	if (!process)
		return -ENOMEM;
	err = sfu_scan(process, SFU_SCAN_SAMPLE);
	sfu_process_put(process);
	sfu_spares_refill(2);
	return err;
}

/* The caller has set the hooks of munmap() and exit. */
void sfu_processes_open(void)
{
	scoped_guard(raw_spinlock_irq, &processes_lock)
		is_open = true;
}

/* Closes and empties the hash table. After this, the caller unhooks munmap() and exit_mmap(). */
void sfu_processes_close(void)
{
	struct sfu_process *process;
	unsigned int i;

	scoped_guard(raw_spinlock_irq, &processes_lock)
		is_open = false;
	for (i = 0; i < HASH_SIZE(processes); i++) {
		/* hash_del_rcu() keeps the next pointer of a removed entry: the loop can go on. */
		scoped_guard(rcu)
			hlist_for_each_entry_rcu(process, &processes[i], node)
				remove_process(process);
		cond_resched();
	}
}

/* Called at unload, after all hooks, walks and scans. Waits until processes, maps are freed. */
void sfu_processes_exit(void)
{
	/* By now, no hook, request or scan can take preallocated processes, or add some. */
	sfu_spares_exit();
	/* Wait until RCU callbacks have freed the processes. This puts their maps. */
	rcu_barrier();
	/* Wait until RCU callbacks have freed the maps that free_process() has put. */
	rcu_barrier();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.processes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.process_tables));
}
