/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records that the sampler has written. */
#ifndef TRUTH_RECORDS_H
#define TRUTH_RECORDS_H

#include <linux/perf_event.h>
#include <stdio.h>

#include "registers.h"

/**
 * struct sample - one sample
 * @pid: of the process
 * @tid: of the thread
 * @chain: addresses of user code that the kernel gives, the innermost first
 * @nr: how many
 * @regs: the registers
 * @has_regs: they are those of 64-bit code in user mode
 * @stack: a copy of the stack, from the stack pointer on
 * @stack_size: its bytes
 */
struct sample {
	u32			pid;
	u32			tid;
	const u64		*chain;
	u64			nr;
	struct registers	regs;
	bool			has_regs;
	const u8		*stack;
	u64			stack_size;
};

/* A mapping of code, or of anything. */
struct map_record {
	u32		pid;
	u64		start;
	u64		size;
	u64		off;
	bool		is_code;
	const char	*name;
};

/* What a record says. */
enum record_kind {
	RECORD_OTHER,
	RECORD_SAMPLE,
	RECORD_MAP,
	RECORD_FORK,		/* @pid has a child @child */
	RECORD_EXEC,		/* @pid has a new program */
	RECORD_LOST,		/* records before this one are missing */
};

/**
 * struct record - a record
 * @kind: what it says
 * @sample: with RECORD_SAMPLE
 * @map: with RECORD_MAP
 * @pid: the process
 * @child: with RECORD_FORK
 * @lost: with RECORD_LOST
 * @bytes: the record as it was written
 */
struct record {
	enum record_kind	kind;
	struct sample		sample;
	struct map_record	map;
	u32			pid;
	u32			child;
	u64			lost;
	u64			bytes[65536 / sizeof(u64)];
};

bool record_read(FILE *file, struct record *record);

#endif /* TRUTH_RECORDS_H */
