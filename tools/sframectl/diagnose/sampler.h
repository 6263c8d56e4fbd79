/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples all processors, and reports where the module's walks of their stacks end. */
#ifndef SFRAMECTL_SAMPLER_H
#define SFRAMECTL_SAMPLER_H

#include "sframe_types.h"

/* Of the module's names of reasons; a longer one is cut. */
#define SAMPLER_REASON	24

/* Pages of a processor's ring, after its first one; a power of two. */
#define SAMPLER_RING_PAGES	32

/* The reason of a stack that the module has left to the kernel. */
#define SAMPLER_LEFT	"left"

/**
 * struct sampler_end - where and why a stack ended
 * @pid: the process
 * @lookup_ip: an address in the instruction at which it ended
 * @reason: a name of the module's stop reasons, or SAMPLER_LEFT
 */
struct sampler_end {
	u32	pid;
	u64	lookup_ip;
	char	reason[SAMPLER_REASON];
};

/**
 * struct sampler_format - where the members of the tracepoint's record are
 * @id: of the tracepoint
 * @stop_ip: offset in bytes
 * @nr_frames: likewise
 * @reason: likewise
 */
struct sampler_format {
	u32	id;
	u32	stop_ip;
	u32	nr_frames;
	u32	reason;
};

/**
 * struct sampler_cpu - the events of a processor
 * @clock: takes the samples
 * @walks: the tracepoint
 * @walks_id: what records of @walks begin with
 * @ring: the memory into which the kernel writes the records of both
 * @is_walked: @end is of a walk whose sample has not come yet
 * @tid: the thread of that walk
 * @end: its end
 */
struct sampler_cpu {
	int			clock;
	int			walks;
	u64			walks_id;
	void			*ring;
	bool			is_walked;
	u32			tid;
	struct sampler_end	end;
};

/**
 * struct sampler - the events of all processors
 * @format: of the tracepoint
 * @cpus: the processors that are there
 * @nr: their number
 * @lost: records that were not read, or for which the kernel had no room
 * @take: called for each stack
 * @is_late: called before each record: is it too late to take it?
 * @arg: passed to both
 */
struct sampler {
	struct sampler_format	format;
	struct sampler_cpu	*cpus;
	u32			nr;
	u64			lost;
	void (*take)(void *arg, const struct sampler_end *end);
	bool (*is_late)(void *arg);
	void			*arg;
};

const char *sampler_open(struct sampler *sampler);
void sampler_read(struct sampler *sampler);
void sampler_close(struct sampler *sampler);

#endif /* SFRAMECTL_SAMPLER_H */
