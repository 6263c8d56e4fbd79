/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: one process (map/process.c), requests to scan it (map/request.c), preallocated spare
 * processes (map/spares.c), and the hash table of processes (map/processes.c).
 */
#ifndef SFU_PROCESS_H
#define SFU_PROCESS_H

#include <linux/gfp_types.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

#include "map/map.h"
#include "map/quota.h"

struct mm_struct;
struct task_struct;

/*
 * For allocations by a task on its way to user mode: charged to its control group. If there is no
 * memory they fail, and do not call the OOM killer.
 */
#define SFU_GFP_TASK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* The one request to scan a process, see map/request.c. @lock is taken with interrupts disabled. */
struct sfu_request {
	struct callback_head	work;		/* task work of @holder, which scans */
	struct irq_work		irq_work;	/* queued by a sample; adds @work to @sampled */
	struct task_struct	*sampled;	/* with a reference; NULL: @irq_work is idle */
	raw_spinlock_t		lock;		/* protects the members below */
	struct task_struct	*holder;	/* task that has @work pending; or NULL */
	enum sfu_scan_reason	reason;		/* the highest reason since the last scan */
	bool			is_closed;	/* the process has ended: no requests */
};

/* What the module knows about one mm. Made in advance, as a spare; used from the first sample. */
struct sfu_process {
	union {
		struct hlist_node	node;	/* in the hash table of processes */
		struct llist_node	spare;	/* in the list of spare processes */
	};
	struct mm_struct	*mm;		/* compared, never dereferenced */
	u64			number;		/* identifies the mm; never used twice */
	refcount_t		refs;		/* held by the hash table, each request and scan */
	struct mutex		lock;		/* held by a scan; taken by trylock only */
	struct sfu_map __rcu	*map;		/* NULL: none. Any context but NMI may remove it */
	struct {
		struct sfu_map	*map;		/* parent's map, from fork() until @map differs */
		bool		matches;	/* the VMAs of the child match the parent's map */
	}			inherited;
	struct sfu_quota	quota;		/* when the process may be scanned */
	/*
	 * Reports of events for the next scan. Events set @has_new_code under mmap_lock held for
	 * writing, scans clear it under mmap_lock held for reading. (Before 6.5, a growing stack is
	 * reported under mmap_lock held for reading, but is no code.) If a file is mapped between
	 * @await_start and @await_end, where sections were missing, the event requests a scan.
	 */
	struct {
		bool		has_new_code;
		unsigned long	await_start;
		unsigned long	await_end;
	}			vma_hints;
	/*
	 * Tables for code that a JIT generates. @tables is changed under @lock, and read under RCU.
	 * Walks store the address of code without data in @asked_addr, but not before @ask_at; a
	 * scan then requests a table for it. @ask_wait doubles each time, until a table is loaded.
	 */
	struct {
		struct list_head	tables;
		unsigned long		asked_addr;	/* user address, or 0 */
		unsigned long		ask_at;		/* time, in jiffies */
		unsigned long		ask_wait;	/* delay of @ask_at, in jiffies */
	}			jit;
	struct sfu_request	request;
	struct rcu_head		rcu;
};

/*
 * Returns the map of @process, or NULL if there is none. @process may be NULL. The caller disables
 * preemption or holds rcu_read_lock(): either keeps the map in memory. Hooks of samples and events
 * disable preemption, because rcu_read_lock() takes longer.
 */
static inline struct sfu_map *sfu_process_map(const struct sfu_process *process)
{
	return process ? rcu_dereference_check(process->map, rcu_read_lock_sched_held()) : NULL;
}

/*
 * Returns the map as sfu_process_map(). Sets @is_inherited if the map is the parent's: then a walk
 * must not write to it, because the child may have changed its own copy of the memory.
 */
static inline struct sfu_map *sfu_process_walk_map(const struct sfu_process *process,
						   bool *is_inherited)
{
	const struct sfu_map *inherited;
	struct sfu_map *map;

	/* Read before the map: sfu_process_publish() clears it after its xchg() of the map. */
	inherited = process ? smp_load_acquire(&process->inherited.map) : NULL;
	map = sfu_process_map(process);
	*is_inherited = map && map == inherited;
	return map;
}

/* map/process.c: called in any context but NMI; they do not sleep. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end);
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end);
void sfu_process_put(struct sfu_process *process);

/* Called in task context; sfu_process_publish() under &sfu_process.lock. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process);
void sfu_process_drop_inherited(struct sfu_process *process);
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

/* map/request.c: called in any context, NMI included, under RCU. */
void sfu_request_init(struct sfu_request *request);
void sfu_request_for_sample(struct sfu_process *process);

/* Called in any context but NMI; they do not sleep. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);
struct callback_head *sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
					   void (*func)(struct callback_head *work),
					   unsigned int max_works);

/* Called in task context. */
void sfu_request_exit(void);

/* map/spares.c: called in any context, NMI included, under the lock of the hash table. */
struct sfu_process *sfu_spares_take(void);

/* Called in task context; may sleep. */
void sfu_spares_refill(unsigned int nr);
int sfu_spares_init(void);
void sfu_spares_exit(void);

/* map/processes.c: called in any context, under RCU. */
struct sfu_process *sfu_processes_find(struct mm_struct *mm);
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map);

/* Called in any context but NMI; they do not sleep. */
void sfu_processes_end(struct mm_struct *mm);

/* Called in task context; may sleep. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm);
int sfu_processes_scan(struct mm_struct *mm);
void sfu_processes_open(void);
void sfu_processes_close(void);
void sfu_processes_exit(void);

#endif /* SFU_PROCESS_H */
