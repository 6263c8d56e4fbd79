// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl status: an overview of the module, of who may use it, and of how stacks end. */
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "color.h"
#include "counters.h"
#include "findings.h"
#include "held.h"
#include "meaning.h"
#include "module.h"
#include "report.h"
#include "sframectl.h"
#include "summary.h"
#include "text.h"

#define SUMMARY		"/sys/module/sframe_unwind/parameters/summary"
#define INDENT		10	/* column of the texts */

static const char usage[] =
"Usage: sframectl [status]\n"
"\n"
"An overview in ten lines: is the module loaded and on, what is hooked, who\n"
"serves tables, how many there are, which perf runs, who may profile, how stacks\n"
"end, and what to do next. Only root sees tables and reasons.\n"
"\n"
"Options:\n"
"  --help  this text\n"
"\n"
"Exit status: 0 if the module is loaded and switched on, else 1.\n";

/* Prints a line: what it is about, and how that is. */
__printf(3, 4)
static void print_row(const char *title, enum color shade, const char *format, ...)
{
	char text[PATH_MAX + 128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%-*s%s", INDENT, title, color(shade));
	print_words(text, INDENT, INDENT);
	fputs(color(COLOR_NONE), stdout);
}

/* Return: whether the module is loaded and on. */
static bool print_module(void)
{
	char version[32] = "?", enabled[8] = "?";

	if (!module_is_loaded()) {
		print_row("module", COLOR_BAD, "sframe_unwind is not loaded");
		return false;
	}
	module_read("version", version, sizeof(version));
	module_read("parameters/enabled", enabled, sizeof(enabled));
	print_row("module", *enabled == 'N' ? COLOR_BAD : COLOR_GOOD, "sframe_unwind %s, %s",
		  version, *enabled == 'N' ? "switched off" : "on");
	return *enabled != 'N';
}

static void print_kernel(void)
{
	struct utsname name;

	uname(&name);
	print_row("kernel", COLOR_NONE, "%s, %s", name.release, name.machine);
}

static void print_hooks(void)
{
	char hooks[32] = "";

	module_read("parameters/hooks", hooks, sizeof(hooks));
	print_row("hooks", COLOR_NONE, strstr(hooks, "deferred") ?
		  "synchronous and deferred stacks" : "synchronous stacks; none are deferred");
}

static void print_service(void)
{
	bool is_service = false;
	pid_t pid = module_find_server(&is_service);

	if (pid > 0)
		print_row("service", COLOR_GOOD, "%s runs, PID %d",
			  is_service ? "sframe-unwind.service" : "sframectl serve", pid);
	else if (pid)
		print_row("service", COLOR_NONE, "? (this user sees no processes of others)");
	else
		print_row("service", COLOR_POOR, "none runs: new programs get no tables");
}

/* Return: @bytes in the unit that suits, in @text. */
static const char *memory(u64 bytes, char text[24])
{
	if (bytes >> 20)
		snprintf(text, 24, "%.1f MiB", bytes / 1048576.0);
	else
		snprintf(text, 24, "%.1f KiB", bytes / 1024.0);
	return text;
}

static void print_tables(void)
{
	const struct counter *bytes = NULL;
	struct counters counters;
	struct held held;
	const char *error = held_read(&held);
	bool is_service;
	char most[24], taken[24];
	size_t i, nr = 0;

	if (!access(COUNTERS_STATS, R_OK) && !counters_read(&counters, COUNTERS_STATS))
		bytes = counters_find(&counters, "table.bytes");
	memory(module_table_limit(), most);
	for (i = 0; i < held.nr; i++)
		nr += held.all[i].nr_functions > 0;
	if (error || !bytes)
		print_row("tables", COLOR_NONE, "%s at most; only root sees them", most);
	else
		print_row("tables", COLOR_NONE, "%zu %s one, %s; %s at most%s", nr,
			  nr == 1 ? "file has" : "files have", memory(bytes->value, taken), most,
			  access(PRELOADING, F_OK) || module_find_server(&is_service) <= 0 ? "" :
			  "; more are being preloaded");
	held_free(&held);
}

static void print_perf(void)
{
	static const char *const how[] = {
		[FINDINGS_PLAIN_PERF] = "for complete stacks, type perf record -g",
		[FINDINGS_SUBCOMMAND] = "for complete stacks, type perf sframe record",
		[FINDINGS_WRAPPER] = "which knows --call-graph=sframe",
	};
	char path[PATH_MAX];
	enum findings_perf perf = findings_perf(path, sizeof(path));

	if (perf == FINDINGS_NO_PERF)
		print_row("perf", COLOR_NONE, "none in PATH");
	else
		print_row("perf", COLOR_NONE, "%s, %s", path, how[perf]);
}

static void print_users(void)
{
	int level = module_paranoid_level();

	print_row("users", COLOR_NONE, "%s (kernel.perf_event_paranoid is %d)",
		  level > 2 ? "may not profile, only root may" :
		  level == 2 ? "may profile their own programs" :
		  level == 1 ? "may profile their own programs, and the kernel below them" :
			       "may profile the whole machine",
		  level);
}

/* Root sees why stacks end. Return: since when these counters count. */
static const char *read_counters(struct counters *counters)
{
	struct counters before;
	bool is_over = !access(COUNTERS_AFTER, F_OK);

	if (access(COUNTERS_STATS, R_OK) || counters_read(counters, COUNTERS_STATS)) {
		counters->nr = 0;
		return NULL;
	}
	if (!access(COUNTERS_BEFORE, R_OK) && !counters_read(&before, COUNTERS_BEFORE)) {
		struct counters last = *counters;

		if ((!is_over || !counters_read(&last, COUNTERS_AFTER)) &&
		    counters_subtract(&last, &before)) {
			*counters = last;
			return "in root's last perf sframe recording";
		}
	}
	return "since the module was loaded";
}

static u64 value_of(const struct counters *counters, const char *name)
{
	const struct counter *counter = counters_find(counters, name);

	return counter ? counter->value : 0;
}

/* For all users, a few sums. */
static struct outcome read_summary(void)
{
	struct counters counters;

	if (access(SUMMARY, R_OK) || counters_read(&counters, SUMMARY))
		return (struct outcome){};
	return (struct outcome){
		.stacks = value_of(&counters, "walks"),
		.complete = value_of(&counters, "complete"),
		.left = value_of(&counters, "declined"),
	};
}

static double percent(u64 part, u64 whole)
{
	return 100.0 * part / whole;
}

/* Less than one percent is not worth a step. */
static bool is_many(u64 part, u64 whole)
{
	return part > whole / 100;
}

static void print_stacks(const struct outcome *outcome, const char *when)
{
	u64 sum = outcome->stacks + outcome->left;
	struct meaning meaning = {};

	if (!sum) {
		print_row("stacks", COLOR_NONE, "none %s", when);
		return;
	}
	print_row("stacks", is_many(sum - outcome->complete, sum) ? COLOR_POOR : COLOR_GOOD,
		  "%" PRIu64 " %s, %.1f %% complete", sum, when, percent(outcome->complete, sum));
	if (outcome->reason)
		meaning = meaning_of(outcome->reason);
	if (outcome->left > outcome->of_reason)
		print_row("others", COLOR_NONE,
			  "%.1f %% left to the kernel: programs without a table",
			  percent(outcome->left, sum));
	else if (outcome->reason)
		print_row("others", COLOR_NONE, "%.1f %% %s: %s", percent(outcome->of_reason, sum),
			  outcome->reason + strlen("stop."), meaning.text ?: "see sframectl stats");
}

static const char *next_for_stacks(const struct outcome *outcome)
{
	u64 sum = outcome->stacks + outcome->left;

	if (!sum)
		return "Record something: perf record -g ./app";
	if (is_many(outcome->left, sum) && outcome->left > outcome->of_reason)
		return meaning_of("declined.no-section").advice;
	if (outcome->reason && is_many(outcome->of_reason, sum))
		return meaning_of(outcome->reason).advice;
	if (!outcome->reason && is_many(sum - outcome->complete, sum))
		return "To see why: sudo sframectl stats";
	return NULL;
}

static void print_next(const struct outcome *outcome)
{
	struct findings findings;
	size_t i, nr_notes = 0, nr_problems;
	const char *next;

	findings_collect(&findings);
	for (i = 0; i < findings.nr; i++)
		nr_notes += findings.all[i].is_note;
	nr_problems = findings.nr - nr_notes;
	for (i = 0; i < findings.nr && findings.all[i].is_note; i++)
		;
	next = nr_problems ? findings.all[i].action : next_for_stacks(outcome);
	if (!next)
		next = "Nothing to do: all is well";
	if (nr_problems)
		print_row("next", COLOR_NONE, "%s (sframectl doctor: %zu problem%s)", next,
			  nr_problems, nr_problems == 1 ? "" : "s");
	else if (nr_notes)
		print_row("next", COLOR_NONE, "%s (sframectl doctor: %zu note%s)", next,
			  nr_notes, nr_notes == 1 ? "" : "s");
	else
		print_row("next", COLOR_NONE, "%s", next);
}

static enum status run(const struct arguments *args)
{
	struct counters counters = {};
	struct outcome outcome = {};
	const char *when;
	bool is_on;

	if (args->nr_names) {
		complain("status: %s: takes no argument; counters: sframectl stats -i SECONDS",
			 args->names[0]);
		return STATUS_USAGE;
	}
	is_on = print_module();
	print_kernel();
	if (module_is_loaded())
		print_hooks();
	print_service();
	when = read_counters(&counters);
	if (module_is_loaded())
		print_tables();
	print_perf();
	print_users();
	if (module_is_loaded()) {
		outcome = when ? summary_outcome(&counters) : read_summary();
		print_stacks(&outcome, when ?: "since the module was loaded");
	}
	print_next(&outcome);
	return is_on ? STATUS_OK : STATUS_BAD;
}

const struct command status_command = {
	.name = "status",
	.usage = usage,
	.options = "",
	.run = run,
};
