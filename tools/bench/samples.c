// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * samples none|chain|copy DEPTH COUNT [cold|new]: measure the cost of one
 * sample of this program's stack
 *
 * The program makes COUNT system calls from a stack of DEPTH frames. Each call is
 * sampled: "none" without the stack, "chain" with a call chain, "copy" with the
 * registers and 8 KiB of stack as in perf's dwarf mode. All stacks have the same
 * functions. With "new", the sampled address is another one in each stack, and is
 * sampled once. With "cold", so are the others: each stack has the next DEPTH
 * functions, and after the last function the first follows again: a smaller cache
 * never hits.
 *
 * Prints nanoseconds for a call, the median of 15 parts, and bytes of a sample. In
 * a virtual machine with -icount, the nanoseconds are instructions.
 */
#include <asm/perf_regs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "chain.h"
#include "event.h"

#define RING_PAGES	512
#define NR_PARTS	15	/* of the measurement */

/* All registers that perf's dwarf mode copies. */
#ifdef __x86_64__
#define REGS_USER	0xff0fffULL
#else
#define REGS_USER	((1ULL << PERF_REG_ARM64_MAX) - 1)
#endif

static struct perf_event_mmap_page *ring;

static void open_ring(const char *how)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * page,
	};

	if (!strcmp(how, "chain")) {
		attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	} else if (!strcmp(how, "copy")) {
		attr.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = REGS_USER;
		attr.sample_stack_user = 8192;
	} else if (strcmp(how, "none")) {
		errx(2, "no method '%s': choose none, chain or copy", how);
	}
	ring = mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE,
		    MAP_SHARED, open_event(&attr, 0), 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The stacks go on by @stride functions and @leaf_stride leaves. @before stacks came before. */
static void sample(unsigned long before, unsigned long count, unsigned long depth,
		   unsigned long stride, unsigned long leaf_stride)
{
	static char stack[1 << 20] __attribute__((__aligned__(16)));
	unsigned long first = (before + 1) * stride % CHAIN_FUNCTIONS;
	unsigned long leaf = (before + 1) * leaf_stride % CHAIN_FUNCTIONS;

	while (count--) {
		enter_chain(stack + sizeof(stack), depth, chain[first], leaves[leaf]);
		ring->data_tail = ring->data_head;
		first = (first + stride) % CHAIN_FUNCTIONS;
		leaf = (leaf + leaf_stride) % CHAIN_FUNCTIONS;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of parts: what else the kernel does in one of them does not count. */
static double measure(unsigned long count, unsigned long depth, unsigned long stride,
		      unsigned long leaf_stride)
{
	double took[NR_PARTS], start;
	unsigned long before = 0, i, nr;

	for (i = 0; i < NR_PARTS; i++, before += nr) {
		nr = (count - before) / (NR_PARTS - i);
		start = now();
		sample(before, nr, depth, stride, leaf_stride);
		took[i] = (now() - start) / nr;
	}
	qsort(took, NR_PARTS, sizeof(*took), compare);
	return took[NR_PARTS / 2];
}

int main(int argc, char **argv)
{
	static struct perf_event_mmap_page unsampled;
	unsigned long depth, count, stride = 0, leaf_stride = 0, from;
	double ns;

	if (argc < 4 || argc > 5)
		errx(2, "usage: samples none|chain|copy DEPTH COUNT [cold|new]");
	depth = strtoul(argv[2], NULL, 0);
	count = strtoul(argv[3], NULL, 0);
	if (argc == 5) {
		leaf_stride = 1;
		stride = strcmp(argv[4], "new") ? depth : 0;
	}
	if (argc == 5 && count >= CHAIN_FUNCTIONS)
		errx(2, "there are only %d leaves", CHAIN_FUNCTIONS);

	/* Touch all of the code and the stack before the measurement, so that no page is absent. */
	ring = &unsampled;
	sample(0, CHAIN_FUNCTIONS, depth, depth, 1);
	open_ring(argv[1]);
	sample(0, 10, depth, 0, 0);
	from = ring->data_head;
	ns = measure(count, depth, stride, leaf_stride);
	printf("%.1f ns %.1f bytes\n", ns, (double)(ring->data_head - from) / count);
	return 0;
}
