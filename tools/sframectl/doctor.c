// SPDX-License-Identifier: GPL-2.0-or-later
/* sframectl doctor: finds what keeps stacks from being complete, and says what to do. */
#include <stdio.h>
#include <string.h>

#include "color.h"
#include "findings.h"
#include "report.h"
#include "sframectl.h"
#include "text.h"

#define INDENT	2

static const char usage[] =
"Usage: sframectl doctor\n"
"\n"
"Finds what of this machine keeps stacks from being complete: kernel, headers,\n"
"Secure Boot, the module, the service, the wrapper of perf and PATH, and who may\n"
"profile. For each it says what it is, what it means, and what to do. A note is\n"
"no problem in itself.\n"
"\n"
"Options:\n"
"  --help  this text\n"
"\n"
"Exit status: 0 if there is no problem, else 1.\n";

static void print_indented(const char *text)
{
	printf("%*s", INDENT, "");
	print_words(text, INDENT, INDENT);
}

static void print_finding(const struct finding *finding)
{
	const char *kind = finding->is_note ? "Note:" : "Problem:";

	printf("%s%s%s", color(finding->is_note ? COLOR_POOR : COLOR_BAD), kind,
	       color(COLOR_NONE));
	print_words(finding->what, strlen(kind), INDENT);
	print_indented(finding->means);
	print_indented(finding->action);
}

static enum status run(const struct arguments *args)
{
	struct findings findings;
	size_t i;

	if (args->nr_names) {
		complain("doctor: %s: takes no argument", args->names[0]);
		return STATUS_USAGE;
	}
	findings_collect(&findings);
	for (i = 0; i < findings.nr; i++)
		if (!findings.all[i].is_note)
			print_finding(&findings.all[i]);
	for (i = 0; i < findings.nr; i++)
		if (findings.all[i].is_note)
			print_finding(&findings.all[i]);
	if (!findings.nr_problems)
		printf("%sThis machine is ready to unwind stacks.%s\n", color(COLOR_GOOD),
		       color(COLOR_NONE));
	return findings.nr_problems ? STATUS_BAD : STATUS_OK;
}

const struct command doctor_command = {
	.name = "doctor",
	.usage = usage,
	.options = "",
	.run = run,
};
