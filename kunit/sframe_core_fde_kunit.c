// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: the FDE of the function that covers an address. */
#include <linux/limits.h>

#include "core_scene.h"

struct search_case {
	u8	version;
	u8	flags;
};

static const struct search_case search_cases[] = {
	{ 1, SORTED }, { 1, 0 },
	{ 2, SORTED }, { 2, 0 }, { 2, SORTED | PCREL }, { 2, PCREL },
	{ 3, SORTED }, { 3, 0 }, { 3, SORTED | PCREL }, { 3, PCREL },
};

static void search_desc(const struct search_case *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "V%u %s, relative to the %s",
		  c->version, c->flags & SORTED ? "sorted" : "unsorted",
		  c->flags & PCREL ? "field" : "section");
}

KUNIT_ARRAY_PARAM(search, search_cases, search_desc);

/* Function i: 16 bytes at 0x1000 + 0x20 * i, CFA = SP + 8 * (i + 1). */
static void expect_function(struct kunit *test, u32 nr, u32 off)
{
	char want[SECTION_ROW_TEXT] = "none";
	u32 i = (off - 0x1000) / 0x20;

	if (off >= 0x1000 && i < nr && off % 0x20 < 16)
		scnprintf(want, sizeof(want), "sp+%u u (c-8)", 8 * (i + 1));
	expect_at(test, off, want);
}

/* Each address of 0 to 9 functions, and of the gaps between them. */
static void find_fde_every_address(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	u32 nr, i, off;

	for (nr = 0; nr <= 9; nr++) {
		struct build *b = build_anew(test, c->version, c->flags, AMD64);

		for (i = 0; i < nr; i++) {
			u32 k = c->flags & SORTED ? i : nr - 1 - i;

			build_fde(b, 0x1000 + 0x20 * k, 16, ADDR1, 0, 0);
			build_row(b, 0, 0x03, 8 * (k + 1));
		}
		place_built(test->priv);
		for (off = 0xff0; off < 0x1010 + 0x20 * nr; off++)
			expect_function(test, nr, off);
	}
}

/* A function of size 0 covers nothing, at any place among entries of the same start. */
static void find_fde_same_start(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	u32 real, i;

	for (real = 0; real < 4; real++) {
		struct build *b = build_anew(test, c->version, c->flags, AMD64);

		for (i = 0; i < 4; i++) {
			build_fde(b, 0x1000, i == real ? 16 : 0, ADDR1, 0, 0);
			build_row(b, 0, 0x03, i == real ? 8 : 64);
		}
		place_built(test->priv);
		expect_at(test, 0xfff, "none");
		expect_at(test, 0x1000, ROW_0);
		expect_at(test, 0x100f, ROW_0);
		expect_at(test, 0x1010, "none");
	}
}

/* A section may lie before its code or after it. */
static void find_fde_before_the_section(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, c->flags, AMD64);

	build_fde(b, -0x70000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x70000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, -0x70000001, "none");
	expect_at(test, -0x70000000, ROW_0);
	expect_at(test, -0x6ffffff1, ROW_0);
	expect_at(test, -0x6ffffff0, "none");
	expect_at(test, 0x6fffffff, "none");
	expect_at(test, 0x70000000, "sp+16 u (c-8)");
	expect_at(test, 0x7000000f, "sp+16 u (c-8)");
}

static void find_fde_largest(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, c->flags, AMD64);

	build_fde(b, 0x1000, 0xffffffff, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	place_built(test->priv);
	expect_at(test, 0xfff, "none");
	expect_at(test, 0x1000, ROW_0);
	expect_at(test, 0x100000ffe, ROW_0);
	expect_at(test, 0x100000fff, "none");
}

static void find_fde_v3_far(struct kunit *test)
{
	struct build *b = build_anew(test, 3, SORTED | PCREL, AMD64);

	build_fde(b, -0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, -0x200000000, ROW_0);
	expect_at(test, 0x20000000f, "sp+16 u (c-8)");
	expect_at(test, 0, "none");
}

static void find_fde_overlapping(struct kunit *test)
{
	struct build *b = build_anew(test, 2, SORTED, AMD64);

	build_fde(b, 0x1000, 0x100, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x1010, 4, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, 0x100f, ROW_0);
	expect_at(test, 0x1010, "sp+16 u (c-8)");
	expect_at(test, 0x1013, "sp+16 u (c-8)");
	expect_at(test, 0x1014, "none");
}

/* A function that is not in the code of the section, or only in part, does not count. */
static void find_fde_outside(struct kunit *test)
{
	static const struct {
		u64	start;
		u64	end;
		bool	is_found;
	} bounds[] = {
		{ 0x1000, 0x1010, true }, { 0x1001, 0x1010, false }, { 0x1000, 0x100f, false },
		{ 0, 0x1000, false }, { 0x1010, 0x2000, false }, { 0x1008, 0x1008, false },
	};
	const struct search_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, c->flags, AMD64);
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	unsigned int i;

	build_fde(b, 0x1000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	place_built(scene);
	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		const int want = bounds[i].is_found ? 0 : -ENOENT;
		const u64 pc = ADDR + 0x1008;
		struct sframe_row row;

		renew(scene);
		KUNIT_ASSERT_EQ(test, 0, sframe_header_read(&hdr, &scene->rd, ADDR, scene->len));
		hdr.code_start = ADDR + bounds[i].start;
		hdr.code_end = ADDR + bounds[i].end;
		KUNIT_EXPECT_EQ(test, want, sframe_find_row(&hdr, &scene->rd, pc, &row));
	}
}

static void find_fde_falsely_sorted(struct kunit *test)
{
	struct build *b = build_anew(test, 2, SORTED, AMD64);

	build_fde(b, 0x2000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x1000, 0, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, 0x1000, "bad fde-order");
}

struct range_case {
	const char	*name;
	s64		start;		/* from the start of the section */
	u32		size;
	const char	*want;		/* at the start */
};

/* Functions live in the lower half of the address space, and end there. */
static const struct range_case range_cases[] = {
	{ "first of all addresses", -(1LL << 46), 16, ROW_0 },
	{ "one below", -(1LL << 46) - 1, 16, "bad fde-range" },
	{ "ends at the last", S64_MAX - (1LL << 46) - 16, 16, ROW_0 },
	{ "ends one after", S64_MAX - (1LL << 46) - 15, 16,
	  "bad fde-range" },
	{ "largest size wraps", -(1LL << 46) - 16, 0xffffffff, "bad fde-range" },
	{ "start is the least number", -0x7fffffffffffffffLL - 1, 16, "bad fde-range" },
};

NAMED_CASES(range);

static void find_fde_range(struct kunit *test)
{
	const struct range_case *c = test->param_value;
	struct build *b = build_anew(test, 3, 0, AMD64);

	build_fde(b, c->start, c->size, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	place_built(test->priv);
	expect_at(test, c->start, c->want);
}

static struct kunit_case fde_search_tests[] = {
	KUNIT_CASE_PARAM(find_fde_every_address, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_same_start, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_before_the_section, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_largest, search_gen_params),
	KUNIT_CASE(find_fde_v3_far),
	KUNIT_CASE(find_fde_overlapping),
	KUNIT_CASE_PARAM(find_fde_outside, search_gen_params),
	KUNIT_CASE(find_fde_falsely_sorted),
	KUNIT_CASE_PARAM(find_fde_range, range_gen_params),
	{}
};

CORE_SUITE(fde_search);
