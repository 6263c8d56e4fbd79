// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records samples of a command and all that it starts: each with the call chain that the kernel
 * gives, the registers, and a copy of the stack. The file has the records of perf as they are.
 */
#include <asm/perf_regs.h>
#include <err.h>
#include <fcntl.h>
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

#define DATA_SIZE	(16ul << 20)
#define STACK_COPY	49152
#define READY		"ready\n"
#define MAX_CPUS	16

#ifdef __aarch64__
#define USER_REGS	((1ull << PERF_REG_ARM64_MAX) - 1)
#else
#define USER_REGS	(((1ull << (PERF_REG_X86_R15 + 1)) - 1) & \
			 ~(1ull << PERF_REG_X86_DS | 1ull << PERF_REG_X86_ES | \
			   1ull << PERF_REG_X86_FS | 1ull << PERF_REG_X86_GS))
#endif

/* The data of the events of one processor: what is mapped, and samples. */
struct ring {
	int				fd;
	int				sampling;
	struct perf_event_mmap_page	*head;
	const char			*data;
};

static struct ring rings[MAX_CPUS];
static int nr_rings;

/* -s and -n: how many samples are left out first, and how many are written then. */
static uint64_t nr_skipped, nr_wanted = UINT64_MAX, nr_samples;

static int open_event(struct perf_event_attr *attr, int cpu, pid_t pid, int output)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, output,
			 PERF_FLAG_FD_CLOEXEC | (output < 0 ? 0 : PERF_FLAG_FD_OUTPUT));

	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

static void open_ring(int cpu, pid_t pid, uint64_t period_ns, bool waits)
{
	struct perf_event_attr mappings = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(mappings),
		.sample_period = 1,
		.exclude_kernel = 1,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = DATA_SIZE / 16,
	};
	struct perf_event_attr samples = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(samples),
		.sample_period = period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = USER_REGS,
		.sample_stack_user = STACK_COPY,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
		.disabled = 1,
		.enable_on_exec = !waits,
		.inherit = 1,
		.watermark = 1,
		.wakeup_watermark = DATA_SIZE / 16,
	};
	struct ring *ring = &rings[nr_rings++];
	long page = sysconf(_SC_PAGESIZE);
	char *area;

	ring->fd = open_event(&mappings, cpu, pid, -1);
	area = mmap(NULL, page + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (area == MAP_FAILED)
		err(1, "mmap");
	ring->head = (void *)area;
	ring->data = area + page;
	ring->sampling = open_event(&samples, cpu, pid, ring->fd);
}

static void write_all(FILE *out, const void *data, size_t size)
{
	if (size && fwrite(data, size, 1, out) != 1)
		err(1, "write");
}

static bool is_wanted(const struct perf_event_header *record)
{
	if (record->type != PERF_RECORD_SAMPLE)
		return true;
	nr_samples++;
	return nr_samples > nr_skipped && nr_samples - nr_skipped <= nr_wanted;
}

static void drain(const struct ring *ring, FILE *out)
{
	uint64_t head = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->head->data_tail;

	while (tail != head) {
		uint64_t off = tail % DATA_SIZE, first = DATA_SIZE - off;
		/* Records are aligned: the head is in one piece. */
		const struct perf_event_header *record = (const void *)(ring->data + off);
		uint64_t size = record->size;

		if (first > size)
			first = size;
		if (is_wanted(record)) {
			write_all(out, record, first);
			write_all(out, ring->data, size - first);
		}
		tail += size;
	}
	__atomic_store_n(&ring->head->data_tail, tail, __ATOMIC_RELEASE);
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

/* Copies what the command has printed. Returns whether it is ready: that is one of its lines. */
static bool has_said_ready(int output, FILE *copy)
{
	static char said[65536];
	static size_t size;
	ssize_t nr = read(output, said + size, sizeof(said) - 1 - size);

	if (nr <= 0)
		return false;
	write_all(copy, said + size, nr);
	size += nr;
	said[size] = 0;
	if (strstr(said, READY))
		return true;
	/* The last bytes may be the beginning of it. */
	if (size > sizeof(said) / 2) {
		memmove(said, said + size - strlen(READY), strlen(READY));
		size = strlen(READY);
	}
	return false;
}

static pid_t start(char **argv, int *go, int output)
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
		setpgid(0, 0);
		if (output >= 0)
			dup2(output, STDOUT_FILENO);
		execvp(argv[0], argv);
		err(1, "%s", argv[0]);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

/* Ends the command and all that it has started, which may write its last words. */
static void end(pid_t pid)
{
	int i;

	kill(-pid, SIGTERM);
	for (i = 0; i < 50 && !kill(-pid, 0); i++) {
		waitpid(pid, NULL, WNOHANG);
		usleep(100000);
	}
	kill(-pid, SIGKILL);
}

static const char usage[] =
"Usage: sampler [-r] [-s SKIPPED] [-n SAMPLES] FILE VDSO PERIOD_NS COMMAND [ARG...]\n"
"\n"
"-r: the first sample comes after the command has printed the line \"ready\".\n"
"-s, -n: leave out so many samples, write so many, and end the command then.\n";

int main(int argc, char **argv)
{
	struct pollfd polls[MAX_CPUS + 1];
	int cpu, go, option, output[2] = { -1, -1 }, status = 0;
	bool waits = false;
	FILE *out;
	pid_t pid;

	while ((option = getopt(argc, argv, "+rs:n:")) != -1) {
		switch (option) {
		case 'r':
			waits = true;
			break;
		case 's':
			nr_skipped = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			nr_wanted = strtoull(optarg, NULL, 0);
			break;
		default:
			return fputs(usage, stderr), 2;
		}
	}
	argv += optind;
	if (argc - optind < 4)
		return fputs(usage, stderr), 2;
	copy_vdso(argv[1]);
	out = fopen(argv[0], "we");
	if (!out)
		err(1, "%s", argv[0]);
	if (waits && pipe2(output, O_CLOEXEC))
		err(1, "pipe");
	pid = start(argv + 3, &go, output[1]);
	close(output[1]);
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < MAX_CPUS; cpu++) {
		open_ring(cpu, pid, strtoull(argv[2], NULL, 0), waits);
		polls[cpu] = (struct pollfd){ .fd = rings[cpu].fd, .events = POLLIN };
	}
	polls[nr_rings] = (struct pollfd){ .fd = output[0], .events = POLLIN };
	if (write(go, "", 1) != 1)
		err(1, "pipe");
	while (nr_samples < nr_wanted || nr_samples - nr_wanted < nr_skipped) {
		if (waitpid(pid, &status, WNOHANG))
			break;
		poll(polls, nr_rings + waits, 100);
		if (waits && (polls[nr_rings].revents & POLLIN) &&
		    has_said_ready(output[0], stdout)) {
			waits = false;
			for (cpu = 0; cpu < nr_rings; cpu++)
				ioctl(rings[cpu].sampling, PERF_EVENT_IOC_ENABLE, 0);
		}
		drain_all(out);
	}
	end(pid);
	drain_all(out);
	if (fclose(out))
		err(1, "%s", argv[0]);
	if (waits)
		errx(1, "the command has never been ready");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
