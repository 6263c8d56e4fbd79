// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiled with -fsplit-stack: a function that finds too little stack gets a new piece. */
#include <string.h>

long split_run(long depth);

long split_run(long depth)
{
	char bytes[8000];

	memset(bytes, depth, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return bytes[depth * 10] + (depth ? split_run(depth - 1) : 0);
}
