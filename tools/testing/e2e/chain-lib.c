// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of the chain that lives in a shared library. The program calls it
 * through the PLT, and it calls back through a pointer.
 */
#include "chain.h"

static LINK long lib_last(long x, link_fn *back)
{
	long a = opaque(x + 2), b = opaque(x + 3);

	return back(x) + a * b;
}

LINK long lib_middle(long x, link_fn *back)
{
	char *p = __builtin_alloca(opaque(x & 31) + 24);

	p[0] = 1;
	keep(p);
	x = lib_last(x, back);
	keep(p);
	return x;
}

LINK long lib_enter(long x, link_fn *back)
{
	return lib_middle(opaque(x), back) + 29;
}
