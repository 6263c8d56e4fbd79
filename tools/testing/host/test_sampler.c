// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of sampler.c: what it reads out of a ring of memory that the test has filled. */
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler.h"

enum { WALKS_ID = 1, CLOCK_ID = 2, PID = 100, TID = 101, RECORD_WORDS = 16 };

#define RING_BYTES	(SAMPLER_RING_PAGES * (u64)getpagesize())

/* Offsets in the tracepoint's record, whose name of a reason follows its members. */
static const struct sampler_format format = {
	.id = 7, .stop_ip = 8, .nr_frames = 16, .reason = 20,
};

struct raw_walk {
	u64	common;
	u64	stop_ip;
	u32	nr_frames;
	u16	reason_at, reason_size;
	char	reason[8];
};

/* The stacks that take() was called for. After @most of them, is_late() says so. */
static struct taken {
	struct sampler_end	end[8];
	unsigned int		nr, most;
} taken;

static void take(void *arg, const struct sampler_end *end)
{
	(void)arg;
	if (taken.nr < ARRAY_SIZE(taken.end))
		taken.end[taken.nr] = *end;
	taken.nr++;
}

static bool is_late(void *arg)
{
	(void)arg;
	return taken.nr >= taken.most;
}

/* begin: an empty ring, whose next record begins @at bytes into it. */
static void begin(struct sampler *sampler, u64 at)
{
	struct perf_event_mmap_page *page = sampler->cpus->ring;

	memset(page, 0, getpagesize() + RING_BYTES);
	page->data_head = at;
	page->data_tail = at;
	sampler->cpus->is_walked = false;
	sampler->lost = 0;
	taken = (struct taken){ .most = UINT_MAX };
}

static void put(struct sampler *sampler, u32 type, const u64 *words, unsigned int nr)
{
	struct perf_event_mmap_page *page = sampler->cpus->ring;
	struct perf_event_header header = { .type = type, .size = (nr + 1) * sizeof(u64) };
	char *data = (char *)page + getpagesize();
	unsigned int i;

	for (i = 0; i <= nr; i++) {
		memcpy(data + page->data_head % RING_BYTES, i ? &words[i - 1] : (void *)&header,
		       sizeof(u64));
		page->data_head += sizeof(u64);
	}
}

static u64 ids(u32 tid)
{
	return PID | (u64)tid << 32;
}

/* A sample of the clock, with a call chain of @ip alone. */
static void put_clock(struct sampler *sampler, u32 tid, u64 ip)
{
	const u64 words[] = { CLOCK_ID, ids(tid), 2, PERF_CONTEXT_USER, ip };

	put(sampler, PERF_RECORD_SAMPLE, words, ARRAY_SIZE(words));
}

/* The record of a walk of @nr_frames that ended at @ip. */
static void put_walk(struct sampler *sampler, u32 tid, u64 ip, u32 nr_frames)
{
	const struct raw_walk walk = {
		.stop_ip = ip, .nr_frames = nr_frames,
		.reason_at = offsetof(struct raw_walk, reason), .reason_size = sizeof("nodata"),
		.reason = "nodata",
	};
	u64 words[RECORD_WORDS] = { WALKS_ID, ids(tid) };
	u32 size = sizeof(walk);

	/* The size has half a word, so that the record begins in the middle of one. */
	memcpy(&words[2], &size, sizeof(size));
	memcpy((char *)&words[2] + sizeof(size), &walk, sizeof(walk));
	put(sampler, PERF_RECORD_SAMPLE, words, RECORD_WORDS);
}

static void put_lost(struct sampler *sampler, u64 nr)
{
	const u64 words[] = { CLOCK_ID, nr };

	put(sampler, PERF_RECORD_LOST, words, ARRAY_SIZE(words));
}

static bool is_taken(unsigned int nr, u64 ip, const char *reason)
{
	const struct sampler_end *end = &taken.end[nr];

	return nr < taken.nr && end->pid == PID && end->lookup_ip == ip &&
	       !strcmp(end->reason, reason);
}

static bool is_empty(const struct sampler *sampler)
{
	const struct perf_event_mmap_page *page = sampler->cpus->ring;

	return page->data_tail == page->data_head;
}

static unsigned int nr_tests;

static void check(bool good, const char *what)
{
	printf("%s - sampler: %s\n", good ? "ok" : "not ok", what);
	if (!good)
		printf("# %u stacks were taken\n", taken.nr);
	nr_tests++;
}

static void test_kinds(struct sampler *sampler)
{
	begin(sampler, 0);
	put_clock(sampler, TID, 0x1000);
	sampler_read(sampler);
	check(taken.nr == 1 && is_taken(0, 0x1000, SAMPLER_LEFT) && is_empty(sampler),
	      "a sample without a walk was left to the kernel");

	begin(sampler, 0);
	put_walk(sampler, TID, 0x2000, 3);
	put_clock(sampler, TID, 0x1000);
	sampler_read(sampler);
	check(taken.nr == 1 && is_taken(0, 0x1fff, "nodata"),
	      "a walk and its sample are one stack, which ended in the caller's call");

	begin(sampler, 0);
	put_walk(sampler, TID, 0x2000, 1);
	put_clock(sampler, TID + 1, 0x1000);
	sampler_read(sampler);
	check(taken.nr == 2 && is_taken(0, 0x2000, "nodata") && is_taken(1, 0x1000, SAMPLER_LEFT),
	      "a walk of another thread is a stack of its own");

	begin(sampler, 0);
	put_lost(sampler, 5);
	put_lost(sampler, 6);
	sampler_read(sampler);
	check(!taken.nr && sampler->lost == 11, "lost records are counted");
}

/* The record wraps around after each of its words. */
static void test_end_of_ring(struct sampler *sampler)
{
	unsigned int words, good = 0;

	for (words = 1; words <= RECORD_WORDS; words++) {
		begin(sampler, RING_BYTES - words * sizeof(u64));
		put_walk(sampler, TID, 0x2000, 1);
		put_clock(sampler, TID, 0x1000);
		sampler_read(sampler);
		good += taken.nr == 1 && is_taken(0, 0x2000, "nodata") && is_empty(sampler);
	}
	check(good == RECORD_WORDS, "a record goes on at the start of the ring");
}

/* To take a stack may take longer than the time to the next one. */
static void test_late(struct sampler *sampler)
{
	unsigned int i;

	begin(sampler, 0);
	for (i = 0; i < 100; i++)
		put_clock(sampler, TID, 0x1000);
	put_lost(sampler, 1000);
	taken.most = 3;
	sampler_read(sampler);
	check(taken.nr == 3 && sampler->lost == 1097 && is_empty(sampler),
	      "too late, records are counted and not read");
}

/* A record of no size would be read for ever. */
static void test_no_size(struct sampler *sampler)
{
	struct perf_event_mmap_page *page = sampler->cpus->ring;

	begin(sampler, 0);
	page->data_head = 64;
	sampler_read(sampler);
	check(!taken.nr && is_empty(sampler), "a record without a size ends the reading");
}

int main(void)
{
	struct sampler_cpu cpu = {
		.walks_id = WALKS_ID,
		.ring = malloc(getpagesize() + RING_BYTES),
	};
	struct sampler sampler = {
		.format = format, .cpus = &cpu, .nr = 1, .take = take, .is_late = is_late,
	};

	if (!cpu.ring)
		return 1;
	test_kinds(&sampler);
	test_end_of_ring(&sampler);
	test_late(&sampler);
	test_no_size(&sampler);
	free(cpu.ring);
	printf("1..%u\n", nr_tests);
	return 0;
}
