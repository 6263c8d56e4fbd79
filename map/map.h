/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of a process: its executable code. See map/map.c. How changes reach the next walk:
 *
 * - New code: the hook of mmap() or fork() requests a scan, which makes a new map, before the code
 *   runs. Without this scan, a walk finds no range for the code, and the sample requests a scan.
 * - munmap(): the hook marks ranges as unmapped, also for walks that run meanwhile, or removes the
 *   map from the process.
 * - A table is loaded, or a program opens the device to read requests: sfu_table_generation grows.
 *   A sample that finds no row or no section then requests a scan if &sfu_map.generation is older.
 * - A file with a table is written to: the first sample after &sfu_map.valid_until requests a scan.
 *   SFRAME_PROCESS, the ioctl() that loads or removes JIT tables, sets this time to the past.
 */
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
 * One executable mapping (VMA) of a process, as a scan has found it. Walks store @missed_addr in
 * any context, without a lock. Once @unmapped is set, it is never cleared.
 */
struct sfu_range {
	unsigned long		start;		/* first address of the code */
	unsigned long		end;		/* one past the last address of the code */
	struct {
		const struct file	*file;	/* the mapped file, or NULL; never dereferenced */
		unsigned long		offset;	/* file offset of @start, in bytes */
	}			vma;
	struct sfu_section	section;	/* SFrame section or table with rows for the code */
	unsigned long		missed_addr;	/* ip of a walk that had to know @keeps_fp; or 0 */
	struct sframe_prologues	starts;		/* prologues counted so far; anonymous code only */
	unsigned int		nr_read;	/* pages read for @starts; anonymous code only */
	u8			keeps_fp;	/* are frame pointers kept: enum sframe_keeps_fp */
	bool			was_read;	/* the anonymous code was read to its end once */
	bool			has_no_data;	/* the file's code has no rows and keeps no FP */
	bool			is_unnamed;	/* @file is shared anonymous memory, as for a JIT */
	bool			unmapped;	/* code or section, or a part of it, was unmapped */
};

/* Maximum of ranges in a map. Further executable VMAs of the process are left out. */
#define SFU_MAX_RANGES	2048

/*
 * The executable code of a process, as one scan found it. Once the map is published, @ranges are
 * constant, except for &sfu_range.unmapped, &sfu_range.missed_addr and &sfu_section.state. Walks in
 * any context read and write @main_ra and @thread_ra, without a lock.
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;		/* references held by processes, scans and forks */
	unsigned int		nr_ranges;
	unsigned int		nr_placed;	/* number of entries in @by_section */
	unsigned int		nr_sections;	/* number of usable sections when map was made */
	unsigned int		generation;	/* sfu_table_generation when the scan began */
	unsigned long		valid_until;	/* in jiffies: later samples request a new scan */
	bool			is_incomplete;	/* an ELF header or room for a table was missing */
	unsigned long		main_ra;	/* address to which main() returns; 0: unknown */
	unsigned long		thread_ra;	/* where a thread's function returns to; or 0 */
	u32			*by_section;	/* indexes of @ranges, sorted by section address */
	struct sfu_range	ranges[] __counted_by(nr_ranges);	/* ascending, disjoint */
};

static inline bool sfu_map_is_older_than_tables(const struct sfu_map *map)
{
	return map->generation != (unsigned int)atomic_read(&sfu_table_generation);
}

/* These functions are called in any context, while RCU or a reference keeps the map in memory. */
struct sfu_range *sfu_map_find(struct sfu_map *map, unsigned long addr);
const struct sfu_range *sfu_map_find_overlap(const struct sfu_map *map, unsigned long start,
					     unsigned long end);
bool sfu_map_covers(const struct sfu_map *map, unsigned long start, unsigned long end);

/* Ends the use of a range and its section, even by walks that have already found the range. */
static inline void sfu_range_mark_unmapped(struct sfu_range *range)
{
	WRITE_ONCE(range->unmapped, true);
	atomic_set(&range->section.state, SFU_SECTION_NONE);
}

/* These functions are called in any context but NMI, and do not sleep. */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end, bool *code_remains);
struct sfu_map *sfu_map_get_empty(void);
void sfu_map_put(struct sfu_map *map);

/* These functions are called in task context, before walks can find the map. */
struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp);
void sfu_map_order_sections(struct sfu_map *map);

#endif /* SFU_MAP_H */
