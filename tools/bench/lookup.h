/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part that all look-up programs share: reads the chosen addresses and
 * measures the time of a look-up.
 */
#ifndef BENCH_LOOKUP_H
#define BENCH_LOOKUP_H

#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOOKUP_COUNT	8192	/* addresses */
#define LOOKUP_REPEATS	15	/* runs over all addresses; the median is reported */

/**
 * struct lookup_address - an address in a file and the expected CFA
 * @addr: the address as in the file's headers
 * @cfa: offset of the CFA from the stack pointer
 */
struct lookup_address {
	uint64_t	addr;
	int64_t		cfa;
};

static struct lookup_address addresses[LOOKUP_COUNT];

static inline void read_addresses(const char *path)
{
	FILE *file = fopen(path, "r");
	int i;

	if (!file)
		err(1, "%s", path);
	for (i = 0; i < LOOKUP_COUNT; i++)
		if (fscanf(file, "%" SCNx64 " %" SCNd64, &addresses[i].addr,
			   &addresses[i].cfa) != 2)
			errx(1, "%s: line %d", path, i + 1);
	fclose(file);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The process's CPU time: other processes on the machine do not count. */
static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* @all looks up all addresses. Prints nanoseconds for one address: median, minimum, maximum. */
static inline void measure(const char *name, void (*all)(void))
{
	double ns[LOOKUP_REPEATS];
	int i;

	all();
	for (i = 0; i < LOOKUP_REPEATS; i++) {
		ns[i] = now_ns();
		all();
		ns[i] = (now_ns() - ns[i]) / LOOKUP_COUNT;
	}
	qsort(ns, LOOKUP_REPEATS, sizeof(*ns), compare_doubles);
	printf("%s %.1f %.1f %.1f\n", name, ns[LOOKUP_REPEATS / 2], ns[0],
	       ns[LOOKUP_REPEATS - 1]);
}

#endif /* BENCH_LOOKUP_H */
