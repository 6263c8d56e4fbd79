/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose mappings are known: one of them (map/process.c), requests to scan it
 * (map/request.c), spare ones (map/spares.c), and the table of all (map/processes.c).
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
 * For allocations of a task on its way to user mode, charged to its control group. Without memory
 * they fail. They do not call the OOM killer.
 */
#define SFU_GFP_TASK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct sfu_request - a request to scan the process, see map/request.c
 * @work: task work of @holder
 * @irq_work: from a sample in any context to @work
 * @sampled: the task of that sample; referenced. NULL: @irq_work is not in use
 * @lock: protects the members below. May be taken with interrupts disabled
 * @holder: the task that will scan; NULL: nothing is pending. It has not run @work yet,
 *	so it exists
 * @reason: the reason that asks for most
 * @is_closed: the process has ended, or the module goes: refuse requests
 */
struct sfu_request {
	struct callback_head	work;
	struct irq_work		irq_work;
	struct task_struct	*sampled;
	raw_spinlock_t		lock;
	struct task_struct	*holder;
	enum sfu_scan_reason	reason;
	bool			is_closed;
};

/**
 * struct sfu_process - a process whose mappings are known
 * @node: in the table of processes
 * @spare: in the list of spare ones
 * @mm: its memory; only compared
 * @number: of this memory, never used twice
 * @refs: one of the table, and one of each request and scan that is under way
 * @lock: held by the scanner. It is only tried, so nobody waits for it
 * @map: its map. Set by the scanner, removed by any context but NMI
 * @inherited.map: @map, as long as it is the map of the parent, else NULL; only compared
 * @inherited.matches: this process has been found to have all of @inherited.map. Else the first
 *	scan finds that out, before the process enters user mode
 * @quota: when it may be scanned
 * @vma_hints.has_new_code: events have reported mappings that the next scan finds. Set by events,
 *	which hold mmap_lock for writing, and cleared by scans, which hold it for reading. (Before
 *	6.5 a stack that grows is reported under mmap_lock held for reading, and is no code.)
 * @vma_hints.await_start: sections that are not mapped yet, or not any more, begin here
 * @vma_hints.await_end: and end here
 * @jit.tables: tables for code that the process makes; changed under @lock, read under RCU
 * @jit.asked_addr: code without data that a walk has found, or 0. Any context writes it
 * @jit.ask_at: before this time, in jiffies, walks note no other code
 * @jit.ask_wait: how long that is, in jiffies; twice as long each time, until a table is loaded
 * @request: who scans next
 * @rcu: frees the process
 */
struct sfu_process {
	union {
		struct hlist_node	node;
		struct llist_node	spare;
	};
	struct mm_struct	*mm;
	u64			number;
	refcount_t		refs;
	struct mutex		lock;	/* of the scanner; only tried */
	struct sfu_map __rcu	*map;
	struct {
		struct sfu_map	*map;
		bool		matches;
	}			inherited;
	struct sfu_quota	quota;
	struct {
		bool		has_new_code;
		unsigned long	await_start;
		unsigned long	await_end;
	}			vma_hints;
	struct {
		struct list_head	tables;
		unsigned long		asked_addr;
		unsigned long		ask_at;
		unsigned long		ask_wait;
	}			jit;
	struct sfu_request	request;
	struct rcu_head		rcu;
};

/*
 * Returns the map of a process, or NULL if it has not been scanned. @process may be NULL. The hooks
 * of samples and of mappings hold RCU by turning preemption off, which takes two instructions;
 * rcu_read_lock() and rcu_read_unlock() are calls. The map is held by either.
 */
static inline struct sfu_map *sfu_process_map(const struct sfu_process *process)
{
	return process ? rcu_dereference_check(process->map, rcu_read_lock_sched_held()) : NULL;
}

/*
 * Returns the map of a process for a walk, or NULL. Sets @is_borrowed if it is the map of the
 * parent: the walk must not write to it then. Any context, under rcu_read_lock().
 */
static inline struct sfu_map *sfu_process_walk_map(const struct sfu_process *process,
						   bool *is_borrowed)
{
	const struct sfu_map *inherited;
	struct sfu_map *map;

	/* Before the map: pairs with xchg() in sfu_process_publish(), which clears it later. */
	inherited = process ? smp_load_acquire(&process->inherited.map) : NULL;
	map = sfu_process_map(process);
	*is_borrowed = map && map == inherited;
	return map;
}

/* map/process.c. Any context but NMI; do not sleep. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end);
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end);
void sfu_process_put(struct sfu_process *process);

/* Task context. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process);
void sfu_process_drop_inherited(struct sfu_process *process);

/* Under &sfu_process.lock. */
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

/* map/request.c. Any context, NMI included, under rcu_read_lock(). */
void sfu_request_init(struct sfu_request *request);
void sfu_request_for_sample(struct sfu_process *process);

/* Any context but NMI; do not sleep. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);
bool sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
			  unsigned int max_works);

/* Task context. */
void sfu_request_exit(void);

/* map/spares.c. Any context, NMI included; one caller at a time. */
struct sfu_process *sfu_spares_take(void);

/* Task context; may sleep. */
void sfu_spares_refill(unsigned int nr);
int sfu_spares_init(void);
void sfu_spares_exit(void);

/* map/processes.c. Any context, under rcu_read_lock(). */
struct sfu_process *sfu_processes_find(struct mm_struct *mm);
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map);

/* Any context but NMI; does not sleep. */
void sfu_processes_end(struct mm_struct *mm);

/* Task context; may sleep. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm);
int sfu_processes_scan(struct mm_struct *mm);
void sfu_processes_open(void);
void sfu_processes_close(void);
void sfu_processes_exit(void);

#endif /* SFU_PROCESS_H */
