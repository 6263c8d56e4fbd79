// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hash table of processes: a sample finds its process by the mm, under RCU.
 *
 * Processes are in the table only while mmap(), munmap(), fork() and exit are hooked. The hook of
 * exit_mmap() removes a process before its mm is freed. So an mm in the table is never mistaken for
 * a later mm at its address. A process is freed an RCU grace period after its last reference.
 */
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>

#include "map/scan.h"
#include "sframe_stats.h"

/* Attempts of a sample to take processes_lock. With half, more samples fail on large machines. */
#define LOCK_TRIES	200

static DEFINE_HASHTABLE(processes, 12);

/* Protects writes to the hash table, and the variables below. Taken with interrupts disabled. */
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
	/* A sample passes no map, and its process may be old: 0 makes it count as old. */
	process->quota.began_at = map ? ktime_get_mono_fast_ns() : 0;
	process->quota.event_scans = SFU_EVENT_SCANS_MAX;
	sfu_request_init(&process->request);
	RCU_INIT_POINTER(process->map, map);
	hash_add_rcu(processes, &process->node, (unsigned long)mm);
	atomic_long_inc(&sfu_held.processes);
	return process;
}

/*
 * Adds the process of @mm, which has users, to the hash table. Takes over the caller's reference of
 * @map, which may be NULL. Returns NULL if the table has the process already or is closed, no spare
 * process is left, or processes_lock is not free.
 */
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map)
{
	struct sfu_process *process;
	unsigned long flags;
	unsigned int i;

	/*
	 * The hooks of mmap() and fork() pass a map, and wait until another CPU releases the lock.
	 * A sample passes no map, and gives up: in an NMI it may have interrupted the holder.
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
	/* Drop the map now: munmap() changes a map only if no other process has it, too. */
	sfu_map_put(unrcu_pointer(xchg(&process->map, NULL)));
	sfu_process_put(process);
}

/* Removes the process of @mm, which has no users left. Only users add it, so it stays removed. */
void sfu_processes_end(struct mm_struct *mm)
{
	struct sfu_process *process;

	guard(rcu)();
	process = sfu_processes_find(mm);
	if (process)
		remove_process(process);
}

/* Returns the process of @mm, which is added if needed, with a reference; or NULL. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm)
{
	struct sfu_process *process;

	guard(rcu)();
	process = sfu_processes_find(mm) ?: sfu_processes_add(mm, NULL);
	return process && refcount_inc_not_zero(&process->refs) ? process : NULL;
}

/* Scans the process of current at once, as after a sample. Returns as sfu_scan(), or -ENOMEM. */
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

/* Allows processes to be added to the table. The caller has set the hooks (map/event.c). */
void sfu_processes_open(void)
{
	scoped_guard(raw_spinlock_irq, &processes_lock)
		is_open = true;
}

/* Removes all processes, and adds no new ones. Then the caller removes the hooks (map/event.c). */
void sfu_processes_close(void)
{
	struct sfu_process *process;
	unsigned int i;

	scoped_guard(raw_spinlock_irq, &processes_lock)
		is_open = false;
	for (i = 0; i < HASH_SIZE(processes); i++) {
		/* Under RCU, a removed process keeps its next pointer: the loop can go on. */
		scoped_guard(rcu)
			hlist_for_each_entry_rcu(process, &processes[i], node)
				remove_process(process);
		cond_resched();
	}
}

/*
 * Waits until all removed processes and their maps are freed. No hook, walk, request or scan is
 * left, and the table is closed, so no spare process is taken. The first rcu_barrier() waits for
 * the processes, the second for the maps that they free.
 */
void sfu_processes_exit(void)
{
	sfu_spares_exit();
	rcu_barrier();
	rcu_barrier();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.processes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.process_tables));
}
