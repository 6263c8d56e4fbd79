/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations that the links of the known chain share, see chain.c.
 */
#ifndef CHAIN_H
#define CHAIN_H

/* A function of its own for the compiler, whatever it could prove about it. */
#define LINK __attribute__((noipa))

typedef long link_fn(long x);
typedef void link_end_fn(long x);

long lib_enter(long x, link_fn *back);		/* chain-lib.c */
long lib_middle(long x, link_fn *back);		/* global, so called through the PLT */
long probed_frame(long x);			/* chain-probe.c */

extern link_fn after_lib, after_probe;

long catches(link_end_fn *fn, long x);		/* chain-ARCH.S */
_Noreturn void leaves(void);

/* A value the compiler knows nothing about, so that work is really done. */
static inline long opaque(long x)
{
	__asm__ volatile("" : "+r" (x));
	return x;
}

/* What time is kept by: read in a few instructions. */
static inline unsigned long ticks(void)
{
#ifdef __aarch64__
	unsigned long now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r" (now));
	return now;
#else
	return __builtin_ia32_rdtsc();
#endif
}

/* With a second argument of 0. What it returns is of no interest. */
static inline void system_call(long number, const void *argument)
{
#ifdef __aarch64__
	register long x8 __asm__("x8") = number;
	register const void *x0 __asm__("x0") = argument;
	register long x1 __asm__("x1") = 0;

	__asm__ volatile("svc #0" : "+r" (x0) : "r" (x1), "r" (x8) : "memory");
#else
	__asm__ volatile("syscall" : "+a" (number)
			 : "D" (argument), "S" (0)
			 : "rcx", "r11", "memory");
#endif
}

/* Memory that must exist: the frame cannot be optimised away. */
static inline void keep(void *p)
{
	__asm__ volatile("" : : "r" (p) : "memory");
}

#endif /* CHAIN_H */
