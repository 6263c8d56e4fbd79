// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of compiled tables: at each address the table has the row that the decoder finds. */
#include <linux/sizes.h>

#include "common.h"
#include "section_builder.h"
#include "table/compile.h"

#define ADDR		0x40000000ULL

struct compile_scene {
	struct build		b;
	struct sframe_reader	rd;	/* reads it */
	struct sframe_header	hdr;	/* its header */
	/* the compilation; the arrays of its table have no byte more than was measured */
	struct sframe_compile	compile;
};

static int compile_init(struct kunit *test)
{
	test->priv = test_alloc(test, sizeof(struct compile_scene));
	return 0;
}

static void build_section(struct build *b, const char *text)
{
	build_start(b, 3, BOTH, AMD64);
	build_text(b, text);
	build_finish(b);
}

static int compile_section(struct kunit *test, u64 max_size)
{
	struct compile_scene *scene = test->priv;
	struct sframe_compile *compile = &scene->compile;
	struct sframe_compiled *compiled = &compile->compiled;
	int err;

	scene->rd = (struct sframe_reader){
		.bytes = scene->b.bytes, .addr = ADDR, .len = scene->b.len, .budget = U32_MAX,
	};
	*compile = (struct sframe_compile){
		.hdr = &scene->hdr, .rd = &scene->rd, .max_size = max_size, .secret = 0x5555,
	};
	err = sframe_header_read(&scene->hdr, &scene->rd, ADDR, scene->b.len) ?:
	      sframe_compile_measure(compile);
	if (err)
		return err;
	compiled->slots = test_alloc(test, (compiled->nr_slots + 1) * sizeof(u32));
	compiled->entries = test_alloc(test, compile->max_entries * sizeof(u32));
	compiled->rows = test_alloc(test, compile->max_rows * sizeof(*compiled->rows));
	compile->hash = test_alloc(test, 2 * compile->max_rows * sizeof(u32));
	return sframe_compile_fill(compile);
}

static void expect_as_decoded(struct kunit *test, u64 addr)
{
	char want[SECTION_ROW_TEXT] = "none", got[SECTION_ROW_TEXT] = "none";
	struct compile_scene *scene = test->priv;
	const struct sframe_compiled *compiled = &scene->compile.compiled;
	u32 nr = sframe_compiled_find(compiled, addr), max_lookups = 2000;
	struct sframe_row row;

	scene->rd.budget = U32_MAX;
	if (!sframe_find_row(&scene->hdr, &scene->rd, addr, &row)) {
		section_row_text(AMD64, &row, want);
		KUNIT_EXPECT_EQ_MSG(test, row.func,
				    sframe_compiled_function(compiled, addr, &max_lookups),
				    "at 0x%llx", addr - ADDR);
	}
	if (nr) {
		row = compiled->rows[nr];
		section_row_text(AMD64, &row, got);
	}
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%llx", addr - ADDR);
}

static void expect_all_as_decoded(struct kunit *test)
{
	struct compile_scene *scene = test->priv;
	const struct build *b = &scene->b;
	u64 addr, end;

	if (!b->raw.num_fdes)
		return;
	end = ADDR + b->fdes[b->raw.num_fdes - 1].start + b->fdes[b->raw.num_fdes - 1].size;
	for (addr = ADDR + b->fdes[0].start - 1100; addr < end + 1100; addr++)
		expect_as_decoded(test, addr);
	expect_as_decoded(test, 0);
	expect_as_decoded(test, U64_MAX);
}

static const struct compile_case {
	const char	*name;
	const char	*text;
	u64		max_size;
	const char	*want;		/* NULL: it is compiled */
} compile_cases[] = {
	{ "functions of unequal sizes, with gaps, in slots of 1 KiB",
	  "0x1000 1: 0 3 4; 0x1003 11: 0 3 8; 0x1010 82: 0 3 12, 7 5 16 -16; 0x1064 156: 0 3 16;"
	  "0x1100 1: 0 3 4; 0x1101 441: 0 3 20; 0x12bc 798: 0 3 4, 300 5 32 -16, 700 3 4;"
	  "0x15dc 29: 0 3 28; 0x15fb 1467: 0 3 32; 0x1bb8 1093: 0 3 36; 0x1fff 1: 0 3 40;"
	  "0x2000 902: 0 3 44; 0x2388 2998: 0 3 48; 0x2f40 100: 0 3 52; 0x2fa4 1: 0 3 56",
	  SZ_64K },
	{ "rows begin after their functions", "0x13f0 64: 8 3 8, 20 3 16; 0x1430 64: 32 3 8",
	  SZ_64K },
	{ "one row in all of two slots", "0x1000 2048 1: 0 3 8, 1024 3 16", SZ_64K },
	{ "no rows, outermost, signal", "0x1000 9; 0x1010 9 0x80; 0x1020 9: 0 1, 4 3 8", SZ_64K },
	{ "blocks", "0x13f5 48 0x10 0 16: 0 3 8, 11 3 16; 0x1500 50 0x10 0 7: 2 3 8, 5 3 16",
	  SZ_64K },
	{ "a block at each byte", "0x1000 5000 0x10 0 1: 0 3 16", SZ_64K },
	{ "a block after the end", "0x1000 4 0x10 0 16: 0 3 8, 11 3 16", SZ_64K },
	{ "flexible", "0x1000 64 0 1: 0 4 0x39 8, 5 4 0x51 0, 9 10 0x33 -8 0 0x33 0", SZ_64K },
	{ "repeated rows", "0x1000 64: 0 3 8, 1 5 16 -16, 2 3 8, 3 5 16 -16; 0x1040 64: 0 5 16 -16",
	  SZ_64K },

	/* Few bytes may describe much code: what the table takes is known before it is made. */
	{ "largest function", "0x1000 0xffffffff: 0 3 8", SZ_1M, "budget" },
	{ "many blocks", "0x1000 0x100000 0x10 0 1: 0 3 8", SZ_1M, "budget" },
	{ "too many blocks", "0x1000 0xffffffff 0x10 0 1: 0 3 8", SZ_1G, "bad costly" },
	{ "slots between two functions", "0x1000 4096: 0 3 8; 0x140000000 4096: 0 3 8", SZ_1M,
	  "budget" },
	/* Sections that `sframectl convert` never writes: the module refuses each of them. */
	{ "empty function", "0x1000 64: 0 3 8; 0x1040 0: 0 3 8", SZ_64K, "bad fde-range" },
	{ "same start", "0x1000 64: 0 3 8; 0x1000 64: 0 3 8", SZ_64K, "bad fde-order" },
	{ "overlap of a byte", "0x1000 64: 0 3 8; 0x103f 64: 0 3 8", SZ_64K, "bad fde-order" },
	{ "function of the kernel", "-0x50000000 64: 0 3 8", SZ_64K, "bad fde-range" },
	{ "row after its function", "0x1000 4: 0 3 8, 4 3 16", SZ_64K, "bad fre-order" },
	{ "row after its block", "0x1000 48 0x10 0 8: 0 3 8, 8 3 16", SZ_64K, "bad fre-order" },
	{ "rows do not ascend", "0x1000 64: 0 3 8, 4 3 16, 4 3 8", SZ_64K, "bad fre-order" },
	{ "register", "0x1000 64 0 1: 0 4 0x81 0", SZ_64K, "refused regnum" },
	{ "words", "0x1000 64: 0 7 8 -8 -16", SZ_64K, "bad nr-words" },
};

NAMED_CASES(compile);

static void compile_functions(struct kunit *test)
{
	const struct compile_case *c = test->param_value;
	struct compile_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];
	int err;

	build_section(&scene->b, c->text);
	err = compile_section(test, c->max_size);
	section_error_text(&scene->rd, err, got);
	if (c->want)
		KUNIT_EXPECT_STREQ(test, got, c->want);
	else if (err)
		KUNIT_FAIL(test, "%s", got);
	else
		expect_all_as_decoded(test);
}

/* Of each limit that is one byte too small, compilation says so before it writes anything. */
static void compile_within_limit(struct kunit *test)
{
	struct compile_scene *scene = test->priv;
	u64 needed;

	build_section(&scene->b, compile_cases[0].text);
	KUNIT_ASSERT_EQ(test, 0, compile_section(test, SZ_64K));
	needed = (scene->compile.max_entries + scene->compile.compiled.nr_slots + 2) * sizeof(u32);
	KUNIT_EXPECT_EQ(test, 0, compile_section(test, needed));
	KUNIT_EXPECT_EQ(test, -E2BIG, compile_section(test, needed - sizeof(u32) - 1));
}

/* A search for the start of a function ends after so many entries. */
static void compiled_function_is_bounded(struct kunit *test)
{
	struct compile_scene *scene = test->priv;
	const struct sframe_compiled *compiled = &scene->compile.compiled;
	u32 max_lookups;

	build_section(&scene->b, "0x1000 64: 0 3 8, 8 3 16, 16 3 24, 24 3 32, 32 3 40");
	KUNIT_ASSERT_EQ(test, 0, compile_section(test, SZ_64K));
	max_lookups = 4;
	KUNIT_EXPECT_EQ(test, ADDR + 0x1000,
			sframe_compiled_function(compiled, ADDR + 0x103f, &max_lookups));
	KUNIT_EXPECT_EQ(test, 0, max_lookups);
	max_lookups = 3;
	KUNIT_EXPECT_EQ(test, 0, sframe_compiled_function(compiled, ADDR + 0x103f, &max_lookups));
}

static struct kunit_case compile_tests[] = {
	KUNIT_CASE_PARAM(compile_functions, compile_gen_params),
	KUNIT_CASE(compile_within_limit),
	KUNIT_CASE(compiled_function_is_bounded),
	{}
};

static struct kunit_suite compile_suite = {
	.name = "sframe_compile", .init = compile_init, .test_cases = compile_tests,
};

kunit_test_suite(compile_suite);
