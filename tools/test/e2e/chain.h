/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the links of the known chain share. See chain.c.
 */
#ifndef CHAIN_H
#define CHAIN_H

/* A function of its own for the compiler, whatever it could prove about it. */
#define LINK __attribute__((noipa))

typedef long link_fn(long);

/* A value the compiler knows nothing about, so that work is really done. */
static inline long opaque(long x)
{
	__asm__ volatile("" : "+r" (x));
	return x;
}

/* Memory that must exist: the frame cannot be optimised away. */
static inline void keep(void *p)
{
	__asm__ volatile("" : : "r" (p) : "memory");
}

long catches(void (*fn)(long), long x);		/* chain-asm.S */
void leaves(void) __attribute__((noreturn));
long lib_enter(long x, link_fn *back);		/* chain-lib.c */
long probed_frame(long x);			/* chain-probe.c */

extern link_fn after_lib, after_probe;

#endif /* CHAIN_H */
