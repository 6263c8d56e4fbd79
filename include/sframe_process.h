/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes whose mappings are known. See task/sframe_process.c.
 */
#ifndef SFU_PROCESS_H
#define SFU_PROCESS_H

#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>

struct mm_struct;
struct sfu_cache;
struct sfu_map;

/* For allocations in the hooks, where preemption is off. */
#define SFU_GFP_HOOK	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/**
 * struct sfu_process - a process whose mappings are known
 * @node: in the table of processes, until the process ends
 * @mm: its memory; pinned
 * @lock: held by the scanner
 * @map: its map; replaced under @lock
 * @cache: rows of its sections; made for the first section, under @lock
 * @next_key: for the rows of the next new range; under @lock
 * @rescan_needed: a range has &sfu_range.rescan, or code of a range that was marked as
 *	unmapped is still mapped
 * @scanned_at: end of the last scan, in jiffies; under @lock
 * @wait: jiffies from @scanned_at until the next scan; under @lock
 * @rcu: frees the process
 */
struct sfu_process {
	struct hlist_node	node;
	struct mm_struct	*mm;
	struct mutex		lock;		/* one scanner at a time */
	struct sfu_map __rcu	*map;
	struct sfu_cache	*cache;
	u64			next_key;
	bool			rescan_needed;
	unsigned long		scanned_at;
	unsigned long		wait;
	struct rcu_head		rcu;
};

/* Any context, under rcu_read_lock(). */
struct sfu_process *sfu_process_find(struct mm_struct *mm);

/* The map of a process, or NULL if it has not been scanned. @process may be NULL. */
static inline struct sfu_map *sfu_process_map(const struct sfu_process *process)
{
	return process ? rcu_dereference(process->map) : NULL;
}

/* Its rule cache, or NULL. */
static inline struct sfu_cache *sfu_process_cache(const struct sfu_process *process)
{
	return process ? READ_ONCE(process->cache) : NULL;
}

/* Task context. */
struct sfu_process *sfu_process_get(struct mm_struct *mm);
void sfu_process_begin(struct mm_struct *mm, struct sfu_map *map, u64 next_key);
void sfu_process_end(struct mm_struct *mm);
void sfu_process_exit(void);

/* Under &sfu_process.lock. */
struct sfu_map *sfu_process_locked_map(const struct sfu_process *process);
void sfu_process_add_cache(struct sfu_process *process);
u64 sfu_process_new_keys(struct sfu_process *process, u64 size);
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

#endif /* SFU_PROCESS_H */
