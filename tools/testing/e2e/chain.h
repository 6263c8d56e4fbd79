/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declarations that the functions of the known chain share, see chain.c.
 */
#ifndef CHAIN_H
#define CHAIN_H

/* The compiler must not inline, clone or analyze the function. */
#define LINK __attribute__((noipa))

typedef long link_fn(long x);
typedef void link_end_fn(long x);

long lib_enter(long x, link_fn *back);		/* chain-lib.c */
long lib_middle(long x, link_fn *back);		/* global, so called through the PLT */
long probed_frame(long x);			/* chain-probe.c */

extern link_fn after_lib, after_probe;

long catches(link_end_fn *fn, long x);		/* chain-ARCH.S */
_Noreturn void leaves(void);

/* Hides the value from the compiler, so that the program really computes with it. */
static inline long opaque(long x)
{
	__asm__ volatile("" : "+r" (x));
	return x;
}

/* The time in ticks, which takes only a few instructions to read. */
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

/* Makes a system call with a second argument of 0, and ignores the result. */
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

/* Forces the memory at @p to exist: the compiler cannot optimise the frame away. */
static inline void keep(void *p)
{
	__asm__ volatile("" : : "r" (p) : "memory");
}

#endif /* CHAIN_H */
