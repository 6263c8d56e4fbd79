/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a perf event that samples each getpid(). */
#ifndef BENCH_EVENT_H
#define BENCH_EVENT_H

#include <err.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline unsigned long event_id(void)
{
	static const char path[] = "/sys/kernel/tracing/events/syscalls/sys_enter_getpid/id";
	FILE *file = fopen(path, "r");
	unsigned long id;

	if (!file || fscanf(file, "%lu", &id) != 1)
		err(1, "%s (is tracefs mounted?)", path);
	fclose(file);
	return id;
}

/* @pid 0: samples this process; @pid -1: samples all processes on the first processor. */
static inline int open_event(struct perf_event_attr *attr, int pid)
{
	int fd;

	attr->type = PERF_TYPE_TRACEPOINT;
	attr->size = sizeof(*attr);
	attr->config = event_id();
	attr->sample_period = 1;
	attr->exclude_callchain_kernel = 1;
	fd = syscall(SYS_perf_event_open, attr, pid, pid < 0 ? 0 : -1, -1, 0);
	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

#endif /* BENCH_EVENT_H */
