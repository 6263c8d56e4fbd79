// SPDX-License-Identifier: GPL-2.0-or-later
/* A library of one function that somebody calls: with SFrame data and without, see habit.c. */
#include "chain.h"

/*
 * 1023 pages of functions behind it. MOST: they keep frame pointers (1), or not (0). The functions
 * of page 832 of all do the opposite. A scan reads 32 pieces of the code, 32 pages apart: first
 * those in pages 0 and 416, then the one in page 832.
 */
#ifdef MOST
#ifdef __aarch64__
#define KEEPS	"stp x29, x30, [sp, #-32]!\nmov x29, sp\nldp x29, x30, [sp], #32\nret\n"
#define DROPS	"stp x29, x30, [sp, #-32]!\nnop\nldp x29, x30, [sp], #32\nret\n"
#else
#define KEEPS	"push %rbp\nmov %rsp, %rbp\nsub $24, %rsp\nleave\nret\n.balign 16, 0xcc\n"
#define DROPS	"sub $24, %rsp\nnop\nadd $24, %rsp\nret\n.balign 16, 0xcc\n"
#endif
#if MOST
#define USUAL	KEEPS
#define OTHER	DROPS
#else
#define USUAL	DROPS
#define OTHER	KEEPS
#endif
#define PAGES(nr, function)	".rept " #nr " * 256\n" function ".endr\n"

__asm__(".pushsection .text.many, \"ax\", %progbits\n"
	".balign 4096\n"
	PAGES(831, USUAL) PAGES(1, OTHER) PAGES(191, USUAL)
	".popsection\n");
#endif

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
