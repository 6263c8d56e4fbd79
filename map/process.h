/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of the module: who makes each, who holds references to it, and when it ends. Objects
 * with references are freed an RCU grace period after the last reference is put.
 *
 * struct sfu_walk: the unwinding of one stack. It is on the kernel stack of the hook that perf
 *	calls, and reads a map under RCU, without a reference.
 * struct sfu_row_cache: rows that walks on one processor have found. It ends with the module.
 * struct sfu_process: what is known about one mm. Allocated in advance (map/spares.c). The first
 *	sample, execve(), or fork() of a process with a map adds it to the hash table of processes
 *	(map/processes.c). References: the hash table, until exit_mmap() or ten seconds after the
 *	last sample of any process; a pending request; a scan.
 * struct sfu_request: the request for a scan of one process (map/request.c), in its sfu_process.
 *	Pending from a sample, or a call of mmap(), munmap() or fork() (map/event.c), to the scan,
 *	the end of the process, or the unloading of the module.
 * struct sfu_scan: a scan of a process, by one of its tasks, on the kernel stack of this task.
 * struct sfu_map: the executable code of one process, made by a scan. References: the process,
 *	until the next scan replaces the map or munmap() removes it; children that inherit the map
 *	at fork(), until their own scan; a scan.
 * struct sfu_range, struct sfu_section: one executable VMA, and SFrame data for it. Parts of a map.
 * struct sfu_table: a compiled section. SFRAME_LOAD and SFRAME_PROCESS make it. References: files
 *	(files with equal sections share one table), sections of maps, JIT tables.
 * struct sfu_file: one content of a file, with its table or known to have none. SFRAME_LOAD makes
 *	it. No references. It ends by SFRAME_DROP or, if no process uses the table, when memory or
 *	the limit of all tables is short, or another content of the file is loaded.
 * struct jit_table: a table for code of one process, which SFRAME_PROCESS makes. No references. It
 *	ends when any of the code is unmapped or loaded again, and with its struct sfu_process.
 * struct wanted: a request for a table, which a scan makes for programs that read the device. It
 *	refers to a struct pid, but to no file or mm. It ends when SFRAME_LOAD or SFRAME_PROCESS
 *	answers it, or no program has the device open for reading any more.
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

/*
 * Flags of allocations that a task makes before it returns to user mode: charged to its control
 * group. If memory is short they fail, and do not call the OOM killer.
 */
#define SFU_GFP_TASK	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* Why a process is scanned. The higher the value, the more the scan examines. */
enum sfu_scan_reason {
	SFU_SCAN_NONE,		/* no scan is requested */
	SFU_SCAN_NEW_CODE,	/* code was mapped or unmapped, or a child was forked */
	SFU_SCAN_SAMPLE,	/* a sample found the map missing, incomplete or outdated */
};

/*
 * When a process may be scanned. Times are in ns of ktime_get_mono_fast_ns(). Scans for events
 * decrease @event_scans and samples increase it, in any context and without a lock, so a change may
 * be lost. A scan writes the other members under &sfu_process.lock.
 */
struct sfu_quota {
	s64	scan_at;	/* no scan before this time; one for mmap(), fork() waits longer */
	s64	sample_at;	/* no scan for a sample before this time */
	s64	wait;		/* by how much a scan that finds nothing new delays @sample_at */
	s64	began_at;	/* time of execve() or fork(); 0: unknown, as if long ago */
	u8	event_scans;	/* scans that mmap(), munmap() and fork() may still request */
	u8	nr_sample_scans; /* number of scans for samples, at most SAMPLE_SCANS_MAX */
};

/*
 * Maximum of scans that mmap(), munmap() and fork() may request in a process without a sample;
 * loading a library takes two. With half, programs with many libraries lose first samples; with the
 * double, more scans are wasted on processes that are never sampled.
 */
#define SFU_EVENT_SCANS_MAX	48

/* After a sample, mmap() or fork() may request one more scan of the process. Any context. */
static inline void sfu_quota_count_sample(struct sfu_quota *quota)
{
	unsigned int event_scans = READ_ONCE(quota->event_scans);

	if (event_scans < SFU_EVENT_SCANS_MAX)
		WRITE_ONCE(quota->event_scans, event_scans + 1);
}

/* The request for a scan of one process: map/request.c. @lock is taken with interrupts disabled. */
struct sfu_request {
	struct callback_head	work;		/* task work that scans, pending in task @holder */
	struct irq_work		irq_work;	/* after a sample, gives @work to task @sampled */
	struct task_struct	*sampled;	/* the sampled task, with a reference; or NULL */
	raw_spinlock_t		lock;		/* protects the members below */
	struct task_struct	*holder;	/* the task that has @work pending; or NULL */
	enum sfu_scan_reason	reason;		/* highest reason for a scan since the last scan */
	bool			is_closed;	/* the process was removed: request no scan of it */
};

/* A process that was sampled, was forked or called execve() during profiling; or a spare entry. */
struct sfu_process {
	union {
		struct hlist_node	node;	/* in the hash table of processes */
		struct llist_node	spare;	/* in the list of spare processes */
	};
	struct mm_struct	*mm;		/* its mm; compared, never dereferenced */
	u64			number;		/* number of the mm that no other mm ever gets */
	refcount_t		refs;		/* references: hash table, requests and scans */
	struct mutex		lock;		/* held during a scan; taken by trylock only */
	struct sfu_map __rcu	*map;		/* NULL: none; any context but NMI may remove it */
	struct {
		struct sfu_map	*map;		/* map of the parent, while this child has it */
		bool		matches;	/* this map describes the VMAs of the child, too */
	}			inherited;
	struct sfu_quota	quota;		/* when the process may be scanned */
	/*
	 * What hooks report to the next scan. @has_new_code: code was mapped; mmap() sets it with
	 * mmap_lock held for writing, scans clear it with mmap_lock held for reading. The last scan
	 * missed sections between @await_start and @await_end: mmap() there requests a scan.
	 */
	struct {
		bool		has_new_code;
		unsigned long	await_start;
		unsigned long	await_end;
	}			vma_hints;
	/*
	 * Tables for code that a JIT compiler makes. @tables is changed under @lock, and read under
	 * RCU. Walks store the address of code without rows in @asked_addr, but not before @ask_at;
	 * a scan then requests a table for it. @ask_wait doubles each time, until one is loaded.
	 */
	struct {
		struct list_head	tables;
		unsigned long		asked_addr;	/* address of code without rows, or 0 */
		unsigned long		ask_at;		/* in jiffies */
		unsigned long		ask_wait;	/* delay from request to @ask_at, jiffies */
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
 * Returns the map as sfu_process_map() does. Sets @is_inherited if it is the map of the parent: a
 * walk must not write to it, because the child may have changed its own copy of the memory.
 */
static inline struct sfu_map *sfu_process_walk_map(const struct sfu_process *process,
						   bool *is_inherited)
{
	const struct sfu_map *inherited;
	struct sfu_map *map;

	/* Read inherited.map before the map: sfu_process_publish() writes them in reverse order. */
	inherited = process ? smp_load_acquire(&process->inherited.map) : NULL;
	map = sfu_process_map(process);
	*is_inherited = map && map == inherited;
	return map;
}

/* map/process.c: these functions are called in any context but NMI, and do not sleep. */
void sfu_process_await(struct sfu_process *process, unsigned long start, unsigned long end);
bool sfu_process_unmap(struct sfu_process *process, unsigned long start, unsigned long end);
void sfu_process_put(struct sfu_process *process);

/* These functions are called in task context; sfu_process_publish() under &sfu_process.lock. */
struct sfu_map *sfu_process_get_map(struct sfu_process *process);
void sfu_process_drop_inherited(struct sfu_process *process);
void sfu_process_publish(struct sfu_process *process, struct sfu_map *map);

/* map/quota.c: this function is called in any context, NMI included. */
bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason);

/* Called under &sfu_process.lock. */
unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_charge(struct sfu_quota *quota, enum sfu_scan_reason reason, s64 cost);
void sfu_quota_charge_lost(struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_delay_samples(struct sfu_quota *quota, bool found_new);

/* map/request.c: these functions are called in any context, NMI included, under RCU. */
void sfu_request_init(struct sfu_request *request);
void sfu_request_for_sample(struct sfu_process *process);

/* These functions are called in any context but NMI, and do not sleep. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);
struct callback_head *sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
					   void (*func)(struct callback_head *work),
					   unsigned int max_works);

/* Called in task context. */
void sfu_request_exit(void);

/* map/spares.c: called in any context, NMI included, under the lock of the process table. */
struct sfu_process *sfu_spares_take(void);

/* Called in task context; may sleep. */
void sfu_spares_refill(unsigned int nr);
int sfu_spares_init(void);
void sfu_spares_exit(void);

/* map/processes.c: these functions are called in any context, NMI included, under RCU. */
struct sfu_process *sfu_processes_find(struct mm_struct *mm);
struct sfu_process *sfu_processes_add(struct mm_struct *mm, struct sfu_map *map);

/* These functions are called in any context but NMI, and do not sleep. */
void sfu_processes_end(struct mm_struct *mm);

/* Called in task context; may sleep. */
struct sfu_process *sfu_processes_get(struct mm_struct *mm);
int sfu_processes_scan(struct mm_struct *mm);
void sfu_processes_open(void);
void sfu_processes_close(void);
void sfu_processes_exit(void);

/* map/event.c: called by hooks and tests, in task context, maybe with preemption disabled. */
void sfu_event_mmap(struct vm_area_struct *vma);
void sfu_event_unmap(struct vm_area_struct *vma);
void sfu_event_fork(struct task_struct *child);

/* Task context; may sleep. */
int sfu_event_set_hooks(void);
void sfu_event_remove_hooks(void);

/* map/watch.c: these functions are called in any context, NMI included. */
bool sfu_watch_sample(void);
bool sfu_watch_is_idle(unsigned long now);
bool sfu_watch_expects_samples(void);

/* Task context; may sleep. */
int sfu_watch_init(void);
void sfu_watch_exit(void);

#endif /* SFU_PROCESS_H */
