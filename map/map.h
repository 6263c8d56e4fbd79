/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of a process: its executable code. See map/map.c. How changes reach the next walk:
 *
 * - New code: the hook of mmap() or fork() requests a scan before the code runs. Without this scan,
 *   a walk finds no range for the code, and the sample requests a scan.
 * - munmap(): the hook marks ranges as unmapped, also for walks that run meanwhile, or removes the
 *   map from the process.
 * - A table for a file, or a reader of the device: sfu_table_generation increases. If a sample then
 *   finds no row or no section, and &sfu_map.generation is an older value, it requests a scan.
 * - A write to a file with a table: the first sample after &sfu_map.valid_until requests a scan.
 *   SFRAME_PROCESS, which loads or removes tables for code of one process, ends this time at once.
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
 * One executable VMA, as a scan found it. Walks store @missed_addr in any context, without a lock.
 * @unmapped is never cleared.
 */
struct sfu_range {
	unsigned long		start;		/* first address of the code */
	unsigned long		end;		/* one past the last address of the code */
	struct {
		const struct file	*file;	/* mapped file: only compared; or NULL */
		unsigned long		offset;	/* file offset of @start, in bytes */
	}			vma;
	struct sfu_section	section;	/* SFrame section, or table, for the code */
	unsigned long		missed_addr;	/* address where a walk needed @keeps_fp; or 0 */
	struct sframe_prologues	starts;		/* prologues counted in anonymous code */
	unsigned int		nr_read;	/* pages of anonymous code counted in @starts */
	u8			keeps_fp;	/* enum sframe_keeps_fp of the code */
	bool			was_read;	/* all anonymous code was read at least once */
	bool			has_no_data;	/* the file has no rows, and no frame pointers */
	bool			is_unnamed;	/* shared anonymous memory, maybe with JIT code */
	bool			unmapped;	/* code or section was unmapped, even in part */
};

/* A map has this many ranges at most: it leaves out further executable VMAs. */
#define SFU_MAX_RANGES	2048

/*
 * The executable code of a process, as one scan found it. Once the map is published, @ranges are
 * constant, except for &sfu_range.unmapped, &sfu_range.missed_addr and &sfu_section.state. Walks in
 * any context read and write @main_ra and @thread_ra, without a lock.
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;		/* held by processes, scans and forks */
	unsigned int		nr_ranges;
	unsigned int		nr_placed;	/* entries of @by_section */
	unsigned int		nr_sections;	/* usable sections when the map was made */
	unsigned int		generation;	/* sfu_table_generation when the scan began */
	unsigned long		valid_until;	/* in jiffies */
	bool			is_incomplete;	/* ELF header or memory of a table was missing */
	unsigned long		main_ra;	/* return address of main(), or 0 */
	unsigned long		thread_ra;	/* return address of a thread's function, or 0 */
	u32			*by_section;	/* indexes of @ranges, sorted by section address */
	struct sfu_range	ranges[] __counted_by(nr_ranges);	/* ascending, disjoint */
};

static inline bool sfu_map_is_older_than_tables(const struct sfu_map *map)
{
	return map->generation != (unsigned int)atomic_read(&sfu_table_generation);
}

/* Called in any context, while RCU or a reference holds the map. */
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

/* Called in any context but NMI; they do not sleep. */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end, bool *code_remains);
struct sfu_map *sfu_map_get_empty(void);
void sfu_map_put(struct sfu_map *map);

/* Called in task context, before the map is published. */
struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp);
void sfu_map_order_sections(struct sfu_map *map);

#endif /* SFU_MAP_H */
