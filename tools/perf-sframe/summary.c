// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary.c - one line after a recording: what became of the stacks, and what to type next
 *
 * The module counts for the whole machine since it was loaded. The line is about the difference,
 * so other recordings that run at the same time are in it.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrapper.h"

#define GUESSES "stacks are the kernel's guesses by frame pointer"

/*
 * could_not_begin: perf ends with 129 for wrong options, with 255 for an event or a workload that
 * it cannot have. All other statuses may be the workload's.
 */
static bool could_not_begin(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == 129 || WEXITSTATUS(status) == 255);
}

static void set_counter(struct summary *summary, const char *name, uint64_t value)
{
	const struct {
		const char *name;
		uint64_t *value;
	} counters[] = {
		{ "walks", &summary->walks },
		{ "whole", &summary->whole },
		{ "first", &summary->first },
		{ "sframe", &summary->sframe },
		{ "fp", &summary->fp },
		{ "declined", &summary->declined },
	};
	size_t i;

	for (i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		if (!strcmp(name, counters[i].name))
			*counters[i].value = value;
	}
}

/**
 * read_summary() - read the module's counters
 * @summary: filled with them
 */
void read_summary(struct summary *summary)
{
	char *path = module_file("parameters/summary");
	char *lines = read_file(path), *rest = lines, *line;
	char name[32];
	uint64_t value;

	*summary = (struct summary){ .known = lines };
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%31s %" SCNu64, name, &value) == 2)
			set_counter(summary, name, value);
	}
	free(lines);
	free(path);
}

static uint64_t min(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* began_again: was the module loaded again in between? Then its counters began at 0. */
static bool began_again(const struct summary *before, const struct summary *now)
{
	return now->walks < before->walks || now->whole < before->whole ||
	       now->first < before->first || now->sframe < before->sframe ||
	       now->fp < before->fp || now->declined < before->declined;
}

/*
 * difference: what was counted in between. The module reads its counters one after the other while
 * they rise: some more whole stacks than stacks may result.
 */
static struct summary difference(const struct summary *before, const struct summary *now)
{
	static const struct summary zero;
	uint64_t walks;

	if (began_again(before, now))
		before = &zero;
	walks = now->walks - before->walks;
	return (struct summary){
		.walks = walks,
		.whole = min(now->whole - before->whole, walks),
		.first = min(now->first - before->first, walks),
		.sframe = now->sframe - before->sframe,
		.fp = now->fp - before->fp,
		.declined = now->declined - before->declined,
	};
}

/* percent: a share that is neither none nor all is not called 0 or 100 % */
static char *percent(uint64_t part, uint64_t whole)
{
	uint64_t share = whole ? part * 100 / whole : 0;

	return part && !share ? text("under 1 %%") : text("%" PRIu64 " %%", share);
}

/* is_plain: can this be printed and typed as one word? */
static bool is_plain(const char *word)
{
	const char *c;

	for (c = word; isalnum((unsigned char)*c) || (*c && strchr("_./+-", *c)); c++)
		;
	return *word && *word != '-' && !*c;
}

/*
 * subject: what the user should give to `sframectl check`. If others than the workload are
 * sampled, the workload only says for how long.
 */
static const char *subject(const struct command *command)
{
	const char *file = command->workload;

	if (command->pid)
		return is_plain(command->pid) ? command->pid : "PID";
	if (command->all)
		return "PID";
	if (file && !strchr(file, '/'))
		file = find_in_path(file);
	return file && is_plain(file) ? file : "PROGRAM";
}

/* no_sframe: the line if none of the stacks is from SFrame */
static char *no_sframe(const struct summary *stacks, const struct command *command)
{
	const char *followed = stacks->declined ? "the kernel followed frame pointers instead" :
						  "they follow frame pointers";
	char *how = text("%s, which code built without them does not keep", followed);

	return text("none of %" PRIu64 " stacks is from SFrame: %s. %s: sframectl check %s",
		    stacks->walks + stacks->declined, how,
		    "As root, load tables (sframectl load --all), and see", subject(command));
}

/* some_sframe: the line if some are: how many, from where, and what to type next */
static char *some_sframe(const struct summary *stacks, const struct command *command)
{
	char *frames = text("%" PRIu64 " frames from SFrame, %" PRIu64 " by frame pointer",
			    stacks->sframe, stacks->fp);
	char *first = "", *declined = "", *next = "";

	if (stacks->first)
		first = text("; %s of the stacks have only their first frame",
			     percent(stacks->first, stacks->walks));
	/* A few are of perf itself, before it has become the workload. */
	if (stacks->declined && stacks->declined >= stacks->walks / 100)
		declined = text("; %" PRIu64 " more, without a table, follow frame pointers",
				stacks->declined);
	if (stacks->whole < stacks->walks)
		next = text(". Why: %ssframectl status", geteuid() ? "sudo " : "");
	else if (*declined)
		next = text(". See: sframectl check %s", subject(command));
	return text("%" PRIu64 " stacks, %s whole; %s%s%s%s", stacks->walks,
		    percent(stacks->whole, stacks->walks), frames, first, declined, next);
}

/* describe: NULL if there is nothing to say. If perf failed, it may have taken no sample at all. */
static char *describe(const struct summary *stacks, const struct command *command, bool failed)
{
	if (!stacks->walks && !stacks->declined)
		return failed ? NULL : "no user stack was taken";
	return stacks->sframe ? some_sframe(stacks, command) : no_sframe(stacks, command);
}

/**
 * print_summary() - print the line after a recording
 * @before: the counters before it
 * @command: what was recorded
 * @status: perf's wait status
 */
void print_summary(const struct summary *before, const struct command *command, int status)
{
	bool failed = WIFEXITED(status) && WEXITSTATUS(status);
	struct summary now, stacks;
	char *line = NULL;

	if (could_not_begin(status))
		return;
	read_summary(&now);
	stacks = difference(before, &now);
	if (before->known && now.known)
		line = describe(&stacks, command, failed);
	switch (module_state()) {
	case MODULE_ON:
		break;
	case MODULE_OFF:
		line = text("%s%sthe module was switched off in the meantime: since then, " GUESSES,
			    line ? line : "", line ? "; " : "");
		break;
	case MODULE_ABSENT:
		line = "the module was unloaded in the meantime: since then, " GUESSES;
		break;
	}
	if (line)
		say("sframe_unwind: %s", line);
}
