// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Says in words what the counters of the module mean, the most important first: how
 * many stacks are complete, where the others ended and why, and what to do about it.
 * Modules of other versions may have other counters. They are shown by name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "color.h"
#include "meaning.h"
#include "summary.h"
#include "text.h"

#define INDENT		18	/* column of the names of counters */
#define SHARE_SIZE	16

/**
 * struct line - a counter that is not 0
 * @name: its name in its group
 * @meaning: its meaning
 * @count: the value, or the part of it that the line is about
 * @value: the complete value
 */
struct line {
	const char	*name;
	struct meaning	meaning;
	u64		count;
	u64		value;
};

/**
 * struct part - lines that belong together
 * @title: what they have in common
 * @shade: the colour of their share
 * @told: the part before, which explains the same reasons; or NULL
 * @lines: the largest counts first, after summarize()
 * @nr: number of lines
 * @count: the sum of their counts
 * @frames: number of frames, if the lines count stacks
 */
struct part {
	const char		*title;
	enum color		shade;
	const struct part	*told;
	struct line		lines[COUNTERS_MAX];
	size_t			nr;
	u64			count;
	u64			frames;
};

/**
 * struct summary - the counters, by what they mean to a user
 * @stacks: number of stacks that were unwound
 * @complete: stacks that are complete, by reason
 * @way: stacks that ended on the way, by reason
 * @first: stacks that ended in the sampled frame, by reason
 * @methods: callers, by the method that found them
 * @declined: stacks left to the kernel, by reason
 * @trouble: bad sections, and defects
 * @others: counters that are not known here
 */
struct summary {
	u64		stacks;
	struct part	complete;
	struct part	way;
	struct part	first;
	struct part	methods;
	struct part	declined;
	struct part	trouble;
	struct part	others;
};

/* A file may have any values: a sum that is too large becomes the largest number. */
static u64 add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? ~0ull : sum;
}

static void part_add(struct part *part, const struct line *line, u64 count)
{
	if (!count)
		return;
	part->lines[part->nr] = *line;
	part->lines[part->nr++].count = count;
	part->count = add(part->count, count);
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *line1 = a, *line2 = b;

	if (line1->count != line2->count)
		return line1->count < line2->count ? 1 : -1;
	return strcmp(line1->name, line2->name);
}

static void part_sort(struct part *part)
{
	qsort(part->lines, part->nr, sizeof(*part->lines), compare_lines);
}

/* Return: the value of @group.@member; 0 if the module has no such counter. */
static u64 value_of(const struct counters *counters, const char *group,
		    const char *member)
{
	const char *name;
	size_t i;

	for (i = 0; i < counters->nr; i++) {
		name = counter_member(&counters->all[i], group);
		if (name && !strcmp(name, member))
			return counters->all[i].value;
	}
	return 0;
}

static void add_stop(struct summary *sum, const struct counters *counters,
		     const struct line *line)
{
	u64 depth = value_of(counters, "depth", line->name);
	u64 first = value_of(counters, "first", line->name);

	sum->stacks = add(sum->stacks, line->value);
	if (line->meaning.complete) {
		part_add(&sum->complete, line, line->value);
		sum->complete.frames = add(sum->complete.frames, depth);
		return;
	}
	/* The module counts while it is read, so the later counter may be larger. */
	first = min_t(u64, first, line->value);
	part_add(&sum->first, line, first);
	part_add(&sum->way, line, line->value - first);
	sum->way.frames = add(sum->way.frames, depth - min_t(u64, first, depth));
}

/* Return: true if the summary shows @counter together with others, or not at all. */
static bool is_detail(const struct counter *counter)
{
	static const char *const groups[] = { "first", "depth", "cache", "scan", "map", "table" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (counter_member(counter, groups[i]))
			return true;
	return !strcmp(counter->name, "walks");
}

static void add_counter(struct summary *sum, const struct counters *counters,
			const struct counter *counter)
{
	const struct {
		const char	*group;
		struct part	*part;
	} parts[] = {
		{ "frames", &sum->methods }, { "declined", &sum->declined },
		{ "section", &sum->trouble }, { "defect", &sum->trouble },
	};
	struct line line = { .meaning = meaning_of(counter->name), .value = counter->value };
	size_t i;

	line.name = counter_member(counter, "stop");
	if (line.name) {
		add_stop(sum, counters, &line);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		line.name = counter_member(counter, parts[i].group);
		if (line.name) {
			part_add(parts[i].part, &line, line.value);
			return;
		}
	}
	line.name = counter->name;
	if (!is_detail(counter))
		part_add(&sum->others, &line, line.value);
}

static void summarize(struct summary *sum, const struct counters *counters)
{
	size_t i;

	*sum = (struct summary){
		.complete.title = "complete",
		.complete.shade = COLOR_GOOD,
		.way.title = "ended early",
		.way.shade = COLOR_POOR,
		.first.title = "ended in the first frame",
		.first.shade = COLOR_POOR,
		.first.told = &sum->way,
		.declined.title = "stacks left to the kernel's own code",
		.declined.shade = COLOR_POOR,
		.trouble.title = "defects of .sframe; `sframectl check -p PID` names the objects",
		.trouble.shade = COLOR_BAD,
		.others.title = "counters that this sframectl does not know",
	};
	for (i = 0; i < counters->nr; i++) {
		/* Older modules do not tell one from the other. */
		if (counter_member(&counters->all[i], "first"))
			sum->way.title = "ended on the way";
		add_counter(sum, counters, &counters->all[i]);
	}
	part_sort(&sum->complete);
	part_sort(&sum->way);
	part_sort(&sum->first);
	part_sort(&sum->methods);
	part_sort(&sum->declined);
	part_sort(&sum->trouble);
}

/**
 * struct shares - the division of a sum, part by part
 * @sum: the sum
 * @before: the parts that have been taken from it
 *
 * Each share is the difference of two rounded numbers. So the shares of all parts add up
 * to 100.0 %, and those of a group to the share of the group.
 */
struct shares {
	u64	sum;
	u64	before;
};

/* Return: @count / @sum in tenths of a percent. */
static unsigned int tenths(u64 count, u64 sum)
{
	return sum ? 1000.0 * count / sum + 0.5 : 0;
}

/* Takes the part of @count. Return: its share as text, which may be in @text. */
static const char *next_share(struct shares *shares, u64 count, char *text)
{
	unsigned int share = tenths(shares->before, shares->sum);

	shares->before = add(shares->before, count);
	share = tenths(shares->before, shares->sum) - share;
	if (!shares->sum)
		return "-";
	/* A small share looks small even if the rounding gives it the next tenth. */
	if (count && (!share || !tenths(count, shares->sum)))
		return "<0.1 %";
	snprintf(text, SHARE_SIZE, "%u.%u %%", share / 10, share % 10);
	return text;
}

static const char *group_share(const struct shares *shares, u64 count, char *text)
{
	struct shares copy = *shares;

	return next_share(&copy, count, text);
}

static void print_line(const struct line *line, const char *amount, bool explain,
		       bool advise)
{
	printf("%*s  %s", INDENT - 2, amount, line->name);
	if (!explain || !line->meaning.text) {
		putchar('\n');
		return;
	}
	putchar(':');
	print_words(line->meaning.text, INDENT + strlen(line->name) + 1, INDENT);
	if (advise && line->meaning.advice) {
		printf("%*s", INDENT, "");
		print_words(line->meaning.advice, INDENT, INDENT);
	}
}

static bool part_has(const struct part *part, const char *name)
{
	size_t i;

	for (i = 0; i < part->nr; i++)
		if (!strcmp(part->lines[i].name, name))
			return true;
	return false;
}

/* Less than one percent needs no explanation. */
static bool is_rare(u64 value, u64 sum)
{
	return value < sum / 100;
}

/* Prints reasons that are rare on one line. */
static void print_rare(const struct part *part, struct shares *shares)
{
	const char *separator = "rare:";
	const struct line *line;
	char text[SHARE_SIZE];
	u64 count = 0;
	size_t i;

	for (i = 0; i < part->nr; i++)
		if (is_rare(part->lines[i].value, shares->sum))
			count = add(count, part->lines[i].count);
	if (!count)
		return;
	printf("%*s  ", INDENT - 2, next_share(shares, count, text));
	for (i = 0; i < part->nr; i++) {
		line = &part->lines[i];
		if (!is_rare(line->value, shares->sum))
			continue;
		printf("%s %s %" PRIu64, separator, line->name, line->count);
		separator = ",";
	}
	putchar('\n');
}

/* Prints a part of the stacks by reason. With @all, rare reasons are like the others. */
static void print_stacks(const struct part *part, struct shares *shares, bool all)
{
	const struct line *line;
	char text[SHARE_SIZE];
	size_t i;

	if (!part->nr)
		return;
	printf("%s%8s%s  %s", color(part->shade), group_share(shares, part->count, text),
	       color(COLOR_NONE), part->title);
	if (part->frames)
		printf(", %.1f frames on average", 1.0 * part->frames / part->count);
	putchar('\n');
	for (i = 0; i < part->nr; i++) {
		line = &part->lines[i];
		if (all || !is_rare(line->value, shares->sum))
			print_line(line, next_share(shares, line->count, text),
				   !part->told || !part_has(part->told, line->name), true);
	}
	if (!all)
		print_rare(part, shares);
}

static void print_methods(const struct part *methods)
{
	struct shares shares = { .sum = methods->count };
	const struct line *line;
	char text[SHARE_SIZE];
	size_t i;

	for (i = 0; i < methods->nr; i++) {
		line = &methods->lines[i];
		printf("%s %s %s", i ? "," : "callers found by:",
		       line->meaning.text ?: line->name,
		       next_share(&shares, line->count, text));
	}
	if (methods->nr)
		putchar('\n');
}

/* Prints counters that are no part of the stacks that were unwound. */
static void print_counts(const struct part *part, u64 sum)
{
	const struct line *line;
	char text[24];
	size_t i;

	if (part->nr)
		printf("%s%s%s\n", color(part->shade), part->title, color(COLOR_NONE));
	for (i = 0; i < part->nr; i++) {
		line = &part->lines[i];
		snprintf(text, sizeof(text), "%" PRIu64, line->count);
		print_line(line, text, true, !is_rare(line->count, sum));
	}
}

/**
 * summary_print() - say what the counters mean
 * @counters: the counters
 * @when: since when they count
 * @all: explain what is rare, too
 */
void summary_print(const struct counters *counters, const char *when, bool all)
{
	struct shares shares;
	struct summary sum;
	u64 declined_sum;

	summarize(&sum, counters);
	shares = (struct shares){ .sum = sum.stacks };
	/* None is rare if all are shown. */
	declined_sum = all ? 0 : add(sum.stacks, sum.declined.count);
	printf("stacks %s: %" PRIu64 "\n", when, sum.stacks);
	if (!sum.stacks && !sum.declined.nr)
		puts("No stack has been taken yet; type: perf record -g ./app");
	/* What most stacks met comes first. */
	if (sum.declined.count > sum.stacks)
		print_counts(&sum.declined, declined_sum);
	print_stacks(&sum.complete, &shares, all);
	print_stacks(&sum.way, &shares, all);
	print_stacks(&sum.first, &shares, all);
	print_methods(&sum.methods);
	if (sum.declined.count <= sum.stacks)
		print_counts(&sum.declined, declined_sum);
	print_counts(&sum.trouble, 0);
	print_counts(&sum.others, 0);
}

/* Return: what became of the stacks. @reason is in @counters. */
struct outcome summary_outcome(const struct counters *counters)
{
	struct outcome outcome = { .left = value_of(counters, "declined", "no-section") };
	const struct counter *counter;

	for (counter = counters->all; counter < counters->all + counters->nr; counter++) {
		if (!counter_member(counter, "stop"))
			continue;
		outcome.stacks = add(outcome.stacks, counter->value);
		if (meaning_of(counter->name).complete) {
			outcome.complete = add(outcome.complete, counter->value);
		} else if (counter->value > outcome.of_reason) {
			outcome.reason = counter->name;
			outcome.of_reason = counter->value;
		}
	}
	return outcome;
}

/* Prints the titles of summary_print_row(). */
void summary_print_columns(void)
{
	printf("%12s %8s %8s %8s %8s %8s  %s\n", "STACKS", "COMPLETE", "ON-WAY", "FIRST",
	       "SFRAME", "LEFT", "ENDED-BY");
}

/* Return: the most common reason of stacks that are not complete, or "-". */
static const char *main_reason(const struct summary *sum)
{
	const struct line *way = sum->way.lines, *first = sum->first.lines;

	if (!sum->way.nr && !sum->first.nr)
		return "-";
	if (!sum->first.nr || (sum->way.nr && way->count >= first->count))
		return way->name;
	return first->name;
}

/**
 * summary_print_row() - say in one line what the counters mean
 * @counters: the counters of an interval
 */
void summary_print_row(const struct counters *counters)
{
	char complete[SHARE_SIZE], way[SHARE_SIZE], first[SHARE_SIZE], sframe[SHARE_SIZE];
	struct shares shares, callers;
	struct summary sum;

	summarize(&sum, counters);
	shares = (struct shares){ .sum = sum.stacks };
	callers = (struct shares){ .sum = sum.methods.count };
	printf("%12" PRIu64, sum.stacks);
	printf(" %8s", next_share(&shares, sum.complete.count, complete));
	printf(" %8s", next_share(&shares, sum.way.count, way));
	printf(" %8s", next_share(&shares, sum.first.count, first));
	printf(" %8s", next_share(&callers, value_of(counters, "frames", "sframe"), sframe));
	printf(" %8" PRIu64 "  %s\n", sum.declined.count, main_reason(&sum));
}
