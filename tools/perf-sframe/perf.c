// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframe_unwind's wrapper named perf: adds --call-graph=sframe to the real perf found later in
 * PATH.
 *
 *	perf record --call-graph=sframe ...		deferred if perf and the kernel can
 *	perf record --call-graph=sframe,sync ...	unwind while the sample is taken (fp)
 *	perf record --call-graph=sframe,defer ...	... on the way back to user space (fp,defer)
 *	perf record --call-graph=sframe,mapped ...	without tables that are brought
 *	perf record -e EVENT/call-graph=sframe/ ...	for this event
 *
 * All other words reach the real perf unchanged, and so does the environment. A command line
 * without the value sframe is executed at once, in this process. This program stays in three cases:
 *
 * - for a command with the value sframe: tables of programs without .sframe are loaded before and
 *   meanwhile, and at the end of a recording, one line says what became of the stacks;
 * - for perf's help, to which it adds the value sframe;
 * - for a real perf that is a script, so that it can notice a script that runs it again.
 *
 * SFU_TABLES=no brings no tables either. PERF_REAL=FILE names the real perf. Tests set
 * SFU_SYSFS=DIR instead of /sys, SFU_RUN=DIR instead of /run, SFU_DEVICE=FILE instead of the
 * module's device, and SFU_MACHINE instead of `uname -m`.
 */
#include <stdio.h>
#include <string.h>

#include "wrapper.h"

/* asks_help: is this `perf record -h`, `perf help record` or the like? */
static bool asks_help(char *const argv[])
{
	if (!argv[1] || !argv[2])
		return false;
	if (!strcmp(argv[1], "help"))
		return has_call_graph(argv[2]);
	return has_call_graph(argv[1]) && (!strcmp(argv[2], "-h") || !strcmp(argv[2], "--help"));
}

static int run_with_help(const char *real, char *const argv[])
{
	int status = run_child(real, argv);

	fputs("\nsframe_unwind adds:\n" SFRAME_VALUES "\n", stderr);
	return status;
}

/* The stacks of a live command are seen as they come: there is no line at its end. */
static int run_with_tables(const struct command *command)
{
	struct summary before;
	pid_t tables;
	int status;

	need_processes(command->pid);
	tables = begin_tables(command);
	read_summary(&before);
	if (command->records)
		keep_counters(false);
	status = run_child(command->real, command->words.word);
	end_tables(tables);
	if (command->records)
		keep_counters(true);
	if (command->records && !command->quiet)
		print_summary(&before, command, tables, status);
	return status;
}

int main(int argc, char *argv[])
{
	struct command command = { .real = find_real_perf() };
	bool script = is_script(command.real);

	if (!argc)
		return 1;
	if (script)
		refuse_loop(command.real);
	explain_config();
	if (asks_help(argv))
		end_like(run_with_help(command.real, argv));
	if (may_ask(argv)) {
		rewrite_command(&command, argv);
		argv = command.words.word;
	}
	if (command.asked)
		end_like(run_with_tables(&command));
	if (script)
		end_like(run_child(command.real, argv));
	exec_real(command.real, argv);
}
