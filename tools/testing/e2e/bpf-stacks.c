// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bpf-stacks PID COUNT EVENT [ARG...]: user stacks of a process, as BPF gets them
 *
 *	tracepoint SYSTEM/NAME
 *	uprobe FILE OFFSET	at each hit of the instruction there
 *	uretprobe FILE OFFSET	at each return from the function there
 *	clock HZ
 *
 * At each of COUNT events, a short BPF program takes the stack twice, by
 * bpf_get_stack() and by bpf_get_stackid(). Both stacks are printed in the format
 * of perf script, with the event EVENT:get_stack or EVENT:get_stackid. At the end
 * bpf-stacks stops the process.
 */
#include <err.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DEPTH	127
#define RING_SIZE	0x100000
#define MAX_IDS		16384

/* The record that the BPF program writes at each event. */
struct record {
	int64_t		id;		/* of the stack, or an error */
	int64_t		size;		/* bytes of ips, or an error */
	int64_t		kernel_size;	/* likewise */
	uint64_t	time;
	uint64_t	ips[MAX_DEPTH];
	uint64_t	kernel[MAX_DEPTH];
};

static void *must(void *p, const char *what)
{
	if (!p || p == MAP_FAILED)
		err(1, "%s", what);
	return p;
}

static int must_fd(long fd, const char *what)
{
	if (fd < 0)
		err(1, "%s", what);
	return fd;
}

/* ---- the program ---- */

static int make_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t max)
{
	union bpf_attr attr = {
		.map_type = type, .key_size = key, .value_size = value,
		.max_entries = max,
	};

	return must_fd(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)), "BPF map");
}

#define INSN(c, dst, src, o, i)						\
	{ .code = (c), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i) }
#define MOV_REG(dst, src)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV(dst, i)		INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, i)
#define ADD(dst, i)		INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, i)
#define SHIFT_RIGHT(dst, i)	INSN(BPF_ALU64 | BPF_RSH | BPF_K, dst, 0, 0, i)
#define LOAD_MAP(dst, fd)	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd)
#define UPPER_HALF		INSN(0, 0, 0, 0, 0)
#define STORE(dst, o, src)	INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, o, 0)
#define CALL(function)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define SKIP_IF_EQUAL(dst, i, o) INSN(BPF_JMP | BPF_JEQ | BPF_K, dst, 0, o, i)
#define SKIP(o)			INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define EXIT			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int load_program(enum bpf_prog_type type, int pid, int ring, int stacks)
{
	struct bpf_insn program[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),			/* the context */
		CALL(BPF_FUNC_get_current_pid_tgid),
		SHIFT_RIGHT(BPF_REG_0, 32),
		SKIP_IF_EQUAL(BPF_REG_0, pid, 1),
		SKIP(32),
		LOAD_MAP(BPF_REG_1, ring), UPPER_HALF,
		MOV(BPF_REG_2, sizeof(struct record)),
		MOV(BPF_REG_3, 0),
		CALL(BPF_FUNC_ringbuf_reserve),
		SKIP_IF_EQUAL(BPF_REG_0, 0, 26),
		MOV_REG(BPF_REG_7, BPF_REG_0),			/* the record */
		CALL(BPF_FUNC_ktime_get_ns),
		STORE(BPF_REG_7, offsetof(struct record, time), BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		LOAD_MAP(BPF_REG_2, stacks), UPPER_HALF,
		MOV(BPF_REG_3, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stackid),
		STORE(BPF_REG_7, offsetof(struct record, id), BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD(BPF_REG_2, offsetof(struct record, ips)),
		MOV(BPF_REG_3, sizeof(((struct record *)0)->ips)),
		MOV(BPF_REG_4, BPF_F_USER_STACK),
		CALL(BPF_FUNC_get_stack),
		STORE(BPF_REG_7, offsetof(struct record, size), BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD(BPF_REG_2, offsetof(struct record, kernel)),
		MOV(BPF_REG_3, sizeof(((struct record *)0)->kernel)),
		MOV(BPF_REG_4, 0),
		CALL(BPF_FUNC_get_stack),
		STORE(BPF_REG_7, offsetof(struct record, kernel_size), BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_7),
		MOV(BPF_REG_2, 0),
		CALL(BPF_FUNC_ringbuf_submit),
		MOV(BPF_REG_0, 0),
		EXIT,
	};
	static char log[65536];
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.license = (uintptr_t)"GPL",
		.log_level = 1, .log_buf = (uintptr_t)log, .log_size = sizeof(log),
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		err(1, "BPF program: %s", log);
	return fd;
}

/* ---- the event ---- */

static unsigned long number_in(const char *format, const char *name)
{
	unsigned long number;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), format, name);
	file = must(fopen(path, "r"), path);
	if (fscanf(file, "%lu", &number) != 1)
		errx(1, "%s: no number", path);
	fclose(file);
	return number;
}

static void attach(int pid, int ring, int stacks, char **event)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .sample_period = 1 };
	enum bpf_prog_type type = BPF_PROG_TYPE_KPROBE;
	int fd;

	if (!strcmp(event[0], "tracepoint")) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = number_in("/sys/kernel/tracing/events/%s/id", event[1]);
		type = BPF_PROG_TYPE_TRACEPOINT;
	} else if (!strcmp(event[0], "clock")) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.freq = 1;
		attr.sample_freq = atoi(event[1]);
		type = BPF_PROG_TYPE_PERF_EVENT;
	} else {
		attr.type = number_in("/sys/bus/event_source/devices/%s/type",
				      "uprobe");
		attr.config = event[0][1] == 'r';
		attr.uprobe_path = (uintptr_t)event[1];
		attr.probe_offset = strtoul(event[2], NULL, 0);
	}
	fd = must_fd(syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0),
		     "perf_event_open");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, load_program(type, pid, ring, stacks)) ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err(1, "attaching the program");
}

/* ---- the output ---- */

static void print_ips(const uint64_t *ips, int64_t size)
{
	for (; size > 0 && *ips; size -= sizeof(*ips))
		printf("\t%lx\n", (unsigned long)*ips++);
}

static void print_stack(int pid, const struct record *record, const char *event,
			const char *how, const uint64_t *ips, int64_t size)
{
	printf("chain %d/%d %.9f: %s:%s:\n", pid, pid, record->time / 1e9, event, how);
	print_ips(record->kernel, record->kernel_size);
	print_ips(ips, size);
}

static void print_record(int pid, const struct record *record, const char *event, int stacks)
{
	uint64_t ips[MAX_DEPTH];
	uint32_t id = record->id;
	union bpf_attr attr = {
		.map_fd = stacks, .key = (uintptr_t)&id, .value = (uintptr_t)ips,
	};

	print_stack(pid, record, event, "get_stack", record->ips, record->size);
	/* If another stack has the same hash, the map has that stack and this one is missing. */
	if (record->id >= 0 && !syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)))
		print_stack(pid, record, event, "get_stackid", ips, sizeof(ips));
}

static void *map_ring(int ring, int protection, size_t len, off_t at)
{
	return must(mmap(NULL, len, protection, MAP_SHARED, ring, at), "mmap");
}

/*
 * Reads the ring buffer. Its first page has the position of the reader, the second
 * page that of the BPF program. The bytes follow, mapped twice so that no record is
 * cut.
 */
static int read_ring(int pid, int ring, int stacks, int count, const char *event)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned long *ours = map_ring(ring, PROT_READ | PROT_WRITE, page, 0);
	unsigned long *theirs = map_ring(ring, PROT_READ, page + 2 * RING_SIZE, page);
	struct pollfd ready = { .fd = ring, .events = POLLIN };
	int nr = 0;

	while (nr < count && poll(&ready, 1, 20000) > 0) {
		while (nr < count && *ours < __atomic_load_n(theirs, __ATOMIC_ACQUIRE)) {
			char *at = (char *)theirs + page + *ours % RING_SIZE;
			uint32_t len = __atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE);

			if (len & BPF_RINGBUF_BUSY_BIT)
				break;
			print_record(pid, (void *)(at + BPF_RINGBUF_HDR_SZ), event, stacks);
			nr++;
			len = (len + BPF_RINGBUF_HDR_SZ + 7) & ~7U;
			__atomic_store_n(ours, *ours + len, __ATOMIC_RELEASE);
		}
	}
	return nr;
}

int main(int argc, char **argv)
{
	int pid, count, ring, stacks, nr;

	if (argc < 5)
		errx(2, "usage: bpf-stacks PID COUNT EVENT ARG..., see the source");
	pid = atoi(argv[1]);
	count = atoi(argv[2]);
	ring = make_map(BPF_MAP_TYPE_RINGBUF, 0, 0, RING_SIZE);
	stacks = make_map(BPF_MAP_TYPE_STACK_TRACE, 4, MAX_DEPTH * 8, MAX_IDS);
	attach(pid, ring, stacks, argv + 3);
	nr = read_ring(pid, ring, stacks, count, argv[3]);
	/* A uretprobe cannot be removed while its task hits other uretprobes: see guest-bpf.sh. */
	kill(pid, SIGSTOP);
	if (nr < count)
		errx(1, "no event in twenty seconds, after less than %d", count);
	return 0;
}
