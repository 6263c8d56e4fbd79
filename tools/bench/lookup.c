// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookup TABLE: measure the module's look-ups in a file with .sframe
 *
 * Random addresses are looked up, whose rows nobody remembers: "mapped" as in the
 * section of a process, "resident" as in a table that was loaded. The decoder's own
 * search says what they must find. Prints the processor time of a look-up in
 * nanoseconds: the median of LOOKUP_REPEATS runs, the least and the most.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"
#include "object.h"
#include "sframe_index.h"
#include "sframe_verified.h"
#include "sframe_verify.h"

#define LOOKUP_COUNT	8192	/* addresses */
#define LOOKUP_REPEATS	15

static struct {
	u64	addr;
	s64	cfa;	/* offset of the CFA */
} addresses[LOOKUP_COUNT];

static struct buffer_reader buf;
static struct sframe_header sec;
static struct sframe_index *section_index;	/* NULL: the functions are few */
static struct sframe_verified table;

static int find(u64 addr, struct sframe_row *row)
{
	buffer_reader_refill(&buf);
	return sframe_find_row(&sec, &buf.rd, addr, row);
}

static u64 next_random(void)
{
	static u64 state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 32;
}

static void choose_addresses(void)
{
	struct sframe_fde fde;
	struct sframe_row row;
	u64 addr;
	int nr = 0;

	while (nr < LOOKUP_COUNT) {
		buffer_reader_refill(&buf);
		if (sframe_get_fde(&sec, &buf.rd, next_random() % sec.num_fdes, &fde))
			errx(1, "cannot read an FDE");
		if (!fde.size || fde.pcmask)
			continue;
		addr = fde.start + next_random() % fde.size;
		if (find(addr, &row) || row.outermost)
			continue;
		addresses[nr].addr = addr;
		addresses[nr++].cfa = row.cfa.off;
	}
}

static struct sframe_memory memory(void)
{
	return (struct sframe_memory){
		.bytes = buf.data,
		.addr = buf.addr,
		.len = buf.size,
	};
}

static void make_index(void)
{
	const struct sframe_memory mem = memory();
	struct sframe_index form;
	u32 nr;

	nr = sframe_index_form(&form, &sec, sframe_index_start(&sec, &mem, 0),
			       sframe_index_start(&sec, &mem, sec.num_fdes - 1));
	if (!nr)
		return;
	section_index = malloc(sizeof(*section_index) + nr * sizeof(*section_index->starts));
	if (!section_index)
		err(1, NULL);
	*section_index = form;
	if (!sframe_index_add(section_index, &sec, &mem, 0, sec.num_fdes))
		errx(1, "the functions are not sorted");
	sframe_index_end(section_index, &sec);
}

/* As when the module loads a table. */
static void verify_table(void)
{
	struct sframe_verify verify = { .budget = UINT32_MAX, .rows_left = UINT32_MAX };
	u32 i;

	if (!sframe_verified_init(&table, &sec, buf.data, section_index, 0))
		errx(1, "the table is of another form");
	for (i = 0; i < sec.num_fdes; i++)
		if (sframe_verify_function(&verify, &sec, &buf.rd, i))
			errx(1, "function %u is malformed", i);
}

static int find_mapped(const struct sframe_memory *mem, u64 addr, struct sframe_row *row)
{
	u32 rows = UINT32_MAX;
	struct sframe_plain_row plain;
	int err = sframe_memory_find(&sec, mem, section_index, addr, &rows, &plain);

	if (!err)
		return sframe_decode_plain(&sec, &buf.rd, &plain, row);
	return err == -EAGAIN ? find(addr, row) : err;
}

static int find_resident(const struct sframe_memory *mem, u64 addr, struct sframe_row *row)
{
	struct sframe_plain_row plain = {};
	u32 rows = UINT32_MAX;
	const u8 *found = sframe_verified_find(&table, addr, &rows);

	if (!found)
		return find_mapped(mem, addr, row);
	plain.info = *found;
	/* A row of this form has three words at most. The section headers come last. */
	memcpy(plain.words, found + 1, 3 * sizeof(u32));
	return sframe_decode_plain(&sec, &buf.rd, &plain, row);
}

typedef int find_fn(const struct sframe_memory *mem, u64 addr, struct sframe_row *row);

/* Returns the nanoseconds of a look-up. */
static double find_all(find_fn *find_one)
{
	const struct sframe_memory mem = memory();
	struct timespec from, to;
	struct sframe_row row;
	int i;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (i = 0; i < LOOKUP_COUNT; i++)
		if (find_one(&mem, addresses[i].addr, &row) || row.cfa.off != addresses[i].cfa)
			errx(1, "%" PRIx64 ": another row", (uint64_t)addresses[i].addr);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	return ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / LOOKUP_COUNT;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(const char *name, find_fn *find_one)
{
	double ns[LOOKUP_REPEATS];
	int i;

	find_all(find_one);
	for (i = 0; i < LOOKUP_REPEATS; i++)
		ns[i] = find_all(find_one);
	qsort(ns, LOOKUP_REPEATS, sizeof(*ns), compare_doubles);
	printf(" %s %.1f %.1f %.1f", name, ns[LOOKUP_REPEATS / 2], ns[0], ns[LOOKUP_REPEATS - 1]);
}

int main(int argc, char **argv)
{
	const char *error;
	struct object obj;

	if (argc != 2)
		errx(2, "usage: lookup TABLE");
	error = object_open(&obj, argv[1]);
	if (error || !obj.place)
		errx(1, "%s", error ? error : "no .sframe");
	buffer_reader_init(&buf, obj.data, obj.addr, obj.size);
	if (sframe_header_read(&sec, &buf.rd, obj.addr, obj.size))
		errx(1, "the section's header is malformed");
	choose_addresses();
	make_index();
	verify_table();
	printf("fdes %u", sec.num_fdes);
	measure("mapped", find_mapped);
	measure("resident", find_resident);
	printf("\n");
	return 0;
}
