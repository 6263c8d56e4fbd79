// SPDX-License-Identifier: GPL-2.0-or-later
/* The map of a process lists its executable mappings (ranges), with their SFrame sections. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "map/map.h"
#include "sframe_stats.h"
#include "table/table.h"

/*
 * Maximum of ranges (executable mappings) that one call of munmap()'s hook marks as unmapped; if
 * there are more, it drops the map. With half, it drops more maps, and more scans are needed; with
 * the double, preemption is disabled for longer.
 */
#define MAX_MARKED	64

/* The empty map of new programs, until their first scan. Its initial reference is never dropped. */
static struct sfu_map empty_map = { .refs = REFCOUNT_INIT(1) };

static size_t map_size(unsigned int nr_ranges)
{
	return struct_size((struct sfu_map *)NULL, ranges, nr_ranges) + nr_ranges * sizeof(u32);
}

struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp)
{
	size_t size = map_size(nr_ranges);
	struct sfu_map *map = kvzalloc(size, gfp);
	void *rest = map ? kvmalloc(size + SZ_64K, gfp) : NULL;

	/*
	 * The map counts for the memory limit of the process's control group. Keep it only if there
	 * is memory for another one and for 64 KiB. Else the next page fault or mmap() of the
	 * process could call the OOM killer.
	 */
	kvfree(rest);
	if (!rest) {
		kvfree(map);
		return NULL;
	}
	map->nr_ranges = nr_ranges;
	map->valid_until = jiffies + MAX_JIFFY_OFFSET;
	map->by_section = (u32 *)&map->ranges[nr_ranges];
	refcount_set(&map->refs, 1);
	atomic_long_add(size, &sfu_held.bytes);
	return map;
}

struct sfu_map *sfu_map_get_empty(void)
{
	refcount_inc(&empty_map.refs);
	return &empty_map;
}

static int compare_sections(const void *a, const void *b, const void *priv)
{
	const struct sfu_map *map = priv;
	const struct sfu_section *one = &map->ranges[*(const u32 *)a].section;
	const struct sfu_section *other = &map->ranges[*(const u32 *)b].section;

	return (one->start > other->start) - (one->start < other->start) ?:
	       (one->end > other->end) - (one->end < other->end);
}

/* Sorts the sections of a map by address, for the binary search in the hook of munmap(). */
void sfu_map_order_sections(struct sfu_map *map)
{
	struct sfu_section *last = NULL;
	unsigned int i, nr = 0;

	for (i = 0; i < map->nr_ranges; i++)
		if (map->ranges[i].section.start)
			map->by_section[nr++] = i;
	sort_r(map->by_section, nr, sizeof(u32), compare_sections, NULL, map);
	map->nr_placed = 0;
	for (i = 0; i < nr; i++) {
		struct sfu_section *section = &map->ranges[map->by_section[i]].section;

		/* An overlap, which no linker makes, would break the search: drop this section. */
		if (last && section->start < last->end &&
		    (section->start != last->start || section->end != last->end)) {
			sfu_section_reset(section, SFU_SECTION_BAD);
			sfu_count(bad_sections);
			sfu_count(defects[SFRAME_DEFECT_SEGMENT]);
			continue;
		}
		last = section;
		map->by_section[map->nr_placed++] = map->by_section[i];
	}
}

static void free_map(struct rcu_head *rcu)
{
	struct sfu_map *map = container_of(rcu, struct sfu_map, rcu);
	unsigned int i;

	for (i = 0; i < map->nr_ranges; i++)
		sfu_table_put(&map->ranges[i].section);
	kvfree(map);
}

void sfu_map_put(struct sfu_map *map)
{
	if (!map || !refcount_dec_and_test(&map->refs))
		return;
	atomic_long_sub(map->nr_sections, &sfu_held.sections);
	atomic_long_sub(map_size(map->nr_ranges), &sfu_held.bytes);
	call_rcu(&map->rcu, free_map);
}

/* Returns the range of code that contains @addr; NULL if there is none, or it was unmapped. */
struct sfu_range *sfu_map_find(struct sfu_map *map, unsigned long addr)
{
	struct sfu_range *range = map->ranges;
	unsigned int nr = map->nr_ranges;

	while (nr > 1) {
		unsigned int half = nr / 2;

		if (addr >= range[half].start)
			range += half;
		nr -= half;
	}
	if (!nr || addr < range->start || addr >= range->end || READ_ONCE(range->unmapped))
		return NULL;
	return range;
}

static const struct sfu_range *nth_before(const struct sfu_map *map, bool by_section,
					  unsigned int i, unsigned long end)
{
	const struct sfu_range *range;

	if (i >= (by_section ? map->nr_placed : map->nr_ranges))
		return NULL;
	range = &map->ranges[by_section ? map->by_section[i] : i];
	return (by_section ? range->section.start : range->start) < end ? range : NULL;
}

/* Returns the index of the first entry in ranges[] (or by_section[]) that ends after @addr. */
static unsigned int first_after(const struct sfu_map *map, bool by_section, unsigned long addr)
{
	unsigned int low = 0, high = by_section ? map->nr_placed : map->nr_ranges;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		/* Not NULL: entry @middle exists, and each entry begins below ~0UL. */
		const struct sfu_range *range = nth_before(map, by_section, middle, ~0UL);

		if ((by_section ? range->section.end : range->end) > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct sfu_range *sfu_map_find_overlap(const struct sfu_map *map, unsigned long start,
					     unsigned long end)
{
	return nth_before(map, false, first_after(map, false, start), end);
}

/* Returns true if code or a section in @map, even if marked unmapped, overlaps @start to @end. */
bool sfu_map_covers(const struct sfu_map *map, unsigned long start, unsigned long end)
{
	return sfu_map_find_overlap(map, start, end) ||
	       nth_before(map, true, first_after(map, true, start), end);
}

/*
 * Called after munmap() of an area, @start to @end. Marks ranges (executable mappings) as unmapped
 * if their code or section overlaps the area. Sets @code_remains if such a range has code outside
 * the area. If it overlaps the code or sections of more than MAX_MARKED ranges, returns false: the
 * caller must drop the map.
 */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end, bool *code_remains)
{
	const struct sfu_range *range;
	unsigned int by_section, i, first;

	for (by_section = 0; by_section < 2; by_section++) {
		first = first_after(map, by_section, start);
		for (i = first; (range = nth_before(map, by_section, i, end)); i++) {
			if (i - first == MAX_MARKED)
				return false;
			if (!READ_ONCE(range->unmapped))
				sfu_range_mark_unmapped(&map->ranges[range - map->ranges]);
			*code_remains |= range->start < start || end < range->end;
		}
	}
	return true;
}
