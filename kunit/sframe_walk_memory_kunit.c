// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk: memory that cannot be read.
 *
 * "c4@0 c44@10 bad-ra" is a walk: frames at 4 and 0x44 in code with a section ("b": without), their
 * offsets in the stack, and the reason why it ended. See walk_scene.h.
 */
#include "walk_scene.h"

/* c4 is sampled, and called from c44. */
#define CALLED		"fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44; "

static const struct script_case script_cases[] = {
	/* By 1, 4 and 8 bytes. */
	{ "a word crosses the end of the stack",
	  "fn c0 sp+16 u (A+0); at c4 s0; A=s3ff9; walk c4@0 stack-fault; A=s3ffc;"
	  "walk c4@0 stack-fault; A=s4000; walk c4@0 stack-fault" },
	{ "stack: forbidden",
	  CALLED "at c4 sff0; sff8=c44; forbid s1000; walk c4@ff0 c44@1000 stack-fault" },
	/* No walk waits for a page that was never touched. */
	{ "stack: not present",
	  CALLED "at c4 sff0; sff8=c44; renew s1000; walk c4@ff0 c44@1000 stack-fault" },
	{ "section: forbidden", CALLED "forbid t0; walk c4@0 section-fault needs-scan;"
	  "state c ready" },
	/* A scan has read the header. Then the section is stored again. */
	{ "section: not present",
	  CALLED "renew t0; walk c4@0 section-fault needs-scan; fn c80 end;"
	  "walk c4@0 c44@10 bad-ra" },
	{ "section: unmapped", CALLED "unmap t0; walk c4@0 section-fault needs-scan" },
	/* Neither the code before b210 nor a stub at b100 can be read. */
	{ "code: forbidden",
	  CALLED "s20=0,b210; call b210 c1000; at c1010 s0 s20; step b210@30,fp?; forbid b0;"
	  "step nodata; at b100 s1000; step nodata" },
	/* The callee may be a PLT slot. */
	{ "callee: forbidden",
	  CALLED "s20=0,b210; call b210 c1000; at c1010 s0 s20; forbid c1000; step nodata" },
};

NAMED_CASES(script);

static void memory_stack_in_kernel(struct kunit *test)
{
	run_walk_steps(test, CALLED);
	sample(test, code(test, 4), (unsigned long)scene_of(test)->text & ~15UL, 0);
	expect_step(test, "stack-fault");
}

/* A read that fails costs 1000 besides: it is an exception. */
static void memory_missing_is_charged(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_walk *walk = &scene->walk;
	unsigned long val, addr = stack(test, PAGE_SIZE);
	struct sframe_raw_row raw;
	u8 bytes[8];
	u32 before;

	run_walk_steps(test, CALLED);
	user_forbid(test, addr);
	sfu_walk_init(walk, scene->map, false, cache_of(scene), &scene->regs);
	before = walk->lookup.rd.budget;
	KUNIT_EXPECT_EQ(test, SFU_STOP_STACK, sfu_walk_read_word(walk, addr, &val));
	KUNIT_EXPECT_EQ(test, before - SFU_READ_COST - 1008, walk->lookup.rd.budget);
	KUNIT_EXPECT_FALSE(test, sfu_walk_read_code(walk, bytes, addr, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, before - 2 * SFU_READ_COST - 2016, walk->lookup.rd.budget);
	/* One that succeeds costs as before. */
	KUNIT_EXPECT_EQ(test, SFU_STOP_NONE, sfu_walk_read_word(walk, stack(test, 0), &val));
	KUNIT_EXPECT_EQ(test, before - 3 * SFU_READ_COST - 2024, walk->lookup.rd.budget);
	user_forbid(test, scene->section);
	KUNIT_EXPECT_EQ(test, -EFAULT, sfu_user_find(&code_range(test)->section.hdr,
						     &walk->lookup.rd, code(test, 4), &raw));
	KUNIT_EXPECT_EQ(test, before - 3 * SFU_READ_COST - 3792, walk->lookup.rd.budget);
}

/* Only part of the section can be read: the walk keeps the frames that it has found. */
static void memory_section_half_there(struct kunit *test)
{
	scene_of(test)->section = map_present(test, 2) + PAGE_SIZE - 28 - 16;
	run_walk_steps(test, CALLED);
	user_forbid(test, scene_of(test)->section + 28 + 16);
	/* The entry of the first function can be read, but its rows cannot. */
	run_walk_steps(test, "walk c4@0 section-fault needs-scan; at c44 s0;"
			     "walk c44@0 section-fault needs-scan");
}

static struct kunit_case memory_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(memory_stack_in_kernel),
	KUNIT_CASE(memory_missing_is_charged),
	KUNIT_CASE(memory_section_half_there),
	{}
};

static struct kunit_suite memory_suite = {
	.name = "sframe_walk_memory", .init = walk_scene_init, .test_cases = memory_tests,
};

kunit_test_suite(memory_suite);
