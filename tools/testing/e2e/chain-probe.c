// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A link of the chain with a large frame. The Makefile adds
 * -fstack-clash-protection for V2 and V3, as binutils 2.40 writes wrong V1 rows. On
 * x86_64 the CFA is in r11 during the probes, which only V3 can describe. On arm64
 * the CFA is in x12 if the frame is so large that a loop probes it. No assembler
 * describes that.
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
