// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records samples of a command and all that it starts: each with the call chain that the kernel
 * gives, the registers, and a copy of the stack. The file has the records of perf as they are.
 */
#include <asm/perf_regs.h>
#include <err.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA_SIZE	(8ul << 20)
#define STACK_COPY	32768
#define MAX_CPUS	16

#ifdef __aarch64__
#define USER_REGS	((1ull << PERF_REG_ARM64_MAX) - 1)
#else
#define USER_REGS	(((1ull << (PERF_REG_X86_R15 + 1)) - 1) & \
			 ~(1ull << PERF_REG_X86_DS | 1ull << PERF_REG_X86_ES | \
			   1ull << PERF_REG_X86_FS | 1ull << PERF_REG_X86_GS))
#endif

/* The data of the events of one processor. */
struct ring {
	int				fd;
	struct perf_event_mmap_page	*head;
	const char			*data;
};

static struct ring rings[MAX_CPUS];
static int nr_rings;

static void open_ring(int cpu, pid_t pid, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = USER_REGS,
		.sample_stack_user = STACK_COPY,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = DATA_SIZE / 4,
	};
	struct ring *ring = &rings[nr_rings++];
	long page = sysconf(_SC_PAGESIZE);
	char *area;

	ring->fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		err(1, "perf_event_open");
	area = mmap(NULL, page + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (area == MAP_FAILED)
		err(1, "mmap");
	ring->head = (void *)area;
	ring->data = area + page;
}

static void write_all(FILE *out, const void *data, size_t size)
{
	if (size && fwrite(data, size, 1, out) != 1)
		err(1, "write");
}

static void drain(const struct ring *ring, FILE *out)
{
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->head->data_tail, off = tail % DATA_SIZE;
	uint64_t size = head - tail, first = DATA_SIZE - off;

	if (first > size)
		first = size;
	write_all(out, ring->data + off, first);
	write_all(out, ring->data, size - first);
	__atomic_store_n(&ring->head->data_tail, head, __ATOMIC_RELEASE);
}

static void drain_all(FILE *out)
{
	int i;

	for (i = 0; i < nr_rings; i++)
		drain(&rings[i], out);
}

/* The reader of the records needs the file that all processes have. */
static void copy_vdso(const char *path)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	FILE *file = fopen(path, "we");

	if (!file || !vdso)
		err(1, "%s", path);
	write_all(file, vdso, 2 * sysconf(_SC_PAGESIZE));
	fclose(file);
}

static pid_t start(char **argv, int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		close(ends[0]);
		execvp(argv[0], argv);
		err(1, "%s", argv[0]);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

int main(int argc, char **argv)
{
	struct pollfd polls[MAX_CPUS];
	int cpu, go, status = 0;
	FILE *out;
	pid_t pid;

	if (argc < 5) {
		fputs("Usage: sampler FILE VDSO PERIOD_NS COMMAND [ARG...]\n", stderr);
		return 2;
	}
	copy_vdso(argv[2]);
	out = fopen(argv[1], "we");
	if (!out)
		err(1, "%s", argv[1]);
	pid = start(argv + 4, &go);
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < MAX_CPUS; cpu++) {
		open_ring(cpu, pid, strtoull(argv[3], NULL, 0));
		polls[cpu] = (struct pollfd){ .fd = rings[cpu].fd, .events = POLLIN };
	}
	if (write(go, "", 1) != 1)
		err(1, "pipe");
	while (waitpid(pid, &status, WNOHANG) == 0) {
		poll(polls, nr_rings, 100);
		drain_all(out);
	}
	drain_all(out);
	if (fclose(out))
		err(1, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
