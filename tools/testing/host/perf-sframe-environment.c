// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf-sframe-environment FILE PROGRAM [ARG...] - run PROGRAM with the environment that FILE
 * has, as in /proc/PID/environ
 *
 * No shell can do this: a name may be anything, occur twice, or have no "=".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 64

int main(int argc, char *argv[])
{
	static char buffer[65536], *environment[MOST + 1];
	FILE *file = argc > 2 ? fopen(argv[1], "re") : NULL;
	char *entry, *end = buffer;
	size_t nr = 0;

	if (!file)
		return 2;
	end += fread(buffer, 1, sizeof(buffer) - 1, file);
	for (entry = buffer; entry < end && nr < MOST; entry += strlen(entry) + 1)
		environment[nr++] = entry;
	execve(argv[2], argv + 2, environment);
	return 2;
}
