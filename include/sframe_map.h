/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which section covers an address of a process. See sframe_map.c.
 */
#ifndef SFU_MAP_H
#define SFU_MAP_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "sframe_core.h"

struct mm_struct;
struct sfu_cache;
struct task_struct;
struct vm_area_struct;
struct file;

enum sfu_region_state {
	SFU_REGION_PLAIN,	/* executable, no usable section */
	SFU_REGION_AWAITED,	/* what would tell is not in memory yet */
	SFU_REGION_COVERED,	/* .sec describes it */
	SFU_REGION_RETIRED,	/* .sec contradicted itself */
	SFU_REGION_GONE,	/* unmapped, or its section was */
};

/**
 * struct sfu_region - an executable mapping
 * @start: first address
 * @end: one past the last
 * @file: mapped here, or NULL; only compared
 * @offset: of @start in @file, bytes
 * @settled: there is no more to be learned
 * @sframe_start: first address of the section's segment, 0 if there is none
 * @sframe_end: one past its last
 * @key: of @start, in the rule cache: nothing else of this process ever has
 *	had, or will have, the keys up to that of @end; 0: there are none left
 * @sec: the section's header, checked, unless @state is PLAIN or AWAITED
 * @state: enum sfu_region_state; only ever grows, from any context
 */
struct sfu_region {
	unsigned long		start;
	unsigned long		end;
	const struct file	*file;
	unsigned long		offset;
	bool			settled;
	unsigned long		sframe_start;
	unsigned long		sframe_end;
	u64			key;
	struct sframe_header	sec;
	atomic_t		state;
};

/**
 * struct sfu_map - the executable mappings of a process, as learned once
 * @rcu: frees it
 * @refs: the process's one, and that of each task-side walk
 * @cache: the process's rule cache, or NULL
 * @nr_regions: in @regions
 * @nr_sections: regions that had a usable section when learned, or may have
 * @regions: ascending, disjoint; constant but for &sfu_region.state
 */
struct sfu_map {
	struct rcu_head		rcu;
	refcount_t		refs;
	struct sfu_cache	*cache;
	unsigned int		nr_regions;
	unsigned int		nr_sections;
	struct sfu_region	regions[] __counted_by(nr_regions);
};

/* The rule cache's name of an address: which mapping, and where in it; 0: none. */

static inline u64 sfu_region_key(const struct sfu_region *region, unsigned long addr)
{
	return region->key ? region->key + (addr - region->start) : 0;
}

int sfu_map_init(void);
void sfu_map_exit(void);

/* Sample side: any context, under rcu_read_lock(). */
struct sfu_map *sfu_map_lookup(struct mm_struct *mm);
struct sfu_region *sfu_map_find(struct sfu_map *map, unsigned long addr);
void sfu_region_retire(struct sfu_region *region, enum sframe_defect fault);
void sfu_map_ask(struct mm_struct *mm, const struct sfu_map *seen);

/* What comes and goes, when it does: task context. */
void sfu_map_note_profiler(void);
void sfu_map_on_mmap(struct vm_area_struct *vma);
void sfu_map_on_unmap(struct vm_area_struct *vma);
void sfu_map_on_fork(struct task_struct *child);
void sfu_map_on_exit(struct mm_struct *mm);

/* Task side: may sleep. */
struct sfu_map *sfu_map_get(struct mm_struct *mm);
void sfu_map_put(struct sfu_map *map);
int sfu_map_learn(struct mm_struct *mm, const struct sfu_map *seen);

#endif /* SFU_MAP_H */
