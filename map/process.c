// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes: from an mm to its map.
 *
 * A sample looks the process up by its mm in a hash table, under RCU. Processes are in the
 * table only while the hooks of events are set: sfu_process_open() and sfu_process_close().
 * The hook of exit_mmap() takes a process out before its mm is freed. So an mm in the table
 * is never mistaken for a later one at the same address. A process is freed an RCU grace
 * period after its last reference.
 *
 * Samples and hooks add processes, and must not allocate: an NMI may come anywhere, and
 * hooks may run with preemption disabled. They take a spare one. The task that scans the
 * new process allocates the next spare one, in place of what it has used. It may sleep for
 * ever before it does. So if few are left, a worker allocates some: that is all that a
 * worker does.
 *
 * Locks. processes_lock protects the chains of the table, spares, and is_open. It is a raw
 * spinlock, held for a few instructions with interrupts disabled. A sample only tries it,
 * for it may have interrupted the holder.
 *
 * Memory: each process has a map, which is charged to the memory control group of the task that
 * scans, until the process ends or nobody profiles any more.
 */
#define pr_fmt(fmt) "sframe_unwind: " fmt

#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "table/jit.h"
#include "map/map.h"
#include "map/process.h"
#include "sframe_stats.h"

#define SPARES_MAX	128
#define SPARES_LOW	64
#define LOCK_TRIES	200	/* of a sample */

/* Read under RCU, written under processes_lock. */
static DEFINE_HASHTABLE(processes, 12);
static DEFINE_RAW_SPINLOCK(processes_lock);

/* Under processes_lock. */
static HLIST_HEAD(spares);
static unsigned int nr_spares;
static bool is_open;
static u64 last_number;

/* Returns the process with this memory, or NULL. Mostly there is none, and that costs one load. */
struct sfu_process *sfu_process_find(struct mm_struct *mm)
{
	struct sfu_process *process;

	hash_for_each_possible_rcu(processes, process, node, (unsigned long)mm,
				   lockdep_is_held(&processes_lock))
		if (process->mm == mm)
			return process;
	return NULL;
}

static void refill_in_worker(struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < SPARES_MAX; i += 2)
		sfu_process_refill();
}

static DECLARE_WORK(refill_work, refill_in_worker);

static void queue_refill(struct irq_work *irq_work)
{
	schedule_work(&refill_work);
}

static struct irq_work refill_irq_work = IRQ_WORK_INIT_HARD(queue_refill);

/* Under processes_lock. */
static struct sfu_process *take_spare(void)
{
	struct sfu_process *process;

	if (!nr_spares)
		return NULL;
	process = hlist_entry(spares.first, struct sfu_process, node);
	hlist_del(&process->node);
	nr_spares--;
	return process;
}

/* Under processes_lock. */
static struct sfu_process *add_spare_for(struct mm_struct *mm, struct sfu_map *map)
{
	struct sfu_process *process;

	if (!is_open || sfu_process_find(mm))
		return NULL;
	process = take_spare();
	if (nr_spares < SPARES_LOW)
		irq_work_queue(&refill_irq_work);
	if (!process)
		return NULL;
	process->mm = mm;
	process->number = ++last_number;
	/* A process without a map was sampled before an event has reported it. */
	process->began_at = map ? ktime_get_mono_fast_ns() : 0;
	process->event_scans = SFU_EVENT_SCANS_MAX;
	RCU_INIT_POINTER(process->map, map);
	hash_add_rcu(processes, &process->node, (unsigned long)mm);
	atomic_long_inc(&sfu_held.processes);
	return process;
}

/**
 * sfu_process_add() - a new process is known from now on
 * @mm: its memory, which has users
 * @map: its map; this takes the reference of the caller
 *
 * Return: The process. NULL: it is known already, there is no spare one, or the table is
 * closed.
 */
struct sfu_process *sfu_process_add(struct mm_struct *mm, struct sfu_map *map)
{
	struct sfu_process *process;
	unsigned long flags;

	raw_spin_lock_irqsave(&processes_lock, flags);
	process = add_spare_for(mm, map);
	raw_spin_unlock_irqrestore(&processes_lock, flags);
	if (!process)
		sfu_map_put(map);
	return process;
}

/**
 * sfu_process_add_child() - a process has a new child
 * @mm: memory of the child, which has not run yet
 * @parent: the process
 * @map: its map; this takes the reference of the caller
 * @inherited_matches: the child has been found to have all mappings of @map
 *
 * The child goes on with the map of its parent until its first scan. If the map is right, that is
 * when a sample or new code needs a scan. Else the scan takes place before the child enters user
 * mode: the parent's other threads may have changed its mappings since the child's were copied.
 * The scan finds that out. Until then the stack of the child is that of the parent's call, and
 * leads to code that both have.
 *
 * Return: The process of the child, or NULL: as sfu_process_add().
 */
struct sfu_process *sfu_process_add_child(struct mm_struct *mm, struct sfu_process *parent,
					  struct sfu_map *map, bool inherited_matches)
{
	struct sfu_process *process;
	unsigned long flags;

	raw_spin_lock_irqsave(&processes_lock, flags);
	process = add_spare_for(mm, map);
	if (process) {
		process->inherited = map;
		process->inherited_matches = inherited_matches;
		process->has_new_code = !inherited_matches;
		process->awaited_start = READ_ONCE(parent->awaited_start);
		process->awaited_end = READ_ONCE(parent->awaited_end);
	}
	raw_spin_unlock_irqrestore(&processes_lock, flags);
	if (!process)
		sfu_map_put(map);
	return process;
}

/* As sfu_process_add(), for a sample. Also returns NULL if another CPU holds processes_lock. */
struct sfu_process *sfu_process_try_add(struct mm_struct *mm)
{
	struct sfu_process *process;
	unsigned long flags;
	unsigned int i;

	/* Another CPU holds the lock for a moment only, this one until the sample is over. */
	for (i = 0; i < LOCK_TRIES; i++) {
		if (!raw_spin_trylock_irqsave(&processes_lock, flags)) {
			cpu_relax();
			continue;
		}
		process = add_spare_for(mm, NULL);
		raw_spin_unlock_irqrestore(&processes_lock, flags);
		return process;
	}
	return NULL;
}

static void process_free_rcu(struct rcu_head *rcu)
{
	struct sfu_process *process = container_of(rcu, struct sfu_process, rcu);

	sfu_map_put(rcu_dereference_protected(process->map, true));
	sfu_jit_forget(process, 0, ULONG_MAX);
	atomic_long_sub(sizeof(*process), &sfu_held.bytes);
	atomic_long_dec(&sfu_held.processes);
	kfree(process);
}

/* Drops a reference. */
void sfu_process_put(struct sfu_process *process)
{
	if (refcount_dec_and_test(&process->refs))
		call_rcu(&process->rcu, process_free_rcu);
}

/*
 * The first scan of a child is over: it uses the map of its parent no more. The scan has published
 * another one, or has failed. If it has failed, the child keeps the map only if that is known to
 * be right.
 */
void sfu_process_drop_inherited(struct sfu_process *process)
{
	struct sfu_map *map;

	if (process->inherited_matches)
		return;
	map = READ_ONCE(process->inherited);
	if (map && unrcu_pointer(cmpxchg(&process->map, RCU_INITIALIZER(map), NULL)) == map)
		sfu_map_put(map);
	/* After the map: a walk that has it must know whose it is. */
	smp_store_release(&process->inherited, NULL);
}

/* Takes a process out of the table, unless another context has just done so. */
static void remove_process(struct sfu_process *process)
{
	unsigned long flags;
	bool was_known;

	raw_spin_lock_irqsave(&processes_lock, flags);
	was_known = hash_hashed(&process->node);
	hash_del_rcu(&process->node);
	raw_spin_unlock_irqrestore(&processes_lock, flags);
	if (!was_known)
		return;
	sfu_request_close(process);
	/* A map that is shared no more can be changed again. */
	sfu_map_put(unrcu_pointer(xchg(&process->map, NULL)));
	sfu_process_put(process);
}

/*
 * A process has ended: its memory has no users any more. Only tasks that use the memory add a
 * process, so none is added any more.
 */
void sfu_process_end(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_process_find(mm);
	if (process)
		remove_process(process);
	rcu_read_unlock();
}

/* Returns the process of current with a reference, or NULL if it cannot be added. */
struct sfu_process *sfu_process_get(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_process_find(mm) ?: sfu_process_try_add(mm);
	if (process && !refcount_inc_not_zero(&process->refs))
		process = NULL;
	rcu_read_unlock();
	return process;
}

/* Returns the map of a process with a reference, or NULL if the process has not been scanned. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process)
{
	struct sfu_map *map;

	rcu_read_lock();
	map = sfu_process_map(process);
	if (map && !refcount_inc_not_zero(&map->refs))
		map = NULL;
	rcu_read_unlock();
	return map;
}

/*
 * The next event that maps something at these addresses requests a scan. A scan forgets this. If
 * the process is scanned at this moment, it may be lost.
 */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end)
{
	unsigned long first = READ_ONCE(process->awaited_start);

	WRITE_ONCE(process->awaited_start, first ? min(first, start) : start);
	WRITE_ONCE(process->awaited_end, max(READ_ONCE(process->awaited_end), end));
}

/*
 * Addresses of a process have been unmapped that its map has. A map that processes share is not
 * changed: the process goes on without one until the next scan. So does a process that unmaps very
 * many ranges at once. Returns false if the process has no map any more, and needs a scan.
 */
bool sfu_process_change_map(struct sfu_process *process, struct sfu_map *map,
			    unsigned long start, unsigned long end)
{
	bool code_remains = false;

	if (refcount_read(&map->refs) == 1 && sfu_map_unmap(map, start, end, &code_remains)) {
		if (code_remains)
			sfu_process_await(process, start, end);
		return true;
	}
	/* If a scan has published another map meanwhile, that one is without these addresses. */
	if (unrcu_pointer(cmpxchg(&process->map, RCU_INITIALIZER(map), NULL)) != map)
		return true;
	WRITE_ONCE(process->inherited, NULL);
	sfu_map_put(map);
	return false;
}

/* Samples use a new map from now on. This takes the reference of the caller. */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map)
{
	struct sfu_map *last;

	lockdep_assert_held(&process->lock);
	/* Pairs with rcu_dereference_check() in sfu_process_map(). */
	last = unrcu_pointer(xchg(&process->map, RCU_INITIALIZER(map)));
	WRITE_ONCE(process->inherited, NULL);
	sfu_map_put(last);
}

static struct sfu_process *process_alloc(void)
{
	struct sfu_process *process = kzalloc_obj(*process, SFU_GFP_TASK);

	if (!process)
		return NULL;
	refcount_set(&process->refs, 1);
	mutex_init(&process->lock);
	INIT_LIST_HEAD(&process->jit_tables);
	sfu_request_init(&process->request);
	return process;
}

/* Returns false if there are enough. */
static bool put_spare(struct sfu_process *process)
{
	bool has_room;

	raw_spin_lock_irq(&processes_lock);
	has_room = nr_spares < SPARES_MAX;
	if (has_room) {
		hlist_add_head(&process->node, &spares);
		nr_spares++;
	}
	raw_spin_unlock_irq(&processes_lock);
	return has_room;
}

/*
 * Allocates what the caller has used of the spare processes: two at a time, so that the number
 * recovers after a shortage of memory.
 */
void sfu_process_refill(void)
{
	struct sfu_process *process;
	unsigned int i;

	for (i = 0; i < 2 && READ_ONCE(nr_spares) < SPARES_MAX; i++) {
		process = process_alloc();
		if (!process)
			return;
		if (!put_spare(process)) {
			kfree(process);
			return;
		}
		atomic_long_add(sizeof(*process), &sfu_held.bytes);
	}
}

static void set_open(bool open)
{
	raw_spin_lock_irq(&processes_lock);
	is_open = open;
	raw_spin_unlock_irq(&processes_lock);
}

/* Processes may be added from now on: the hooks of events are set. */
void sfu_process_open(void)
{
	set_open(true);
}

/* Forgets all processes, and adds none. The caller removes the hooks of events after this. */
void sfu_process_close(void)
{
	struct sfu_process *process;
	unsigned int i;

	set_open(false);
	for (i = 0; i < HASH_SIZE(processes); i++) {
		rcu_read_lock();
		/* A process that is removed stays in the grace period, with its next one. */
		hlist_for_each_entry_rcu(process, &processes[i], node)
			remove_process(process);
		rcu_read_unlock();
		cond_resched();
	}
}

/* Allocates the spare processes. Returns -ENOMEM if there are none. */
int sfu_process_init(void)
{
	unsigned int i;

	for (i = 0; i < SPARES_MAX; i += 2)
		sfu_process_refill();
	return nr_spares ? 0 : -ENOMEM;
}

/*
 * Frees the spare processes, and waits for all that are being freed.
 *
 * No hook, walk, request or scan is left, and the table is closed, so nothing queues
 * refill_irq_work. The first rcu_barrier() waits for process_free_rcu(), the second for the maps
 * that it frees. sfu_table_exit() waits for the tables of the processes.
 */
void sfu_process_exit(void)
{
	struct sfu_process *process;

	irq_work_sync(&refill_irq_work);
	cancel_work_sync(&refill_work);
	for (;;) {
		raw_spin_lock_irq(&processes_lock);
		process = take_spare();
		raw_spin_unlock_irq(&processes_lock);
		if (!process)
			break;
		atomic_long_sub(sizeof(*process), &sfu_held.bytes);
		kfree(process);
	}
	rcu_barrier();
	rcu_barrier();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.processes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.process_tables));
}
