// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf-sframe - perf with stacks from SFrame. The same program, called perf, is a wrapper that adds
 * --call-graph=sframe to the real perf found later in PATH.
 *
 *	perf sframe record ...				perf runs perf-sframe record ...
 *	perf record --call-graph=sframe ...		deferred if perf and the kernel can
 *	perf record --call-graph=sframe,sync ...	unwind while the sample is taken (fp)
 *	perf record --call-graph=sframe,defer ...	... on the way back to user space (fp,defer)
 *	perf record --call-graph=sframe,mapped ...	without tables that are brought
 *	perf record -e EVENT/call-graph=sframe/ ...	for this event
 *
 * All other words reach the real perf unchanged, and so does the environment. A command line
 * without the value sframe is executed at once, in this process. For one with it, this program
 * stays: tables of programs without .sframe are loaded before and meanwhile, and at the end of a
 * recording, one line says what became of the stacks.
 *
 * SFU_TABLES=no brings no tables. PERF_REAL=FILE names the real perf. Tests set SFU_SYSFS=DIR
 * instead of /sys, SFU_RUN=DIR instead of /run, SFU_DEVICE=FILE instead of the module's device, and
 * SFU_MACHINE instead of `uname -m`.
 */
#include <stdio.h>
#include <string.h>

#include "wrapper.h"

static const char usage[] =
"Usage: perf sframe record|top|trace [OPTION...] [COMMAND]\n"
"       perf sframe sched|lock|kmem|kwork|kvm record [OPTION...] [COMMAND]\n"
"\n"
"Runs that command of perf with stacks from SFrame. These options may choose how:\n"
"    --call-graph=sframe        deferred where perf and the kernel can (the default)\n"
"    --call-graph=sframe,sync   unwind while the sample is taken\n"
"    --call-graph=sframe,defer  unwind on the way back to user space\n"
"    --call-graph=sframe,mapped bring no tables: use those that are loaded, and mapped sections\n"
"    -e EVENT/call-graph=sframe/\n"
"                               for one event, while the sample is taken\n"
"See perf-sframe(1).\n";

/* The stacks of a live command are seen as they come: there is no line at its end. */
static int run_with_tables(const struct command *command, bool may_lead)
{
	struct summary before;
	pid_t tables;
	int status;

	need_processes(command->pid);
	tables = begin_tables(command);
	read_summary(&before);
	if (command->records)
		keep_counters(false);
	status = run_child(command->real, command->words.word, may_lead);
	end_tables(tables);
	if (command->records)
		keep_counters(true);
	if (command->records && !command->quiet)
		print_summary(&before, command, tables, status);
	return status;
}

/* has_word: do words from the second on have this one in them? */
static bool has_word(char *const argv[], const char *word)
{
	while (*++argv) {
		if (strstr(*argv, word))
			return true;
	}
	return false;
}

int main(int argc, char *argv[])
{
	static const char *const help[] = { "-h", "--help", NULL };
	struct command command = { };
	const char *name = argc ? strrchr(*argv, '/') : NULL;
	bool is_perf, is_sframe;

	if (!argc)
		return 1;
	is_sframe = !strcmp(name ? name + 1 : *argv, "perf-sframe");
	is_perf = !is_sframe;
	if (is_perf && argv[1] && !strcmp(argv[1], "sframe")) {
		is_sframe = true;
		argv++;
	}
	if (is_sframe && (!argv[1] || is_one_of(argv[1], help))) {
		fputs(usage, argv[1] ? stdout : stderr);
		return !argv[1];
	}
	command.real = find_real_perf(is_perf);
	if (is_sframe)
		*argv = "perf";
	if (is_sframe || has_word(argv, "sframe"))
		read_command(&command, argv, is_sframe);
	if (command.asked)
		end_like(run_with_tables(&command, is_sframe));
	if (is_sframe)
		die(1, "perf sframe: record, top or trace must follow; see perf sframe -h");
	exec_real(command.real, argv);
}
