/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says in words what the counters of the module mean. */
#ifndef SFRAMECTL_SUMMARY_H
#define SFRAMECTL_SUMMARY_H

#include "counters.h"

/**
 * struct outcome - what became of the stacks, in short
 * @stacks: stacks that were unwound
 * @complete: of these, complete ones
 * @left: others, of processes without data, which were left to the kernel
 * @reason: the most common reason of those that are not complete, as a counter's name; or NULL
 * @of_reason: stacks that ended for it
 */
struct outcome {
	u64		stacks;
	u64		complete;
	u64		left;
	const char	*reason;
	u64		of_reason;
};

struct outcome summary_outcome(const struct counters *counters);
void summary_print(const struct counters *counters, const char *when, bool all);
void summary_print_columns(void);
void summary_print_row(const struct counters *counters);

#endif /* SFRAMECTL_SUMMARY_H */
