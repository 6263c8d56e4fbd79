// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: whole sections, sound and broken. */
#include <linux/limits.h>
#include <linux/vmalloc.h>

#include "core_scene.h"
#include "expect_within.h"

#define HEADER_LEN	28		/* without an auxiliary header */

static void section_case_desc(const struct section_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

static void section_patch_desc(const struct section_patch *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "patched %s", c->name);
}

KUNIT_ARRAY_PARAM(section, section_cases, section_case_desc);
KUNIT_ARRAY_PARAM(patch, section_patches, section_patch_desc);

static struct core_scene *place_case(struct kunit *test)
{
	struct core_scene *scene = test->priv;

	make_section_case(&scene->b, test->param_value);
	place_section(scene, scene->b.bytes, scene->b.len);
	return scene;
}

static void expect_listing(struct kunit *test, const char *want)
{
	struct core_scene *scene = test->priv;

	renew(scene);
	section_text(&scene->rd, ADDR, scene->len, scene->text);
	KUNIT_EXPECT_STREQ(test, scene->text, want);
	KUNIT_EXPECT_FALSE(test, scene->outside);
}

static void list_section(struct kunit *test)
{
	const struct section_case *c = test->param_value;

	place_case(test);
	expect_listing(test, c->expect);
}

static void list_patched_section(struct kunit *test)
{
	const struct section_patch *c = test->param_value;
	struct core_scene *scene = test->priv;

	make_section_patch(&scene->b, c);
	place_section(scene, scene->b.bytes, scene->b.len);
	expect_listing(test, c->expect);
}

static struct kunit_case section_tests[] = {
	KUNIT_CASE_PARAM(list_section, section_gen_params),
	KUNIT_CASE_PARAM(list_patched_section, patch_gen_params),
	{}
};

/* Addresses in the functions of most cases, and outside of them. */
static const u64 some_pcs[] = {
	ADDR + 0x1000, ADDR + 0x1004, ADDR + 0x1040, ADDR + 0x300000, 0, U64_MAX,
};

/* The decoder may give these answers for arbitrary bytes, and no others. */
static void expect_answers(struct kunit *test, u32 what)
{
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(scene);
		err = decode_row(scene, some_pcs[i], &hdr, &row);
		if (scene->outside)
			KUNIT_FAIL(test, "%u: read outside", what);
		if (err && err != -ENOENT && err != -EBADMSG && err != -EOPNOTSUPP)
			KUNIT_FAIL(test, "%u: returned %d", what, err);
		if ((err == -EBADMSG || err == -EOPNOTSUPP) &&
		    scene->rd.defect == SFRAME_DEFECT_NONE)
			KUNIT_FAIL(test, "%u: no defect named", what);
	}
}

/* The n-th read fails. The look-up fails at once, with the same error. */
static void find_row_read_fails(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	struct sframe_header hdr;
	struct sframe_row row;
	u32 n, calls;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(scene);
		decode_row(scene, some_pcs[i], &hdr, &row);
		calls = scene->calls;
		if (scene->len >= HEADER_LEN)
			KUNIT_EXPECT_GT(test, calls, 0);
		for (n = 1; n <= calls; n++) {
			renew(scene);
			scene->fail_at = n;
			err = decode_row(scene, some_pcs[i], &hdr, &row);
			KUNIT_EXPECT_EQ_MSG(test, err, -EFAULT, "read %u", n);
			KUNIT_EXPECT_EQ(test, scene->calls, n);
			KUNIT_EXPECT_EQ_MSG(test, scene->rd.defect,
					    SFRAME_DEFECT_NONE, "read %u", n);
		}
	}
}

static struct kunit_case reader_fault_tests[] = {
	KUNIT_CASE_PARAM(find_row_read_fails, section_gen_params),
	{}
};

/* A look-up costs 768, a row 21, another entry 40. A budget that is too small by one fails. */
static void find_row_budget(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	struct sframe_header hdr;
	struct sframe_row row;
	u32 budget, cost;
	int err, want;

	renew(scene);
	want = decode_row(scene, ADDR + 0x1004, &hdr, &row);
	cost = U32_MAX - scene->rd.budget;
	for (budget = 0; budget <= cost; budget++) {
		renew(scene);
		scene->rd.budget = budget;
		err = decode_row(scene, ADDR + 0x1004, &hdr, &row);
		if (err != (budget < cost ? -E2BIG : want))
			KUNIT_FAIL(test, "budget %u of %u: %d", budget, cost, err);
		/* Without budget only the header is read. A row has 2 numbers, some words. */
		if (scene->calls > 1 + (budget < 768 ? 0 : 32 + 11 * (2 + budget / 21)))
			KUNIT_FAIL(test, "%u reads for %u", scene->calls, budget);
		if (err == -E2BIG && scene->rd.defect)
			KUNIT_FAIL(test, "budget %u: blames the section", budget);
	}
}

/*
 * The smallest V3 section. The look-up reads the header, the 3 numbers of the entry, 4 of the
 * attribute, 2 of each of 2 rows, and a word.
 */
static void find_row_cost(struct kunit *test)
{
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;

	smallest_section(test, 3, SORTED);
	renew(scene);
	KUNIT_EXPECT_EQ(test, 0, decode_row(scene, ADDR + 0x1000, &hdr, &row));
	KUNIT_EXPECT_EQ(test, U32_MAX - scene->rd.budget, 768 + 2 * 24);
	/* Lower bound: the header, the entry and the row. */
	expect_within(test, "reads", scene->calls, 3, 13);
}

/* The section has many entries of the same start and size, in a buffer of its own. */
static void find_among_many(struct kunit *test, u8 flags, u32 func_size, u64 off)
{
	const u32 nr = 200000, fde_size = sizeof(struct sframe_raw_fde_v2);
	struct sframe_raw_fde_v2 fde = { .start = 0x1000, .size = func_size };
	struct build *b = build_anew(test, 2, flags, AMD64);
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;
	u8 *bytes;
	u32 i;

	build_finish(b);
	build_patch(b, 8, nr, 4);
	build_patch(b, 24, nr * fde_size, 4);
	bytes = vzalloc(28 + nr * fde_size);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memcpy(bytes, b->bytes, 28);
	for (i = 0; i < nr; i++)
		memcpy(bytes + 28 + i * fde_size, &fde, fde_size);
	scene->data = bytes;
	scene->len = 28 + nr * fde_size;
	renew(scene);
	scene->rd.budget = 16384;
	KUNIT_EXPECT_EQ(test, -E2BIG, decode_row(scene, ADDR + off, &hdr, &row));
	/* 3 reads of each entry that is paid for, and of one more. A search of 2^18 takes 18. */
	expect_within(test, "reads", scene->calls, (16384 - 768) / 40,
		      1 + 18 + 3 * ((16384 - 768) / 40 + 2));
	vfree(bytes);
}

static void find_fde_unsorted_is_bounded(struct kunit *test)
{
	find_among_many(test, 0, 16, 0x2000);
}

static void find_fde_same_starts_is_bounded(struct kunit *test)
{
	find_among_many(test, SORTED, 0, 0x1000);
}

static struct kunit_case budget_tests[] = {
	KUNIT_CASE_PARAM(find_row_budget, section_gen_params),
	KUNIT_CASE(find_row_cost),
	KUNIT_CASE(find_fde_unsorted_is_bounded),
	KUNIT_CASE(find_fde_same_starts_is_bounded),
	{}
};

/*
 * This reader checks no addresses. A read after the end of the section would touch
 * the page after it, and be an oops.
 */
static void find_row_truncated(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	u32 len;

	scene->trusting = true;
	for (len = 0; len < scene->b.len; len++) {
		place_section(scene, scene->b.bytes, len);
		expect_answers(test, len);
	}
}

static struct kunit_case truncation_tests[] = {
	KUNIT_CASE_PARAM(find_row_truncated, section_gen_params),
	{}
};

static void find_row_bit_flipped(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	u32 bit;

	scene->trusting = true;
	for (bit = 0; bit < 8 * scene->len; bit++) {
		scene->b.bytes[bit / 8] ^= 1 << bit % 8;
		place_section(scene, scene->b.bytes, scene->len);
		expect_answers(test, bit);
		scene->b.bytes[bit / 8] ^= 1 << bit % 8;
	}
}

static struct kunit_case bit_flip_tests[] = {
	KUNIT_CASE_PARAM(find_row_bit_flipped, section_gen_params),
	{}
};

/* The listing reads the whole section, up to the last byte before the guard page. */
static void list_section_at_guard_page(struct kunit *test)
{
	const struct section_case *c = test->param_value;
	struct core_scene *scene = place_case(test);

	scene->trusting = true;
	expect_listing(test, c->expect);
}

static struct kunit_case guard_page_tests[] = {
	KUNIT_CASE_PARAM(list_section_at_guard_page, section_gen_params),
	{}
};

CORE_SUITE(section);
CORE_SUITE(reader_fault);
CORE_SUITE(budget);
CORE_SUITE(truncation);
CORE_SUITE(bit_flip);
CORE_SUITE(guard_page);
