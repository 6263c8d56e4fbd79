// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl status: says how the stacks ended that the kernel module unwound. */
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
#define STATS	DEBUGFS "/sframe_unwind/stats"

/* The wrapper named perf keeps the counters here, if root records. */
#define BEFORE	"/run/sframe_unwind.before"
#define AFTER	"/run/sframe_unwind.after"

#define SECONDS_MAX	86400u
#define ROWS		20	/* rows between two lines of titles */

static const char usage[] =
"Usage: sframectl status [--all|--json] [--last|--stats FILE] [SECONDS]\n"
"\n"
"Says how the stacks ended that the kernel module sframe_unwind has unwound since\n"
"it was loaded, why, and what to do about it. The first frame of a stack is the\n"
"sampled one. Reasons that ended less than 1 % of all stacks are rare; --all says\n"
"what they mean.\n"
"\n"
"With SECONDS it reports each interval of that length from now on, until it is\n"
"interrupted.\n"
"\n"
"Columns:\n"
"  STACKS    stacks that were unwound in the interval\n"
"  WHOLE     share of those that are whole\n"
"  ON-WAY    share of those that ended on the way\n"
"  FIRST     share of those that ended in the first frame\n"
"  SFRAME    share of the callers that were found by SFrame\n"
"  LEFT      stacks left to the kernel's own code\n"
"  ENDED-BY  the most common reason of stacks that are not whole\n"
"\n"
"With --all or --json the counters of an interval or of --last are the\n"
"differences, except map.* and table.*, which are what the module holds at its\n"
"end.\n"
"\n"
"Options:\n"
"  -a, --all     explain what is rare, and list all counters, 0 included;\n"
"                sframe_unwind(4) says what each counts\n"
"  --json        all counters as one JSON object; with SECONDS, one on each line\n"
"  --last        only during the last recording by root (perf record\n"
"                --call-graph=sframe), which may run still: what all recordings\n"
"                of the machine took in that time\n"
"  --stats FILE  read the counters from FILE; default:\n"
"                " STATS "\n"
"  --help        this text\n"
"\n"
"Exit status: 0 if the counters can be read, 1 if they cannot, 2 if the command\n"
"line is wrong.\n";

static size_t group_length(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot - name : 0;
}

/* A counter whose name has no group forms its own group. */
static bool same_group(const struct counter *a, const struct counter *b)
{
	size_t len = group_length(a->name);

	return len && len == group_length(b->name) &&
	       !memcmp(a->name, b->name, len);
}

/* Return: true if the counters of this group are shares of one sum. */
static bool has_shares(const struct counter *counter)
{
	return !strncmp(counter->name, "stop.", 5) ||
	       !strncmp(counter->name, "frames.", 7) ||
	       !strncmp(counter->name, "cache.", 6);
}

static u64 group_sum(const struct counters *counters, const struct counter *of)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < counters->nr; i++)
		if (same_group(of, &counters->all[i]))
			sum += counters->all[i].value;
	return sum;
}

static void print_member(const struct counter *counter, u64 sum)
{
	printf("  %-22s %14" PRIu64, counter->name + group_length(counter->name) + 1,
	       counter->value);
	if (has_shares(counter) && sum)
		printf(" %6.2f %%", 100.0 * counter->value / sum);
	putchar('\n');
}

/* Prints the name of a group and all of its counters, if @first is its first counter. */
static void print_group(const struct counters *counters, size_t first)
{
	const struct counter *counter = &counters->all[first];
	u64 sum = group_sum(counters, counter);
	size_t i;

	for (i = 0; i < first; i++)
		if (same_group(counter, &counters->all[i]))
			return;
	printf("%.*s\n", (int)group_length(counter->name), counter->name);
	for (i = first; i < counters->nr; i++)
		if (same_group(counter, &counters->all[i]))
			print_member(&counters->all[i], sum);
}

static void print_list(const struct counters *counters)
{
	const struct counter *counter;
	size_t i;

	for (i = 0; i < counters->nr; i++) {
		counter = &counters->all[i];
		if (group_length(counter->name))
			print_group(counters, i);
		else
			printf("%-24s %14" PRIu64 "\n", counter->name,
			       counter->value);
	}
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
		complain("%s: %s", STATS, strerror(error));
}

/* The counters of the running module are read unless the command line names a file. */
static enum status read_counters(struct counters *counters, const char *stats)
{
	int error = -counters_read(counters, stats ? stats : STATS);

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

	if (access(BEFORE, F_OK)) {
		complain("root has recorded nothing with --call-graph=sframe yet");
		return STATUS_BAD;
	}
	if (read_counters(&before, BEFORE) ||
	    read_counters(counters, access(AFTER, F_OK) ? NULL : AFTER))
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

	if (args->nr_names)
		seconds = parse_number(args->names[0], SECONDS_MAX);
	if (args->nr_names > 1 || (args->nr_names && !seconds)) {
		complain("status: takes one interval, in seconds from 1 to %u", SECONDS_MAX);
		return STATUS_USAGE;
	}
	if (args->json && args->all) {
		complain("status: --json has all counters; omit --all");
		return STATUS_USAGE;
	}
	if (args->last && (args->stats || seconds)) {
		complain("status: --last takes neither --stats nor an interval");
		return STATUS_USAGE;
	}
	if (args->last ? read_last(&counters) : read_counters(&counters, args->stats))
		return STATUS_BAD;
	if (!args->stats && !args->last) {
		module_complain_if_off();
		module_complain_if_other();
	}
	if (seconds)
		return show_intervals(args, &counters, seconds);
	show(args, &counters);
	return STATUS_OK;
}

const struct command status_command = {
	.name = "status",
	.usage = usage,
	.options = "jast",
	.run = run,
};
