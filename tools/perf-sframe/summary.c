// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary.c - one line after a recording: what became of the stacks, and what to type next
 *
 * The module counts for the whole machine since it was loaded. The line is about the difference,
 * so other recordings that run at the same time are in it: it says so.
 */
#include <fcntl.h>
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

/**
 * read_summary() - read the module's counters
 * @summary: filled with them
 */
void read_summary(struct summary *summary)
{
	static const char *const names[NR_COUNTERS] = {
		[WALKS] = "walks", [COMPLETE] = "complete", [FIRST] = "first", [FULL] = "full",
		[SFRAME] = "sframe", [FP] = "fp", [DECLINED] = "declined",
	};
	char *lines = read_file(module_file("parameters/summary")), *line, *value;
	size_t i;

	*summary = (struct summary){ .known = lines };
	while ((line = strsep(&lines, "\n"))) {
		value = strchr(line, ' ');
		for (i = 0; value && i < NR_COUNTERS; i++) {
			if (!strncmp(line, names[i], value - line) && !names[i][value - line])
				summary->nr[i] = strtoull(value, NULL, 10);
		}
	}
}

/**
 * keep_counters() - keep all counters of the module for `sframectl stats --last`
 * @is_over: the recording is over; else it begins
 *
 * Only root may read and keep them.
 */
void keep_counters(bool is_over)
{
	char *counters = read_file(text("%s/kernel/debug/sframe_unwind/stats",
					variable("SFU_SYSFS", "/sys")));
	const char *run = variable("SFU_RUN", "/run");
	char *before = text("%s/sframe_unwind.before", run);
	char *after = text("%s/sframe_unwind.after", run);
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
}

/*
 * difference: what was counted in between. The module reads its counters one after the other while
 * they rise: some more complete stacks than stacks may result. If the module was loaded again in
 * between, its counters began at 0.
 */
static struct summary difference(const struct summary *before, const struct summary *now)
{
	static const struct summary zero;
	struct summary result = { };
	size_t i;

	for (i = 0; i < NR_COUNTERS; i++) {
		if (now->nr[i] < before->nr[i])
			before = &zero;
	}
	for (i = 0; i < NR_COUNTERS; i++) {
		result.nr[i] = now->nr[i] - before->nr[i];
		if (i <= FULL && result.nr[i] > result.nr[WALKS])
			result.nr[i] = result.nr[WALKS];
	}
	return result;
}

/* percent: rounded, but a share that is neither none nor all is not called 0 or 100 % */
static char *percent(unsigned long long part, unsigned long long whole)
{
	unsigned long long share = whole ? (part * 100 + whole / 2) / whole : 0;

	if (part && !share)
		return "under 1 %";
	return share == 100 && part < whole ? "over 99 %" : text("%llu %%", share);
}

/* number: "1 stack", "2 stacks" */
static char *number(unsigned long long nr, const char *what)
{
	return text("%llu %s%s", nr, what, nr == 1 ? "" : "s");
}

/* next_step: what to type to see why stacks are not complete */
static const char *next_step(void)
{
	/* The counters of a user's recording cannot be kept. */
	return geteuid() ? "sudo sframectl stats" : "sframectl stats --last";
}

/* sum_up: how many stacks are complete, where the frames are from, and what to type next */
static char *sum_up(const struct summary *stacks, bool has_tables)
{
	const unsigned long long *nr = stacks->nr;
	char *first = "", *full = "", *declined = "", *next = "";

	if (!nr[SFRAME])
		return text("%s, none from SFrame: %s. %s: %s",
			    number(nr[WALKS] + nr[DECLINED], "stack"),
			    "by frame pointer, which code built without them does not keep",
			    has_tables ? "Why" : "As root, load tables",
			    has_tables ? next_step() : "sframectl load --all");
	if (nr[FIRST])
		first = text("; %s of the stacks have only their first frame",
			     percent(nr[FIRST], nr[WALKS]));
	if (nr[FULL])
		full = text("; %s of the stacks are cut: for more, " MORE_FRAMES,
			    percent(nr[FULL], nr[WALKS]));
	/* A few are of perf itself, before it has become the workload. */
	if (nr[DECLINED] && nr[DECLINED] >= nr[WALKS] / 100)
		declined = text("; %llu more, without a table, by frame pointer", nr[DECLINED]);
	if (nr[COMPLETE] < nr[WALKS] || *declined)
		next = text(". Why: %s", next_step());
	return text("%s, %s complete; %s from SFrame, %llu by frame pointer%s%s%s%s",
		    number(nr[WALKS], "stack"), percent(nr[COMPLETE], nr[WALKS]),
		    number(nr[SFRAME], "frame"), nr[FP], first, full, declined, next);
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
	else if (stacks.nr[WALKS] || stacks.nr[DECLINED])
		line = sum_up(&stacks, has_tables);
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
