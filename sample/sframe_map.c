// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process map: which section describes an address of a process.
 *
 * A map is an array of ranges of executable code. A scan, or a fork, builds it once.
 * After that the map is constant, except for two things. A section that contradicts
 * itself is marked as bad, from any context, by one atomic operation. A range is marked
 * as unmapped, in task context, by two stores; so the hook of munmap() allocates nothing.
 *
 * The process holds a reference, and so does each walk of the deferred hook, which may
 * sleep. A walk of the synchronous hook holds RCU. The map is freed an RCU grace period
 * after the last reference.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "sframe_map.h"
#include "sframe_stats.h"

static size_t map_size(const struct sfu_map *map)
{
	return struct_size(map, ranges, map->nr_ranges);
}

/**
 * sfu_map_alloc() - allocate a map
 * @nr_ranges: how many ranges it has; all of them are empty
 * @gfp: how to allocate
 *
 * Context: As @gfp says.
 * Return: The map with one reference, or NULL if there is no memory.
 */
struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp)
{
	struct sfu_map *map;
	size_t size = struct_size(map, ranges, nr_ranges);

	/* kvzalloc() may sleep. */
	map = gfpflags_allow_blocking(gfp) ? kvzalloc(size, gfp) : kzalloc(size, gfp);
	if (!map)
		return NULL;
	map->nr_ranges = nr_ranges;
	refcount_set(&map->refs, 1);
	atomic_long_add(size, &sfu_held.bytes);
	return map;
}

/**
 * sfu_map_set_sections() - set and count the sections of a map
 * @map: the map, not published yet, or not used any more
 * @nr: sections that it has
 *
 * Context: Any.
 */
void sfu_map_set_sections(struct sfu_map *map, unsigned int nr)
{
	atomic_long_add((long)nr - map->nr_sections, &sfu_held.sections);
	map->nr_sections = nr;
}

/**
 * sfu_map_put() - drop a reference
 * @map: the map; may be NULL
 *
 * Context: Task; does not sleep.
 */
void sfu_map_put(struct sfu_map *map)
{
	if (!map || !refcount_dec_and_test(&map->refs))
		return;
	sfu_map_set_sections(map, 0);
	atomic_long_sub(map_size(map), &sfu_held.bytes);
	kvfree_rcu(map, rcu);
}

/**
 * sfu_map_find() - find the range that covers an address
 * @map: the map
 * @addr: user address
 *
 * Context: Any, while the map is held by RCU or a reference.
 * Return: The range, or NULL if no range covers @addr or it has been unmapped.
 */
struct sfu_range *sfu_map_find(struct sfu_map *map, unsigned long addr)
{
	unsigned int lo = 0, hi = map->nr_ranges;

	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;
		struct sfu_range *range = &map->ranges[mid];

		if (addr < range->start)
			hi = mid;
		else if (addr >= range->end)
			lo = mid + 1;
		else
			return READ_ONCE(range->unmapped) ? NULL : range;
	}
	return NULL;
}

/**
 * sfu_map_unmap() - addresses of the process have been unmapped
 * @map: its map
 * @start: first address
 * @end: one past the last address
 *
 * A range that has lost code or its section, even in part, is unmapped as a whole.
 *
 * Context: Task; does not sleep. The map is held by RCU or a reference.
 * Return: Whether code of such a range is still mapped, so that a scan finds it.
 */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end)
{
	bool remains = false;
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++) {
		struct sfu_range *range = &map->ranges[i];
		bool code = start < range->end && range->start < end;
		bool section = start < range->section.end && range->section.start < end;

		if (!code && !section)
			continue;
		sfu_range_mark_unmapped(range);
		remains |= range->start < start || end < range->end;
	}
	return remains;
}
