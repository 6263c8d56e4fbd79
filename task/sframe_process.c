// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes: from an mm to its map and its rule cache.
 *
 * A sample looks the process up by its mm in a hash table, under RCU. A struct
 * sfu_process pins the mm_struct, so an mm in the table is never mistaken for a later
 * one at the same address. The end of the process, or the end of the module, takes the
 * process out of the table. The process and its cache are freed an RCU grace period
 * later.
 *
 * Memory: each process has a map and, if it has a section, one rule cache. Both are
 * charged to the memory control group of the process if the process itself scans.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "sframe_cache.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_stats.h"

#define KEY_MAX		BIT_ULL(63)

/* Read under RCU, written under processes_lock. */
static DEFINE_HASHTABLE(processes, 12);
static DEFINE_SPINLOCK(processes_lock);

/**
 * sfu_process_find() - find a process
 * @mm: its memory
 *
 * Context: Any, under rcu_read_lock() or processes_lock. If the caller keeps the memory in use, the
 * process stays in the table after rcu_read_unlock() as well.
 * Return: The process, or NULL if it is not known.
 */
struct sfu_process *sfu_process_find(struct mm_struct *mm)
{
	struct sfu_process *process;

	hash_for_each_possible_rcu(processes, process, node, (unsigned long)mm,
				   lockdep_is_held(&processes_lock))
		if (process->mm == mm)
			return process;
	return NULL;
}

/**
 * sfu_process_locked_map() - the map of a process
 * @process: the process
 *
 * Context: &sfu_process.lock held.
 * Return: The map, or NULL if the process has not been scanned.
 */
struct sfu_map *sfu_process_locked_map(const struct sfu_process *process)
{
	return rcu_dereference_protected(process->map, lockdep_is_held(&process->lock));
}

static size_t process_size(const struct sfu_process *process)
{
	return sizeof(*process) + (process->cache ? sizeof(*process->cache) : 0);
}

static struct sfu_process *process_alloc(struct mm_struct *mm, gfp_t gfp)
{
	struct sfu_process *process = kzalloc_obj(*process, gfp);

	if (!process)
		return NULL;
	mmgrab(mm);
	process->mm = mm;
	mutex_init(&process->lock);
	process->next_key = PAGE_SIZE;
	process->scanned_at = jiffies;
	atomic_long_add(sizeof(*process), &sfu_held.bytes);
	atomic_long_inc(&sfu_held.processes);
	return process;
}

static void process_free_rcu(struct rcu_head *rcu)
{
	struct sfu_process *process = container_of(rcu, struct sfu_process, rcu);

	sfu_cache_free(process->cache);
	kfree(process);
}

/* The process is not in the table any more, but a sample may still use it. */
static void process_free(struct sfu_process *process)
{
	sfu_map_put(rcu_dereference_protected(process->map, true));
	mmdrop(process->mm);
	atomic_long_dec(&sfu_held.processes);
	atomic_long_sub(process_size(process), &sfu_held.bytes);
	call_rcu(&process->rcu, process_free_rcu);
}

/* Adds a process to the table. If another one has the mm, returns that instead. */
static struct sfu_process *process_add(struct sfu_process *process)
{
	struct sfu_process *found;

	spin_lock(&processes_lock);
	found = sfu_process_find(process->mm);
	if (!found)
		hash_add_rcu(processes, &process->node, (unsigned long)process->mm);
	spin_unlock(&processes_lock);

	if (found)
		process_free(process);
	return found ?: process;
}

/**
 * sfu_process_get() - find a process, or add it to the table
 * @mm: its memory, which the caller keeps in use
 *
 * Context: May sleep.
 * Return: The process, or NULL if there is no memory.
 */
struct sfu_process *sfu_process_get(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_process_find(mm);
	rcu_read_unlock();
	if (process)
		return process;
	process = process_alloc(mm, GFP_KERNEL_ACCOUNT);
	return process ? process_add(process) : NULL;
}

/**
 * sfu_process_begin() - a new process is known from now on
 * @mm: its memory
 * @map: its map, or NULL; this takes the reference of the caller
 * @next_key: for its new ranges
 *
 * If there is no memory, the process is not known until it is scanned.
 *
 * Context: Task; does not sleep.
 */
void sfu_process_begin(struct mm_struct *mm, struct sfu_map *map, u64 next_key)
{
	struct sfu_process *process = process_alloc(mm, SFU_GFP_HOOK);

	if (!process) {
		sfu_map_put(map);
		return;
	}
	RCU_INIT_POINTER(process->map, map);
	process->next_key = next_key;
	process_add(process);
}

/**
 * sfu_process_end() - a process has ended
 * @mm: its memory, which has no users any more
 *
 * Context: Task; does not sleep.
 */
void sfu_process_end(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_process_find(mm);
	rcu_read_unlock();
	/* Only callers that keep the memory in use add a process, so none is added any more. */
	if (!process)
		return;
	spin_lock(&processes_lock);
	hash_del_rcu(&process->node);
	spin_unlock(&processes_lock);
	process_free(process);
}

/**
 * sfu_process_add_cache() - give a process a rule cache, if it has none
 * @process: the process
 *
 * If there is no memory, the process goes on without one.
 *
 * Context: May sleep, &sfu_process.lock held.
 */
void sfu_process_add_cache(struct sfu_process *process)
{
	struct sfu_cache *cache;

	lockdep_assert_held(&process->lock);
	if (process->cache)
		return;
	cache = sfu_cache_alloc();
	if (!cache)
		return;
	atomic_long_add(sizeof(*cache), &sfu_held.bytes);
	/* Pairs with READ_ONCE() in sfu_process_cache(): the cache is empty. */
	smp_store_release(&process->cache, cache);
}

/**
 * sfu_process_new_keys() - take keys for the rows of a range
 * @process: the process
 * @size: bytes of the range: each byte gets a key
 *
 * A key is never used twice. So code that is mapped at an old address has no rows in
 * the cache, and the cache is never flushed.
 *
 * Context: &sfu_process.lock held.
 * Return: The first key, or 0 if there are none left.
 */
u64 sfu_process_new_keys(struct sfu_process *process, u64 size)
{
	u64 key = process->next_key;

	lockdep_assert_held(&process->lock);
	if (size >= KEY_MAX - key)
		return 0;
	WRITE_ONCE(process->next_key, key + size);
	return key;
}

/**
 * sfu_process_publish() - samples use a new map from now on
 * @process: the process
 * @map: its new map; this takes the reference of the caller
 *
 * Context: &sfu_process.lock and mmap_lock held.
 */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map)
{
	struct sfu_map *old;

	mmap_assert_locked(process->mm);
	/* Pairs with rcu_dereference() in sfu_process_map() and in sframe_event.c. */
	old = rcu_replace_pointer(process->map, map, lockdep_is_held(&process->lock));
	sfu_map_put(old);
}

/**
 * sfu_process_exit() - forget all processes
 *
 * No hook, walk, request or scan is left, so nobody uses or changes the table.
 * rcu_barrier() waits for process_free_rcu(). Memory in kvfree_rcu() does not need the
 * module.
 *
 * Context: May sleep.
 */
void sfu_process_exit(void)
{
	struct sfu_process *process;
	struct hlist_node *next;
	unsigned int i;

	hash_for_each_safe(processes, i, next, process, node) {
		hash_del_rcu(&process->node);
		process_free(process);
	}
	rcu_barrier();
	WARN_ON_ONCE(atomic_long_read(&sfu_held.processes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.bytes));
	WARN_ON_ONCE(atomic_long_read(&sfu_held.sections));
}
