/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the module, shown under debugfs. See sframe_stats.c. */
#ifndef SFU_STATS_H
#define SFU_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/* Why a walk cannot go on, in the order of the output. Each walk ends for one of these reasons. */
enum sfu_stop {
	SFU_STOP_NONE,			/* it can go on */
	SFU_STOP_COMPLETE,		/* outermost frame reached */
	SFU_STOP_ENTRYPOINT,		/* code that starts a program or thread */
	SFU_STOP_FULL,			/* no room for more frames */
	SFU_STOP_NODATA,		/* no section, no provable fp */
	SFU_STOP_UNSCANNED,		/* code not in the map yet */
	SFU_STOP_EXEC,			/* in execve(): no stack yet */
	SFU_STOP_SWITCH,		/* the memory belongs to another task */
	SFU_STOP_NO_REGS,		/* the registers are not stored yet: no frame at all */
	SFU_STOP_STACK,			/* stack word not present */
	SFU_STOP_SECTION,		/* .sframe not present */
	SFU_STOP_BAD,			/* see the defect counters */
	SFU_STOP_REFUSED,		/* see the defect counters; the section is kept */
	SFU_STOP_BUDGET,		/* more work than allowed */
	SFU_STOP_CFA,			/* stack would not unwind upward */
	SFU_STOP_RA,			/* no code at the return address */
	SFU_STOP_REGISTER,		/* needs a register not known here */
	SFU_STOP_SIGNAL,		/* signal frame is not trusted */
	NR_SFU_STOPS
};

extern const char *const sfu_stop_names[];
extern const char *const sfu_method_names[];

/* How the caller's frame was found. */
enum sfu_method {
	SFU_METHOD_SFRAME,
	SFU_METHOD_FP,			/* without a row: proved by instructions */
	SFU_METHOD_FP_HABIT,		/* without a proof: the code keeps frame pointers */
	SFU_METHOD_SIGNAL,
	NR_SFU_METHODS
};

/* Why a stack was left to the kernel's own code. */
enum sfu_decline {
	SFU_DECLINE_DISABLED,		/* by the parameter, or the hooks are not set yet */
	SFU_DECLINE_KTHREAD,		/* or a task without memory of its own */
	SFU_DECLINE_GUEST,		/* a virtual machine's CPU */
	SFU_DECLINE_COMPAT,		/* 32-bit code */
	SFU_DECLINE_NOSECTION,		/* no table and no .sframe in the process */
	NR_SFU_DECLINES
};

extern const char *const sfu_decline_names[];

/* The counters of one processor; all are unsigned longs. */
struct sfu_counters {
	unsigned long	walks;				/* that began */
	unsigned long	stops[NR_SFU_STOPS];		/* walks that ended */
	unsigned long	firsts[NR_SFU_STOPS];		/* walks that ended in the sampled frame */
	unsigned long	depths[NR_SFU_STOPS];		/* frames, with the sampled ones */
	unsigned long	frames[NR_SFU_METHODS];		/* callers that were found */
	unsigned long	cache_hits;			/* rows that the row cache had */
	unsigned long	cache_misses;			/* rows that were looked up elsewhere */
	unsigned long	declined[NR_SFU_DECLINES];	/* stacks left to the kernel */
	unsigned long	defects[NR_SFRAME_DEFECTS];	/* of sections and of refused rows */
	unsigned long	scan_requests;
	unsigned long	scans;				/* that ran */
	unsigned long	lost_scans;			/* a lock was held by another task */
	unsigned long	bad_sections;			/* that were marked as bad */
};

struct kernel_param;

DECLARE_PER_CPU(struct sfu_counters, sfu_counters);

/* Any context, NMI included. */
#define sfu_count(field)	this_cpu_inc(sfu_counters.field)
#define sfu_count_many(field, n) this_cpu_add(sfu_counters.field, n)

/* What the module holds at the moment. */
struct sfu_held {
	atomic_long_t	processes;
	atomic_long_t	sections;	/* of all processes */
	atomic_long_t	bytes;		/* of maps and processes */
	atomic_long_t	tables;		/* bytes of resident tables */
	atomic_long_t	process_tables;	/* tables for code of one process */
};

extern struct sfu_held sfu_held;

unsigned long sfu_stats_walks(void);
int sfu_stats_summary(char *buf, const struct kernel_param *kp);
void sfu_stats_init(void);
void sfu_stats_exit(void);

#endif /* SFU_STATS_H */
