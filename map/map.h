/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of a process: its executable code. After these events, hooks or scans update the map:
 *
 * - mmap() or fork(): the hook requests a scan, which makes a new map before new code runs. If
 *   none was made, a sample in the code requests one.
 * - munmap(): the hook marks ranges as unmapped, even for running walks. If these are too many, it
 *   drops the map. It also drops a map with more than one reference: a forked child may share the
 *   map, and may still map this code.
 * - A table is loaded, or a program opens the device to read requests for tables. Then
 *   sfu_table_generation grows. A sample that finds no rows requests a scan if the map is older.
 * - A file with a table is written to: no hook sees this. So the first sample after
 *   &sfu_map.valid_until requests a scan, which checks the files. The ioctl() SFRAME_PROCESS, which
 *   loads or removes JIT tables, also causes this scan: it sets valid_until to the past.
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

/* One executable mapping (VMA) of a process, as a scan found it. */
struct sfu_range {
	unsigned long		start;
	unsigned long		end;
	struct {
		const struct file	*file;	/* the mapped file, or NULL; never dereferenced */
		unsigned long		offset;	/* file offset of @start, in bytes */
	}			vma;
	struct sfu_section	section;
	/*
	 * Last ip in anonymous code where a walk lacked @keeps_fp; 0: none. Walks store it without
	 * a lock. A later scan reads the code there, to set @keeps_fp.
	 */
	unsigned long		missed_addr;
	struct sframe_prologues	starts;		/* prologues in the first @nr_read pages */
	unsigned int		nr_read;	/* pages of anonymous code read so far by scans */
	u8			keeps_fp;	/* enum sframe_keeps_fp */
	bool			was_read;	/* scans have read all of the anonymous code once */
	bool			has_no_data;	/* code of @file has no SFrame rows, keeps no FP */
	bool			is_unnamed;	/* @file is shared anonymous memory (some JITs) */
	bool			unmapped;	/* any of code or section unmapped; never cleared */
};

/* Maximum of ranges in a map. Further executable VMAs of the process are left out. */
#define SFU_MAX_RANGES	2048

/*
 * The executable code of a process, as one scan found it. In a published map, walks and the hook of
 * munmap() change only these, without a lock: &sfu_range.unmapped, &sfu_range.missed_addr,
 * &sfu_section.state, @main_ra and @thread_ra.
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;
	unsigned int		nr_ranges;
	unsigned int		nr_placed;	/* number of entries in @by_section */
	/* Number of ranges with SFrame data at the scan. If 0, the kernel unwinds all stacks. */
	unsigned int		nr_sections;
	unsigned int		generation;	/* sfu_table_generation when the scan began */
	unsigned long		valid_until;	/* samples after this jiffy request a new scan */
	/*
	 * Set if a file's ELF headers were not in memory, or a table could not be used, as
	 * table memory of non-root users was full. A walk that finds no row then requests a scan.
	 */
	bool			is_incomplete;
	unsigned long		main_ra;	/* return address of main(); 0: not known yet */
	unsigned long		thread_ra;	/* return address of thread functions; 0: unknown */
	u32			*by_section;	/* indexes into @ranges, sorted by section.start */
	struct sfu_range	ranges[] __counted_by(nr_ranges);	/* ascending, disjoint */
};

static inline bool sfu_map_is_older_than_tables(const struct sfu_map *map)
{
	return map->generation != (unsigned int)atomic_read(&sfu_table_generation);
}

/* These functions search a map, in any context, while RCU or a reference keeps it in memory. */
struct sfu_range *sfu_map_find(struct sfu_map *map, unsigned long addr);
const struct sfu_range *sfu_map_find_overlap(const struct sfu_map *map, unsigned long start,
					     unsigned long end);
bool sfu_map_covers(const struct sfu_map *map, unsigned long start, unsigned long end);

/* Hides a range from walks. Walks that have already found it stop using its section. */
static inline void sfu_range_mark_unmapped(struct sfu_range *range)
{
	WRITE_ONCE(range->unmapped, true);
	atomic_set(&range->section.state, SFU_SECTION_NONE);
}

/* These functions mark ranges as unmapped, or get and put maps, in any context but NMI. */
bool sfu_map_unmap(struct sfu_map *map, unsigned long start, unsigned long end, bool *code_remains);
struct sfu_map *sfu_map_get_empty(void);
void sfu_map_put(struct sfu_map *map);

/* A scan calls these functions in task context, to make a map before walks can find it. */
struct sfu_map *sfu_map_alloc(unsigned int nr_ranges, gfp_t gfp);
void sfu_map_order_sections(struct sfu_map *map);

#endif /* SFU_MAP_H */
