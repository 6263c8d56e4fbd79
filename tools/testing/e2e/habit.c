// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * habit - a program with a known chain of calls through pointers, and without SFrame data
 *
 * Compiled with frame pointers or without them. main() calls level_1(), which calls
 * level_2(), and so on, each through a pointer. Two levels are called by libraries, each
 * once through a pointer and once by name. level_N() also calls leaf_N(), which calls
 * nobody. So a name says what the whole stack is: see habit.py.
 *
 * habit SECONDS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "chain.h"

#define LEVELS 16

long lib_calls(link_fn *fn, long x);		/* habit-lib.c, with SFrame data */
long plain_calls(link_fn *fn, long x);		/* the same without */

typedef long caller_fn(link_fn *fn, long x);

static volatile sig_atomic_t is_over;
static link_fn *volatile level_at[LEVELS + 2], *volatile leaf_at[LEVELS + 2];
static caller_fn *volatile lib_pointer, *volatile plain_pointer;

static void on_alarm(int number)
{
	is_over = 1;
}

/* Calls nobody, so it needs no frame in any program. */
#define LEAF(n)								\
LINK long leaf_##n(long x)						\
{									\
	for (int i = 0; i < 10; i++)					\
		x = opaque(x * 3 + i);					\
	return x;							\
}

#define LEVEL(n, call)							\
LEAF(n)									\
LINK long level_##n(long x)						\
{									\
	long saved[4] = { x, x + 1, x + 2, x + 3 };			\
	link_fn *next = level_at[n + 1];					\
									\
	keep(saved);							\
	x += leaf_at[n](x);						\
	for (int i = 0; i < 20; i++)					\
		x = opaque(x * 5 + i);					\
	if (next)							\
		x += call;						\
	keep(saved);							\
	return x + saved[x & 3];					\
}

#define NEXT	next(x)

LEVEL(1, NEXT)
LEVEL(2, NEXT)
LEVEL(3, NEXT)
LEVEL(4, lib_calls(next, x))
LEVEL(5, NEXT)
LEVEL(6, NEXT)
LEVEL(7, lib_pointer(next, x))
LEVEL(8, NEXT)
LEVEL(9, NEXT)
LEVEL(10, plain_calls(next, x))
LEVEL(11, NEXT)
LEVEL(12, NEXT)
LEVEL(13, plain_pointer(next, x))
LEVEL(14, NEXT)
LEVEL(15, NEXT)
LEVEL(16, NEXT)

static link_fn *const all_levels[] = {
	level_1, level_2, level_3, level_4, level_5, level_6, level_7, level_8, level_9,
	level_10, level_11, level_12, level_13, level_14, level_15, level_16,
};

static link_fn *const all_leaves[] = {
	leaf_1, leaf_2, leaf_3, leaf_4, leaf_5, leaf_6, leaf_7, leaf_8, leaf_9,
	leaf_10, leaf_11, leaf_12, leaf_13, leaf_14, leaf_15, leaf_16,
};

int main(int argc, char **argv)
{
	long x = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: habit SECONDS\n");
		return 2;
	}
	for (int i = 0; i < LEVELS; i++) {
		level_at[i + 1] = all_levels[i];
		leaf_at[i + 1] = all_leaves[i];
	}
	lib_pointer = lib_calls;
	plain_pointer = plain_calls;
	signal(SIGALRM, on_alarm);
	alarm(atoi(argv[1]));
	while (!is_over)
		x += level_at[1](x);
	return 0;
}
