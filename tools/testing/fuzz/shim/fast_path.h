/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path of the walk, which a test may turn off: the general path takes each step then. */
#ifndef SHIM_FAST_PATH_H
#define SHIM_FAST_PATH_H

#include "walk/walk.h"

static bool uses_fast_path;

enum sfu_stop real_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
				unsigned int *nr);

enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr)
{
	if (uses_fast_path)
		return real_fast_callers(walk, ips, max, nr);
	*nr = 0;
	return SFU_STOP_NONE;
}

#define sfu_fast_callers real_fast_callers
#include "../../../../walk/fast.c"
#undef sfu_fast_callers

#endif /* SHIM_FAST_PATH_H */
