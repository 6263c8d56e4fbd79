/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the module, shown under debugfs. See sframe_stats.c. */
#ifndef SFU_STATS_H
#define SFU_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/*
 * Why a walk cannot go on. Each walk ends for exactly one of these. The order is that
 * of the output.
 */
enum sfu_stop {
	SFU_STOP_NONE,			/* it can go on */
	SFU_STOP_COMPLETE,		/* outermost frame reached */
	SFU_STOP_ENTRYPOINT,		/* code that starts a program or thread */
	SFU_STOP_FULL,			/* no room for more frames */
	SFU_STOP_NODATA,		/* no section, no provable fp */
	SFU_STOP_UNSCANNED,		/* code not in the map yet */
	SFU_STOP_EXEC,			/* in execve(): no stack yet */
	SFU_STOP_SWITCH,		/* the memory is not that of the task */
	SFU_STOP_NO_REGS,		/* the registers are not stored yet: no frame at all */
	SFU_STOP_STACK,			/* stack word not present */
	SFU_STOP_SECTION,		/* .sframe not present */
	SFU_STOP_BAD,			/* see the defect counters */
	SFU_STOP_REFUSED,		/* likewise; the section is kept */
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

/**
 * struct sfu_counters - the counters of one processor; all are unsigned longs
 * @walks: walks that began
 * @stops: walks that ended, by reason
 * @firsts: of these, walks that ended in the sampled frame
 * @depths: frames that all these walks found, by reason, the sampled frames included
 * @frames: callers that walks found, by method
 * @cache_hits: rows that the row cache had
 * @cache_misses: rows that were looked up in a section or a table
 * @declined: stacks that were left to the kernel
 * @defects: defects of sections, and of rows that were refused
 * @scan_requests: scans that were requested
 * @scans: scans that ran
 * @lost_scans: scans that did not run: another task scanned, or mmap_lock was held
 * @bad_sections: sections that were marked as bad
 */
struct sfu_counters {
	unsigned long	walks;
	unsigned long	stops[NR_SFU_STOPS];
	unsigned long	firsts[NR_SFU_STOPS];
	unsigned long	depths[NR_SFU_STOPS];
	unsigned long	frames[NR_SFU_METHODS];
	unsigned long	cache_hits;
	unsigned long	cache_misses;
	unsigned long	declined[NR_SFU_DECLINES];
	unsigned long	defects[NR_SFRAME_DEFECTS];
	unsigned long	scan_requests;
	unsigned long	scans;
	unsigned long	lost_scans;
	unsigned long	bad_sections;
};

DECLARE_PER_CPU(struct sfu_counters, sfu_counters);

/* Any context, NMI included. */
#define sfu_count(field)	this_cpu_inc(sfu_counters.field)
#define sfu_count_many(field, n) this_cpu_add(sfu_counters.field, n)

/* Held at the moment, in all processes. */
struct sfu_held {
	atomic_long_t	processes;
	atomic_long_t	sections;
	atomic_long_t	bytes;
	atomic_long_t	tables;		/* bytes of resident tables */
	atomic_long_t	process_tables;	/* tables for code of one process */
};

extern struct sfu_held sfu_held;

unsigned long sfu_stats_walks(void);
int sfu_stats_summary(char *buf);
void sfu_stats_init(void);
void sfu_stats_exit(void);

#endif /* SFU_STATS_H */
