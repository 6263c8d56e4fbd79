// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The link that is built with -fstack-clash-protection where the assembler
 * can describe it: while the large frame is being probed its CFA is in r11
 * (V3 only; binutils 2.40 writes wrong V1 rows for it). On arm64 it is in x12
 * where it is so large that it is probed in a loop; no assembler describes it.
 */
#include "chain.h"

#ifndef PROBED
#define PROBED	100000
#endif

LINK long probed_frame(long x)
{
	char buf[PROBED];

	buf[opaque(x) & 63] = 1;
	keep(buf);
	x = after_probe(x);
	keep(buf);
	return x;
}
