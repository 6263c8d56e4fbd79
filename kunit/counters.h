/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the module counted, as a text that tests compare: "walks stop.full
 * frames.sframe=2". What is not named has not been counted.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "sframe_stats.h"

#define COUNTERS_TEXT	256

void counters_read(struct sfu_counters *counters);
void counters_text(const struct sfu_counters *since, char *text);

bool comes_true(bool (*condition)(void));
bool nothing_is_held(void);

#endif /* COUNTERS_H */
