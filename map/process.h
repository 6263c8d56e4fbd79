/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes whose mappings are known. See map/process.c.
 */
#ifndef SFU_PROCESS_H
#define SFU_PROCESS_H

#include <linux/gfp_types.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "map/map.h"
#include "map/request.h"

struct mm_struct;
struct sfu_map;
struct vm_area_struct;

/*
 * For allocations of a task on its way to user mode: on its own account. Without memory
 * they fail. They do not call the OOM killer.
 */
#define SFU_GFP_TASK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct sfu_process - a process whose mappings are known
 * @node: in the table of processes, or in the list of spare ones
 * @mm: its memory; only compared
 * @refs: one of the table, and one of each request and scan that is under way
 * @lock: held by the scanner. It is only tried, so nobody waits for it
 * @map: its map. Set by the scanner, removed by any context but NMI
 * @inherited: @map, as long as it is that of the parent, else NULL; only compared
 * @inherited_matches: this process has been found to have all of @inherited. Else the first scan
 *	finds that out, before the process enters user mode
 * @scan_at: no scan is due before this time, in ns of ktime_get_mono_fast_ns(); written
 *	under @lock
 * @sample_at: likewise for scans that samples request
 * @event_scans: scans that events may request. Each scan for an event takes one, each sample gives
 *	one back. Any context writes it, without a lock: some may be lost
 * @began_at: when an event has reported the process, in ns; 0: it ran before
 * @nr_sample_scans: scans for samples, up to SAMPLE_SCANS_MAX; under @lock
 * @wait: ns from the last scan for a sample to @sample_at, if that has found nothing new; under
 *	@lock
 * @has_new_code: events have reported mappings that the next scan finds. Set by events, which hold
 *	mmap_lock for writing, and cleared by scans, which hold it for reading. (Before 6.5 a stack
 *	that grows is reported under mmap_lock held for reading, and is no code.)
 * @awaited_start: sections that are not mapped yet, or not any more, begin here
 * @awaited_end: and end here
 * @number: of this memory, never used twice
 * @jit_tables: tables for code that the process makes; changed under @lock, read under RCU
 * @asked_addr: code without data that a walk has found, or 0. Any context writes it
 * @ask_at: before this time, in jiffies, walks note no other code
 * @ask_wait: how long that is, in jiffies; twice as long each time, until a table is loaded
 * @request: who scans next
 * @rcu: frees the process
 */
struct sfu_process {
	struct hlist_node	node;
	struct mm_struct	*mm;
	refcount_t		refs;
	bool			inherited_matches;
	bool			has_new_code;
	u8			event_scans;
	u8			nr_sample_scans;
	struct mutex		lock;	/* of the scanner; only tried */
	struct sfu_map __rcu	*map;
	struct sfu_map		*inherited;
	s64			scan_at;
	s64			sample_at;
	s64			began_at;
	s64			wait;
	unsigned long		awaited_start;
	unsigned long		awaited_end;
	u64			number;
	struct list_head	jit_tables;
	unsigned long		asked_addr;
	unsigned long		ask_at;
	unsigned long		ask_wait;
	struct sfu_request	request;
	struct rcu_head		rcu;
};

/* Any context, under rcu_read_lock(). */
struct sfu_process *sfu_process_find(struct mm_struct *mm);
struct sfu_process *sfu_process_try_add(struct mm_struct *mm);

/*
 * The map of a process, or NULL if it has not been scanned. @process may be NULL. The hooks of
 * samples and of mappings hold RCU by turning preemption off, which takes two instructions;
 * rcu_read_lock() and rcu_read_unlock() are calls. The map is held by either.
 */
static inline struct sfu_map *sfu_process_map(const struct sfu_process *process)
{
	return process ? rcu_dereference_check(process->map, rcu_read_lock_sched_held()) : NULL;
}

/* So many events may request a scan at first, and no more are saved up. A library takes two. */
#define SFU_EVENT_SCANS_MAX	48

/* A sample of the process is taken. Most samples only read. */
static inline void sfu_process_count_sample(struct sfu_process *process)
{
	unsigned int event_scans = READ_ONCE(process->event_scans);

	if (event_scans < SFU_EVENT_SCANS_MAX)
		WRITE_ONCE(process->event_scans, event_scans + 1);
}

/*
 * The map of a process for a walk, or NULL. Sets @is_borrowed if it is that of the parent: the walk
 * must not write to it then. Any context, under rcu_read_lock().
 */
static inline struct sfu_map *sfu_process_walk_map(const struct sfu_process *process,
						   bool *is_borrowed)
{
	const struct sfu_map *inherited;
	struct sfu_map *map;

	/* Before the map: pairs with xchg() in sfu_process_publish(), which clears it later. */
	inherited = process ? smp_load_acquire(&process->inherited) : NULL;
	map = sfu_process_map(process);
	*is_borrowed = map && map == inherited;
	return map;
}

/* Any context but NMI; do not sleep. */
struct sfu_process *sfu_process_add(struct mm_struct *mm, struct sfu_map *map);
struct sfu_process *sfu_process_add_child(struct mm_struct *mm, struct sfu_process *parent,
					  struct sfu_map *map, bool inherited_matches);
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end);
bool sfu_process_change_map(struct sfu_process *process, struct sfu_map *map,
			    unsigned long start, unsigned long end);
void sfu_process_end(struct mm_struct *mm);
void sfu_process_put(struct sfu_process *process);

/*
 * Addresses of a process have been unmapped, from @start up to @end. Returns false if the process
 * has no map any more, and needs a scan. Most mappings have neither code nor a section.
 */
static inline bool sfu_process_unmap(struct sfu_process *process, unsigned long start,
				     unsigned long end)
{
	struct sfu_map *map = sfu_process_map(process);

	return !map || !sfu_map_covers(map, start, end) ||
	       sfu_process_change_map(process, map, start, end);
}

/* Task context. */
struct sfu_process *sfu_process_get(struct mm_struct *mm);
struct sfu_map *sfu_process_get_map(struct sfu_process *process);
void sfu_process_drop_inherited(struct sfu_process *process);
void sfu_process_refill(void);
void sfu_process_open(void);
void sfu_process_close(void);
int sfu_process_init(void);
void sfu_process_exit(void);

/* Under &sfu_process.lock. */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

#endif /* SFU_PROCESS_H */
