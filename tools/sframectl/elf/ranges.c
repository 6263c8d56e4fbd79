// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of addresses. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ranges.h"

/* A range that would wrap around ends at the last address. Out of memory: the program exits. */
void ranges_add(struct ranges *ranges, u64 start, u64 size)
{
	u64 end;

	if (__builtin_add_overflow(start, size, &end))
		end = UINT64_MAX;
	if (ranges->nr == ranges->room) {
		ranges->room = ranges->room ? 2 * ranges->room : 64;
		ranges->all = reallocarray(ranges->all, ranges->room,
					   sizeof(*ranges->all));
		if (!ranges->all) {
			perror("sframectl");
			exit(1);
		}
	}
	ranges->all[ranges->nr++] = (struct range){ .start = start, .end = end };
}

static int compare(const void *a, const void *b)
{
	const struct range *r1 = a, *r2 = b;

	return (r1->start > r2->start) - (r1->start < r2->start);
}

void ranges_merge(struct ranges *ranges)
{
	struct range *all = ranges->all;
	size_t i, last = 0;

	if (!ranges->nr)
		return;
	qsort(all, ranges->nr, sizeof(*all), compare);
	all[0].before = 0;
	for (i = 1; i < ranges->nr; i++) {
		if (all[i].start > all[last].end)
			all[++last] = all[i];
		else if (all[i].end > all[last].end)
			all[last].end = all[i].end;
	}
	ranges->nr = last + 1;
	for (i = 1; i <= last; i++)
		all[i].before = all[i - 1].before + all[i - 1].end - all[i - 1].start;
}

u64 ranges_bytes(const struct ranges *merged)
{
	u64 bytes = 0;
	size_t i;

	for (i = 0; i < merged->nr; i++)
		bytes += merged->all[i].end - merged->all[i].start;
	return bytes;
}

u64 ranges_common_bytes(const struct ranges *merged1,
			const struct ranges *merged2)
{
	size_t i = 0, k = 0;
	u64 bytes = 0;

	while (i < merged1->nr && k < merged2->nr) {
		const struct range *r1 = &merged1->all[i];
		const struct range *r2 = &merged2->all[k];
		u64 start = r1->start > r2->start ? r1->start : r2->start;
		u64 end = r1->end < r2->end ? r1->end : r2->end;

		if (start < end)
			bytes += end - start;
		if (r1->end < r2->end)
			i++;
		else
			k++;
	}
	return bytes;
}

/* Return: number of bytes in @merged below @addr. */
static u64 bytes_below(const struct ranges *merged, u64 addr)
{
	const struct range *range = merged->all;
	size_t lo = 0, hi = merged->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (range[mid].start < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	range += lo - 1;
	return range->before + (addr < range->end ? addr : range->end) - range->start;
}

/* Return: number of bytes from @start, at most @size, that are in @merged. */
u64 ranges_bytes_within(const struct ranges *merged, u64 start, u64 size)
{
	u64 end;

	if (__builtin_add_overflow(start, size, &end))
		end = UINT64_MAX;
	return bytes_below(merged, end) - bytes_below(merged, start);
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->all);
	*ranges = (struct ranges){};
}
