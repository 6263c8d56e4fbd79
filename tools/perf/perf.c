// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sframe_unwind's wrapper named perf: adds --call-graph=sframe to the real perf found later in
 * PATH.
 *
 *	perf record --call-graph=sframe ...		deferred if perf and the kernel can
 *	perf record --call-graph=sframe,sync ...	unwind while the sample is taken (fp)
 *	perf record --call-graph=sframe,defer ...	... on the way back to user space (fp,defer)
 *	perf record -e EVENT/call-graph=sframe/ ...	for this event
 *
 * All other words reach the real perf unchanged, and so does the environment. A command line
 * without the value sframe is executed at once, in this process. This program stays only for a
 * real perf that is a script, so that it can notice a script that runs it again.
 *
 * PERF_REAL=FILE names the real perf. Tests set SFU_SYSFS=DIR instead of /sys, and SFU_MACHINE
 * instead of `uname -m`.
 */
#include "wrapper.h"

int main(int argc, char *argv[])
{
	struct command command = { .real = find_real_perf() };
	bool script = is_script(command.real);

	if (!argc)
		return 1;
	if (script)
		refuse_loop(command.real);
	if (may_ask(argv)) {
		rewrite_command(&command, argv);
		argv = command.words.word;
	}
	if (script)
		end_like(run_child(command.real, argv));
	exec_real(command.real, argv);
}
