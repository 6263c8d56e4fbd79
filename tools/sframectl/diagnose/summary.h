/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says in words what the counters of the module mean. */
#ifndef SFRAMECTL_SUMMARY_H
#define SFRAMECTL_SUMMARY_H

#include "counters.h"

void summary_print(const struct counters *counters, const char *when, bool all);
void summary_print_columns(void);
void summary_print_row(const struct counters *counters);

#endif /* SFRAMECTL_SUMMARY_H */
