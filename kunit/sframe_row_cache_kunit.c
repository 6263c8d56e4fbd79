// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of rows in one word, and of the row caches: walk/row_cache.c. */
#include <linux/preempt.h>

#include "common.h"
#include "sframe_arch.h"
#include "walk/row_cache.h"

#define NR_SETS	64

static bool find(struct sfu_row_cache cache, u64 section, u64 key, u64 row)
{
	const struct sfu_row_set *set = sfu_row_cache_set(cache, key);
	unsigned int i;

	for (i = 0; i < SFU_ROW_WAYS; i++)
		if (sfu_cached_row_is(&set->ways[i], section, key))
			return set->ways[i].row == row;
	return false;
}

static struct sfu_row_cache make_cache(struct kunit *test)
{
	struct sfu_row_cache cache = {
		.sets = test_alloc(test, NR_SETS * sizeof(*cache.sets)),
		.nr_sets = NR_SETS,
	};

	return cache;
}

/* A row is found by its section and key, and by no other. */
static void row_has_section(struct kunit *test)
{
	struct sfu_row_cache cache = make_cache(test);
	u64 key;

	for (key = 1; key < 4096; key++) {
		sfu_row_cache_add(cache, 7, key, key * 3);
		KUNIT_EXPECT_TRUE(test, find(cache, 7, key, key * 3));
		KUNIT_EXPECT_FALSE(test, find(cache, 8, key, key * 3));
		KUNIT_EXPECT_FALSE(test, find(cache, 7, key + 4096, key * 3));
		/* The same place, if only 32 bits of a key say which it is. */
		KUNIT_EXPECT_FALSE(test, find(cache, 7, key + BIT_ULL(32), key * 3));
	}
}

/* Two rows have room in one place. The third takes that of the older one. */
static void place_has_ways(struct kunit *test)
{
	struct sfu_row_cache cache = make_cache(test);

	sfu_row_cache_add(cache, 1, 5, 10);
	sfu_row_cache_add(cache, 2, 5, 20);
	KUNIT_EXPECT_TRUE(test, find(cache, 1, 5, 10));
	KUNIT_EXPECT_TRUE(test, find(cache, 2, 5, 20));
	sfu_row_cache_add(cache, 3, 5, 30);
	KUNIT_EXPECT_FALSE(test, find(cache, 1, 5, 10));
	KUNIT_EXPECT_TRUE(test, find(cache, 2, 5, 20));
	KUNIT_EXPECT_TRUE(test, find(cache, 3, 5, 30));
}

/* No number is used twice, and the keys of sections with the same addresses are far apart. */
static void numbers_are_new(struct kunit *test)
{
	u64 base, last_base, last = sfu_row_cache_new_section(&last_base);
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		u64 number = sfu_row_cache_new_section(&base);

		KUNIT_EXPECT_GT(test, number, last);
		KUNIT_EXPECT_GT(test, base - last_base + BIT_ULL(32), BIT_ULL(33));
		last = number;
		last_base = base;
	}
}

/* A walk that interrupts another one gets no cache, and takes none away. */
static void one_walk_at_a_time(struct kunit *test)
{
	struct sfu_row_cache *cache;

	preempt_disable();
	cache = sfu_row_cache_get();
	KUNIT_ASSERT_NOT_NULL(test, cache);
	KUNIT_EXPECT_NULL(test, sfu_row_cache_get());
	sfu_row_cache_put(NULL);
	KUNIT_EXPECT_NULL(test, sfu_row_cache_get());
	sfu_row_cache_put(cache);
	KUNIT_EXPECT_PTR_EQ(test, cache, sfu_row_cache_get());
	sfu_row_cache_put(cache);
	preempt_enable();
}

#define SP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define FP_PLUS(n)	{ .how = SFRAME_RULE_REG, .reg = SFU_ARCH_REG_FP, .off = (n) }
#define AT_SP(n)	{ .how = SFRAME_RULE_REG_MEM, .reg = SFU_ARCH_REG_SP, .off = (n) }
#define AT_CFA(n)	{ .how = SFRAME_RULE_CFA_MEM, .off = (n) }
#define CFA_PLUS(n)	{ .how = SFRAME_RULE_CFA, .off = (n) }
#define SAME		{ .how = SFRAME_RULE_SAME }

#define BY_FP		SFU_ROW_BY_FP
#define SAVED		SFU_ROW_SAVES_FP

/* The CFA with what else is in its low bits, the RA, and the FP. */
#define WORD(cfa, ra, fp)	((cfa) | (u64)(ra) << 16 | (u64)(fp) << 32)

#define OTHER_KIND	SFU_ROW_IS_OTHER

/* The return address is not next to the CFA, as it is where calls push it. */
#define AWAY_FROM_CFA(cfa, ra)	(SFU_ARCH_REG_RA < 0 ? OTHER_KIND : WORD(cfa, ra, 0))

#define CFA_MAX		(0x10000 - SFU_ARCH_CFA_ALIGN)

static const struct fast_case {
	const char		*name;
	struct sframe_row	row;
	u64			want;
} fast_cases[] = {
	{ "sp, fp same", { SP_PLUS(16), AT_CFA(-8), SAME }, WORD(16, 8, 0) },
	{ "sp, fp saved", { SP_PLUS(64), AT_CFA(-8), AT_CFA(-16) }, WORD(64 | SAVED, 56, 48) },
	{ "fp, fp same", { FP_PLUS(16), AT_CFA(-8), SAME }, WORD(16 | BY_FP, 8, 0) },
	{ "fp, fp saved", { FP_PLUS(16), AT_CFA(-8), AT_CFA(-16) },
	  WORD(16 | BY_FP | SAVED, 8, 0) },
	{ "frame record below", { SP_PLUS(96), AT_CFA(-88), AT_CFA(-96) },
	  AWAY_FROM_CFA(96 | SAVED, 8) },
	{ "largest", { SP_PLUS(CFA_MAX), AT_CFA(-8), AT_CFA(-16) },
	  WORD(CFA_MAX | SAVED, CFA_MAX - 8, CFA_MAX - 16) },
	{ "too large", { SP_PLUS(0x10000), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "off by one", { SP_PLUS(17), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "off by half", { SP_PLUS(16 + SFU_ARCH_CFA_ALIGN / 2), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "empty", { SP_PLUS(0), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa below", { SP_PLUS(-16), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa far below", { SP_PLUS(-S32_MAX - 1), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "ra lowest", { SP_PLUS(16), AT_CFA(-16), SAME }, AWAY_FROM_CFA(16, 0) },
	{ "ra below", { SP_PLUS(16), AT_CFA(-17), SAME }, OTHER_KIND },
	{ "ra across cfa", { SP_PLUS(16), AT_CFA(-7), SAME }, OTHER_KIND },
	{ "ra above", { SP_PLUS(16), AT_CFA(8), SAME }, OTHER_KIND },
	{ "ra far above", { SP_PLUS(16), AT_CFA(S32_MAX), SAME }, OTHER_KIND },
	{ "fp lowest", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-32) }, WORD(32 | SAVED, 24, 0) },
	{ "fp below", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-33) }, OTHER_KIND },
	{ "fp across cfa", { SP_PLUS(32), AT_CFA(-8), AT_CFA(-7) }, OTHER_KIND },
	{ "cfa in memory", { AT_SP(16), AT_CFA(-8), SAME }, OTHER_KIND },
	{ "cfa of another register",
	  { { .how = SFRAME_RULE_REG, .reg = 0, .off = 16 }, AT_CFA(-8), SAME }, OTHER_KIND },
	{ "no cfa", { SAME, SAME, SAME, .signal = true }, OTHER_KIND },
	{ "ra same", { SP_PLUS(16), SAME, SAME }, OTHER_KIND },
	{ "ra is an address", { SP_PLUS(16), CFA_PLUS(-8), SAME }, OTHER_KIND },
	{ "ra by sp", { SP_PLUS(16), AT_SP(8), SAME }, OTHER_KIND },
	{ "fp is an address", { SP_PLUS(16), AT_CFA(-8), CFA_PLUS(-16) }, OTHER_KIND },
	{ "fp by sp", { SP_PLUS(16), AT_CFA(-8), AT_SP(8) }, OTHER_KIND },
	{ "outermost", { SP_PLUS(16), AT_CFA(-8), SAME, .outermost = true }, SFU_ROW_OUTERMOST },
	{ "signal", { SP_PLUS(16), AT_CFA(-8), SAME, .signal = true }, OTHER_KIND },
};

NAMED_CASES(fast);

static void fits_in_word(struct kunit *test)
{
	const struct fast_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->want, sfu_row_pack(&c->row));
}

static struct kunit_case row_cache_tests[] = {
	KUNIT_CASE_PARAM(fits_in_word, fast_gen_params),
	KUNIT_CASE(row_has_section),
	KUNIT_CASE(place_has_ways),
	KUNIT_CASE(numbers_are_new),
	KUNIT_CASE(one_walk_at_a_time),
	{}
};

static struct kunit_suite suite = { .name = "sframe_row_cache", .test_cases = row_cache_tests };

kunit_test_suite(suite);
