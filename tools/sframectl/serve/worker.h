/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process without privileges that reads one file, mostly to convert it, or the memory of
 * one process. They are anybody's: whatever they do to the child, it costs no more than their own
 * tables.
 */
#ifndef SFRAMECTL_WORKER_H
#define SFRAMECTL_WORKER_H

#include <sys/stat.h>
#include <sys/types.h>

#include "uapi/sframe_unwind.h"
#include "conversion.h"
#include "store.h"

/* The tasks of a worker: what the child does with the file. */
enum worker_task {
	WORKER_CONVERTS,
	WORKER_FINDS_KEY,	/* of the file in a store */
	WORKER_DESCRIBES,	/* which code the .sframe of the file describes */
	WORKER_READS_PROCESS,	/* what its runtimes say of the code that they have made */
};

/**
 * struct worker_result - what the child gives back, at the beginning of its output
 * @addr: address that the section was made for
 * @size: bytes of the section, which follows; 0: there is none. Of WORKER_DESCRIBES: of an
 *	array of struct range. Of WORKER_READS_PROCESS: of each struct runtime_table, with its
 *	section
 * @nr_segments: in @segments
 * @segments: executable segments of the file
 * @key: of WORKER_FINDS_KEY: the key of the file
 * @is_elf: of WORKER_DESCRIBES: as in struct coverage
 * @is_32: likewise
 * @has_sframe: likewise
 * @facts: of WORKER_CONVERTS
 * @error: why there is no section, or no key
 */
struct worker_result {
	u64			addr;
	u64			size;
	u32			nr_segments;
	struct sframe_segment	segments[SFRAME_SEGMENTS_MAX];
	char			key[STORE_KEY];
	u8			is_elf;
	u8			is_32;
	u8			has_sframe;
	struct conversion_facts	facts;
	char			error[200];
};

/**
 * struct worker - a child and its file
 * @task: what it does
 * @pid: of the child
 * @pidfd: readable when the child has ended
 * @fd: the file; the worker owns it; -1: there is none
 * @process: of WORKER_READS_PROCESS: its PID
 * @is_vdso: the file is a copy of the vDSO
 * @is_transient: set by worker_end(): the child has ended for want of something, and not for
 *	what the file says. It may do better later
 * @output: what the child writes
 * @stat: of the file, before the child read it
 * @result: set by worker_end()
 * @section: the bytes of the section, by worker_end() or store_find(), or the ranges of
 *	WORKER_DESCRIBES, or the tables of a process; NULL: there are none
 * @mapped: the mapping that @section is in, or NULL
 * @mapped_size: its bytes
 * @copy: the allocated memory that @section is in, or NULL
 */
struct worker {
	enum worker_task	task;
	pid_t			pid;
	int			pidfd;
	int			fd;
	pid_t			process;
	bool			is_vdso;
	bool			is_transient;
	int			output;
	struct stat		stat;
	struct worker_result	result;
	const void		*section;
	void			*mapped;
	size_t			mapped_size;
	void			*copy;
};

/* Children of this process run only when nothing else does. */
extern bool worker_is_idle;

const char *worker_begin(struct worker *worker, int fd, enum worker_task task);
const char *worker_begin_vdso(struct worker *worker, enum worker_task task);
const char *worker_begin_process(struct worker *worker, pid_t pid);
void worker_end(struct worker *worker);
void worker_free(struct worker *worker);

#endif /* SFRAMECTL_WORKER_H */
