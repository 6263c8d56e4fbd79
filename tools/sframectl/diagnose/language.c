// SPDX-License-Identifier: GPL-2.0-or-later
/* Which runtime has made code that is in no file, and what makes its stacks complete. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "language.h"
#include "process.h"

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

/**
 * language_of - find the runtime of a process
 * @pid: the process, as digits
 *
 * Return: the runtime; NULL: none that is known, or the process has ended.
 */
const struct language *language_of(const char *pid)
{
	const struct language *found = NULL;
	struct process process;
	size_t i, k;

	process_read(&process, pid);
	for (i = 0; i < ARRAY_SIZE(languages) && !found; i++) {
		for (k = 0; k < process.nr && !found; k++) {
			const char *slash = strrchr(process.code[k].name, '/');

			if (slash && !fnmatch(languages[i].file, slash + 1, 0))
				found = &languages[i];
		}
	}
	process_free(&process);
	return found;
}
