/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of the module: who makes each, who holds references to it, and when it ends. Objects
 * with references are freed an RCU grace period after the last reference is put.
 *
 * struct sfu_walk: the unwinding of one stack, on the kernel stack. Reads the map under RCU.
 * struct sfu_row_cache: SFrame rows that walks on one CPU have found. Ends with the module.
 * struct sfu_process: what is known about one mm. Allocated in advance (map/spares.c). Added to the
 *	hash table by the first sample, by execve(), or by fork() of a process with a map.
 *	References: the hash table, until exit_mmap() or the end of profiling; a pending request; a
 *	scan; the ioctl() SFRAME_PROCESS.
 * struct sfu_request: the request for a scan of a process, in its sfu_process. Pending from a
 *	sample, mmap(), munmap() or fork() until the scan, or the end of the process or profiling.
 * struct sfu_scan: a scan of a process, by one of its tasks, on the kernel stack of this task.
 * struct sfu_map: the executable code of a process. Made by a scan.
 *	References: the process, until the next scan replaces the map, or munmap() drops it;
 *	children of fork(), until their own scan; a scan.
 * struct sfu_range, struct sfu_section: one executable VMA, and SFrame data for it. Parts of a map.
 * struct sfu_table: a compiled SFrame section. Made by the ioctl() SFRAME_LOAD or SFRAME_PROCESS.
 *	References: files (equal sections share one table), sections of maps, JIT tables.
 * struct sfu_file: one version of a file, and its table, if any. Made by SFRAME_LOAD, ended by
 *	SFRAME_DROP. If no process uses its table, it may also end when memory is short, tables
 *	reach their limit, or another version of the file is loaded.
 * struct jit_table: a table for code of one process. Made by SFRAME_PROCESS. Ends when any of the
 *	code is unmapped or loaded again, and with its struct sfu_process.
 * struct wanted: a request for a table. A program reads it from the device. Made by a scan. Refers
 *	to a struct pid, but to no file or mm. Ends when SFRAME_LOAD or SFRAME_PROCESS answers it,
 *	read() does not find its file, or the last reader closes the device.
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

struct mm_struct;
struct task_struct;
struct vm_area_struct;

/* GFP flags: charge current's control group; if memory is short, fail without the OOM killer. */
#define SFU_GFP_TASK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* Why a process is scanned. Of two requests, the higher reason counts: its scan examines more. */
enum sfu_scan_reason {
	SFU_SCAN_NONE,
	SFU_SCAN_NEW_CODE,	/* scan requested by mmap(), munmap() or fork() */
	SFU_SCAN_SAMPLE,	/* scan requested by a sample: map missing, incomplete, outdated */
};

/*
 * Limits how often a process is scanned. Times are in ns of ktime_get_mono_fast_ns(). Members are
 * written under &sfu_process.lock; samples also write @event_scans, without a lock.
 */
struct sfu_quota {
	/* Earliest time of the next scan; for mmap() etc., later by SHARE * BURST / 2. */
	s64	scan_at;
	s64	sample_at;	/* earliest time of a scan for a sample, unless @scan_at is later */
	/* Least ns between scans for samples; grows while scans find no new code, rows, pages. */
	s64	wait;
	s64	began_at;	/* time of execve() or fork(); 0: unknown, counts as long ago */
	u8	event_scans;	/* scans that mmap(), munmap() and fork() may still request */
	u8	nr_sample_scans; /* number of scans for samples, counted up to SAMPLE_SCANS_MAX */
};

/*
 * Maximum of scans that mmap(), munmap() and fork() may request while no sample comes; a library
 * needs two. With half, programs with many libraries lack callers in their first samples; with the
 * double, more scans are in vain.
 */
#define SFU_EVENT_SCANS_MAX	48

/*
 * Called for a sample, in any context: lets mmap(), munmap() and fork() request one more scan. No
 * lock: of two changes at once, one may be lost, which is only one scan too many or too few.
 */
static inline void sfu_quota_count_sample(struct sfu_quota *quota)
{
	unsigned int event_scans = READ_ONCE(quota->event_scans);

	if (event_scans < SFU_EVENT_SCANS_MAX)
		WRITE_ONCE(quota->event_scans, event_scans + 1);
}

/* The request for a scan of one process, see map/request.c. @lock is taken with interrupts off. */
struct sfu_request {
	struct callback_head	work;		/* task work that scans, in the task @holder */
	/* Queued by a sample, maybe in an NMI: adds the task work @work to the task @sampled. */
	struct irq_work		irq_work;
	struct task_struct	*sampled;	/* sampled task, with a reference; NULL: none */
	raw_spinlock_t		lock;		/* protects @holder, @reason and @is_closed */
	struct task_struct	*holder;	/* task that is to run @work; NULL: none */
	/* Why the task is to scan: the highest reason of all requests since the last scan. */
	enum sfu_scan_reason	reason;
	bool			is_closed;	/* process left the hash table: refuse requests */
};

/* An entry of the hash table: the state of one process (mm). Spare entries have no process yet. */
struct sfu_process {
	union {
		struct hlist_node	node;
		struct llist_node	spare;
	};
	struct mm_struct	*mm;		/* never dereferenced */
	u64			number;		/* unique, even if @mm is reused; for user space */
	refcount_t		refs;
	struct mutex		lock;		/* serializes scans; use only mutex_trylock() */
	/* The current map, or NULL. The hook of munmap() may remove it without taking @lock. */
	struct sfu_map __rcu	*map;
	struct {
		struct sfu_map	*map;		/* of a forked child: its parent's map; or NULL */
		bool		matches;	/* the parent's map fits the VMAs of the child */
	}			inherited;
	struct sfu_quota	quota;
	struct {
		/*
		 * The map may lack code. mmap() sets this with mmap_lock held for writing, scans
		 * clear it with mmap_lock held for reading.
		 */
		bool		has_new_code;
		/*
		 * If mmap() maps a file between these two addresses, it requests a scan:
		 * - The last scan found code whose SFrame section was not mapped there yet.
		 * - munmap() removed part of some code, or of its section. Until a scan sees what
		 *   is mapped there now, walks find no rows for the rest of this code.
		 */
		unsigned long	await_start;
		unsigned long	await_end;
	}			vma_hints;
	/* Tables for JIT code. If a walk ends in JIT code without rows, a scan asks for a table. */
	struct {
		struct list_head	tables;		/* changed under @lock, read under RCU */
		unsigned long		asked_addr;	/* JIT code where a walk ended; 0: none */
		unsigned long		ask_at;		/* earliest jiffy for a table request */
		unsigned long		ask_wait;	/* least jiffies between table requests */
	}			jit;
	struct sfu_request	request;
	struct rcu_head		rcu;
};

/* Called under RCU; in hooks, with preemption disabled: rcu_read_lock() would take more time. */
static inline struct sfu_map *sfu_process_map(const struct sfu_process *process)
{
	return process ? rcu_dereference_check(process->map, rcu_read_lock_sched_held()) : NULL;
}

/*
 * Returns the map of a process for a walk. Sets @is_inherited for a forked child that still uses
 * its parent's map. The walk must not write to such a map: the child's memory may differ from the
 * parent's.
 */
static inline struct sfu_map *sfu_process_walk_map(const struct sfu_process *process,
						   bool *is_inherited)
{
	const struct sfu_map *inherited;
	struct sfu_map *map;

	/*
	 * A forked child begins with its parent's map, both in process->map and in inherited.map. A
	 * scan first stores the child's own map in process->map, and then NULL in inherited.map. If
	 * a walk read process->map first, it could get the parent's map, and then NULL. It would
	 * take this map for the child's own, and write to it. So read inherited.map first.
	 */
	inherited = process ? smp_load_acquire(&process->inherited.map) : NULL;
	map = sfu_process_map(process);
	*is_inherited = map && map == inherited;
	return map;
}

/* map/process.c: sfu_process_await(), _unmap() and _put() run in any context but NMI. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end);
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end);
void sfu_process_put(struct sfu_process *process);

/* These functions run in task context. sfu_process_publish() is called under &sfu_process.lock. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process);
void sfu_process_drop_inherited(struct sfu_process *process);
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

/* map/quota.c: sfu_quota_may_scan() runs in any context, NMI included. */
bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason);

/* These functions of map/quota.c are called under &sfu_process.lock. */
unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_charge(struct sfu_quota *quota, enum sfu_scan_reason reason, s64 cost);
void sfu_quota_charge_lost(struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_delay_samples(struct sfu_quota *quota, bool found_new);

/* map/request.c: sfu_request_init(), _for_sample() run in any context, NMI included, under RCU. */
void sfu_request_init(struct sfu_request *request);
void sfu_request_for_sample(struct sfu_process *process);

/* sfu_request_for_event(), sfu_request_close(), sfu_cancel_task_work(): any context but NMI. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);
struct callback_head *sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
					   void (*func)(struct callback_head *work),
					   unsigned int max_works);

/* sfu_request_exit() runs in task context, and may sleep. */
void sfu_request_exit(void);

/* map/spares.c: sfu_spares_take(): any context, even NMI; caller got processes_lock by trylock. */
struct sfu_process *sfu_spares_take(void);

/* sfu_spares_refill(), _init() and _exit() run in task context, and may sleep. */
void sfu_spares_refill(unsigned int nr);
int sfu_spares_init(void);
void sfu_spares_exit(void);

/* map/processes.c: sfu_processes_find(), _add() run in any context, NMI included, under RCU. */
struct sfu_process *sfu_processes_find(struct mm_struct *mm);
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map);

/* sfu_processes_end() runs in any context but NMI. */
void sfu_processes_end(struct mm_struct *mm);

/* sfu_processes_get(), _scan(), _open(), _close(), _exit() run in task context, and may sleep. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm);
int sfu_processes_scan(struct mm_struct *mm);
void sfu_processes_open(void);
void sfu_processes_close(void);
void sfu_processes_exit(void);

/* map/event.c: sfu_event_mmap(), _unmap(), _fork(): task context, maybe preemption disabled. */
void sfu_event_mmap(struct vm_area_struct *vma);
void sfu_event_unmap(struct vm_area_struct *vma);
void sfu_event_fork(struct task_struct *child);

/* sfu_event_set_hooks() and _remove_hooks() run in task context, and may sleep. */
int sfu_event_set_hooks(void);
void sfu_event_remove_hooks(void);

/* map/watch.c: sfu_watch_sample(), _is_idle(), _expects_samples() run in any context, even NMI. */
bool sfu_watch_sample(void);
bool sfu_watch_is_idle(unsigned long now);
bool sfu_watch_expects_samples(void);

/* sfu_watch_init() and sfu_watch_exit() run in task context, and may sleep. */
int sfu_watch_init(void);
void sfu_watch_exit(void);

#endif /* SFU_PROCESS_H */
