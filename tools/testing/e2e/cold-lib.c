// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls 1700 generated functions in turn. Their section has many pages, but less than 64 KiB on
 * each architecture: a scan makes no more present before the first sample.
 */

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

	/* 1700 and 619 have no common divisor, so all functions are called in turn. */
	next = (next + 619) % 1700;
	return cold_functions[next](x) + 1;
}
