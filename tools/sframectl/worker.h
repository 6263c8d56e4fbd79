/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process without privileges that converts one file. The file is anybody's:
 * whatever it does to the child, it costs no more than its own table.
 */
#ifndef SFRAMECTL_WORKER_H
#define SFRAMECTL_WORKER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "uapi/sframe_unwind.h"
#include "sframe_types.h"

#define WORKER_SEGMENTS		128

/**
 * struct worker_result - what the child gives back, at the beginning of its output
 * @addr: address that the section was made for
 * @size: bytes of the section, which follows; 0: there is none
 * @nr_segments: in @segments
 * @segments: executable segments of the file
 * @error: why there is no section
 */
struct worker_result {
	u64			addr;
	u64			size;
	u32			nr_segments;
	struct sframe_segment	segments[WORKER_SEGMENTS];
	char			error[200];
};

/**
 * struct worker - a conversion
 * @pid: of the child
 * @pidfd: readable when the child has ended
 * @fd: the file; the worker owns it
 * @is_vdso: the file is a copy of the vDSO
 * @output: what the child writes
 * @stat: of the file, before the child read it
 * @result: set by worker_end()
 * @section: likewise; mapped
 */
struct worker {
	pid_t			pid;
	int			pidfd;
	int			fd;
	bool			is_vdso;
	int			output;
	struct stat		stat;
	struct worker_result	result;
	void			*section;
};

const char *worker_begin(struct worker *worker, int fd);
const char *worker_begin_vdso(struct worker *worker);
void worker_end(struct worker *worker);
void worker_free(struct worker *worker);

#endif /* SFRAMECTL_WORKER_H */
