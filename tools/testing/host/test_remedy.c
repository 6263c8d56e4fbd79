// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of remedy.c: the cause that `sframectl why` finds for each kind of object, and its words.
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

struct remedy_case {
	const char		*reason;
	struct place_object	object;
	struct holding		holding;
	const char		*name, *text, *advice;
};

static const struct remedy_case cases[] = {
	{
		.reason = "nodata", .object.code.no_elf = true,
		.name = "no-file",
		.text = "code in no file, such as that of a JIT compiler: nothing describes it",
		.advice =
			"Nothing to do, unless the compiler can keep frame pointers (java: -XX:+PreserveFramePointer).",
	}, {
		.reason = "nodata", .object.error = "No such file or directory",
		.name = "unreadable",
		.text = "the file cannot be read any more: it was deleted or replaced",
		.advice = "Start the program again.",
	}, {
		.reason = "nodata",
		.name = "no-elf",
		.text = "the file is no ELF file: nothing describes its code",
		.advice = "Nothing to do.",
	}, {
		.reason = SAMPLER_LEFT, .holding = { .is_elf = true, .is_32 = true },
		.name = "32-bit",
		.text = "32-bit code, which is left to the kernel",
		.advice = "Nothing to do, except to use the 64-bit program.",
	}, {
		.reason = "nodata",
		.holding = { .is_elf = true, .error = "has no .eh_frame" },
		.name = "no-table",
		.text = "no table can be made, and it brings no .sframe of its own",
		.advice =
			"Build it with -Wa,--gsframe, or at least with -fasynchronous-unwind-tables, and do not strip .eh_frame.",
	}, {
		.reason = "nodata", .holding = { .is_elf = true, .eh_frame = ALL },
		.name = "not-loaded",
		.text = "its table is not loaded",
		.advice =
			"`sframectl load --all` loads it now. `sframectl serve`, also as a service, loads what will be sampled.",
	}, {
		.reason = "nodata",
		.holding = { .is_elf = true, .eh_frame = ALL, .is_refused = true },
		.name = "not-taken",
		.text =
			"a table can be made, but the module did not take it when somebody loaded it",
		.advice = "`sframectl load -v PID` says why, and loads it if there is room now.",
	}, {
		.reason = "nodata", .holding = { .is_elf = true, .has_sframe = true },
		.name = "not-described",
		.text =
			"assembly without unwind data: neither its .eh_frame nor its .sframe describes this code",
		.advice = "Nothing to do, except by its authors: .cfi directives describe it.",
	}, {
		.reason = "nodata",
		.holding = { .is_elf = true, .has_sframe = true, .sframe = ALL },
		.name = "described",
		.text =
			"the code has data now: the samples came before its table, or the frame was found by frame pointer from code without data",
		.advice = "Nothing to do, unless it goes on: run it again.",
	}, {
		.reason = "unscanned",
		.name = "unscanned",
		.text = "first samples of new processes, or of code just loaded",
		.advice = "Nothing to do.",
	}, {
		.reason = "bad-section",
		.name = "bad-section",
		.text = "the section contradicts itself, and is not used again",
		.advice = "`sframectl check` names the defect. Build it again with newer binutils.",
	}, {
		.reason = "refused",
		.name = "refused",
		.text = "the row must not be followed",
		.advice = "`sframectl check` names the defect. Build it again with newer binutils.",
	}, {
		.reason = "bad-cfa",
		.name = "bad-cfa",
		.text = "the row leads down the stack",
		.advice =
			"Nothing to do, if the program changes its stack by itself. Else its data is wrong.",
	}, {
		.reason = "budget",
		.name = "budget",
		.text =
			"the walk would have cost more work, or looked up more rows, than one walk may",
		.advice =
			"If `sframectl check` shows FLAGS without \"sorted\": link it with GNU ld.",
	}, {
		.reason = "stack-fault",
		.name = "stack-fault",
		.text = "a word of the stack was not in memory",
		.advice = "Does the machine swap? `vmstat 5` shows it.",
	}, {
		/* Of a newer module. */
		.reason = "new",
		.name = "new",
	},
};

/* These have no object. */
static const struct remedy_case elsewhere[] = {
	[REMEDY_GONE] = {
		.name = "ended",
		.text = "the process had ended before its code could be named",
		.advice = "Nothing to do, unless there are many: try more SECONDS.",
	},
	[REMEDY_MORE] = {
		.name = "more",
		.text = "there were more places than are kept",
		.advice = "Name a PID, or give less SECONDS.",
	},
};

static bool are_same(const char *one, const char *two)
{
	return one && two ? !strcmp(one, two) : one == two;
}

static void judge(const struct remedy_case *c, struct remedy got)
{
	bool good = are_same(c->name, got.name) && are_same(c->text, got.text) &&
		    are_same(c->advice, got.advice);

	printf("%s - remedy: %s\n", good ? "ok" : "not ok", c->name);
	if (!good)
		printf("# got %s: %s / %s\n", got.name, got.text, got.advice);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct remedy_case *c = &cases[i];
		enum remedy_cause cause = remedy_cause(c->reason, &c->object, &c->holding, 0);

		judge(c, remedy_of(cause, c->reason));
	}
	for (i = REMEDY_GONE; i <= REMEDY_MORE; i++)
		judge(&elsewhere[i], remedy_of(i, "nodata"));
	printf("1..%zu\n", ARRAY_SIZE(cases) + 2);
	return 0;
}
