// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * entries - enters the kernel from two depths in turn, each by a system call of its own
 *
 * entries SECONDS: The functions first_level() go down 5 levels to getuid(), the functions
 * second_level() 13 levels to getgid(). So the number of a system call says what the stack is,
 * and the registers of the entry before are those of the other stack.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "chain.h"

static volatile sig_atomic_t is_over;

static void on_alarm(int number)
{
	is_over = 1;
}

static LINK long first_level(long depth)
{
	if (depth == 0)
		system_call(SYS_getuid, NULL);
	return depth == 0 ? 0 : first_level(depth - 1) + opaque(depth);
}

static LINK long second_level(long depth)
{
	if (depth == 0)
		system_call(SYS_getgid, NULL);
	return depth == 0 ? 0 : second_level(depth - 1) + opaque(depth);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: entries SECONDS\n");
		return 2;
	}
	signal(SIGALRM, on_alarm);
	alarm(atoi(argv[1]));
	while (!is_over) {
		first_level(5);
		second_level(13);
	}
	return 0;
}
