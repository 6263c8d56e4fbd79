// SPDX-License-Identifier: GPL-2.0-or-later
/* Why stacks end in an object, and what can be done about it. */
#include <stdio.h>

#include "meaning.h"
#include "remedy.h"

static const struct remedy remedies[NR_REMEDY_CAUSES] = {
	[REMEDY_GONE] = {
		"ended", "the process had ended before its code could be named",
		"Nothing to do, unless there are many: sample for longer (-d).",
	},
	[REMEDY_MORE] = {
		"more", "there were more places than are kept",
		"Sample one process (-p), or for a shorter time (-d).",
	},
	[REMEDY_NO_FILE] = {
		"no-file", "code in no file, such as that of a JIT compiler: nothing describes it",
		"Run sframectl serve, which asks runtimes. Documentation/runtimes.rst has flags that help.",
	},
	[REMEDY_UNREADABLE] = {
		"unreadable", "the file cannot be read any more: it was deleted or replaced",
		"Start the program again.",
	},
	[REMEDY_NO_ELF] = {
		"no-elf", "the file is no ELF file: nothing describes its code",
		"Nothing to do.",
	},
	[REMEDY_32_BIT] = {
		"32-bit", "32-bit code, which is left to the kernel",
		"Nothing to do, except to use the 64-bit program.",
	},
	[REMEDY_NO_TABLE] = {
		"no-table", "no table can be made, and it brings no .sframe of its own",
		"Build it with -Wa,--gsframe, or at least with -fasynchronous-unwind-tables, and do not strip .eh_frame.",
	},
	[REMEDY_ELSEWHERE] = {
		"elsewhere", FILE_ELSEWHERE,
		"Run a copy of it from a file system of this machine (ext4, xfs, btrfs, tmpfs), or build it with -Wa,--gsframe.",
	},
	[REMEDY_CHANGED] = {
		"changed",
		"it has lost its table, because the file has changed: it was written, renamed or linked. perf record links each file once, into ~/.debug",
		"`sframectl load -p PID` loads it again, `sframectl serve` does it by itself. perf record -B makes no links.",
	},
	[REMEDY_NOT_LOADED] = {
		"not-loaded", "its table is not loaded",
		"`sframectl load --all` loads it now. `sframectl serve`, also as a service, loads what will be sampled.",
	},
	[REMEDY_NOT_TAKEN] = {
		"not-taken",
		"a table can be made, but the module did not take it when somebody loaded it",
		"`sframectl load -v -p PID` says why, and loads it if there is room now.",
	},
	[REMEDY_NOT_DESCRIBED] = {
		"not-described",
		"code without unwind data: no .sframe, .eh_frame or .debug_frame describes it",
		"C needs -fasynchronous-unwind-tables, or -g and no stripping; assembly needs .cfi directives of its authors.",
	},
	[REMEDY_DESCRIBED] = {
		"described",
		"the code has data now: the samples came before its table, or the frame was found by frame pointer from code without data",
		"Nothing to do, unless it goes on: run it again.",
	},
};

#define BUILD_AGAIN							\
	"`sframectl check` names the defect. Build it again with newer binutils."
#define OWN_STACK							\
	"Nothing to do, if the program changes its stack by itself. Else its data is wrong."

/* What helps where the reason decides. The others are as `sframectl stats` has them. */
static const struct {
	const char *reason, *text, *advice;
} reasons[] = {
	{
		.reason = "unscanned",
		.text = "first samples of new processes, or of code just loaded",
		.advice = "Nothing to do.",
	},
	{ .reason = "bad-section", .advice = BUILD_AGAIN },
	{ .reason = "refused", .advice = BUILD_AGAIN },
	{ .reason = "bad-cfa", .advice = OWN_STACK },
	{ .reason = "bad-ra", .advice = OWN_STACK },
	{ .reason = "bad-signal", .advice = OWN_STACK },
	{
		.reason = "budget",
		.advice =
			"If `sframectl check` shows FLAGS without \"sorted\": link it with GNU ld.",
	},
};

/* Does the object at which a stack ended for this reason not matter? */
bool remedy_is_anywhere(const char *reason)
{
	static const char *const anywhere[] = {
		"full", "unscanned", "exec", "task-switch", "entry", "stack-fault",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (!strcmp(anywhere[i], reason))
			return true;
	return remedy_is_complete(reason);
}

static struct meaning meaning_of_stop(const char *reason)
{
	char counter[64];

	snprintf(counter, sizeof(counter), "stop.%s", reason);
	return meaning_of(counter);
}

bool remedy_is_complete(const char *reason)
{
	return meaning_of_stop(reason).complete;
}

/* Stacks end for want of data. Without any data in its process, a stack is left to the kernel. */
bool remedy_lacks_data(const char *reason)
{
	return !strcmp(reason, "nodata") || !strcmp(reason, SAMPLER_LEFT);
}

/**
 * remedy_cause - why do stacks end at a place?
 * @reason: what the module says
 * @object: the object
 * @holding: what it has; not asked for unless remedy_lacks_data()
 * @off: offset of the place in it
 */
enum remedy_cause remedy_cause(const char *reason, const struct place_object *object,
			       const struct holding *holding, u64 off)
{
	if (!remedy_lacks_data(reason))
		return REMEDY_BY_REASON;
	if (holding->is_32)
		return REMEDY_32_BIT;
	if (!holding->is_elf && *object->error)
		return REMEDY_UNREADABLE;
	if (!holding->is_elf)
		return object->code.no_elf ? REMEDY_NO_FILE : REMEDY_NO_ELF;
	if (holding->has_sframe && holding_describes(holding, &holding->sframe, off))
		return REMEDY_DESCRIBED;
	if (holding->is_elsewhere)
		return REMEDY_ELSEWHERE;
	if (!*holding->error && holding_describes(holding, &holding->eh_frame, off)) {
		if (holding->has_table)
			return REMEDY_DESCRIBED;
		if (holding->has_changed)
			return REMEDY_CHANGED;
		return holding->is_refused ? REMEDY_NOT_TAKEN : REMEDY_NOT_LOADED;
	}
	return *holding->error && !holding->has_sframe ? REMEDY_NO_TABLE : REMEDY_NOT_DESCRIBED;
}

/* Return: the cause in words. @text may be NULL: a module of another version has other reasons. */
struct remedy remedy_of(enum remedy_cause cause, const char *reason)
{
	struct meaning meaning = meaning_of_stop(reason);
	struct remedy remedy = { reason, meaning.text, meaning.advice };
	size_t i;

	if (cause != REMEDY_BY_REASON)
		return remedies[cause];
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (strcmp(reasons[i].reason, reason))
			continue;
		remedy.text = reasons[i].text ?: remedy.text;
		remedy.advice = reasons[i].advice;
	}
	return remedy;
}
