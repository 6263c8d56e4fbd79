/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the module. Its counters are a text that tests compare: "walks stop.full
 * frames.sframe=2" has those that have changed. Process maps are built by hand.
 */
#ifndef MODULE_STATE_H
#define MODULE_STATE_H

#include "map/map.h"
#include "sframe_stats.h"

struct kunit;

#define COUNTERS_TEXT	256

#define SPARES		128	/* processes that the module keeps ready */

void counters_read(struct sfu_counters *counters);
void counters_text(const struct sfu_counters *since, char *text);

bool comes_true(bool (*condition)(void));
bool nothing_is_held(void);
void begin_to_profile(struct kunit *test);

struct sfu_map *build_map(struct kunit *test, unsigned int nr);
void build_range(struct sfu_map *map, unsigned int i, unsigned long start, unsigned long len);
void renumber(struct sfu_range *range);

int read_header(struct sfu_range *range, unsigned long addr, u32 len);
const char *state_text(const struct sfu_range *range);
bool is_ready(const struct sfu_range *range);

#endif /* MODULE_STATE_H */
