// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples all processors, and reports where the module's walks of their stacks end.
 *
 * Each processor has two perf events. The clock asks for call chains, so the module walks the
 * stacks of its samples. The tracepoint sframe_unwind:sfu_walk reports each walk. Both write into
 * one ring of memory: the record of a walk comes before that of its sample. A sample of user memory
 * without a walk was left to the kernel. Walks for other profilers count, too.
 *
 * The kernel removes the events when this process ends, however it ends.
 */
#include <errno.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler.h"

#define TRACEFS		"/sys/kernel/tracing"
#define FORMAT		TRACEFS "/events/sframe_unwind/sfu_walk/format"
#define FREQUENCY	199		/* per second; not a divisor of what timers use */
#define RECORD_MAX	65536		/* its size has 16 bits */

/* Return: the offset of a member if @line, of FORMAT, is about it; else @old. */
static u32 parse_offset(const char *line, const char *member, u32 old)
{
	const char *place = strstr(line, member);
	u32 offset;

	if (place && sscanf(place + strlen(member), "; offset:%u;", &offset) == 1)
		return offset;
	return old;
}

static bool has_prefix(const char *line, const char *prefix)
{
	return !strncmp(line, prefix, strlen(prefix));
}

static bool read_format(struct sampler_format *format)
{
	FILE *file = fopen(FORMAT, "re");
	char line[256];

	*format = (struct sampler_format){};
	while (file && fgets(line, sizeof(line), file)) {
		if (has_prefix(line, "ID: "))
			format->id = strtoul(line + 4, NULL, 10);
		format->stop_ip = parse_offset(line, " stop_ip", format->stop_ip);
		format->nr_frames = parse_offset(line, " nr_frames", format->nr_frames);
		format->reason = parse_offset(line, " reason", format->reason);
	}
	if (file)
		fclose(file);
	return format->id && format->stop_ip && format->nr_frames && format->reason;
}

static const char *explain_format(void)
{
	struct statfs fs;

	if (statfs(TRACEFS, &fs) || fs.f_type != TRACEFS_MAGIC)
		return "tracefs is not mounted; type: mount -t tracefs none " TRACEFS;
	return "this kernel has no tracepoints, so sfu_walk is missing: use another kernel";
}

static int open_event(struct perf_event_attr *attr, int cpu)
{
	attr->size = sizeof(*attr);
	return syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_clock(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = FREQUENCY,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_kernel = 1,
	};

	return open_event(&attr, cpu);
}

static int open_walks(int cpu, u32 id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_RAW,
	};

	return open_event(&attr, cpu);
}

static size_t ring_bytes(void)
{
	return (1 + SAMPLER_RING_PAGES) * (size_t)getpagesize();
}

/* Opens the events of processor @nr. The clock begins last: its first sample has its walk. */
static bool open_cpu(struct sampler_cpu *cpu, int nr, u32 id)
{
	*cpu = (struct sampler_cpu){ .clock = -1, .ring = MAP_FAILED };
	cpu->walks = open_walks(nr, id);
	if (cpu->walks < 0)
		return false;
	cpu->ring = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, cpu->walks, 0);
	if (cpu->ring == MAP_FAILED || ioctl(cpu->walks, PERF_EVENT_IOC_ID, &cpu->walks_id))
		return false;
	cpu->clock = open_clock(nr);
	return cpu->clock >= 0 && !ioctl(cpu->clock, PERF_EVENT_IOC_SET_OUTPUT, cpu->walks);
}

static void close_cpu(struct sampler_cpu *cpu)
{
	if (cpu->clock >= 0)
		close(cpu->clock);
	if (cpu->ring != MAP_FAILED)
		munmap(cpu->ring, ring_bytes());
	if (cpu->walks >= 0)
		close(cpu->walks);
}

/* Each processor takes two files. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Only uid 0 comes here. Root of a user namespace has no rights over the machine. */
static const char *explain_event(int error)
{
	if (error == EACCES || error == EPERM)
		return "only root may sample; it needs CAP_SYS_ADMIN outside of all containers";
	return strerror(error);
}

/**
 * sampler_open - begin to sample
 * @sampler: @take, @is_late and @arg are set; the rest is filled in
 *
 * Return: NULL, or the error as a text. The caller calls sampler_close() in both cases.
 */
const char *sampler_open(struct sampler *sampler)
{
	int nr, nr_cpus = sysconf(_SC_NPROCESSORS_CONF), error;

	sampler->nr = 0;
	sampler->lost = 0;
	sampler->cpus = calloc(nr_cpus, sizeof(*sampler->cpus));
	if (!sampler->cpus)
		return "out of memory";
	if (!read_format(&sampler->format))
		return explain_format();
	raise_file_limit();
	for (nr = 0; nr < nr_cpus; nr++) {
		if (open_cpu(&sampler->cpus[sampler->nr], nr, sampler->format.id)) {
			sampler->nr++;
			continue;
		}
		error = errno;
		close_cpu(&sampler->cpus[sampler->nr]);
		/* A processor that is switched off. */
		if (error != ENODEV)
			return explain_event(error);
	}
	return NULL;
}

void sampler_close(struct sampler *sampler)
{
	while (sampler->nr)
		close_cpu(&sampler->cpus[--sampler->nr]);
	free(sampler->cpus);
	sampler->cpus = NULL;
}

/**
 * struct raw - the record of a walk
 * @bytes: the record, as the format says
 * @size: its bytes
 */
struct raw {
	const u8	*bytes;
	u32		size;
};

static bool raw_get(const struct raw *raw, u32 offset, void *to, u32 size)
{
	if (offset > raw->size || size > raw->size - offset)
		return false;
	memcpy(to, raw->bytes + offset, size);
	return true;
}

/* A __data_loc is the size and the offset of the string, 16 bits each. */
static bool raw_get_string(const struct raw *raw, u32 offset, char *to, u32 room)
{
	u32 place, size;

	if (!raw_get(raw, offset, &place, sizeof(place)))
		return false;
	size = min_t(u32, place >> 16, room);
	if (!size || !raw_get(raw, place & 0xffff, to, size))
		return false;
	to[size - 1] = 0;
	return true;
}

static bool parse_walk(const struct sampler_format *format, const struct raw *raw,
		       struct sampler_end *end)
{
	unsigned long stop_ip;
	u32 nr_frames;

	if (!raw_get(raw, format->stop_ip, &stop_ip, sizeof(stop_ip)) ||
	    !raw_get(raw, format->nr_frames, &nr_frames, sizeof(nr_frames)) ||
	    !raw_get_string(raw, format->reason, end->reason, sizeof(end->reason)))
		return false;
	/* In a caller, the address is the one after the call. */
	end->lookup_ip = stop_ip - (nr_frames > 1);
	return true;
}

/* Return: the sampled address of user mode in a call chain; 0 if the thread has no user memory. */
static u64 sampled_ip(const u64 *words, u64 nr, u64 room)
{
	u64 i;

	for (i = 0; i + 1 < nr && i + 1 < room; i++)
		if (words[i] == PERF_CONTEXT_USER)
			return words[i + 1];
	return 0;
}

static void take_walk(struct sampler *sampler, struct sampler_cpu *cpu)
{
	if (cpu->is_walked)
		sampler->take(sampler->arg, &cpu->end);
	cpu->is_walked = false;
}

/*
 * A record is the id of its event, the process and the thread; and a call chain if it is of the
 * clock, or the tracepoint's own record. @nr is the number of words after the header.
 */
static void read_sample(struct sampler *sampler, struct sampler_cpu *cpu, const u64 *words,
			u64 nr)
{
	struct sampler_end end = { .reason = SAMPLER_LEFT };
	bool is_ours;
	u32 ids[2];

	if (nr < 3)
		return;
	memcpy(ids, &words[1], sizeof(ids));
	end.pid = ids[0];
	if (words[0] == cpu->walks_id) {
		const u8 *bytes = (const u8 *)&words[2];
		struct raw raw = { .bytes = bytes + sizeof(u32) };

		memcpy(&raw.size, bytes, sizeof(raw.size));
		raw.size = min_t(u64, raw.size, (nr - 2) * sizeof(u64) - sizeof(u32));
		take_walk(sampler, cpu);
		cpu->is_walked = parse_walk(&sampler->format, &raw, &end);
		cpu->tid = ids[1];
		cpu->end = end;
		return;
	}
	is_ours = cpu->is_walked && cpu->tid == ids[1];
	take_walk(sampler, cpu);
	end.lookup_ip = sampled_ip(&words[3], words[2], nr - 3);
	if (!is_ours && end.lookup_ip)
		sampler->take(sampler->arg, &end);
}

static void read_record(struct sampler *sampler, struct sampler_cpu *cpu, const u64 *record)
{
	const struct perf_event_header *header = (const void *)record;
	u64 nr = header->size / sizeof(u64) - 1;

	if (header->type == PERF_RECORD_SAMPLE)
		read_sample(sampler, cpu, record + 1, nr);
	else if (header->type == PERF_RECORD_LOST && nr >= 2)
		sampler->lost += record[2];
}

/* Copies bytes out of the ring, which may wrap around in the middle of them. */
static void copy_out(const struct sampler_cpu *cpu, u64 at, void *to, u64 size)
{
	const u8 *data = (const u8 *)cpu->ring + getpagesize();
	u64 room = (u64)SAMPLER_RING_PAGES * getpagesize(), begin = at % room;
	u64 first = min_t(u64, size, room - begin);

	memcpy(to, data + begin, first);
	memcpy((u8 *)to + first, data, size - first);
}

static void read_ring(struct sampler *sampler, struct sampler_cpu *cpu)
{
	static u64 record[RECORD_MAX / sizeof(u64)];
	struct perf_event_mmap_page *page = cpu->ring;
	struct perf_event_header header;
	/* Pairs with the kernel's write of data_head, after that of the records. */
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = page->data_tail;

	for (; tail < head; tail += header.size) {
		copy_out(cpu, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		if (header.type == PERF_RECORD_SAMPLE && sampler->is_late(sampler->arg)) {
			sampler->lost++;
			continue;
		}
		copy_out(cpu, tail, record, header.size);
		read_record(sampler, cpu, record);
	}
	/* The kernel may write there once the records have been copied. */
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

/* Reports the stacks that ended since the last call. */
void sampler_read(struct sampler *sampler)
{
	u32 i;

	for (i = 0; i < sampler->nr; i++)
		read_ring(sampler, &sampler->cpus[i]);
}
