// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl stats: says how the stacks ended that the kernel module unwound. */
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "counters.h"
#include "json.h"
#include "module.h"
#include "report.h"
#include "sframectl.h"
#include "summary.h"

#define DEBUGFS	"/sys/kernel/debug"

#define SECONDS_MAX	86400u
#define ROWS		20	/* rows between two lines of titles */

static const char usage[] =
"Usage: sframectl stats [-a | --json] [--last | --stats FILE] [-i SECONDS]\n"
"\n"
"Says how the stacks ended that the module has unwound since it was loaded, why,\n"
"and what to do about it.\n"
"\n"
"Options:\n"
"  -i, --interval SECONDS  a row for each interval of this length, until Ctrl-C\n"
"  -a, --all               explain what is rare, and list all counters\n"
"  --json                  one JSON object with all counters; with -i, one a line\n"
"  --last                  only during root's last recording by perf sframe,\n"
"                          which may run still\n"
"  --stats FILE            read the counters from FILE\n"
"  --help                  this text\n";

static void print_list(const struct counters *counters)
{
	size_t i;

	for (i = 0; i < counters->nr; i++)
		printf("%-24s %14" PRIu64 "\n", counters->all[i].name, counters->all[i].value);
}

static void print_json(const struct counters *counters)
{
	size_t i;

	json_open(NULL, '{');
	json_open("counters", '{');
	for (i = 0; i < counters->nr; i++)
		json_count(counters->all[i].name, counters->all[i].value);
	json_close('}');
	json_close('}');
}

static bool debugfs_is_mounted(void)
{
	struct statfs fs;

	return !statfs(DEBUGFS, &fs) && fs.f_type == DEBUGFS_MAGIC;
}

/* Reports the first missing precondition, and the command that provides it. */
static void explain(int error)
{
	const char *sudo = geteuid() ? "sudo " : "";

	/* While the module is unloaded, its files vanish before its directory does. */
	if (!module_is_loaded() || (error == ENOENT && debugfs_is_mounted()))
		module_complain_missing();
	else if (error == EACCES || error == EPERM)
		complain("%s", module_needs_root("read the counters"));
	else if (!debugfs_is_mounted())
		complain("debugfs is not mounted; type: %smount -t debugfs none " DEBUGFS,
			 sudo);
	else
		complain("%s: %s", COUNTERS_STATS, strerror(error));
}

/* The counters of the running module are read unless the command line names a file. */
static enum status read_counters(struct counters *counters, const char *stats)
{
	int error = -counters_read(counters, stats ? stats : COUNTERS_STATS);

	if (error && error != EBADMSG) {
		if (stats)
			complain("%s: %s", stats, strerror(error));
		else
			explain(error);
	}
	return error ? STATUS_BAD : STATUS_OK;
}

/* Return: as read_counters(): what was counted during the last recording. */
static enum status read_last(struct counters *counters)
{
	struct counters before;

	if (access(COUNTERS_BEFORE, F_OK)) {
		complain("root has recorded nothing by perf sframe yet");
		return STATUS_BAD;
	}
	if (read_counters(&before, COUNTERS_BEFORE) ||
	    read_counters(counters, access(COUNTERS_AFTER, F_OK) ? NULL : COUNTERS_AFTER))
		return STATUS_BAD;
	if (!counters_subtract(counters, &before))
		complain("the module was loaded again; these numbers count from then");
	return STATUS_OK;
}

static void show(const struct arguments *args, const struct counters *counters)
{
	if (args->json) {
		print_json(counters);
		return;
	}
	summary_print(counters, args->last ? "on this machine during root's last recording" :
					     "since the module was loaded", args->all);
	if (args->all) {
		putchar('\n');
		print_list(counters);
	}
}

static void show_interval(const struct arguments *args, const struct counters *counters)
{
	if (args->json) {
		print_json(counters);
	} else if (args->all) {
		print_list(counters);
		putchar('\n');
	} else {
		summary_print_row(counters);
	}
}

/* Shows the differences to @before and then from one interval to the next. */
static enum status show_intervals(const struct arguments *args, struct counters *before,
				  unsigned int seconds)
{
	struct counters now, difference;
	unsigned int row;

	if (args->json)
		json_use_one_line();
	for (row = 0;; row++) {
		if (row % ROWS == 0 && !args->json && !args->all)
			summary_print_columns();
		/* main() reports that the output cannot be written. */
		if (fflush(stdout))
			return STATUS_OK;
		sleep(seconds);
		if (read_counters(&now, args->stats))
			return STATUS_BAD;
		difference = now;
		if (!counters_subtract(&difference, before))
			complain("the module was loaded again; these numbers count from then");
		show_interval(args, &difference);
		*before = now;
	}
}

static enum status run(const struct arguments *args)
{
	struct counters counters;
	unsigned int seconds = 0;

	if (args->nr_names) {
		complain("stats: %s: give an interval by -i SECONDS", args->names[0]);
		return STATUS_USAGE;
	}
	if (args->seconds)
		seconds = parse_number(args->seconds, SECONDS_MAX);
	if (args->seconds && !seconds) {
		complain("stats: -i takes SECONDS from 1 to %u", SECONDS_MAX);
		return STATUS_USAGE;
	}
	if (args->json && args->all) {
		complain("stats: --json has all counters; omit --all");
		return STATUS_USAGE;
	}
	if (args->last && (args->stats || seconds)) {
		complain("stats: --last takes neither --stats nor an interval");
		return STATUS_USAGE;
	}
	if (args->last ? read_last(&counters) : read_counters(&counters, args->stats))
		return STATUS_BAD;
	if (!args->stats && !args->last)
		module_complain_if_off();
	if (seconds)
		return show_intervals(args, &counters, seconds);
	show(args, &counters);
	return STATUS_OK;
}

const struct command stats_command = {
	.name = "stats",
	.usage = usage,
	.options = "aijst",
	.run = run,
};
