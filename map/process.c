// SPDX-License-Identifier: GPL-2.0-or-later
/* Publishes, changes and drops the map of a process: the list of its executable mappings. */
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

struct sfu_map *sfu_process_get_map(struct sfu_process *process)
{
	struct sfu_map *map;

	guard(rcu)();
	map = sfu_process_map(process);
	return map && refcount_inc_not_zero(&map->refs) ? map : NULL;
}

/* Notes that, until the next scan, mmap() of a file between @start and @end requests a scan. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end)
{
	unsigned long first = READ_ONCE(process->vma_hints.await_start);

	WRITE_ONCE(process->vma_hints.await_start, first ? min(first, start) : start);
	WRITE_ONCE(process->vma_hints.await_end, max(READ_ONCE(process->vma_hints.await_end), end));
}

static bool drop_map(struct sfu_process *process, struct sfu_map *map)
{
	if (unrcu_pointer(cmpxchg(&process->map, RCU_INITIALIZER(map), NULL)) != map)
		return false;
	sfu_map_put(map);
	return true;
}

/*
 * Updates the map after munmap() of @start up to @end: marks ranges there as unmapped. If this is
 * not possible, drops the map, and returns false: the process needs a scan.
 */
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end)
{
	struct sfu_map *map = sfu_process_map(process);
	bool code_remains = false;

	if (!map || !sfu_map_covers(map, start, end))
		return true;
	/* Change a map that no other process or scan uses, if few ranges change; else drop it. */
	if (refcount_read(&map->refs) == 1 && sfu_map_unmap(map, start, end, &code_remains)) {
		if (code_remains)
			sfu_process_await(process, start, end);
		return true;
	}
	/* Drop the map, unless a scan replaced it: the new map, made after munmap(), is right. */
	if (!drop_map(process, map))
		return true;
	WRITE_ONCE(process->inherited.map, NULL);
	return false;
}

/* Takes over the caller's reference to @map. */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map)
{
	struct sfu_map *last;

	lockdep_assert_held(&process->lock);
	/* Pairs with rcu_dereference_check() in sfu_process_map(): walks see a complete map. */
	last = unrcu_pointer(xchg(&process->map, RCU_INITIALIZER(map)));
	WRITE_ONCE(process->inherited.map, NULL);
	sfu_map_put(last);
}

/* Called after each scan, even a failed one: drops a parent's map that does not fit the child. */
void sfu_process_drop_inherited(struct sfu_process *process)
{
	if (process->inherited.matches)
		return;
	drop_map(process, READ_ONCE(process->inherited.map));
	/* Clear inherited.map last: else a walk could take the parent's map for the child's own. */
	smp_store_release(&process->inherited.map, NULL);
}
