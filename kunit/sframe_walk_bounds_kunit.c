// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: limits on reads, Documentation/architecture.rst. See walk_scene.h. */
#include <linux/vmalloc.h>

#include "walk_scene.h"

/* The budget is 56,000. An entry of 3 numbers costs 40, a row of 2 numbers 24. */
#define MOST_READS	4666
#define MOST_BYTES	22400

/* b10 is sampled and has no row. Its frame record, at s20, leads to b210. */
#define NO_ROW		"fn c0 fp+16 (c-16) (c-8); at b10 s0 s20; s20=0,b210; "

static void begin_counting(struct walk_scene *scene)
{
	begin_walk(scene);
	observe_reads(scene);
}

/* Checks what the next step reads at most, besides the section. It needs @least bytes. */
static void expect_costly_step(struct kunit *test, u32 least, u32 reads, u32 bytes)
{
	struct walk_scene *scene = test->priv;

	scene->of_frames = (struct tally){};
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	expect_within(test, "reads", scene->of_frames.reads, 2, min(reads, MOST_FRAME_READS));
	expect_within(test, "bytes", scene->of_frames.bytes, least, min(bytes, MOST_FRAME_BYTES));
}

/* CFA, RA and FP are words in memory, by a register that is a word in memory, too. */
static void bounds_step_by_registers(struct kunit *test)
{
	run_walk_steps(test, "fn c0 (A+8) (A+24) (A+16); put b100 stub; at b100 s1000;"
		       "context s1000 c4 s0 0 s40; s48=s80,c800,sc0");
	begin_counting(scene_of(test));
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: one word of the context, which leads to three words of the stack. */
	expect_costly_step(test, 4 * 8, 6, 6 * 8);
}

/*
 * The step checks for a signal stub. Where a call leaves the return address in a register, it reads
 * that register from the context, checks for a PLT slot, and checks whether a call of this function
 * proves the register: it reads the call and the function. Then it reads RA and FP, the call, the
 * PLT slot that the call leads to, and the word that the slot names.
 */
static void bounds_step_past_plt(struct kunit *test)
{
	run_walk_steps(test, NO_ROW "call b210 b400; put b400 plt b800; b800=b0; put b100 stub;"
		       "at b100 s1000; context s1000 b10 s0 s20");
	run_walk_steps(test, "call b300 b0; arm64: put b0 0 0 0 0x94");
	word(test, CONTEXT + context_register(R_B), bare(test, 0x300));
	begin_counting(scene_of(test));
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: IP, RA and FP, a call, the slot, and the word that the slot names. */
	expect_costly_step(test, 3 * 8 + 4 + 4 + 8, MOST_FRAME_READS, MOST_FRAME_BYTES);
}

/* Nothing proves the frame, and the file keeps frame pointers: stub, RA, FP and the call. */
static void bounds_step_by_habit(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	run_walk_steps(test, NO_ROW "range b keeps-fp; s20=s40,b210; s40=s100,b310; call b210 *;"
		       "call b310 *");
	begin_counting(scene);
	KUNIT_EXPECT_TRUE(test, next_frame(test));
	/* Lower bound: RA and FP, and a call. */
	expect_costly_step(test, 2 * 8 + 2, 4, MOST_FRAME_BYTES);
	KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_FP_HABIT], 2);
}

/* A section that is too large for the builder: entries and @fre_len bytes of rows, all 0. */
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

/* Checks what a walk that uses up its budget reads at most. Returns the number of callers. */
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
 * One function has 65,535 rows of 4 bytes; the walk needs row 57,348. The step (500) and the search
 * (768) leave 54,732 of the budget, for 2280 rows. Of each row 3 bytes are read, the start and the
 * info word.
 */
static void bounds_walk_rows(struct kunit *test)
{
	u8 *bytes = large_section(test, 1, 5 + 4 * 65535);
	s64 start = code(test, 0) - 0xe000 - scene_of(test)->section;
	u32 i;

	memcpy(bytes + 28, &start, 8);
	memcpy(bytes + 36, &(u32){ 0x10000 }, 4);
	memcpy(bytes + 44, ((u8[]){ 0xff, 0xff, SFRAME_FRE_TYPE_ADDR2 }), 3);
	for (i = 0; i < 65535; i++)
		memcpy(bytes + 49 + 4 * i, ((u8[]){ i, i >> 8, 0x03, 16 }), 4);
	store_large_section(test, bytes);
	recursion_scene(test, 16);
	expect_bounded(test, 3 + 4 + 2 * 2280, 16 + 5 + 3 * 2280);
}

/* The entries are not sorted and cover nothing: the budget is for 1368 of them. */
static void bounds_walk_unsorted(struct kunit *test)
{
	store_large_section(test, large_section(test, 6000, 0));
	recursion_scene(test, 16);
	expect_bounded(test, 3 * 1370, 16 * 1370);
}

/* Each look-up reads 16 entries, an attribute and a row of 4 words: 271 bytes, 58 numbers. */
static void bounds_walk_many_frames(struct kunit *test)
{
	const u32 nr = 56000 / COSTLY_STEP;

	costly_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	/* The rest of the budget pays for a part of the last look-up. */
	expect_within(test, "callers", expect_bounded(test, 58 * nr + 58, 271 * nr + 271), 20, nr);
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
	run_walk_steps(test, "fn c0 sp+16 u (c-8); at c4 s0; s8=b210");
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

	run_walk_steps(test, "fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); fn c80 end; at c4 s0;"
		       "s8=c44; s18=c84");
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

struct kunit_case walk_bounds_tests[] = {
	KUNIT_CASE(bounds_step_by_registers),
	KUNIT_CASE(bounds_step_past_plt),
	KUNIT_CASE(bounds_step_by_habit),
	KUNIT_CASE(bounds_walk_rows),
	KUNIT_CASE(bounds_walk_unsorted),
	KUNIT_CASE(bounds_walk_many_frames),
	KUNIT_CASE(bounds_caller_outside),
	KUNIT_CASE(bounds_outermost),
	{}
};
