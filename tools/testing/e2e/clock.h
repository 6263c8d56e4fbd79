/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time, for programs that run for a number of milliseconds.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <time.h>

static inline long clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static inline long now_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

static inline long now_ms(void)
{
	return now_us() / 1000;
}

#endif /* CLOCK_H */
