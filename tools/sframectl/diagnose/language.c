// SPDX-License-Identifier: GPL-2.0-or-later
/* Which runtime has made code that is in no file, and what makes its stacks complete. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "language.h"
#include "process.h"
#include "sframe_types.h"

/* A program with more mappings is not read to its end: it may have any number of them. */
#define MAPPINGS_MAX	4096

#define SERVE	"Run sframectl serve, which describes this code on amd64. "

/* In this order: a process may map the files of several. */
static const struct language languages[] = {
	{ "java", "libjvm.so", SERVE "Without it: java -XX:+PreserveFramePointer." },
	{ "erlang", "beam.smp", "Start it with erl +JPperf true." },
	{ "php", "opcache.so", "php -d opcache.jit=off leaves everything to its interpreter." },
	{ "luajit", "libluajit-*", SERVE "Without it: luajit -joff." },
	{ "luajit", "luajit*", SERVE "Without it: luajit -joff." },
	{ "guile", "libguile-*", SERVE },
	{ "qemu", "qemu-*", SERVE },
	{ "llvm", "libLLVM*",
	  "Run sframectl serve, and let the program register its code for debuggers. postgres: jit_debugging_support=on.",
	},
};

static const struct language *find(const char *file)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(languages); i++)
		if (!fnmatch(languages[i].file, file, 0))
			return &languages[i];
	return NULL;
}

/**
 * language_of - find the runtime of a process
 * @pid: the process, as digits
 *
 * Return: the runtime; NULL: none that is known is in its first mappings, or it has ended.
 */
const struct language *language_of(const char *pid)
{
	const struct language *found = NULL, *other;
	char *line = NULL, *file;
	size_t room = 0;
	u32 i = 0;
	FILE *maps;

	maps = process_open_maps(pid);
	while (maps && i++ < MAPPINGS_MAX && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = 0;
		file = strrchr(line, '/');
		other = file ? find(file + 1) : NULL;
		if (other && (!found || other < found))
			found = other;
	}
	if (maps)
		fclose(maps);
	free(line);
	return found;
}
