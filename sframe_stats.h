/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the module, which debugfs shows. */
#ifndef SFU_STATS_H
#define SFU_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/* Why a walk (the unwinding of one stack) has ended. */
enum sfu_stop {
	SFU_STOP_NONE,			/* no reason yet: the walk can go on */
	SFU_STOP_COMPLETE,		/* the walk has reached the outermost frame */
	/* "start" in debugfs: the walk has reached code that starts the program or a thread */
	SFU_STOP_ENTRYPOINT,
	SFU_STOP_FULL,			/* the callchain has no room for more frames */
	SFU_STOP_NODATA,		/* no row, and no other evidence of who the caller is */
	SFU_STOP_UNSCANNED,		/* no scan of the process has found this code so far */
	SFU_STOP_EXEC,			/* in execve(): the registers may be of the old program */
	SFU_STOP_SWITCH,		/* current's mm is not loaded, as in a task switch */
	SFU_STOP_NO_REGS,		/* "entry" in debugfs: NMI, user registers not yet saved */
	SFU_STOP_STACK,			/* a needed word of the stack is not in memory */
	SFU_STOP_SECTION,		/* a needed page of .sframe is not in memory */
	SFU_STOP_BAD,			/* the SFrame section is malformed: see defect counters */
	SFU_STOP_REFUSED,		/* the row has a form that the module does not support */
	SFU_STOP_BUDGET,		/* the walk's cost would exceed SFU_BUDGET instructions */
	SFU_STOP_CFA,			/* the caller's frame would not be at a higher address */
	SFU_STOP_RA,			/* the return address is not in executable code */
	SFU_STOP_REGISTER,		/* the row needs a register that is unknown in this frame */
	SFU_STOP_SIGNAL,		/* the signal frame has no valid saved registers */
	NR_SFU_STOPS
};

/* How the frame of a caller was found. walk/fallback.c explains the kinds of evidence. */
enum sfu_method {
	SFU_METHOD_SFRAME,
	/*
	 * No SFrame row gave the caller. One of these proved who it is: the instructions of the
	 * frame's code, arm64's link register, or the call before the return address.
	 */
	SFU_METHOD_FP,
	/* Found by FP, frame records or an unverified SP: nothing proves that it is the caller. */
	SFU_METHOD_FP_HABIT,
	SFU_METHOD_SIGNAL,
	NR_SFU_METHODS
};

/* Why the module left a stack to the unwinder of the kernel. */
enum sfu_decline {
	SFU_DECLINE_DISABLED,		/* parameter `enabled` is N, or hooks are not set yet */
	SFU_DECLINE_KTHREAD,		/* sample in a kernel thread or user worker, or no mm */
	SFU_DECLINE_GUEST,		/* sample may have hit a KVM guest, not the task itself */
	SFU_DECLINE_COMPAT,		/* the sample is not in 64-bit user code */
	SFU_DECLINE_NOSECTION,		/* no SFrame data is known for code of the process */
	NR_SFU_DECLINES
};

extern const char *const sfu_stop_names[NR_SFU_STOPS];
extern const char *const sfu_method_names[NR_SFU_METHODS];
extern const char *const sfu_decline_names[NR_SFU_DECLINES];

/* The counters of one processor. All are unsigned long, because they are added up as an array. */
struct sfu_counters {
	unsigned long	walks;
	unsigned long	stops[NR_SFU_STOPS];
	unsigned long	firsts[NR_SFU_STOPS];		/* walks that found no caller, by reason */
	unsigned long	depths[NR_SFU_STOPS];		/* sum of frames of the walks in stops[] */
	unsigned long	frames[NR_SFU_METHODS];		/* callers that were found, by method */
	unsigned long	cache_hits;
	unsigned long	cache_misses;
	unsigned long	declined[NR_SFU_DECLINES];
	unsigned long	defects[NR_SFRAME_DEFECTS];
	unsigned long	scan_requests;
	unsigned long	scans;
	unsigned long	lost_scans;			/* scans given up because a lock was held */
	unsigned long	bad_sections;
};

struct kernel_param;

DECLARE_PER_CPU(struct sfu_counters, sfu_counters);

#define sfu_count(field)	this_cpu_inc(sfu_counters.field)
#define sfu_count_many(field, n) this_cpu_add(sfu_counters.field, n)

/* How many objects and bytes of memory the module holds at present. */
struct sfu_held {
	atomic_long_t	processes;
	atomic_long_t	sections;
	atomic_long_t	bytes;		/* bytes of process maps and struct sfu_process */
	atomic_long_t	tables;		/* bytes of tables */
	atomic_long_t	process_tables;	/* tables for the code of JIT compilers */
};

extern struct sfu_held sfu_held;

unsigned long sfu_stats_walks(void);
int sfu_stats_summary(char *buf, const struct kernel_param *kp);
void sfu_stats_init(void);
void sfu_stats_exit(void);

#endif /* SFU_STATS_H */
