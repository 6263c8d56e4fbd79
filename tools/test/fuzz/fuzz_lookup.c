// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Header and look-up, in bytes that may also change, vanish, or fail to be
 * read: each answer is one of the documented ones, nothing outside of the
 * section is asked for, and the work stays within the budget, and within what
 * the size of the section warrants.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz.h"

#define ADDR		(UINT64_C(1) << 46)	/* of the section */
#define BUDGET		(256u << 10)		/* of one walk's look-ups */
#define NR_ASKED	8			/* functions asked for, of all */
#define WINDOW		128			/* sframe_rows.buf */
#define PAGE		4096

/* Ahead of the bytes of the section. */
struct setting {
	u8	pc[6];		/* from the start of the section, signed */
	u32	budget;		/* 0: BUDGET */
	u16	absent;		/* bytes at the end that are not in memory */
	u16	change_at;	/* this byte changes behind the header's check */
	u8	change;		/* so: exclusive or */
	u8	fail_at;	/* this read fails, 0: none */
} __packed;

struct fuzz_reader {
	struct sframe_reader	rd;
	const u8		*data;
	u64			size;
	u64			present;
	u32			budget;		/* at first */
	u32			fail_at;
	u32			reads;
	u64			cost;
	bool			failed;
};

static struct fuzz_most most_work = { .what = "work of a look-up" };
static struct fuzz_most most_reads = { .what = "reads of a look-up" };

static u32 spent(const struct fuzz_reader *reader)
{
	return reader->budget - reader->rd.budget;
}

static int fuzz_read(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct fuzz_reader *reader = (struct fuzz_reader *)rd;
	u64 off = addr - ADDR;

	require(off <= reader->size && len <= reader->size - off);
	/* The reader was charged ahead of the read, exactly, and for rows. */
	reader->cost += len + SFRAME_READ_COST;
	require(reader->cost <= spent(reader));
	require((spent(reader) - reader->cost) % SFRAME_ROW_COST == 0);
	reader->reads++;
	if (reader->reads == reader->fail_at || off + len > reader->present) {
		reader->failed = true;
		return -EFAULT;
	}
	memcpy(dst, reader->data + off, len);
	return 0;
}

static void refill(struct fuzz_reader *reader)
{
	reader->rd.budget = reader->budget;
	reader->rd.fault = SFRAME_FAULT_NONE;
	reader->reads = 0;
	reader->cost = 0;
	reader->failed = false;
}

/* The vocabulary at the head of sframe_core.c. */
static void check_error(const struct fuzz_reader *reader, int err)
{
	const struct sframe_reader *rd = &reader->rd;

	require(reader->rd.budget <= reader->budget);
	require(reader->failed == (err == -EFAULT));
	switch (err) {
	case -EBADMSG:
	case -EOPNOTSUPP:
		require(fuzz_is_fault(rd->fault));
		break;
	case -E2BIG:
		require(rd->budget < WINDOW + SFRAME_READ_COST);
		require(rd->fault == SFRAME_FAULT_NONE);
		break;
	default:
		require(!err || err == -ENOENT || err == -EFAULT);
		require(rd->fault == SFRAME_FAULT_NONE ||
			(rd->fault == SFRAME_FAULT_EMPTY && err == -ENOENT));
	}
}

/*
 * What a look-up may cost in a section of this size, whatever it says: each
 * FDE once and a binary search, the attribute, and each byte of rows once,
 * through the window. That is refilled when less than a row's words are left.
 * A row has two bytes at least, and one more is tried.
 */
static u64 bound(const struct sframe_section *sec)
{
	u64 entries = (u64)sec->num_fdes + 33;
	u64 refills = sec->fre_len / (WINDOW - SFRAME_FRE_MAX_WORDS_SIZE) +
		2 * (sec->fre_len / PAGE) + 4;

	return entries * (sec->fde_size + SFRAME_READ_COST) +
	       sizeof(struct sframe_raw_attr_v3) + SFRAME_READ_COST +
	       sec->fre_len + refills * SFRAME_READ_COST +
	       ((u64)sec->fre_len / 2 + 1) * SFRAME_ROW_COST;
}

static bool is_known(const struct sframe_section *sec, u32 reg)
{
	return reg < (sec->abi == SFRAME_ABI_AMD64_LE ? SFRAME_AMD64_NR_REGS :
		      SFRAME_AARCH64_NR_REGS);
}

/* The walk takes its register from an array. */
static void check_rule(const struct sframe_section *sec,
		       const struct sframe_rule *rule)
{
	require(rule->how <= SFRAME_RULE_REG_MEM);
	require(is_known(sec, rule->reg));
}

static void check_row(const struct sframe_section *sec, u64 pc,
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

static bool same_rule(const struct sframe_rule *a, const struct sframe_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off;
}

/* The row again, by reading all of the function's rows one after the other. */
static void check_listed(const struct sframe_section *sec,
			 struct fuzz_reader *reader, u64 pc,
			 const struct sframe_row *row)
{
	struct sframe_raw_row raw, holds;
	struct sframe_row decoded;
	struct sframe_rows rows;
	struct sframe_fde fde;
	u32 off, nr = 0;

	refill(reader);
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
	require(same_rule(&decoded.ra, &row->ra));
	require(same_rule(&decoded.fp, &row->fp));
	if (!fde.pcmask)
		require(same_rule(&decoded.cfa, &row->cfa));
}

static void look_up(const struct sframe_section *sec, struct fuzz_reader *reader,
		    u64 pc)
{
	struct sframe_row row;
	int err;

	refill(reader);
	err = sframe_find_row(sec, &reader->rd, pc, &row);
	check_error(reader, err);
	if (bound(sec) < reader->budget)
		fuzz_note(&most_work, spent(reader), bound(sec));
	else
		fuzz_note(&most_work, spent(reader), reader->budget);
	fuzz_note(&most_reads, reader->reads,
		  reader->budget / (SFRAME_READ_COST + 1));
	if (err)
		return;
	check_row(sec, pc, &row);
	check_listed(sec, reader, pc, &row);
}

static void look_up_function(const struct sframe_section *sec,
			     struct fuzz_reader *reader, u32 index)
{
	struct sframe_fde fde;
	int err;

	refill(reader);
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

static void check_section(const struct sframe_section *sec, u64 size)
{
	u64 end = ADDR + size;

	require(sec->addr == ADDR && sframe_section_size(sec) <= size);
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
	struct sframe_section sec;
	u32 i;
	int err;

	refill(&reader);
	err = sframe_section_init(&sec, &reader.rd, ADDR, size);
	check_error(&reader, err);
	if (err)
		return;
	check_section(&sec, size);

	if (setting->change_at < size)
		bytes[setting->change_at] ^= setting->change;
	look_up(&sec, &reader, ADDR + pc_offset(setting));
	for (i = 0; i < NR_ASKED && i < sec.num_fdes; i++)
		look_up_function(&sec, &reader, (u64)i * sec.num_fdes /
				 min_t(u32, sec.num_fdes, NR_ASKED));
	refill(&reader);
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

static void __attribute__((__destructor__)) tell(void)
{
	fuzz_tell(&most_work);
	fuzz_tell(&most_reads);
}
