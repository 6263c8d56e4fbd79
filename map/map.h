/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process map: which section describes an address. See map/map.c. */
#ifndef SFU_MAP_H
#define SFU_MAP_H

#include <linux/gfp_types.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "compat.h"
#include "map/keeps_fp.h"
#include "map/section.h"
#include "table/table.h"

struct file;

/*
 * A range of executable addresses, which is one VMA. Any context reads @unmapped, and writes
 * @asked, without a lock; @unmapped is never cleared.
 */
struct sfu_range {
	unsigned long		start;		/* first address of the code */
	unsigned long		end;		/* one past its last address */
	struct {
		const struct file	*file;	/* that is mapped, or NULL; only compared */
		unsigned long		offset;	/* of @start in @file, in bytes */
	}			vma;
	struct sfu_section	section;	/* describes the code */
	unsigned long		asked;		/* where a walk needed @keeps_fp, else 0 */
	struct sframe_prologues	starts;		/* functions seen in anonymous code */
	unsigned int		nr_read;	/* pages of anonymous code, read for @starts */
	u8			keeps_fp;	/* enum sframe_keeps_fp of the code */
	bool			was_read;	/* all of the anonymous code was read */
	bool			has_no_data;	/* no section, table or frame pointers */
	bool			is_unnamed;	/* shared memory, where a JIT may have code */
	bool			unmapped;	/* the code or its section has been unmapped */
};

/* The ranges of a process beyond this number are not in its map. */
#define SFU_MAX_RANGES	2048

/*
 * The executable ranges of a process, as one scan found them. Once the map is published, @ranges
 * are constant, except for &sfu_range.unmapped, &sfu_range.asked and &sfu_section.state. Walks in
 * any context read and write @main_ra and @thread_ra, without a lock.
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;		/* of each process, and of a scan that copies it */
	unsigned int		nr_ranges;
	unsigned int		nr_placed;	/* ranges in @by_section */
	unsigned int		nr_sections;	/* usable ones, when the map was made */
	unsigned int		generation;	/* sfu_table_generation before the scan */
	unsigned long		valid_until;	/* then a file may have changed; in jiffies */
	bool			is_incomplete;	/* a header was not in memory, or no room */
	unsigned long		main_ra;	/* return address of the call of main(), or 0 */
	unsigned long		thread_ra;	/* of the call of a thread's function, or 0 */
	u32			*by_section;	/* ranges in the order of their sections */
	struct sfu_range	ranges[] __counted_by(nr_ranges);	/* ascending, disjoint */
};

/* Returns true if a table was loaded, or a reader has opened the device, since the scan. */
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
