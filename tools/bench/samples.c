// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * samples HOW DEPTH COUNT: what one sample of this program's stack costs
 *
 * COUNT system calls are made at that depth, each of which is sampled: with
 * HOW = none without a stack, chain with a call chain, copy with registers and
 * 8 KiB of stack as perf's dwarf mode takes them. Prints nanoseconds for a
 * call: in a virtual machine with -icount those are instructions.
 *
 * The calls are made on a stack of their own, at whose end the return address
 * and the frame pointer are 0: every way to unwind finds the same frames.
 */
#include <err.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES	512
#define NOINLINE	__attribute__((__noinline__))

static struct perf_event_mmap_page *ring;
static unsigned long calls;

static unsigned long event_id(void)
{
	static const char path[] =
		"/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id";
	FILE *file = fopen(path, "r");
	unsigned long id;

	if (!file || fscanf(file, "%lu", &id) != 1)
		err(1, "%s (is tracefs mounted?)", path);
	fclose(file);
	return id;
}

static void open_event(const char *how)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event_id(),
		.sample_period = 1,
		.exclude_callchain_kernel = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * page,
	};
	int fd;

	if (!strcmp(how, "chain")) {
		attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	} else if (!strcmp(how, "copy")) {
		attr.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = 0xff0fff;
		attr.sample_stack_user = 8192;
	} else if (strcmp(how, "none")) {
		errx(2, "how? none, chain or copy");
	}
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0)
		err(1, "perf_event_open");
	ring = mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* In here, and not in the C library, which has no .sframe. */
static inline long getppid_inline(void)
{
	long ret = SYS_getppid;

	asm volatile("syscall" : "+a" (ret) : : "rcx", "r11", "memory");
	return ret;
}

static NOINLINE void sample(unsigned long count)
{
	while (count--) {
		getppid_inline();
		ring->data_tail = ring->data_head;
	}
}

void descend(unsigned long depth);
NOINLINE void descend(unsigned long depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		sample(calls);
	asm volatile("");	/* not a tail call */
}

/* Calls descend(depth) on another stack, which ends with a return address of 0. */
void descend_on(void *top, unsigned long depth);

int main(int argc, char **argv)
{
	static char stack[1 << 20] __attribute__((__aligned__(16)));
	unsigned long depth, warm = 100, from;
	double start;

	if (argc != 4)
		errx(2, "usage: samples none|chain|copy DEPTH COUNT");
	depth = strtoul(argv[2], NULL, 0);
	open_event(argv[1]);

	calls = warm;
	descend_on(stack + sizeof(stack), depth);
	calls = strtoul(argv[3], NULL, 0);
	from = ring->data_head;
	start = now();
	descend_on(stack + sizeof(stack), depth);
	printf("%.1f ns %.1f bytes\n", (now() - start) / calls,
	       (double)(ring->data_head - from) / calls);
	return 0;
}
