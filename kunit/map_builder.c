// SPDX-License-Identifier: GPL-2.0-or-later
/* Process maps, built by hand. See map_builder.h. */
#include <kunit/test.h>
#include <linux/overflow.h>

#include "map_builder.h"
#include "user_memory.h"

/* A map of @nr ranges without a section. KUnit frees it after the test. */
struct sfu_map *build_map(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map;

	map = kunit_kzalloc(test, struct_size(map, regions, nr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map);
	map->nr_regions = nr;
	return map;
}

/* Range @i of the map. Ranges have to ascend. */
void build_range(struct sfu_map *map, unsigned int i, unsigned long start,
		 unsigned long len)
{
	map->regions[i].start = start;
	map->regions[i].end = start + len;
}

/* The file that the range maps; only compared. */
void build_file(struct sfu_region *range, const struct file *file)
{
	range->file = file;
}

/* Keys for the rule cache: one for each byte of each range, from @first on. */
void build_keys(struct sfu_map *map, u64 first)
{
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++) {
		map->regions[i].key = first;
		first += map->regions[i].end - map->regions[i].start;
	}
}

/* Section at @addr: its header is read, and the section is ready for look-ups. */
int read_header(struct sfu_region *range, unsigned long addr, u32 len)
{
	struct sframe_reader rd = { .read = read_user, .budget = U32_MAX };
	int err = sframe_header_read(&range->sec, &rd, addr, len);

	if (!err)
		atomic_set(&range->state, SFU_REGION_COVERED);
	return err;
}

void mark_as_bad(struct sfu_region *range)
{
	atomic_set(&range->state, SFU_REGION_RETIRED);
}

void mark_as_unmapped(struct sfu_region *range)
{
	atomic_set(&range->state, SFU_REGION_GONE);
}

/* The state of the range, read once: another thread may change it. */
const char *state_text(const struct sfu_region *range)
{
	static const char *const states[] = {
		"plain", "awaited", "covered", "retired", "gone"
	};

	return states[atomic_read(&range->state)];
}

/* Ready for look-ups, or not yet, or not any more. */
bool has_section(const struct sfu_region *range)
{
	return atomic_read(&range->state) != SFU_REGION_PLAIN;
}

bool is_ready(const struct sfu_region *range)
{
	return atomic_read(&range->state) == SFU_REGION_COVERED;
}

bool is_bad(const struct sfu_region *range)
{
	return atomic_read(&range->state) == SFU_REGION_RETIRED;
}

bool is_unmapped(const struct sfu_region *range)
{
	return atomic_read(&range->state) == SFU_REGION_GONE;
}
