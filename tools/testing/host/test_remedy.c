// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of remedy.c: the cause that `sframectl why` finds for each kind of object.
 * Some need a machine that is out of room, or a process that ends at the right moment, to be seen.
 */
#include <stdio.h>

#include "remedy.h"

/* What a table or .sframe describes: all addresses. Otherwise it is none. */
#define ALL	{ .nr = 1 }

bool holding_describes(const struct holding *holding, const struct ranges *ranges, u64 off)
{
	(void)holding;
	(void)off;
	return ranges->nr;
}

static const struct {
	const char		*name;	/* of the cause */
	const char		*reason;
	struct place_object	object;
	struct holding		holding;
} cases[] = {
	{ "no-file", "nodata", .object.code.no_elf = true },
	{ "unreadable", "nodata", .object.error = "No such file or directory" },
	{ "no-elf", "nodata" },
	{ "32-bit", SAMPLER_LEFT, .holding = { .is_elf = true, .is_32 = true } },
	{ "no-table", "nodata", .holding = { .is_elf = true, .error = "has no .eh_frame" } },
	{ "elsewhere", "nodata",
	  .holding = { .is_elf = true, .eh_frame = ALL, .is_elsewhere = true } },
	{ "described", "nodata",
	  .holding = { .is_elf = true, .has_sframe = true, .sframe = ALL, .is_elsewhere = true } },
	{ "changed", "nodata",
	  .holding = { .is_elf = true, .eh_frame = ALL, .has_changed = true } },
	{ "not-loaded", "nodata", .holding = { .is_elf = true, .eh_frame = ALL } },
	{ "not-taken", "nodata",
	  .holding = { .is_elf = true, .eh_frame = ALL, .is_refused = true } },
	{ "not-described", "nodata", .holding = { .is_elf = true, .has_sframe = true } },
	{ "described", "nodata",
	  .holding = { .is_elf = true, .has_sframe = true, .sframe = ALL } },
	{ "unscanned", "unscanned" },
	{ "bad-section", "bad-section" },
	{ "refused", "refused" },
	{ "bad-cfa", "bad-cfa" },
	{ "budget", "budget" },
	{ "stack-fault", "stack-fault" },
};

static void judge(const char *name, struct remedy got)
{
	bool good = !strcmp(name, got.name) && got.text && got.advice;

	printf("%s - remedy: %s\n", good ? "ok" : "not ok", name);
	if (!good)
		printf("# got %s: %s / %s\n", got.name, got.text, got.advice);
}

/* Of a newer module. */
static void judge_unknown_reason(void)
{
	struct remedy got = remedy_of(REMEDY_BY_REASON, "new");
	bool good = !strcmp(got.name, "new") && !got.text && !got.advice;

	printf("%s - remedy: a reason that is not known\n", good ? "ok" : "not ok");
}

int main(void)
{
	enum remedy_cause cause;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		cause = remedy_cause(cases[i].reason, &cases[i].object, &cases[i].holding, 0);
		judge(cases[i].name, remedy_of(cause, cases[i].reason));
	}
	/* These have no object. */
	judge("ended", remedy_of(REMEDY_GONE, "nodata"));
	judge("more", remedy_of(REMEDY_MORE, "nodata"));
	judge_unknown_reason();
	printf("1..%zu\n", ARRAY_SIZE(cases) + 3);
	return 0;
}
