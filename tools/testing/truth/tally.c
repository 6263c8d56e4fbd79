// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts what came out, by function. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "binary.h"
#include "tally.h"

static const char *const names[NR_VERDICTS] = {
	[VERDICT_WHOLE] = "whole",
	[VERDICT_PREFIX] = "ended",
	[VERDICT_FP] = "frame pointer differs",
	[VERDICT_SHORT] = "TOO SHORT",
	[VERDICT_LONG] = "TOO LONG",
	[VERDICT_SP] = "WRONG SP",
	[VERDICT_WRONG] = "WRONG",
};

/*
 * A line of the file "known", which lists functions whose frames are known to be wrong: a file
 * without directories, a symbol, what is wrong in the frame of that function, and the judgement.
 */
struct known {
	struct known	*next;
	char		binary[64];
	char		symbol[64];
	char		what[8];
	char		judgement[200];
};

static struct tally *all;
static struct known *all_known;

void tally_read_known(const char *path)
{
	FILE *file = fopen(path, "re");
	struct known known;
	char line[400];

	if (!file)
		err(2, "%s", path);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %63s %7s %199[^\n]", known.binary, known.symbol,
			   known.what, known.judgement) != 4)
			errx(2, "%s: cannot read: %s", path, line);
		known.next = all_known;
		all_known = malloc(sizeof(known));
		if (!all_known)
			err(2, "%s", path);
		*all_known = known;
	}
	fclose(file);
}

bool tally_is_wrong(enum verdict verdict)
{
	return verdict >= VERDICT_SHORT;
}

/**
 * tally_find() - find the counter of one outcome
 * @verdict: what came out
 * @reason: why the walk ended
 * @binary: the file of the frame where it ended, or NULL
 * @addr: an address in it
 *
 * Return: The counter.
 */
struct tally *tally_find(enum verdict verdict, const char *reason, const struct binary *binary,
			 u64 addr)
{
	struct tally *tally;
	u64 func = 0;

	if (binary)
		binary_symbol(binary, addr, &func);
	for (tally = all; tally; tally = tally->next)
		if (tally->verdict == verdict && tally->reason == reason &&
		    tally->binary == binary && tally->func == func)
			return tally;
	tally = calloc(1, sizeof(*tally));
	if (!tally)
		err(1, "tally");
	*tally = (struct tally){ all, verdict, reason, binary, func, 0, NULL };
	all = tally;
	return tally;
}

static void print_one(FILE *out, const struct tally *tally, const char *judgement)
{
	const struct binary *binary = tally->binary;
	u64 start = 0;

	fprintf(out, "  %-10" PRIu64 " %s, ", tally->count, names[tally->verdict]);
	fprintf(out, "%s: ", tally->reason);
	if (binary)
		fprintf(out, "%s %s+0x%" PRIx64 "\n", binary->name,
			binary_symbol(binary, tally->func, &start), tally->func);
	else
		fputs("no code\n", out);
	if (judgement)
		fprintf(out, "             known: %s\n", judgement);
	if (tally->example)
		fputs(tally->example, out);
}

static int compare(const void *a, const void *b)
{
	const struct tally *one = *(struct tally *const *)a, *other = *(struct tally *const *)b;

	if (one->verdict != other->verdict)
		return one->verdict < other->verdict ? 1 : -1;
	return one->count < other->count ? 1 : -(one->count > other->count);
}

/* Returns the judgement on a frame in which @what is wrong, or NULL. */
static const char *find_known(const struct tally *tally, const char *what)
{
	const char *name, *symbol;
	const struct known *known;
	u64 start;

	if (!tally->binary)
		return NULL;
	name = basename(tally->binary->name);
	symbol = binary_symbol(tally->binary, tally->func, &start);
	for (known = all_known; known; known = known->next)
		if ((!strcmp(known->binary, name) || !strcmp(known->binary, "*")) &&
		    !strcmp(known->symbol, symbol) && !strcmp(known->what, what))
			return known->judgement;
	return NULL;
}

/* Only what follows from something that a function does to its frame can be known. */
static const char *judge_wrong(const struct tally *tally)
{
	if (!tally_is_wrong(tally->verdict))
		return NULL;
	if (!strcmp(tally->reason, TALLY_LOST_FP) || !strcmp(tally->reason, TALLY_BY_HAND))
		return find_known(tally, "fp");
	if (!strcmp(tally->reason, TALLY_WRONG_RA) || !strcmp(tally->reason, TALLY_WRONG_STACK))
		return find_known(tally, "ra");
	if (tally->verdict == VERDICT_LONG)
		return find_known(tally, "long");
	return tally->verdict == VERDICT_SHORT ? find_known(tally, "end") : NULL;
}

/**
 * tally_print() - print what came out
 * @out: where to
 * @program: what was stepped
 *
 * Return: How many steps were wrong.
 */
u64 tally_print(FILE *out, const char *program)
{
	u64 sums[NR_VERDICTS] = {}, wrong = 0, known = 0;
	struct tally *tally, **sorted;
	const char *judgement;
	unsigned int i, nr = 0;

	for (tally = all; tally; tally = tally->next)
		nr++;
	sorted = calloc(nr + 1, sizeof(*sorted));
	nr = 0;
	for (tally = all; tally; tally = tally->next) {
		sorted[nr++] = tally;
		sums[tally->verdict] += tally->count;
	}
	qsort(sorted, nr, sizeof(*sorted), compare);
	for (i = 0; i < nr; i++) {
		if (!sorted[i]->count || sorted[i]->verdict == VERDICT_WHOLE)
			continue;
		judgement = judge_wrong(sorted[i]);
		if (judgement)
			known += sorted[i]->count;
		else if (tally_is_wrong(sorted[i]->verdict))
			wrong += sorted[i]->count;
		print_one(out, sorted[i], judgement);
	}
	free(sorted);
	fprintf(out, "%s: whole %" PRIu64 ", ended early %" PRIu64, program,
		sums[VERDICT_WHOLE], sums[VERDICT_PREFIX]);
	fprintf(out, ", wrong %" PRIu64 ", known to be wrong %" PRIu64, wrong, known);
	fprintf(out, ", frame pointers that differ %" PRIu64 "\n", sums[VERDICT_FP]);
	return wrong;
}
