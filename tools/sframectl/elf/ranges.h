/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of addresses. */
#ifndef SFRAMECTL_RANGES_H
#define SFRAMECTL_RANGES_H

#include "sframe_types.h"

struct range {
	u64 start;
	u64 end;		/* the first address after the range */
	u64 before;		/* bytes in the ranges before, after the merge */
};

/* Ranges are in the order of ranges_add(); after the merge they ascend and are disjoint. */
struct ranges {
	struct range	*all;
	size_t		nr;
	size_t		room;
};

void ranges_add(struct ranges *ranges, u64 start, u64 size);
void ranges_merge(struct ranges *ranges);
u64 ranges_bytes(const struct ranges *merged);
u64 ranges_common_bytes(const struct ranges *merged1,
			const struct ranges *merged2);
u64 ranges_bytes_within(const struct ranges *merged, u64 start, u64 size);
void ranges_free(struct ranges *ranges);

#endif /* SFRAMECTL_RANGES_H */
