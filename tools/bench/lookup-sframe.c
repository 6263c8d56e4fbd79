// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lookup-sframe FILE ADDRESSES: measure the module's look-ups in the .sframe of a file
 * lookup-sframe --table TABLE ADDRESSES: likewise in a table file, as in a resident table
 * lookup-sframe --choose FILE: choose random addresses and print them
 *
 * Each address has a row whose CFA is relative to the stack pointer, so that
 * lookup-unwind can build a stack from them.
 */
#include <string.h>

#include "buffer.h"
#include "lookup.h"
#include "object.h"
#include "sframe_index.h"
#include "sframe_verified.h"
#include "sframe_verify.h"

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

static bool is_useful(const struct sframe_fde *fde, const struct sframe_row *row)
{
	return !fde->pcmask && !row->outermost && !row->signal &&
	       row->cfa.how == SFRAME_RULE_REG && row->cfa.reg == SFRAME_AMD64_REG_SP &&
	       row->ra.how == SFRAME_RULE_CFA_MEM && row->ra.off == -8;
}

static void choose(void)
{
	struct sframe_fde fde;
	struct sframe_row row;
	u64 addr;
	int nr = 0;

	while (nr < LOOKUP_COUNT) {
		buffer_reader_refill(&buf);
		if (sframe_get_fde(&sec, &buf.rd, next_random() % sec.num_fdes, &fde))
			errx(1, "cannot read an FDE");
		if (!fde.size)
			continue;
		addr = fde.start + next_random() % fde.size;
		if (find(addr, &row) || !is_useful(&fde, &row))
			continue;
		printf("%" PRIx64 " %" PRId64 "\n", addr, (int64_t)row.cfa.off);
		nr++;
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

static int find_quickly(const struct sframe_memory *mem, u64 addr, struct sframe_row *row)
{
	u32 rows = UINT32_MAX;
	struct sframe_plain_row plain;
	int err = sframe_memory_find(&sec, mem, section_index, addr, &rows, &plain);

	if (!err)
		return sframe_decode_plain(&sec, &buf.rd, &plain, row);
	return err == -EAGAIN ? find(addr, row) : err;
}

static void expect_row(int i, int err, const struct sframe_row *row)
{
	if (err || row->cfa.off != addresses[i].cfa)
		errx(1, "%" PRIx64 ": another row", addresses[i].addr);
}

static void find_all(void)
{
	const struct sframe_memory mem = memory();
	struct sframe_row row;
	int i;

	for (i = 0; i < LOOKUP_COUNT; i++)
		expect_row(i, find_quickly(&mem, addresses[i].addr, &row), &row);
}

static int find_in_table(const struct sframe_memory *mem, u64 addr, struct sframe_row *row)
{
	struct sframe_plain_row plain = {};
	u32 rows = UINT32_MAX;
	const u8 *found = sframe_verified_find(&table, addr, &rows);

	if (!found)
		return find_quickly(mem, addr, row);
	plain.info = *found;
	/* A row of this form has three words at most. The section headers come last. */
	memcpy(plain.words, found + 1, 3 * sizeof(u32));
	return sframe_decode_plain(&sec, &buf.rd, &plain, row);
}

static void find_all_in_table(void)
{
	const struct sframe_memory mem = memory();
	struct sframe_row row;
	int i;

	for (i = 0; i < LOOKUP_COUNT; i++)
		expect_row(i, find_in_table(&mem, addresses[i].addr, &row), &row);
}

/* As when the module loads a table. */
static void open_table(void)
{
	struct sframe_verify verify = { .budget = UINT32_MAX, .rows_left = UINT32_MAX };
	u32 i;

	if (!sframe_verified_init(&table, &sec, buf.data, section_index, 0))
		errx(1, "the table is of another form");
	for (i = 0; i < sec.num_fdes; i++)
		if (sframe_verify_function(&verify, &sec, &buf.rd, i))
			errx(1, "function %u is malformed", i);
}

int main(int argc, char **argv)
{
	bool is_table = argc == 4 && !strcmp(argv[1], "--table");
	bool choosing = argc == 3 && !strcmp(argv[1], "--choose");
	const char *error;
	struct object obj;

	if (argc != 3 + is_table)
		errx(2, "usage: lookup-sframe [--table] FILE ADDRESSES");
	error = object_open(&obj, argv[1 + (choosing || is_table)]);
	if (error || !obj.place)
		errx(1, "%s", error ? error : "no .sframe");
	buffer_reader_init(&buf, obj.data, obj.addr, obj.size);
	if (sframe_header_read(&sec, &buf.rd, obj.addr, obj.size))
		errx(1, "the section's header is malformed");
	if (choosing) {
		choose();
		return 0;
	}
	make_index();
	read_addresses(argv[argc - 1]);
	if (is_table) {
		open_table();
		measure("resident", find_all_in_table);
		return 0;
	}
	printf("fdes %u version %u bytes %" PRIu64 "\n", sec.num_fdes, sec.version,
	       (uint64_t)obj.size);
	measure("sframe", find_all);
	return 0;
}
