/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the module counts, and shows under debugfs.
 */
#ifndef SFU_STATS_H
#define SFU_STATS_H

#include <linux/atomic.h>
#include <linux/percpu.h>

#include "sframe_core.h"

/* Each walk ends for exactly one of these. The order is that of the output. */
#define SFU_STOPS(S)							\
	S(COMPLETE,	"complete")	/* outermost frame reached */	\
	S(FULL,		"full")		/* no room for more frames */	\
	S(NODATA,	"nodata")	/* no section, no provable fp */ \
	S(UNLEARNED,	"unlearned")	/* mapping not known yet */	\
	S(STACK,	"stack-fault")	/* stack word not readable */	\
	S(SECTION,	"section-fault") /* .sframe not readable now */	\
	S(BAD,		"bad-section")	/* see the fault counters */	\
	S(REFUSED,	"refused")	/* likewise, section is kept */	\
	S(BUDGET,	"budget")	/* more work than allowed */	\
	S(CFA,		"bad-cfa")	/* stack would not unwind upward */ \
	S(RA,		"bad-ra")	/* no code at the return address */ \
	S(REGISTER,	"register")	/* needs a register not known here */ \
	S(SIGNAL,	"bad-signal")	/* signal frame not to be trusted */

enum sfu_stop {
#define S(id, name) SFU_STOP_##id,
	SFU_STOPS(S)
#undef S
	NR_SFU_STOPS
};

/* How a caller's frame was found. */
#define SFU_METHODS(M)							\
	M(SFRAME,	"sframe")					\
	M(FP,		"fp")						\
	M(SIGNAL,	"signal")

enum sfu_method {
#define M(id, name) SFU_METHOD_##id,
	SFU_METHODS(M)
#undef M
	NR_SFU_METHODS
};

/* Why a stack was left to the kernel's own code. */
#define SFU_DECLINES(D)							\
	D(DISABLED,	"disabled")					\
	D(KTHREAD,	"kthread")	/* or no memory of its own */	\
	D(GUEST,	"guest")	/* a virtual machine's CPU */	\
	D(COMPAT,	"compat")	/* 32-bit code */		\
	D(NOSECTION,	"no-section")	/* no .sframe in the process */

enum sfu_decline {
#define D(id, name) SFU_DECLINE_##id,
	SFU_DECLINES(D)
#undef D
	NR_SFU_DECLINES
};

struct sfu_counters {
	unsigned long	walks;
	unsigned long	stops[NR_SFU_STOPS];
	unsigned long	frames[NR_SFU_METHODS];
	unsigned long	declined[NR_SFU_DECLINES];
	unsigned long	faults[NR_SFRAME_FAULTS];
	unsigned long	learned;
	unsigned long	asked;
	unsigned long	retired;
};

DECLARE_PER_CPU(struct sfu_counters, sfu_counters);

/* Any context, NMI included. */
#define sfu_count(field)	this_cpu_inc(sfu_counters.field)
#define sfu_count_many(field, n) this_cpu_add(sfu_counters.field, n)

/* What the process maps hold at the moment. */
struct sfu_held {
	atomic_long_t	processes;
	atomic_long_t	sections;
	atomic_long_t	bytes;
};

extern struct sfu_held sfu_held;

void sfu_stats_init(void);
void sfu_stats_exit(void);

#endif /* SFU_STATS_H */
