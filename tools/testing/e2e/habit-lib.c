// SPDX-License-Identifier: GPL-2.0-or-later
/* A library of one function, without frame pointers: with SFrame data and without, see habit.c. */
#include "chain.h"

LINK long CALLS(link_fn *fn, long x)
{
	long saved[3] = { x, x * 3, x * 5 };

	keep(saved);
	for (int i = 0; i < 10; i++)
		x = opaque(x * 7 + i);
	x += fn(x);
	keep(saved);
	return x + saved[x & 1];
}
