// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the header and the look-up, and compares it with those in the table that
 * is compiled of the section. Bytes may also change, be absent, or fail to be
 * read. Each result must be a documented one. The decoder must not read outside of the section. The
 * work must stay within the budget, and within a bound that follows from the size of the section.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz.h"
#include "host_table.h"
#include "sframe_find.h"

#define ADDR		(UINT64_C(1) << 46)	/* of the section */
#define BUDGET		160000u			/* of a walk */
#define NR_ASKED	8			/* functions looked up */
#define NO_LIMIT	0x40000000u
#define NEAR		4096			/* addresses that are looked up in a table */

/* The first bytes of an input; the bytes of the section follow. */
struct setting {
	u8	pc[6];		/* from the start of the section, signed */
	u32	budget;		/* 0: BUDGET */
	u16	absent;		/* bytes at the end that are not in memory */
	u16	change_at;	/* this byte changes after the header's check */
	u8	change;		/* xor that changes it */
	u8	fail_at;	/* number of the read that fails; 0: none */
} __packed;

struct fuzz_reader {
	struct sframe_reader	rd;
	const u8		*data;
	u64			size;
	u64			present;
	u32			budget;		/* at the start */
	u32			fail_at;
	u32			reads;
	bool			failed;
};

static struct fuzz_most most_work = { .what = "work of a look-up" };
static struct fuzz_most most_reads = { .what = "reads of a look-up" };

static u32 spent_budget(const struct fuzz_reader *reader)
{
	return reader->budget - reader->rd.budget;
}

static inline bool fuzz_get(const struct sframe_header *sec, struct sframe_reader *rd, u64 addr,
			    u32 size, u64 *val)
{
	struct fuzz_reader *reader = (struct fuzz_reader *)rd;
	u64 off = addr - ADDR;

	require(off <= reader->size && size <= reader->size - off);
	require(spent_budget(reader) >= SFRAME_FIND_COST);
	reader->reads++;
	if (reader->reads == reader->fail_at || off + size > reader->present) {
		reader->failed = true;
		return false;
	}
	*val = 0;
	memcpy(val, reader->data + off, size);
	if (sec->swapped)
		*val = swab64(*val) >> (64 - 8 * size);
	return true;
}

static int find_row(const struct sframe_header *sec, struct fuzz_reader *reader, u64 pc,
		    struct sframe_row *row)
{
	const struct sframe_reading from = { .hdr = sec, .rd = &reader->rd, .get = fuzz_get };
	struct sframe_raw_row raw;

	return sframe_find(&from, pc, &raw) ?: sframe_decode_found(sec, &reader->rd, &raw, row);
}

static void refill_reader(struct fuzz_reader *reader)
{
	reader->rd.bytes = reader->data;
	reader->rd.addr = ADDR;
	reader->rd.len = reader->size;
	reader->rd.budget = reader->budget;
	reader->rd.defect = SFRAME_DEFECT_NONE;
	reader->reads = 0;
	reader->failed = false;
}

/* The errors that the comment at the start of sframe_core.c lists. */
static void check_error(const struct fuzz_reader *reader, int err)
{
	const struct sframe_reader *rd = &reader->rd;

	require(reader->rd.budget <= reader->budget);
	require(reader->failed == (err == -EFAULT));
	switch (err) {
	case -EBADMSG:
	case -EOPNOTSUPP:
		require(fuzz_is_defect(rd->defect));
		break;
	case -E2BIG:
		require(rd->budget == 0);
		require(rd->defect == SFRAME_DEFECT_NONE);
		break;
	default:
		require(!err || err == -ENOENT || err == -EFAULT);
		require(rd->defect == SFRAME_DEFECT_NONE ||
			(rd->defect == SFRAME_DEFECT_EMPTY && err == -ENOENT));
	}
}

/*
 * Return: the largest cost of a look-up in a section of this size, with any
 * content. The look-up examines each FDE once, and each row once. A row has at least two
 * bytes.
 */
static u64 lookup_bound(const struct sframe_header *sec)
{
	return SFRAME_FIND_COST + (u64)sec->num_fdes * SFRAME_ENTRY_COST +
	       ((u64)sec->fre_len / 2 + 1) * SFRAME_ROW_COST;
}

static bool is_known(const struct sframe_header *sec, u32 reg)
{
	return reg < (sec->abi == SFRAME_ABI_AMD64_LE ? SFRAME_AMD64_NR_REGS :
		      SFRAME_AARCH64_NR_REGS);
}

/* The walk uses the register of a rule as an array index. */
static void check_rule(const struct sframe_header *sec,
		       const struct sframe_rule *rule)
{
	require(rule->how <= SFRAME_RULE_REG_MEM);
	require(is_known(sec, rule->reg));
}

static void check_row(const struct sframe_header *sec, u64 pc,
		      const struct sframe_row *row)
{
	u64 off = pc - row->func;

	require(off <= UINT32_MAX && row->start <= off);
	require(!(row->func >> 63));
	check_rule(sec, &row->cfa);
	check_rule(sec, &row->ra);
	check_rule(sec, &row->fp);
	if (!row->outermost && !row->signal)
		require(row->cfa.how == SFRAME_RULE_REG ||
			row->cfa.how == SFRAME_RULE_REG_MEM);
}

/* Finds the row that holds at @pc among all rows of the function. Returns whether it is @row. */
static bool is_listed(const struct sframe_header *sec, struct fuzz_reader *reader,
		      const struct sframe_fde *fde, u64 pc, const struct sframe_row *row)
{
	struct sframe_raw_row raw, holds;
	struct sframe_row decoded;
	struct sframe_rows rows;
	u32 off, nr = 0;

	if (!fde->num_fres)
		return true;
	off = fde->pcmask ? (u32)(pc - fde->start) % fde->rep_size : pc - fde->start;
	sframe_rows_init(&rows, sec, fde);
	while (!sframe_rows_next(&rows, &reader->rd, &raw) && raw.start <= off) {
		require(!nr || raw.start > holds.start);
		holds = raw;
		nr++;
	}
	return nr && !sframe_decode_row(sec, &reader->rd, &holds, &decoded) &&
	       decoded.start == row->start && decoded.outermost == row->outermost &&
	       fuzz_same_rule(&decoded.ra, &row->ra) && fuzz_same_rule(&decoded.fp, &row->fp) &&
	       (fde->pcmask || fuzz_same_rule(&decoded.cfa, &row->cfa));
}

/* The row is that of a function that covers the address. Several may. Here no read fails. */
static void check_listed(const struct sframe_header *sec, struct fuzz_reader *reader, u64 pc,
			 const struct sframe_row *row)
{
	struct sframe_fde fde;
	bool found = false;
	u32 i;

	for (i = 0; i < sec->num_fdes && !found; i++)
		found = !sframe_get_fde(sec, &reader->rd, i, &fde) && fde.start == row->func &&
			pc - fde.start < fde.size && is_listed(sec, reader, &fde, pc, row);
	require(found);
}

/* Compares a look-up in the table with the decoder's. */
static void look_up_compiled(const struct sframe_header *sec, struct fuzz_reader *whole,
			     const struct host_table *table, u64 pc)
{
	struct sframe_row want, row;
	int err;

	refill_reader(whole);
	err = find_row(sec, whole, pc, &want);
	require(err == host_table_find(table, pc, &row));
	if (err)
		return;
	row.start = want.start;
	row.pcmask = want.pcmask;
	require(fuzz_same_row(&want, &row));
}

/* If the section can be a table, compares all addresses of its functions, and those beside them. */
static void look_up_all_compiled(const struct sframe_header *sec,
				 const struct fuzz_reader *found_by)
{
	struct fuzz_reader whole = *found_by;
	struct host_table table;
	struct sframe_fde fde;
	u32 i, off, left = NEAR;

	whole.budget = NO_LIMIT;
	whole.fail_at = 0;
	whole.present = whole.size;
	host_table_init(&table, sec, whole.data, whole.size);
	for (i = 0; table.is_accepted && i < sec->num_fdes && left; i++) {
		refill_reader(&whole);
		require(!sframe_get_fde(sec, &whole.rd, i, &fde));
		look_up_compiled(sec, &whole, &table, fde.start - 1);
		for (off = 0; off <= fde.size && left; off++, left--)
			look_up_compiled(sec, &whole, &table, fde.start + off);
		look_up_compiled(sec, &whole, &table, fde.start + fde.size - 1);
		look_up_compiled(sec, &whole, &table, fde.start + fde.size);
	}
	host_table_free(&table);
}

static void look_up(const struct sframe_header *sec, struct fuzz_reader *reader,
		    u64 pc)
{
	struct sframe_row row;
	int err;

	refill_reader(reader);
	err = find_row(sec, reader, pc, &row);
	check_error(reader, err);
	if (lookup_bound(sec) < reader->budget)
		fuzz_note(&most_work, spent_budget(reader), lookup_bound(sec));
	else
		fuzz_note(&most_work, spent_budget(reader), reader->budget);
	/* A search, and what an FDE or a row has at most: 7 numbers, or 2 and 6 words. */
	fuzz_note(&most_reads, reader->reads,
		  32 + 8 * (2 + spent_budget(reader) / SFRAME_ROW_COST));
	if (err)
		return;
	check_row(sec, pc, &row);
	check_listed(sec, reader, pc, &row);
}

static void look_up_function(const struct sframe_header *sec,
			     struct fuzz_reader *reader, u32 index)
{
	struct sframe_fde fde;
	int err;

	refill_reader(reader);
	err = sframe_get_fde(sec, &reader->rd, index, &fde);
	check_error(reader, err);
	if (err)
		return;
	look_up(sec, reader, fde.start - 1);
	look_up(sec, reader, fde.start);
	look_up(sec, reader, fde.start + 1);
	look_up(sec, reader, fde.start + fde.size / 2);
	look_up(sec, reader, fde.start + fde.size - 1);
	look_up(sec, reader, fde.start + fde.size);
}

static void check_section(const struct sframe_header *sec, u64 size)
{
	u64 end = ADDR + size;

	require(sec->addr == ADDR && sframe_header_span(sec) <= size);
	require(sec->fde_addr >= ADDR + sizeof(struct sframe_raw_header));
	require(sec->fde_addr + (u64)sec->num_fdes * sec->fde_size <=
		sec->fre_addr);
	require(sec->fre_addr <= end && sec->fre_len <= end - sec->fre_addr);
}

static s64 pc_offset(const struct setting *setting)
{
	u64 off = 0;

	memcpy(&off, setting->pc, sizeof(setting->pc));
	return (s64)(off << 16) >> 16;
}

static void fuzz_section(const struct setting *setting, u8 *bytes, u64 size)
{
	struct fuzz_reader reader = {
		.data = bytes,
		.size = size,
		.present = size - min_t(u64, size, setting->absent),
		.fail_at = setting->fail_at,
		.budget = setting->budget % BUDGET ?: BUDGET,
	};
	struct sframe_header sec;
	u32 i;
	int err;

	refill_reader(&reader);
	err = sframe_header_read(&sec, &reader.rd, ADDR, size);
	check_error(&reader, err);
	if (err)
		return;
	check_section(&sec, size);

	if (setting->change_at < size)
		bytes[setting->change_at] ^= setting->change;
	look_up_all_compiled(&sec, &reader);
	look_up(&sec, &reader, ADDR + pc_offset(setting));
	for (i = 0; i < NR_ASKED && i < sec.num_fdes; i++)
		look_up_function(&sec, &reader, (u64)i * sec.num_fdes /
				 min_t(u32, sec.num_fdes, NR_ASKED));
	refill_reader(&reader);
	require(sframe_get_fde(&sec, &reader.rd, sec.num_fdes,
			       &(struct sframe_fde){}) == -ENOENT);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct setting setting;
	u8 *bytes;

	if (size <= sizeof(setting))
		return 0;
	memcpy(&setting, data, sizeof(setting));
	size -= sizeof(setting);
	bytes = malloc(size);
	require(bytes);
	memcpy(bytes, data + sizeof(setting), size);
	fuzz_section(&setting, bytes, size);
	free(bytes);
	return 0;
}

static void __attribute__((__destructor__)) report_most(void)
{
	fuzz_tell(&most_work);
	fuzz_tell(&most_reads);
}
