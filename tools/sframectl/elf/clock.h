/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time that no one sets. */
#ifndef SFRAMECTL_CLOCK_H
#define SFRAMECTL_CLOCK_H

#include <time.h>

#include "sframe_types.h"

static inline u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

#endif /* SFRAMECTL_CLOCK_H */
