// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the process map, built by hand: ranges and sections found by their addresses. */
#include "common.h"

#define CODE		0x100000UL	/* ranges have 0x1000 bytes, and as many lie between them */
#define SECTIONS	0x40000000UL	/* likewise */

/* As sfu_process_unmap() does. */
static bool unmap(struct sfu_map *map, unsigned long start, unsigned long end)
{
	bool code_remains = false;

	return !sfu_map_covers(map, start, end) || sfu_map_unmap(map, start, end, &code_remains);
}

static unsigned long code_addr(unsigned int nr)
{
	return CODE + nr * 0x2000UL;
}

static unsigned long section_addr(unsigned int nr)
{
	return SECTIONS + nr * 0x2000UL;
}

static void build_section(struct sfu_map *map, unsigned int i, unsigned long start,
			  unsigned long end)
{
	struct sfu_section *section = &map->ranges[i].section;

	section->start = start;
	section->end = end;
	atomic_set(&section->state, SFU_SECTION_READY);
}

#define MANY	SFU_MAX_RANGES

/* The section of range i has place 5 * i, modulo the number of ranges. */
static struct sfu_map *build_many(struct kunit *test)
{
	struct sfu_map *map = build_map(test, MANY);
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		unsigned long start = section_addr(5 * i % MANY);

		build_range(map, i, code_addr(i), 0x1000);
		build_section(map, i, start, start + 0x1000);
	}
	sfu_map_order_sections(map);
	KUNIT_EXPECT_EQ(test, map->nr_placed, MANY);
	return map;
}

static unsigned long place_of(unsigned int i, bool is_section)
{
	return is_section ? section_addr(5 * i % MANY) : code_addr(i);
}

/* Each range is unmapped by the first or the last byte of its code or section, and no other is. */
static void map_unmaps_by_byte(struct kunit *test)
{
	unsigned int i, is_section;

	for (is_section = 0; is_section < 2; is_section++) {
		struct sfu_map *map = build_many(test);

		for (i = 0; i < MANY; i++) {
			unsigned long start = place_of(i, is_section), end = start + 0x1000;

			KUNIT_EXPECT_FALSE(test, sfu_map_covers(map, start - 0x1000, start));
			KUNIT_EXPECT_TRUE(test, sfu_map_covers(map, start, start + 1));
			KUNIT_EXPECT_TRUE(test, sfu_map_covers(map, end - 1, end));
			KUNIT_EXPECT_FALSE(test, sfu_map_covers(map, end, end + 0x1000));
			KUNIT_EXPECT_TRUE(test, i % 2 ? unmap(map, start - 0x1000, start + 1) :
					  unmap(map, end - 1, end + 0x1000));
			KUNIT_EXPECT_TRUE_MSG(test, map->ranges[i].unmapped, "range %u", i);
			KUNIT_EXPECT_NULL(test, sfu_map_find(map, code_addr(i)));
			if (i + 1 < MANY)
				KUNIT_EXPECT_FALSE(test, map->ranges[i + 1].unmapped);
		}
	}
}

/* Whatever was unmapped last, the next is found: beside it, or far away. */
static void map_unmaps_in_any_order(struct kunit *test)
{
	/* Each of them is odd, so each range comes once. */
	static const unsigned int steps[] = { 3, 1023, MANY - 3, MANY - 1 };
	unsigned int s, i, is_section;

	for (s = 0; s < 2 * ARRAY_SIZE(steps); s++) {
		struct sfu_map *map = build_many(test);

		is_section = s % 2;
		for (i = 0; i < MANY; i++) {
			unsigned int k = i * steps[s / 2] % MANY;
			unsigned long start = place_of(k, is_section);

			KUNIT_EXPECT_FALSE(test, map->ranges[k].unmapped);
			KUNIT_EXPECT_TRUE(test, unmap(map, start, start + 1));
			KUNIT_EXPECT_TRUE(test, map->ranges[k].unmapped);
		}
	}
}

/* 64 ranges are marked at once, and 64 sections. If there are more, the map is of no use. */
static void map_unmaps_at_most(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, unmap(build_many(test), code_addr(7), code_addr(71)));
	KUNIT_EXPECT_FALSE(test, unmap(build_many(test), code_addr(7), code_addr(72)));
	KUNIT_EXPECT_TRUE(test, unmap(build_many(test), section_addr(7), section_addr(71)));
	KUNIT_EXPECT_FALSE(test, unmap(build_many(test), section_addr(7), section_addr(72)));
	KUNIT_EXPECT_FALSE(test, unmap(build_many(test), 0, ULONG_MAX));
}

static const struct places_case {
	const char	*name;
	unsigned long	first[2];	/* start and end of the section of the first range */
	unsigned long	second[2];
	const char	*states[2];
} places_cases[] = {
	{ "the same", { 100, 200 }, { 100, 200 }, { "ready", "ready" } },
	{ "one after the other", { 100, 200 }, { 200, 300 }, { "ready", "ready" } },
	{ "one before the other", { 200, 300 }, { 100, 200 }, { "ready", "ready" } },
	{ "overlap by a byte", { 100, 200 }, { 199, 300 }, { "ready", "bad" } },
	{ "overlap, the first later", { 199, 300 }, { 100, 200 }, { "bad", "ready" } },
	{ "one inside the other", { 100, 200 }, { 150, 160 }, { "ready", "bad" } },
	{ "same start", { 100, 200 }, { 100, 201 }, { "ready", "bad" } },
	{ "same end", { 100, 200 }, { 101, 200 }, { "ready", "bad" } },
};

NAMED_CASES(places);

/* Sections are the same or disjoint: else the second in their order is refused. */
static void map_refuses_overlap(struct kunit *test)
{
	const struct places_case *c = test->param_value;
	struct sfu_map *map = build_map(test, 3);
	bool is_refused = strcmp(c->states[0], c->states[1]);
	char counted[COUNTERS_TEXT];
	struct sfu_counters since;

	counters_read(&since);
	build_range(map, 0, code_addr(0), 0x1000);
	build_range(map, 1, code_addr(1), 0x1000);
	build_range(map, 2, code_addr(2), 0x1000);
	build_section(map, 0, c->first[0], c->first[1]);
	build_section(map, 1, c->second[0], c->second[1]);
	sfu_map_order_sections(map);
	KUNIT_EXPECT_STREQ(test, state_text(&map->ranges[0]), c->states[0]);
	KUNIT_EXPECT_STREQ(test, state_text(&map->ranges[1]), c->states[1]);
	KUNIT_EXPECT_STREQ(test, state_text(&map->ranges[2]), "none");
	KUNIT_EXPECT_EQ(test, map->nr_placed, is_refused ? 1 : 2);
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, is_refused ? "defect.segment section.bad" : "");
}

static struct kunit_case map_tests[] = {
	KUNIT_CASE(map_unmaps_by_byte),
	KUNIT_CASE(map_unmaps_in_any_order),
	KUNIT_CASE(map_unmaps_at_most),
	KUNIT_CASE_PARAM(map_refuses_overlap, places_gen_params),
	{}
};

static struct kunit_suite map_suite = { .name = "sframe_map", .test_cases = map_tests };

kunit_test_suite(map_suite);
