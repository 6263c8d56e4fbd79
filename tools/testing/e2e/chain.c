// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * chain - a program whose every stack is known
 *
 * One turn goes down a chain of functions, each of another shape, and back up.
 * Each turn takes the same way and calls no libc. So each address has one chain,
 * or one for each depth of the recursion. The functions do little other work, so
 * samples spread over all instructions, prologues and epilogues included.
 *
 * Only SFrame V3 can describe realigned stacks with the CFA in another register.
 * Such functions are the innermost, so that with V1 and V2 the other functions
 * still have whole chains.
 *
 * chain -n TURNS | -s SECONDS | -p SECONDS	(-p: with a pause in each turn)
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "chain.h"

static volatile long sink;

/* ---- the inner end: only V3 describes these functions ---- */

static LINK long leaf_redzone(long x)
{
	volatile long a[8];

	for (int i = 0; i < 8; i++)
		a[i] = x + i;
	for (int i = 0; i < 8; i++)
		x += a[i];
	return x;
}

static LINK long leaf(long x)
{
	x = opaque(x * 3);
	x = opaque(x ^ 5);
	x = opaque(x + 7);
	x = opaque(x >> 1);
	return x;
}

static LINK long realigned_last(long x)
{
	char a[9000] __attribute__((aligned(128)));

	memset(a, 0, 16);
	keep(a);
	x = leaf_redzone(x) + leaf(x);
	keep(a);
	return x + a[3];
}

static LINK long realigned_stack_args(long a, long b, long c, long d, long e,
				      long f, long g, long h)
{
	long v[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		v[i] = g + i;
	keep(v);
	a = realigned_last(a + b + c + d + e + f);
	keep(v);
	return a + v[2] + h;
}

/*
 * The frame is realigned and has variable arguments: the compiler reaches them
 * through r10 first, and then through a slot. In the last two instructions rbp is
 * already restored, but .eh_frame, and so SFrame, still name its saved place. The
 * caller therefore saves rbp itself, so that no chain depends on that rule.
 */
static LINK long realigned_varargs(long n, ...)
{
	long v[8] __attribute__((aligned(64)));
	va_list ap;
	long x = 0;

	va_start(ap, n);
	for (long i = 0; i < n; i++)
		x += va_arg(ap, long);
	va_end(ap);
	keep(v);
	x = realigned_stack_args(x, 1, 2, 3, 4, 5, 6, 7);
	keep(v);
	return x;
}

static LINK long pushes_below_realigned(long a)
{
	long b = opaque(a + 1), c = opaque(a + 2), d = opaque(a + 3), e = opaque(a + 4);
	long r = realigned_varargs(8, a, 1L, 2L, 3L, 4L, 5L, 6L, 7L);

	return r + b * c + d * e + a;
}

static LINK long realigned_alloca(long x)
{
	double v[4] __attribute__((aligned(64)));
	char *p = __builtin_alloca(opaque(x & 63) + 32);

	p[0] = 1;
	keep(p);
	keep(v);
	x = pushes_below_realigned(x);
	keep(p);
	keep(v);
	return x;
}

static LINK long pushes_above_realigned(long a)
{
	long b = opaque(a + 1), c = opaque(a + 2), d = opaque(a + 3), e = opaque(a + 4);
	long r = realigned_alloca(a);

	return r + b * c + d * e + a;
}

LINK long after_probe(long x)
{
	return 3 + pushes_above_realigned(opaque(x) + 1);
}

/* ---- the chain ---- */

static LINK long realigned(long x)
{
	char v[64] __attribute__((aligned(32)));

	v[opaque(x) & 31] = 1;
	keep(v);
	x = probed_frame(x);
	keep(v);
	return x + v[5];
}

/* The compiler moves the call of this cold function to a cold part of the caller. */
static LINK __attribute__((cold)) long cold_callee(long x)
{
	return 5 + realigned(x + 1);
}

static LINK long with_cold_part(long x)
{
	long a = opaque(x + 2), b = opaque(x + 3);

	if (__builtin_expect(a == opaque(a), 0))
		return cold_callee(x) + a * b;
	return leaf(a) + b;
}

/* With -p the system call sleeps. Both calls take the same path in user mode. */
static long syscall_number = SYS_getppid;

static LINK long enters_kernel(long x)
{
	static const struct timespec pause = { .tv_nsec = 1000 };

	system_call(syscall_number, &pause);
	return x + opaque(0);
}

static LINK long shrink_wrapped(long x)
{
	if (opaque(x) == opaque(-7))
		return 1;
	long a = opaque(x + 2), b = opaque(x + 3), c = opaque(x + 4);

	return enters_kernel(with_cold_part(x)) + a + b * c;
}

static LINK double floats(double x, long y)
{
	double a = x * 1.5, b = x + 2;

	return a * b + shrink_wrapped(y);
}

static LINK long after_jump_table(long x)
{
	return opaque((long)floats(2.0, x)) & 0xff;
}

static LINK long jump_table(long x)
{
	switch (opaque(3)) {
	case 0: return leaf(x) - 1;
	case 1: return leaf_redzone(x) + 9;
	case 2: return leaf(x) * 5;
	case 3: return after_jump_table(x) + 4;
	case 4: return leaf_redzone(x) ^ 6;
	case 5: return leaf(x) + 77;
	default: return 0;
	}
}

static __attribute__((noipa, optimize("no-omit-frame-pointer"))) long frame_pointer(long x)
{
	long a = opaque(x + 2);

	return jump_table(x) + a;
}

struct big { long v[12]; };

static LINK struct big returns_struct(long x)
{
	struct big b;

	for (int i = 0; i < 12; i++)
		b.v[i] = x + i;
	b.v[3] = frame_pointer(x);
	return b;
}

static LINK long takes_struct(long x)
{
	struct big b = returns_struct(x);

	keep(&b);
	return b.v[3] + b.v[4];
}

/* The parent's frame travels in the static chain register. */
static LINK long nested_parent(long x)
{
	long seen = opaque(x);

	__attribute__((noipa)) long nested(long y)
	{
		seen += y;
		return takes_struct(y) + seen;
	}

	return nested(x + 1) + seen;
}

static LINK long recurse(long n)
{
	long a = opaque(n + 1);

	if (n == 0)
		return nested_parent(a);
	return recurse(n - 1) + a;
}

/* A call that never returns is the last instruction: its return address lies after the function. */
static LINK __attribute__((noreturn)) void noreturn_callee(long x)
{
	sink = recurse(x);
	leaves();
}

static LINK __attribute__((noreturn)) void noreturn_caller(long x)
{
	long a = opaque(x + 2);

	keep(&a);
	noreturn_callee(x);
}

static LINK long tail_called(long x)
{
	return 9 + catches(noreturn_caller, 2) + sink + opaque(x);
}

static LINK long tail_calls(long x)
{
	long a = opaque(x + 2), b = opaque(x + 3);

	x = leaf(a) * b + leaf(b);
	return tail_called(x & 7);
}

LINK long after_lib(long x)
{
	return 11 + tail_calls(x);
}

static LINK long calls_library(long x)
{
	return lib_enter(opaque(x), after_lib) + x;
}

static link_fn *volatile table[4] = { leaf, calls_library, leaf, leaf };

static LINK long through_pointer(long x)
{
	return table[opaque(1)](x) + 13;
}

static LINK long stack_args(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	long r = through_pointer(a + b + c + d + e + f);

	return r + g * h + i;
}

static LINK long pushes_args(long x)
{
	return stack_args(x, opaque(x), 3, 4, 5, 6, opaque(x), 8, opaque(x)) + 17;
}

static LINK long varargs(long n, ...)
{
	va_list ap;
	long x = 0;

	va_start(ap, n);
	for (long i = 0; i < n; i++)
		x += va_arg(ap, long);
	va_end(ap);
	return pushes_args(x) + 19;
}

static LINK long all_pushes(long x)
{
	long a = opaque(x + 1), b = opaque(x + 2), c = opaque(x + 3);
	long d = opaque(x + 4), e = opaque(x + 5), f = opaque(x + 6);
	long r = varargs(8, a, b, c, d, e, f, 1L, 2L);

	return r + a * b + c * d + e * f;
}

static LINK long frame_over_64k(long x)
{
	char buf[70000];

	buf[opaque(x) & 63] = 1;
	keep(buf);
	x = all_pushes(x);
	keep(buf);
	return x;
}

static LINK long frame_over_4k(long x)
{
	char buf[5000];

	buf[opaque(x) & 63] = 1;
	keep(buf);
	x = frame_over_64k(x);
	keep(buf);
	return x;
}

static LINK long uses_alloca(long x)
{
	char *p = __builtin_alloca(opaque(x & 63) + 40);

	p[0] = 1;
	keep(p);
	x = frame_over_4k(x);
	keep(p);
	return x;
}

static LINK long first(long x)
{
	return 23 + uses_alloca(x);
}

static unsigned long ticks_per_second(void)
{
	struct timespec from, to;
	unsigned long begin = ticks();
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		clock_gettime(CLOCK_MONOTONIC, &to);
		seconds = (to.tv_sec - from.tv_sec) + 0.000000001 * (to.tv_nsec - from.tv_nsec);
	} while (seconds < 0.05);
	return (ticks() - begin) / seconds;
}

/* Both ways to end take the same instructions, so that a few turns show all there is to see. */
/*
 * Waits for a different time in each turn. If time is counted in instructions and
 * all turns are equally long, a timer may hit the same few instructions each time.
 */
static LINK void idle(unsigned long turn)
{
	unsigned long n = (turn * 2654435761UL >> 16) & 63;

	while (n--)
		keep(&n);
}

int main(int argc, char **argv)
{
	unsigned long turns = 0, ticks_end = -1UL, turns_end = -1UL;
	long result, last_result = 0;

	if (argc != 3 || argv[1][0] != '-' || !strchr("nsp", argv[1][1])) {
		fprintf(stderr, "usage: chain -n TURNS | -s SECONDS | -p SECONDS\n");
		return 2;
	}
	if (argv[1][1] == 'p')
		syscall_number = SYS_nanosleep;
	if (argv[1][1] == 'n')
		turns_end = strtoul(argv[2], NULL, 0);
	else
		ticks_end = ticks() + strtoul(argv[2], NULL, 0) * ticks_per_second();

	do {
		result = first(3);
		if (turns++ && result != last_result)
			abort();
		last_result = result;
		idle(turns);
	} while ((turns < turns_end) & (ticks() < ticks_end));
	printf("%lu turns\n", turns);
	return 0;
}
