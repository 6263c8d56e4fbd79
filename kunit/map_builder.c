// SPDX-License-Identifier: GPL-2.0-or-later
/* Process maps, built by hand. See map_builder.h. */
#include <kunit/test.h>

#include "map_builder.h"
#include "user_memory.h"

static void put_map(void *map)
{
	sfu_map_put(map);
}

/* A map of @nr ranges without a section. KUnit drops its reference after the test. */
struct sfu_map *build_map(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = sfu_map_alloc(nr, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, map);
	/* As a scan of this moment would have it. */
	map->generation = atomic_read(&sfu_table_generation);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_map, map));
	return map;
}

/* Sets range @i of the map, of code that keeps no frame pointers. Ranges must ascend. */
void build_range(struct sfu_map *map, unsigned int i, unsigned long start, unsigned long len)
{
	map->ranges[i].start = start;
	map->ranges[i].end = start + len;
	map->ranges[i].keeps_fp = SFRAME_KEEPS_FP_NO;
}

/* Sets the file that the range maps. The file is only compared, never read. */
void build_file(struct sfu_range *range, const struct file *file)
{
	range->vma.file = file;
}

/* A new number, as for a new mapping: no row of the section that was there before is found. */
void renumber(struct sfu_range *range)
{
	range->section.number = sfu_row_cache_new_section(&range->section.key_base);
}

/* Reads the header of the section at @addr. The section is then ready for look-ups. */
int read_header(struct sfu_range *range, unsigned long addr, u32 len)
{
	struct sfu_section *section = &range->section;
	struct sframe_reader rd = {};
	int err = read_user_header(&section->hdr, &rd, addr, len);

	if (err)
		return err;
	section->start = addr;
	section->end = addr + len;
	section->source = SFU_SOURCE_MAPPED;
	atomic_set(&section->state, SFU_SECTION_READY);
	return 0;
}

void mark_as_bad(struct sfu_range *range)
{
	atomic_set(&range->section.state, SFU_SECTION_BAD);
}

void mark_as_unmapped(struct sfu_range *range)
{
	sfu_range_mark_unmapped(range);
}

/* The state of the range, read once: another thread may change it. */
const char *state_text(const struct sfu_range *range)
{
	static const char *const states[] = {
		"none", "pending", "ready", "bad"
	};

	if (READ_ONCE(range->unmapped))
		return "unmapped";
	return states[atomic_read(&range->section.state)];
}

bool is_ready(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_READY);
}

bool is_bad(const struct sfu_range *range)
{
	return sfu_section_is(&range->section, SFU_SECTION_BAD);
}

bool is_unmapped(const struct sfu_range *range)
{
	return READ_ONCE(range->unmapped);
}
