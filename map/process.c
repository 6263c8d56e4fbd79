// SPDX-License-Identifier: GPL-2.0-or-later
/* struct sfu_process: the map of a process, and what hooks report to the next scan of it. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "map/process.h"
#include "sframe_stats.h"
#include "table/table.h"

static void free_process(struct rcu_head *rcu)
{
	struct sfu_process *process = container_of(rcu, struct sfu_process, rcu);

	sfu_map_put(rcu_dereference_protected(process->map, true));
	sfu_jit_forget(process, 0, ULONG_MAX);
	atomic_long_sub(sizeof(*process), &sfu_held.bytes);
	atomic_long_dec(&sfu_held.processes);
	kfree(process);
}

void sfu_process_put(struct sfu_process *process)
{
	if (refcount_dec_and_test(&process->refs))
		call_rcu(&process->rcu, free_process);
}

/* Returns the map of a process with a reference, or NULL. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process)
{
	struct sfu_map *map;

	guard(rcu)();
	map = sfu_process_map(process);
	return map && refcount_inc_not_zero(&map->refs) ? map : NULL;
}

/* Until the next scan, mmap() of a file between @start and @end requests a scan of the process. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end)
{
	unsigned long first = READ_ONCE(process->vma_hints.await_start);

	WRITE_ONCE(process->vma_hints.await_start, first ? min(first, start) : start);
	WRITE_ONCE(process->vma_hints.await_end, max(READ_ONCE(process->vma_hints.await_end), end));
}

/* Removes @map from a process. Returns false if the process has another map, or none, by now. */
static bool drop_map(struct sfu_process *process, struct sfu_map *map)
{
	if (unrcu_pointer(cmpxchg(&process->map, RCU_INITIALIZER(map), NULL)) != map)
		return false;
	sfu_map_put(map);
	return true;
}

/*
 * Called after the process has unmapped the addresses from @start up to @end. Marks the ranges of
 * its map there as unmapped. If a parent, child or scan has the map, too, or too many ranges would
 * be marked, drops the map instead, and returns false: then the process needs a scan.
 */
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct sfu_map *map = sfu_process_map(process);
	bool code_remains = false;

	if (!map || !sfu_map_covers(map, start, end))
		return true;
	if (refcount_read(&map->refs) == 1 && sfu_map_unmap(map, start, end, &code_remains)) {
		if (code_remains)
			sfu_process_await(process, start, end);
		return true;
	}
	/* If a scan has published another map meanwhile, it does not have the unmapped code. */
	if (!drop_map(process, map))
		return true;
	WRITE_ONCE(process->inherited.map, NULL);
	return false;
}

/* Makes @map the map of the process, for all later walks. Takes over the caller's reference. */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map)
{
	struct sfu_map *last;

	lockdep_assert_held(&process->lock);
	/* Pairs with rcu_dereference_check() in sfu_process_map(). */
	last = unrcu_pointer(xchg(&process->map, RCU_INITIALIZER(map)));
	WRITE_ONCE(process->inherited.map, NULL);
	sfu_map_put(last);
}

/*
 * Called after each scan. If the scan of a child has failed, the child still has the map of its
 * parent. Drops this map, unless it has been found to match the VMAs of the child.
 */
void sfu_process_drop_inherited(struct sfu_process *process)
{
	if (process->inherited.matches)
		return;
	drop_map(process, READ_ONCE(process->inherited.map));
	/* Cleared last: a walk that has read the parent's map must find it inherited. */
	smp_store_release(&process->inherited.map, NULL);
}
