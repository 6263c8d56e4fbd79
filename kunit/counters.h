/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The module's counters as a text that tests compare: "walks stop.full frames.sframe=2". The text
 * has only counters that have changed.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "sframe_stats.h"

struct kunit;

#define COUNTERS_TEXT	256

#define SPARES		128	/* processes that the module keeps ready */

void counters_read(struct sfu_counters *counters);
void counters_text(const struct sfu_counters *since, char *text);

bool comes_true(bool (*condition)(void));
bool nothing_is_held(void);
void refill_spares(void);
void begin_to_profile(struct kunit *test);

#endif /* COUNTERS_H */
