/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process map: which section describes an address. See map/map.c. */
#ifndef SFU_MAP_H
#define SFU_MAP_H

#include <linux/gfp_types.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "compat.h"
#include "map/habit.h"
#include "map/section.h"
#include "table/table.h"

struct file;

/**
 * struct sfu_range - a range of executable addresses, which is one VMA
 * @start: first address of the code
 * @end: one past its last address
 * @vma: what is mapped there
 * @vma.file: the mapped file, or NULL; only compared, never used
 * @vma.offset: of @start in that file, in bytes
 * @section: the section that describes the code
 * @habit: enum sframe_habit of the code
 * @asked: address in anonymous code at which a walk needed the habit, else 0. Written in any
 *	context, without a lock
 * @starts: functions seen in anonymous code
 * @nr_read: pages of anonymous code that were read for them, from its start on
 * @was_read: all of the anonymous code was read
 * @has_no_data: its file has neither a section nor a table, and keeps no frame pointers. Constant
 *	once published
 * @is_unnamed: the file is shared memory without a name. A JIT may have its code there
 * @unmapped: the code or its section has been unmapped. Read in any context, never cleared
 */
struct sfu_range {
	unsigned long		start;
	unsigned long		end;
	struct {
		const struct file	*file;
		unsigned long		offset;
	}			vma;
	struct sfu_section	section;
	unsigned long		asked;
	struct sframe_starts	starts;
	unsigned int		nr_read;
	u8			habit;
	bool			was_read;
	bool			has_no_data;
	bool			is_unnamed;
	bool			unmapped;
};

/* The ranges of a process beyond this number are not in its map. */
#define SFU_MAX_RANGES	2048

/**
 * struct sfu_map - the executable ranges of a process, as one scan found them
 * @rcu: frees the map
 * @refs: one reference of each process that has the map, and one of a scan that copies it
 * @nr_ranges: in @ranges
 * @nr_placed: in @by_section
 * @nr_sections: ranges that had a usable section when they were scanned, or may have one
 * @generation: sfu_table_generation before the map was scanned
 * @valid_until: after that, a file may have changed whose table the map uses; in jiffies
 * @is_incomplete: headers of a file were not in memory, or there was no room: there may be more
 *	sections
 * @main_ra: the return address in the code that calls main(), once a walk has found it,
 *	else 0. Written and read by walks in any context, without a lock
 * @thread_ra: the return address in the code that calls the function of a thread, or 0; as @main_ra
 * @by_section: indices of the ranges whose sections have a place, in the order of the
 *	sections; after @ranges. Two sections are the same or disjoint
 * @ranges: ascending, disjoint. Constant once published, except for
 *	&sfu_range.unmapped and &sfu_section.state
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;
	unsigned int		nr_ranges;
	unsigned int		nr_placed;
	unsigned int		nr_sections;
	unsigned int		generation;
	unsigned long		valid_until;
	bool			is_incomplete;
	unsigned long		main_ra;
	unsigned long		thread_ra;
	u32			*by_section;
	struct sfu_range	ranges[] __counted_by(nr_ranges);
};

/* Returns true if a table was loaded, or a reader has begun to load tables, since the scan. */
static inline bool sfu_map_lacks_tables(const struct sfu_map *map)
{
	return map->generation != (unsigned int)atomic_read(&sfu_table_generation);
}

/* Any context, while the map is held by RCU or a reference. */
struct sfu_range *sfu_map_find(struct sfu_map *map, unsigned long addr);
const struct sfu_range *sfu_map_find_overlap(const struct sfu_map *map, unsigned long start,
					     unsigned long end);
bool sfu_map_covers(const struct sfu_map *map, unsigned long start, unsigned long end);

/* Ends the use of a range and of its section, also by walks that already have the range. */
static inline void sfu_range_mark_unmapped(struct sfu_range *range)
{
	WRITE_ONCE(range->unmapped, true);
	atomic_set(&range->section.state, SFU_SECTION_NONE);
}

/* Any context but NMI; do not sleep. */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end, bool *code_remains);
struct sfu_map *sfu_map_get_empty(void);
void sfu_map_put(struct sfu_map *map);

/* Task context, before the map is published. */
struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp);
void sfu_map_set_nr_sections(struct sfu_map *map, unsigned int nr);
void sfu_map_order_sections(struct sfu_map *map);

#endif /* SFU_MAP_H */
