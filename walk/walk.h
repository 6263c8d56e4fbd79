/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwinding of one user stack, frame by frame. See walk/walk.c. */
#ifndef SFU_WALK_H
#define SFU_WALK_H

#include "walk/frame.h"

void sfu_walk_init(struct sfu_walk *walk, struct sfu_map *map, bool is_inherited,
		   struct sfu_row_cache *cache, struct pt_regs *regs);
enum sfu_stop sfu_walk_callers(struct sfu_walk *walk, u64 *ips, unsigned int max,
			       unsigned int *nr);

/* walk/fast.c */
enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr);

/* walk/signal.c */
bool sfu_signal_is_at_return(struct sfu_walk *walk);
enum sfu_stop sfu_signal_step(struct sfu_walk *walk);

/* Returns true if a scan may let the next walk get further than this one, ended by @stop. */
static inline bool sfu_walk_needs_scan(const struct sfu_walk *walk, enum sfu_stop stop)
{
	return stop == SFU_STOP_UNSCANNED || stop == SFU_STOP_SECTION ||
	       (stop == SFU_STOP_RA && walk->wants_code) ||
	       walk->lookup.wants_map || walk->wants_keeps_fp ||
	       (walk->lookup.is_inherited && walk->lookup.bad) ||
	       (stop == SFU_STOP_NODATA && sfu_map_is_older_than_tables(walk->map));
}

#endif /* SFU_WALK_H */
