// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the records of perf that the sampler has written: see perf_event_open(2). */
#include <err.h>

#include "records.h"

/* Registers by the order of the sampler, as DWARF numbers; -1: the ip, -2: not used. */
#ifdef TRUTH_ARM64
static s8 dwarf_number(u32 i)
{
	return i == 32 ? -1 : (s8)i;
}

#define NR_SAMPLED	33
#else
static s8 dwarf_number(u32 i)
{
	/* ax bx cx dx si di bp sp ip flags cs ss r8 to r15 */
	static const s8 numbers[] = { 0, 3, 2, 1, 4, 5, 6, 7, -1, -2, -2, -2,
				      8, 9, 10, 11, 12, 13, 14, 15 };

	return numbers[i];
}

#define NR_SAMPLED	20
#endif

static const u64 *parse_registers(const u64 *at, struct sample *sample)
{
	u64 abi = *at++;
	u32 i;

	sample->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
	if (!abi)
		return at;
	for (i = 0; i < NR_SAMPLED; i++, at++) {
		s8 number = dwarf_number(i);

		if (number >= 0)
			sample->regs.by_number[number] = *at;
		else if (number == -1)
			sample->regs.ip = *at;
	}
	sample->regs.syscall = ~0ull;
	return at;
}

/* The chain begins with a mark for user mode. */
static const u64 *parse_chain(const u64 *at, struct sample *sample)
{
	u64 nr = *at++;
	const u64 *end = at + nr;

	while (at < end && *at != PERF_CONTEXT_USER)
		at++;
	sample->chain = at < end ? at + 1 : end;
	sample->nr = end - sample->chain;
	return end;
}

static void parse_sample(struct record *record, const u64 *at)
{
	struct sample *sample = &record->sample;

	*sample = (struct sample){ .pid = (u32)at[0], .tid = at[0] >> 32 };
	at = parse_chain(at + 1, sample);
	at = parse_registers(at, sample);
	sample->stack_size = *at++;
	sample->stack = (const u8 *)at;
	if (!sample->stack_size)
		return;
	/* What could be copied is in the word after it. */
	at += sample->stack_size / sizeof(*at);
	sample->stack_size = *at;
	record->kind = RECORD_SAMPLE;
}

static void parse_map(struct record *record, const u64 *at)
{
	/* Before them is the inode. */
	const u32 *words = (const u32 *)&at[7];

	record->kind = RECORD_MAP;
	record->map = (struct map_record){
		.pid = (u32)at[0],
		.start = at[1],
		.size = at[2],
		.off = at[3],
		.is_code = words[0] & 4,		/* PROT_EXEC */
		.name = (const char *)&words[2],
	};
}

static void parse(struct record *record)
{
	const struct perf_event_header *head = (const void *)record->bytes;
	const u64 *at = record->bytes + 1;

	record->kind = RECORD_OTHER;
	record->pid = (u32)at[0];
	switch (head->type) {
	case PERF_RECORD_SAMPLE:
		parse_sample(record, at);
		break;
	case PERF_RECORD_MMAP2:
		parse_map(record, at);
		break;
	case PERF_RECORD_FORK:
		record->kind = RECORD_FORK;
		record->child = record->pid;
		record->pid = at[0] >> 32;
		break;
	case PERF_RECORD_COMM:
		if (head->misc & PERF_RECORD_MISC_COMM_EXEC)
			record->kind = RECORD_EXEC;
		break;
	case PERF_RECORD_LOST:
		record->kind = RECORD_LOST;
		record->lost = at[1];
		break;
	}
}

/* Reads the next record. Returns false at the end of the file. */
bool record_read(FILE *file, struct record *record)
{
	struct perf_event_header *head = (void *)record->bytes;
	size_t size;

	if (fread(head, sizeof(*head), 1, file) != 1)
		return false;
	if (head->size < sizeof(*head))
		errx(2, "a record is malformed");
	size = head->size - sizeof(*head);
	if (size && fread(head + 1, size, 1, file) != 1)
		errx(2, "the last record is not complete");
	parse(record);
	return true;
}
