// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that is built twice, with the same code. With SPOILED, .eh_frame has a wrong CFA in one
 * function: tables that are made of it are wrong there, and live has to find that.
 */
#include <stdlib.h>

#define noinline	__attribute__((__noinline__, __noclone__))

static volatile long sink;

static noinline long leaf(long n)
{
	long i, sum = 0;

	for (i = 0; i < n; i++)
		sum += sink ^ i;
	return sum;
}

static noinline long middle(long n)
{
	volatile long here[4] = { n, n, n, n };

#ifdef SPOILED
	asm volatile(".cfi_adjust_cfa_offset 16");
#else
	asm volatile("");
#endif
	return leaf(here[n & 3] + 1000) + here[1];
}

int main(int argc, char **argv)
{
	long i, n = argc > 1 ? atol(argv[1]) : 1;

	for (i = 0; i < n; i++)
		sink += middle(i & 1);
	return 0;
}
