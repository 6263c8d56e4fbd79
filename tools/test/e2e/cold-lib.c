// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls two thousand generated functions in turn. Their section has many pages. */

__attribute__((noinline)) static long cold_leaf(long x)
{
	for (int i = 0; i < 20000; i++)
		__asm__ volatile("" : "+r" (x));
	return x + 1;
}

#include "cold-functions.h"

__attribute__((noinline, visibility("default"))) long cold_run(long x)
{
	static unsigned int next;

	/* 2000 and 619 have no common divisor, so all functions are called in turn. */
	next = (next + 619) % 2000;
	return cold_functions[next](x) + 1;
}
