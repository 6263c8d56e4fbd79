// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: the limits on reads in Documentation/design.rst. */
#include <linux/minmax.h>
#include <linux/ptrace.h>
#include <linux/vmalloc.h>

#include "counters.h"
#include "expect_within.h"
#include "named_cases.h"
#include "user_arch.h"
#include "walk_scene.h"

/* The budget is 160,000. An entry of 3 numbers costs 40, a row of 2 numbers 21. */
#define MOST_READS	15238
#define MOST_BYTES	64000

static void begin_counting(struct walk_scene *scene)
{
	begin_walk(scene);
	observe_reads(scene);
}

/*
 * Checks the reads of the next step, except those of the section. The limit for any
 * step holds, and so do the lower limits @reads and @bytes for this step. The step
 * needs at least @least bytes.
 */
static void expect_costly_step(struct kunit *test, u32 least, u32 reads, u32 bytes)
{
	struct walk_scene *scene = test->priv;

	scene->of_frames = (struct tally){};
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	expect_within(test, "reads", scene->of_frames.reads, 2, min(reads, MOST_FRAME_READS));
	expect_within(test, "bytes", scene->of_frames.bytes, least,
		      min(bytes, MOST_FRAME_BYTES));
}

/*
 * CFA, RA and FP are words in memory. Their addresses come from a register that
 * is a word in memory, too.
 */
static void bounds_step_by_registers(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	flex_function(test, 0, IN_REG(R_A, 8), IN_REG(R_A, 16), IN_REG(R_A, 24));
	use_section(test);
	scene->section_size = PAGE_SIZE;
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	store_context(test, CONTEXT, code(test, 4), stack(test, 0), 0);
	word(test, CONTEXT + context_register(R_A), stack(test, 0x40));
	word(test, 0x48, stack(test, 0x80));
	word(test, 0x50, code(test, 0x800));
	word(test, 0x58, stack(test, 0xc0));
	begin_counting(scene);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: one word of the context, which leads to three words of the stack. */
	expect_costly_step(test, 4 * 8, 6, 6 * 8);
}

/*
 * The step checks for a signal stub. Where a call leaves the return address in
 * a register, it reads that register from the context and checks for a PLT
 * slot. Then it reads RA and FP, the call, the PLT slot that the call leads to,
 * and the word that the slot names.
 */
static void bounds_step_past_plt(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	scene->section_size = PAGE_SIZE;
	store_call(test, plain_call(), bare(test, 0x210), bare(test, 0x400));
	store_plt(test, &plt_cases[0], bare(test, 0x400), bare(test, 0x800));
	store_word(test, bare(test, 0x800), bare(test, 0));
	user_store(test, bare(test, 0x100), sigreturn_stub, sizeof(sigreturn_stub));
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	store_context(test, CONTEXT, bare(test, 0x10), stack(test, 0), stack(test, 0x20));
	word(test, CONTEXT + context_register(R_B), bare(test, 0x300));
	begin_counting(scene);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: IP, RA and FP, a call, the slot, and the word that the slot names. */
	expect_costly_step(test, 3 * 8 + 4 + 4 + 8, MOST_FRAME_READS, MOST_FRAME_BYTES);
}

/*
 * Nothing proves the frame, and the file keeps frame pointers. The step checks for a signal
 * stub, and reads RA, FP and the call.
 */
static void bounds_step_by_habit(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	fallback_scene(test);
	scene->section_size = PAGE_SIZE;
	scene->map->ranges[1].habit = SFRAME_HABIT_FP;
	record(test, 0x20, stack(test, 0x40), bare(test, 0x210));
	record(test, 0x40, stack(test, 0x100), bare(test, 0x310));
	store_call(test, by_pointer(), bare(test, 0x210), 0);
	store_call(test, by_pointer(), bare(test, 0x310), 0);
	begin_counting(scene);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: RA and FP, and a call. */
	expect_costly_step(test, 2 * 8 + 2, 4, MOST_FRAME_BYTES);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 2);
}

/*
 * Returns a section that is too large for the builder: a header, @nr_fdes entries
 * and @fre_len bytes of rows. Entries and rows are all 0. store_large_section() puts
 * the section into memory.
 */
static u8 *large_section(struct kunit *test, u32 nr_fdes, u32 fre_len)
{
	struct walk_scene *scene = test->priv;
	u8 *bytes;

	scene->section_size = 28 + 16 * nr_fdes + fre_len;
	scene->section = user_map(test, scene->section_size / PAGE_SIZE + 1);
	build_finish(&scene->b);
	build_patch(&scene->b, 8, nr_fdes, 4);
	build_patch(&scene->b, 16, fre_len, 4);
	build_patch(&scene->b, 24, 16 * nr_fdes, 4);
	bytes = vzalloc(scene->section_size);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memcpy(bytes, scene->b.bytes, 28);
	return bytes;
}

static void store_large_section(struct kunit *test, u8 *bytes)
{
	struct walk_scene *scene = test->priv;

	user_store(test, scene->section, bytes, scene->section_size);
	vfree(bytes);
	KUNIT_ASSERT_EQ(test, 0, read_header(code_range(test), scene->section,
					     scene->section_size));
}

/*
 * Checks a walk that uses up its budget. The walk makes at most @reads reads of the
 * section with at most @bytes bytes, and not much less. Returns the number of callers
 * found.
 */
static u32 expect_bounded(struct kunit *test, u32 reads, u32 bytes)
{
	struct walk_scene *scene = test->priv;
	u32 callers;

	begin_counting(scene);
	callers = count_to_end(test);
	expect_end(test, "budget");
	expect_within(test, "reads of the section", scene->of_section.reads,
		      reads / 10 * 8, min(reads, MOST_READS));
	expect_within(test, "bytes of the section", scene->of_section.bytes,
		      bytes / 10 * 8, min(bytes, MOST_BYTES));
	/* Each caller costs the read of its return address. One more step is tried. */
	expect_within(test, "reads of frames", scene->of_frames.reads, callers,
		      MOST_FRAME_READS * (callers + 1));
	expect_within(test, "bytes of frames", scene->of_frames.bytes, 8 * callers,
		      MOST_FRAME_BYTES * (callers + 1));
	return callers;
}

/*
 * One function has 65,535 rows of 4 bytes; the walk needs row 57,348. The step (400) and the
 * search (768) leave 158,832 of the budget, for 7563 rows. Of each row 3 bytes are read, the start
 * and the info word.
 */
static void bounds_walk_rows(struct kunit *test)
{
	u8 *bytes = large_section(test, 1, 5 + 4 * 65535);
	struct walk_scene *scene = test->priv;
	s64 start = code(test, 0) - 0xe000 - scene->section;
	u32 i;

	memcpy(bytes + 28, &start, 8);
	memcpy(bytes + 36, &(u32){ 0x10000 }, 4);
	memcpy(bytes + 44, (u8[]){ 0xff, 0xff, SFRAME_FRE_TYPE_ADDR2 }, 3);
	for (i = 0; i < 65535; i++)
		memcpy(bytes + 49 + 4 * i, (u8[]){ i, i >> 8, 0x03, 16 }, 4);
	store_large_section(test, bytes);
	recursion_scene(test, 16);
	expect_bounded(test, 3 + 4 + 2 * 7563, 16 + 5 + 3 * 7563);
}

/* The entries are not sorted and cover nothing: the budget is for 3970 of them. */
static void bounds_walk_unsorted(struct kunit *test)
{
	store_large_section(test, large_section(test, 6000, 0));
	recursion_scene(test, 16);
	expect_bounded(test, 3 * 3972, 16 * 3972);
}

/* Each look-up reads 16 entries, an attribute and a row of 4 words: 271 bytes, 58 numbers. */
static void bounds_walk_many_frames(struct kunit *test)
{
	const u32 nr = 160000 / COSTLY_STEP;
	struct walk_scene *scene = test->priv;

	costly_section(test);
	scene->section_size = PAGE_SIZE;
	recursion_scene(test, STACK_SIZE / 16);
	/* The rest of the budget pays for a part of the last look-up. */
	expect_within(test, "callers", expect_bounded(test, 58 * nr + 58, 271 * nr + 271),
		      60, nr);
}

/* A section whose look-ups find no end within the budget is used eight times. */
static void bounds_retired(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];
	u32 i;

	store_large_section(test, large_section(test, 60000, 0));
	recursion_scene(test, 16);
	counters_read(&since);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_TRUE_MSG(test, is_ready(code_range(test)), "walk %u", i);
		expect_walk(test, "c4@0 budget");
	}
	KUNIT_EXPECT_FALSE(test, is_ready(code_range(test)));
	expect_walk(test, "c4@0 nodata");
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, "defect.costly section.bad");
	KUNIT_EXPECT_EQ(test, scene->walk.lookup.rd.defect, SFRAME_DEFECT_NONE);
}

/* Looks an address up that no function covers, with a part of the budget of a walk. */
static int look_up_with(struct kunit *test, u32 budget)
{
	struct sfu_lookup lookup = { .rd.budget = budget };
	struct sframe_row row;

	return sfu_section_find_row(&code_range(test)->section, &lookup, code(test, 4), &row);
}

/* Other look-ups of the walk have spent so much that a large function does not fit the rest. */
static void bounds_not_to_blame(struct kunit *test)
{
	u32 i;

	store_large_section(test, large_section(test, 60000, 0));
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, -E2BIG, look_up_with(test, 147000));
	KUNIT_EXPECT_TRUE(test, is_ready(code_range(test)));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, -E2BIG, look_up_with(test, 150000));
	KUNIT_EXPECT_FALSE(test, is_ready(code_range(test)));
}

/* A walk of many frames uses up its budget, and no section is to blame. */
static void bounds_not_retired(struct kunit *test)
{
	u32 i;

	costly_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	for (i = 0; i < 20; i++) {
		count_callers(test);
		expect_end(test, "budget");
	}
	KUNIT_EXPECT_TRUE(test, is_ready(code_range(test)));
}

/*
 * A walk looks up as many rows as it may. The next one remembers them, and comes further. In a
 * scene with a cache each text is that of a second walk.
 */
static void bounds_lookups(struct kunit *test)
{
	static const char *const want[] = {
		"c4@0 c44@10 c84@20 budget", "c4@0 c44@10 c84@20 complete",
		"c4@0 c44@10 c84@20 complete",
	};
	unsigned int i;

	use_cache(test);
	call_scene(test);
	sp_function(test, 0x80, 16);
	use_section(test);
	word(test, 0x18, code(test, 0x84));
	word(test, 0x28, 0);
	sfu_walk_lookups = 1;
	for (i = 0; i < ARRAY_SIZE(want); i++)
		expect_walk(test, want[i]);
	sfu_walk_lookups = 0;
	KUNIT_EXPECT_EQ(test, 0, code_range(test)->section.nr_strikes);
}

/*
 * The caller is in other code, and the look-up of the first row leaves no budget for another frame:
 * the walk must not go there on credit. One of the budgets pays for just that look-up.
 */
static void bounds_caller_outside(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_walk *walk = &scene->walk;
	unsigned int nr;
	u64 ips[16];
	u32 budget;

	use_cache(test);
	call_scene(test);
	word(test, 0x08, bare(test, 0x210));
	for (budget = 0; !walk->lookup.nr_missed && budget < 10000; budget++) {
		sfu_walk_init(walk, scene->map, false, cache_of(scene), &scene->regs);
		walk->lookup.rd.budget = budget;
		sfu_walk_callers(walk, ips, ARRAY_SIZE(ips), &nr);
		KUNIT_EXPECT_LE(test, walk->lookup.rd.budget, budget);
	}
	KUNIT_EXPECT_EQ(test, walk->lookup.nr_missed, 1);
}

/* A known row says that the stack ends: the walk pays for the frames, and for no other step. */
static void bounds_outermost(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_walk *walk = &scene->walk;
	unsigned int nr, max;
	u64 ips[16];

	outermost_function(test, 0x80);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	use_cache(test);
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
	for (max = 3; max <= ARRAY_SIZE(ips); max++) {
		sfu_walk_init(walk, scene->map, false, cache_of(scene), &scene->regs);
		KUNIT_EXPECT_EQ(test, SFU_STOP_COMPLETE, sfu_walk_callers(walk, ips, max, &nr));
		KUNIT_EXPECT_EQ(test, 2, nr);
		KUNIT_EXPECT_EQ(test, SFU_BUDGET - 2 * SFU_FAST_COST, walk->lookup.rd.budget);
	}
	/* There is room for no more than the callers. */
	sfu_walk_init(walk, scene->map, false, cache_of(scene), &scene->regs);
	KUNIT_EXPECT_EQ(test, SFU_STOP_NONE, sfu_walk_callers(walk, ips, 2, &nr));
	KUNIT_EXPECT_EQ(test, 2, nr);
	KUNIT_EXPECT_EQ(test, SFU_STOP_COMPLETE, sfu_walk_callers(walk, ips, 1, &nr));
	KUNIT_EXPECT_EQ(test, 0, nr);
	KUNIT_EXPECT_EQ(test, 0, walk->lookup.nr_missed);
}

struct limited_case {
	const char	*name;
	unsigned int	lookups;
	unsigned int	nr_before;
	u32		budget;
};

static const struct limited_case limited_cases[] = {
	{ "no limit", 0, 0, 160000 },
	{ "no limit, 127 frames of the kernel", 0, 127, 160000 },
	{ "no frame of the kernel", 1, 0, 6000 },
	{ "10 frames of the kernel", 1, 10, 4000 },
	{ "14 frames of the kernel", 1, 14, 3200 },
	{ "15 frames of the kernel", 1, 15, 3000 },
	{ "16 frames of the kernel", 1, 16, 3000 },
	{ "very many", 1, UINT_MAX, 3000 },
};

NAMED_CASES(limited);

static void bounds_limited(struct kunit *test)
{
	const struct limited_case *c = test->param_value;
	struct walk_scene *scene = test->priv;

	call_scene(test);
	scene->nr_before = c->nr_before;
	sfu_walk_lookups = c->lookups;
	begin_walk(scene);
	sfu_walk_lookups = 0;
	KUNIT_EXPECT_EQ(test, c->budget, scene->walk.lookup.rd.budget);
}

/* The limits concern no frame whose row is remembered. */
static void bounds_limited_remembered(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 all;

	use_cache(test);
	sp_function(test, 0, 16);
	use_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	all = count_callers(test);
	KUNIT_EXPECT_GE(test, all, 510);
	scene->nr_before = 127;
	sfu_walk_lookups = 1;
	KUNIT_EXPECT_EQ(test, all, count_callers(test));
	sfu_walk_lookups = 0;
}

/* Nor a frame that the habit of the code leads to. The kernel finds it, too. */
static void bounds_limited_habit(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 i, nr = 127;

	fallback_scene(test);
	scene->map->ranges[1].habit = SFRAME_HABIT_FP;
	store_call(test, by_pointer(), bare(test, 0x210), 0);
	for (i = 1; i <= nr; i++)
		record(test, 0x20 * i, i < nr ? stack(test, 0x20 * (i + 1)) : 0, bare(test, 0x210));
	scene->nr_before = 127;
	sfu_walk_lookups = 1;
	KUNIT_EXPECT_EQ(test, nr, count_callers(test));
	sfu_walk_lookups = 0;
	KUNIT_EXPECT_EQ(test, nr, scene->walk.nr_frames[SFU_METHOD_FP_HABIT]);
}

/*
 * All the same such a walk costs no more than one without limits. The path of the first frame is
 * shorter, which leaves room for a few frames.
 */
static void bounds_limited_in_all(struct kunit *test)
{
	u32 i, nr = STACK_SIZE / 0x10 - 2, all;

	fallback_scene(test);
	((struct walk_scene *)test->priv)->map->ranges[1].habit = SFRAME_HABIT_FP;
	store_call(test, by_pointer(), bare(test, 0x210), 0);
	for (i = 2; i <= nr; i++)
		record(test, 0x10 * i, stack(test, 0x10 * (i + 1)), bare(test, 0x210));
	all = count_callers(test);
	expect_end(test, "budget");
	sfu_walk_lookups = 1;
	expect_within(test, "callers", count_callers(test), all - 2, all + 5);
	sfu_walk_lookups = 0;
	expect_end(test, "budget");
	/* perf takes 127 frames, and the sampled one is the first. */
	KUNIT_EXPECT_GE(test, all + 1, 127);
}

/*
 * Of other frames, only as many as the budget pays for: each costs a step, 400, a look-up, 768, and
 * the read of a word, 200. The task's walk is not limited.
 */
static void bounds_limited_slow(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 all;

	sp_function(test, 0, 16);
	use_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	/* Without a cache each frame is looked up: another limit. Let it not be the first. */
	sfu_walk_lookups = 1000;
	all = count_callers(test);
	expect_end(test, "budget");
	KUNIT_EXPECT_TRUE(test, sfu_walk_is_limited(&scene->walk, scene->stop));
	expect_within(test, "callers", all, 3, 10);
	scene->nr_before = 23;
	expect_within(test, "callers", count_callers(test), 1, 2);
	sfu_walk_lookups = 0;
	KUNIT_EXPECT_GT(test, count_callers(test), 10 * all);
}

static struct kunit_case bounds_tests[] = {
	KUNIT_CASE(bounds_step_by_registers),
	KUNIT_CASE(bounds_step_past_plt),
	KUNIT_CASE(bounds_step_by_habit),
	KUNIT_CASE(bounds_walk_rows),
	KUNIT_CASE(bounds_walk_unsorted),
	KUNIT_CASE(bounds_walk_many_frames),
	KUNIT_CASE(bounds_retired),
	KUNIT_CASE(bounds_not_to_blame),
	KUNIT_CASE(bounds_not_retired),
	KUNIT_CASE(bounds_lookups),
	KUNIT_CASE(bounds_caller_outside),
	KUNIT_CASE(bounds_outermost),
	KUNIT_CASE_PARAM(bounds_limited, limited_gen_params),
	KUNIT_CASE(bounds_limited_remembered),
	KUNIT_CASE(bounds_limited_habit),
	KUNIT_CASE(bounds_limited_in_all),
	KUNIT_CASE(bounds_limited_slow),
	{}
};

WALK_SUITE(bounds);
