// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crowd COUNT [LIBRARY...]: measure the memory that the module uses for COUNT sampled processes
 *
 * Each process is a child of this one and has the libraries. It makes system
 * calls, which are sampled with a call chain, and waits until all processes run.
 * Prints the growth of the counters in /sys/kernel/debug/sframe_unwind/stats.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "chain.h"
#include "event.h"

static long read_counter(const char *name)
{
	FILE *file = fopen("/sys/kernel/debug/sframe_unwind/stats", "r");
	char key[64];
	long value;

	if (!file)
		err(1, "no counters (is the module loaded?)");
	while (fscanf(file, "%63s %ld", key, &value) == 2) {
		if (!strcmp(key, name)) {
			fclose(file);
			return value;
		}
	}
	errx(1, "no counter %s", name);
}

static void be_sampled(void)
{
	static char stack[1 << 16] __attribute__((__aligned__(16)));
	int i;

	/* The first sample may only request a scan of the process. */
	for (i = 0; i < 3; i++)
		enter_chain(stack + sizeof(stack), 3, chain, leaves);
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_CALLCHAIN };
	long processes, sections, bytes, count, i;
	int ready[2], end[2];
	char c = 0;

	if (argc < 2)
		errx(2, "usage: crowd COUNT [LIBRARY...]");
	count = atol(argv[1]);
	for (i = 2; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			errx(1, "%s", dlerror());
	if (pipe(ready) || pipe(end))
		err(1, "pipe");

	processes = read_counter("map.processes");
	sections = read_counter("map.sections");
	bytes = read_counter("map.bytes");
	open_event(&attr, -1);
	for (i = 0; i < count; i++) {
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			close(end[1]);
			be_sampled();
			if (write(ready[1], &c, 1) != 1 || read(end[0], &c, 1))
				_exit(1);
			_exit(0);
		}
		if (read(ready[0], &c, 1) != 1)
			err(1, "read");
	}
	printf("%ld processes %ld sections %ld bytes\n", read_counter("map.processes") - processes,
	       read_counter("map.sections") - sections, read_counter("map.bytes") - bytes);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	return 0;
}
