// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary.c - one line after a recording: what became of the stacks, and what to type next
 *
 * The module counts for the whole machine since it was loaded. The line is about the difference,
 * so other recordings that run at the same time are in it: it says so.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wrapper.h"

#define MORE_FRAMES "sysctl kernel.perf_event_max_stack=512, while no perf runs"
#define GUESSES "stacks are the kernel's guesses by frame pointer"

/* may_sample: may this user sample the user mode of programs, with call chains? */
static bool may_sample(bool only_user_callchains)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_callchain_kernel = only_user_callchains,
	};
	int event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (event >= 0)
		close(event);
	return event >= 0;
}

/*
 * explain_refusal: newer kernels refuse to users a recording without this word, and perf's long
 * message about that does not have it
 */
static void explain_refusal(const struct command *command)
{
	size_t i;

	for (i = 0; i < command->words.nr; i++) {
		if (starts_with(command->words.word[i], "--user-c"))
			return;
	}
	if (!may_sample(false) && may_sample(true))
		say("sframe_unwind: this kernel wants one more word from users: --user-callchains");
}

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
		{ "full", &summary->full },
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

/**
 * keep_counters() - keep all counters of the module for `sframectl stats --last`
 * @is_over: the recording is over; else it begins
 *
 * Only root may read and keep them.
 */
void keep_counters(bool is_over)
{
	const char *sys = getenv("SFU_SYSFS"), *run = getenv("SFU_RUN");
	char *stats = text("%s/kernel/debug/sframe_unwind/stats", sys && *sys ? sys : "/sys");
	char *before = text("%s/sframe_unwind.before", run && *run ? run : "/run");
	char *after = text("%s/sframe_unwind.after", run && *run ? run : "/run");
	char *counters = read_file(stats);
	int file;

	/* Those of an earlier recording go, also if there are no others. */
	unlink(after);
	if (!is_over)
		unlink(before);
	file = counters ? open(is_over ? after : before, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       0600) : -1;
	if (file >= 0) {
		dprintf(file, "%s", counters);
		close(file);
	}
	free(counters);
	free(after);
	free(before);
	free(stats);
}

static uint64_t min(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* began_again: was the module loaded again in between? Then its counters began at 0. */
static bool began_again(const struct summary *before, const struct summary *now)
{
	return now->walks < before->walks || now->whole < before->whole ||
	       now->first < before->first || now->full < before->full ||
	       now->sframe < before->sframe || now->fp < before->fp ||
	       now->declined < before->declined;
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
		.full = min(now->full - before->full, walks),
		.sframe = now->sframe - before->sframe,
		.fp = now->fp - before->fp,
		.declined = now->declined - before->declined,
	};
}

/* percent: rounded, but a share that is neither none nor all is not called 0 or 100 % */
static char *percent(uint64_t part, uint64_t whole)
{
	uint64_t share = whole ? (part * 100 + whole / 2) / whole : 0;

	if (part && !share)
		return "under 1 %";
	return share == 100 && part < whole ? "over 99 %" : text("%" PRIu64 " %%", share);
}

/* number: "1 stack", "2 stacks" */
static char *number(uint64_t nr, const char *what)
{
	return text("%" PRIu64 " %s%s", nr, what, nr == 1 ? "" : "s");
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
		return text("-p %s", is_plain(command->pid) ? command->pid : "PID");
	if (command->all)
		return "-p PID";
	if (file && !strchr(file, '/'))
		file = find_in_path(file);
	return file && is_plain(file) ? file : "PROGRAM";
}

/* next_step: what to type to see why stacks are not whole */
static const char *next_step(void)
{
	/* The counters of a user's recording cannot be kept. */
	return geteuid() ? "sudo sframectl stats" : "sframectl stats --last";
}

/* no_sframe: the line if none of the stacks is from SFrame. @has_tables: tables were brought. */
static char *no_sframe(const struct summary *stacks, const struct command *command,
		       bool has_tables)
{
	const char *followed = stacks->declined ? "the kernel followed frame pointers instead" :
						  "the module followed frame pointers";
	char *none = text("%s, none from SFrame", number(stacks->walks + stacks->declined,
							 "stack"));

	if (!stacks->declined && !stacks->fp)
		return text("%s: only %s first frame was found. Why: %s", none,
			    stacks->walks == 1 ? "its" : "their", next_step());
	return text("%s: %s, which code built without them does not keep. %s: sframectl check %s",
		    none, followed,
		    has_tables ? "See" : "As root, load tables (sframectl load --all), and see",
		    subject(command));
}

/* some_sframe: the line if some are: how many, from where, and what to type next */
static char *some_sframe(const struct summary *stacks, const struct command *command)
{
	char *first = "", *full = "", *declined = "", *next = "";

	if (stacks->first)
		first = text("; %s of the stacks have only their first frame",
			     percent(stacks->first, stacks->walks));
	if (stacks->full)
		full = text("; %s of the stacks are cut: for more, " MORE_FRAMES,
			    percent(stacks->full, stacks->walks));
	/* A few are of perf itself, before it has become the workload. */
	if (stacks->declined && stacks->declined >= stacks->walks / 100)
		declined = text("; %" PRIu64 " more, without a table, by frame pointer",
				stacks->declined);
	if (stacks->whole < stacks->walks)
		next = text(". Why: %s", next_step());
	else if (*declined)
		next = text(". See: sframectl check %s", subject(command));
	return text("%s, %s whole; %s from SFrame, %" PRIu64 " by frame pointer%s%s%s%s",
		    number(stacks->walks, "stack"), percent(stacks->whole, stacks->walks),
		    number(stacks->sframe, "frame"), stacks->fp, first, full, declined, next);
}

/**
 * print_summary() - print the line after a recording
 * @before: the counters before it
 * @command: what was recorded
 * @has_tables: tables were brought
 * @status: perf's wait status
 */
void print_summary(const struct summary *before, const struct command *command, bool has_tables,
		   int status)
{
	bool failed = WIFEXITED(status) && WEXITSTATUS(status);
	struct summary now, stacks;
	char *line = NULL;

	if (could_not_begin(status)) {
		explain_refusal(command);
		return;
	}
	read_summary(&now);
	stacks = difference(before, &now);
	if (!before->known || !now.known)
		line = NULL;
	else if (stacks.sframe)
		line = some_sframe(&stacks, command);
	else if (stacks.walks || stacks.declined)
		line = no_sframe(&stacks, command, has_tables);
	else if (!failed) /* else perf may have taken no sample at all */
		line = "no user stack was taken";
	if (line)
		line = text("meanwhile on this machine: %s", line);
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
