// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * siblings - two processes with the same addresses and different stacks, which take turns on
 * one processor
 *
 * siblings SECONDS: The program forks. Each process has a name and functions of its own, and
 * goes down its functions to its own depth. There it calls sched_yield() again and again, by an
 * instruction of its own and not by libc.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "chain.h"

static volatile bool is_over;		/* never */

static LINK long first_level(long depth)
{
	while (depth == 0 && !is_over)
		system_call(SYS_sched_yield, NULL);
	return depth == 0 ? 0 : first_level(depth - 1) + opaque(depth);
}

static LINK long second_level(long depth)
{
	while (depth == 0 && !is_over)
		system_call(SYS_sched_yield, NULL);
	return depth == 0 ? 0 : second_level(depth - 1) + opaque(depth);
}

static pid_t start(const char *name, long (*descend)(long depth), long depth)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	descend(depth);
	_exit(1);
}

int main(int argc, char **argv)
{
	cpu_set_t cpu;
	pid_t pids[2];
	int i;

	if (argc != 2) {
		fprintf(stderr, "usage: siblings SECONDS\n");
		return 2;
	}
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		err(1, "sched_setaffinity");
	pids[0] = start("first", first_level, 5);
	pids[1] = start("second", second_level, 13);
	sleep(atoi(argv[1]));
	for (i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
