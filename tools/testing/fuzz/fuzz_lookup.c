// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the header and the look-up, and compares the quick look-ups, and those in the table that
 * is compiled of the section, with the plain one. Bytes may also change, be absent, or fail to be
 * read. Each result must be a documented one. The decoder must not read outside of the section. The
 * work must stay within the budget, and within a bound that follows from the size of the section.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz.h"
#include "resident.h"
#include "../../../kunit/quick_memory.h"

#define ADDR		(UINT64_C(1) << 46)	/* of the section */
#define BUDGET		160000u			/* of a walk */
#define NR_ASKED	8			/* functions looked up */
#define PAGE		4096

#define QUICK_BUDGET	0x40000000u		/* no limit */
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
	u64			cost;
	bool			failed;
	bool			is_sound;	/* all functions */
};

static struct fuzz_most most_work = { .what = "work of a look-up" };
static struct fuzz_most most_rows = { .what = "rows of a quick look-up" };
static struct fuzz_most most_reads = { .what = "reads of a look-up" };

static u32 spent_budget(const struct fuzz_reader *reader)
{
	return reader->budget - reader->rd.budget;
}

static int fuzz_read(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct fuzz_reader *reader = (struct fuzz_reader *)rd;
	u64 off = addr - ADDR;

	require(off <= reader->size && len <= reader->size - off);
	/* The decoder pays before each read: exactly for all reads, and also for rows. */
	reader->cost += sframe_read_cost(len);
	require(reader->cost <= spent_budget(reader));
	require((spent_budget(reader) - reader->cost) % SFRAME_ROW_COST == 0);
	reader->reads++;
	if (reader->reads == reader->fail_at || off + len > reader->present) {
		reader->failed = true;
		return -EFAULT;
	}
	memcpy(dst, reader->data + off, len);
	return 0;
}

static void refill_reader(struct fuzz_reader *reader)
{
	reader->rd.budget = reader->budget;
	reader->rd.defect = SFRAME_DEFECT_NONE;
	reader->reads = 0;
	reader->cost = 0;
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
 * content. The look-up reads each FDE once, the FDEs of a binary search, the
 * attribute, and each byte of rows once. Rows are read through a window, which is
 * refilled when it has less left than a row. A row has at least two
 * bytes. The look-up tries one row more than the section has.
 */
static u64 lookup_bound(const struct sframe_header *sec)
{
	u64 entries = (u64)sec->num_fdes + 33;
	u64 refills = sec->fre_len / (SFRAME_WINDOW - SFRAME_FRE_MAX_SIZE) +
		2 * (sec->fre_len / PAGE) + 5;

	return entries * (sframe_read_cost(sec->fde_size) + SFRAME_ENTRY_COST) +
	       sframe_read_cost(sizeof(struct sframe_raw_attr_v3)) +
	       sec->fre_len / 4 + refills * sframe_read_cost(0) +
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

/*
 * Finds the row again by reading all rows of the function, and checks that it is the same.
 * This reads in other pieces than a look-up, so here no read fails.
 */
static void check_listed(const struct sframe_header *sec,
			 const struct fuzz_reader *found_by, u64 pc,
			 const struct sframe_row *row)
{
	struct fuzz_reader whole = *found_by, *reader = &whole;
	struct sframe_raw_row raw, holds;
	struct sframe_row decoded;
	struct sframe_rows rows;
	struct sframe_fde fde;
	u32 off, nr = 0;

	whole.budget = 1u << 30;
	whole.fail_at = 0;
	whole.present = whole.size;
	refill_reader(reader);
	require(!sframe_find_fde(sec, &reader->rd, pc, &fde));
	require(fde.start == row->func && pc - fde.start < fde.size);
	if (!fde.num_fres)
		return;
	off = fde.pcmask ? (u32)(pc - fde.start) % fde.rep_size : pc - fde.start;
	sframe_rows_init(&rows, sec, &fde);
	while (!sframe_rows_next(&rows, &reader->rd, &raw) && raw.start <= off) {
		require(!nr || raw.start > holds.start);
		holds = raw;
		nr++;
	}
	require(nr);
	require(!sframe_decode_row(sec, &fde, &reader->rd, &holds, &decoded));
	require(decoded.start == row->start);
	require(decoded.outermost == row->outermost);
	require(fuzz_same_rule(&decoded.ra, &row->ra));
	require(fuzz_same_rule(&decoded.fp, &row->fp));
	if (!fde.pcmask)
		require(fuzz_same_rule(&decoded.cfa, &row->cfa));
}

/* ---- the quick look-up ---- */

/* Sets @fde to the function at @index, of which only start and size are read. */
static void read_bounds(const struct sframe_header *sec, const struct fuzz_reader *reader,
			u32 index, struct sframe_fde *fde)
{
	u64 addr = sec->fde_addr + (u64)index * sec->fde_size;
	const u8 *bytes = reader->data + (addr - ADDR);
	bool is_v3 = sec->version == SFRAME_VERSION_3;
	s64 wide;
	s32 narrow;

	memcpy(&wide, bytes, sizeof(wide));
	memcpy(&narrow, bytes, sizeof(narrow));
	memcpy(&fde->size, bytes + (is_v3 ? sizeof(wide) : sizeof(narrow)), sizeof(fde->size));
	fde->start = (is_v3 ? wide : narrow) +
		     (sec->flags & SFRAME_F_FDE_FUNC_START_PCREL ? addr : sec->addr);
}

/* Are all functions sorted, and in user memory? Then the search sees the same from all sides. */
static bool is_sound(const struct sframe_header *sec, const struct fuzz_reader *reader)
{
	struct sframe_fde fde;
	u64 last = 0;
	u32 i;

	for (i = 0; i < sec->num_fdes; i++) {
		read_bounds(sec, reader, i, &fde);
		if ((fde.start | (fde.start + fde.size)) >> 63 || fde.start < last)
			return false;
		last = fde.start;
	}
	return true;
}

/* The quick look-up must find what the plain one finds, or leave it to that. */
static void expect_quick(const struct sframe_header *sec, const struct fuzz_reader *reader,
			 u64 pc, int want, const struct sframe_row *want_row)
{
	const struct quick_memory mem = { .bytes = reader->data, .addr = ADDR };
	struct sframe_reader rd = {};
	struct sframe_plain_row plain;
	struct sframe_row row;
	u32 rows = QUICK_BUDGET / SFRAME_ROW_COST;
	int err;

	err = quick_memory_find(sec, &mem, pc, &rows, &plain);
	if (!err)
		err = sframe_decode_plain(sec, &rd, &plain, &row);
	/* All of the section is in memory. */
	require(err != -EFAULT && err != -E2BIG);
	if (!err)
		check_row(sec, pc, &row);
	if (err == -EAGAIN || !reader->is_sound)
		return;
	require(err == want);
	require(err || fuzz_same_row(&row, want_row));
	fuzz_note(&most_rows, QUICK_BUDGET / SFRAME_ROW_COST - rows, sec->fre_len / 2);
}

/* Compares the quick look-up with the plain one, where no read fails. */
static void look_up_quickly(const struct sframe_header *sec,
			    const struct fuzz_reader *found_by, u64 pc)
{
	struct fuzz_reader whole = *found_by;
	struct sframe_row row;
	int err;

	/* It is asked for addresses of user memory only. */
	if (pc >> 63 || !sframe_quick_can_search(sec))
		return;
	whole.budget = QUICK_BUDGET;
	whole.fail_at = 0;
	whole.present = whole.size;
	refill_reader(&whole);
	err = sframe_find_row(sec, &whole.rd, pc, &row);
	expect_quick(sec, &whole, pc, err, &row);
}

/* Compares a look-up in the table with the plain one. */
static void look_up_compiled(const struct sframe_header *sec, struct fuzz_reader *whole,
			     const struct resident *table, u64 pc)
{
	struct sframe_row want, row;
	int err;

	refill_reader(whole);
	err = sframe_find_row(sec, &whole->rd, pc, &want);
	require(err == resident_find(table, pc, &row));
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
	struct resident table;
	struct sframe_fde fde;
	u32 i, off, left = NEAR;

	whole.budget = QUICK_BUDGET;
	whole.fail_at = 0;
	whole.present = whole.size;
	resident_init(&table, sec, whole.data, whole.size);
	for (i = 0; table.is_accepted && i < sec->num_fdes && left; i++) {
		refill_reader(&whole);
		require(!sframe_get_fde(sec, &whole.rd, i, &fde));
		look_up_compiled(sec, &whole, &table, fde.start - 1);
		for (off = 0; off <= fde.size && left; off++, left--)
			look_up_compiled(sec, &whole, &table, fde.start + off);
		look_up_compiled(sec, &whole, &table, fde.start + fde.size - 1);
		look_up_compiled(sec, &whole, &table, fde.start + fde.size);
	}
	resident_free(&table);
}

static void look_up(const struct sframe_header *sec, struct fuzz_reader *reader,
		    u64 pc)
{
	struct sframe_row row;
	int err;

	look_up_quickly(sec, reader, pc);

	refill_reader(reader);
	err = sframe_find_row(sec, &reader->rd, pc, &row);
	check_error(reader, err);
	if (lookup_bound(sec) < reader->budget)
		fuzz_note(&most_work, spent_budget(reader), lookup_bound(sec));
	else
		fuzz_note(&most_work, spent_budget(reader), reader->budget);
	fuzz_note(&most_reads, reader->reads,
		  reader->budget / SFRAME_READ_COST);
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
		.rd.read = fuzz_read,
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
	reader.is_sound = is_sound(&sec, &reader);
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
	fuzz_tell(&most_rows);
	fuzz_tell(&most_reads);
}
