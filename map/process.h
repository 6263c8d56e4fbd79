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

/* A request to scan a process, see map/request.c. @lock may be taken with interrupts disabled. */
struct sfu_request {
	struct callback_head	work;		/* task work of @holder */
	struct irq_work		irq_work;	/* from a sample in any context to @work */
	struct task_struct	*sampled;	/* referenced; NULL: @irq_work is not in use */
	raw_spinlock_t		lock;		/* protects the members below */
	struct task_struct	*holder;	/* exists until it has run @work; NULL: none */
	enum sfu_scan_reason	reason;		/* the reason that asks for most */
	bool			is_closed;	/* the process has ended, or the module goes */
};

/* A process whose mappings are known. */
struct sfu_process {
	union {
		struct hlist_node	node;	/* in the table of processes */
		struct llist_node	spare;	/* in the list of spare processes */
	};
	struct mm_struct	*mm;		/* its memory; only compared */
	u64			number;		/* of this memory, never used twice */
	refcount_t		refs;		/* of the table, and of each request and scan */
	struct mutex		lock;		/* of the scanner; only tried: nothing waits */
	struct sfu_map __rcu	*map;		/* any context but NMI may remove it */
	struct {
		struct sfu_map	*map;		/* of the parent, as long as @map is this map */
		bool		matches;	/* the process has all that is in this map */
	}			inherited;
	struct sfu_quota	quota;		/* when the process may be scanned */
	/*
	 * What the next scan finds. Events set @has_new_code under mmap_lock held for writing, and
	 * scans clear it under mmap_lock held for reading. (Before 6.5 a stack that grows is
	 * reported under mmap_lock held for reading, and is no code.) Sections that are not mapped
	 * yet, or not any more, lie between @await_start and @await_end.
	 */
	struct {
		bool		has_new_code;
		unsigned long	await_start;
		unsigned long	await_end;
	}			vma_hints;
	/*
	 * Tables for code that the process makes: @tables is changed under @lock, and read under
	 * RCU. A walk notes the address of code without data in @asked_addr, in any context, but
	 * not before @ask_at. The wait is twice as long each time, until a table is loaded.
	 */
	struct {
		struct list_head	tables;
		unsigned long		asked_addr;	/* or 0 */
		unsigned long		ask_at;		/* in jiffies */
		unsigned long		ask_wait;	/* in jiffies */
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
