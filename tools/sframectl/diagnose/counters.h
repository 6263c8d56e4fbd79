/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the module: lines of its file, "GROUP.MEMBER VALUE" or "NAME VALUE". */
#ifndef SFRAMECTL_COUNTERS_H
#define SFRAMECTL_COUNTERS_H

#include "sframe_types.h"

/* The counters of the running module, which root may read. */
#define COUNTERS_STATS	"/sys/kernel/debug/sframe_unwind/stats"

/* perf's wrapper keeps them here, if root records. The second is missing as long as it does. */
#define COUNTERS_BEFORE	"/run/sframe_unwind.before"
#define COUNTERS_AFTER	"/run/sframe_unwind.after"

/* The module has about 100 counters. These limits bound what any other file costs. */
#define COUNTERS_MAX	256
#define COUNTER_NAME	64

struct counter {
	char	name[COUNTER_NAME];
	u64	value;
};

/* Names are unique. They consist of letters, digits, dots, dashes and underscores. */
struct counters {
	struct counter	all[COUNTERS_MAX];
	size_t		nr;
};

int counters_read(struct counters *counters, const char *path);
const struct counter *counters_find(const struct counters *counters,
				    const char *name);
const char *counter_member(const struct counter *counter, const char *group);
bool counters_subtract(struct counters *counters, const struct counters *before);

#endif /* SFRAMECTL_COUNTERS_H */
