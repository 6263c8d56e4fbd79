// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk: each stop reason, and its counters.
 *
 * "c4@0 c44@10 bad-ra" is a walk: frames at 4 and 0x44 in code with a section ("b": without), their
 * offsets in the stack, and the reason why it ended. See walk_scene.h.
 */
#include "walk_scene.h"

/* c4 is sampled, and called from c44. */
#define CALLED		"fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44; "
/* c44 is called from c84. */
#define CALLED_TWICE	CALLED "s18=c84; "

static const struct script_case script_cases[] = {
	{ "complete: outermost", "fn c80 end;" CALLED_TWICE "walk c4@0 c44@10 c84@20 complete" },
	/* In V3 a function without rows is the outermost. */
	{ "complete: no rows", "fn c80 no-rows;" CALLED_TWICE "walk c4@0 c44@10 c84@20 complete" },
	/*
	 * The code that starts a coroutine leaves 0 as the return address, which may be signed, at
	 * the end of the stack: here at s1000. A wrong row may find a 0, too.
	 */
	{ "return address 0",
	  CALLED "at c4 sfe0; sfe8=c44; sff8=0; walk c4@fe0 c44@ff0 complete;"
	  "at c4 sfc0; sfc8=c44; sfd8=signed 0; walk c4@fc0 c44@fd0 complete;"
	  "at c4 sfb0; sfb8=c44; sfc8=signed 0; walk c4@fb0 c44@fc0 bad-ra;"
	  "at c4 s0; s18=signed 0; walk c4@0 c44@10 bad-ra;"
	  "at c4 sfe0 s80; walk c4@fe0 c44@ff0 bad-ra" },
	{ "nodata",
	  CALLED "s18=b10; walk c4@0 c44@10 b10@20 nodata; s18=c100;"
	  "walk c4@0 c44@10 c100@20 nodata" },
	{ "unscanned: process", CALLED "map none; walk c4@0 unscanned needs-scan" },
	{ "unscanned: empty map", CALLED "map empty; walk c4@0 unscanned needs-scan" },
	{ "unscanned: address",
	  CALLED "at s0 s0; step unscanned needs-scan; at 0 s0; step unscanned needs-scan;"
	  "at -1 s0; step unscanned needs-scan" },
	{ "unscanned: unmapped", CALLED "range c unmapped; walk c4@0 unscanned needs-scan" },
	/* A section that contradicts itself is counted once, and not used again. */
	{ "bad-section",
	  "fn c80 row 0x61 16;" CALLED_TWICE "walk c4@0 c44@10 c84@20 bad-section; state c bad;"
	  "walk c4@0 nodata; counted defect.word-size section.bad" },
	/* A look-up that only proves a frame pointer finds the section to be bad, too. */
	{ "bad-section of a callee",
	  "fn c80 row 0x61 16; fn c0 fp+16 (c-16) (c-8); at b10 s0 s20; s20=0,b210; call b210 c80;"
	  "walk b10@0 nodata; counted defect.word-size section.bad; state c bad" },
	/* No machine has this register. Refused rows are counted each time. */
	{ "refused: register",
	  "fn c80 r8191+16 u (c-8);" CALLED_TWICE "walk c4@0 c44@10 c84@20 refused;"
	  "walk c4@0 c44@10 c84@20 refused; state c ready; counted defect.regnum=2" },
	/* The specification has no such type of function yet. */
	{ "refused: type",
	  "fn c80 type 2 row 0x03 16;" CALLED_TWICE "walk c4@0 c44@10 c84@20 refused;"
	  "walk c4@0 c44@10 c84@20 refused; state c ready; counted defect.fde-type=2" },
	{ "bad-cfa", "fn c80 sp-16 u (sp+8);" CALLED_TWICE "s28=c84;"
	  "walk c4@0 c44@10 c84@20 bad-cfa" },
	{ "bad-ra", CALLED "s18=s0; walk c4@0 c44@10 bad-ra needs-scan" },
	{ "bad-ra: unmapped", CALLED "s18=b10; range b unmapped;"
	  "walk c4@0 c44@10 bad-ra needs-scan" },
	{ "register", "fn c80 A+16 u (c-8);" CALLED_TWICE "walk c4@0 c44@10 c84@20 register" },
	{ "bad-signal",
	  "fn c80 signal no-rows;" CALLED_TWICE "context s20 s0 0;"
	  "walk c4@0 c44@10 c84@20 bad-signal" },
};

NAMED_CASES(script);

/*
 * In execve() the registers belong to the old memory. It has sections, and is still there. The new
 * one has none yet.
 */
static void stop_exec(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	run_walk_steps(test, CALLED);
	scene->map->nr_sections = 1;
	current->in_execve = 1;
	expect_walk(test, "c4@0 c44@10 bad-ra");
	scene->map = build_map(test, 0);
	expect_walk(test, "c4@0 exec");
	scene->map = NULL;
	expect_walk(test, "c4@0 exec");
	current->in_execve = 0;
	expect_walk(test, "c4@0 unscanned needs-scan");
}

/* The memory in place is not that of current: nothing may be read. */
static void stop_switch(struct kunit *test)
{
	struct mm_struct *other = test_alloc(test, sizeof(*other));
	struct walk_scene *scene = test->priv;
	struct mm_struct *mm = current->mm;

	run_walk_steps(test, CALLED);
	other->pgd = mm->pgd + PTRS_PER_PGD;
	preempt_disable();
	current->mm = other;
	begin_walk(scene);
	current->mm = mm;
	preempt_enable();
	observe_reads(scene);
	append_step(test);
	KUNIT_EXPECT_STREQ(test, last_text(test), "task-switch");
	KUNIT_EXPECT_EQ(test, scene->calls, 0);
	expect_walk(test, "c4@0 c44@10 bad-ra");
}

/* Marking a section as bad does not undo that its code has been unmapped. */
static void stop_bad_when_gone(struct kunit *test)
{
	run_walk_steps(test, CALLED "range c bad; range c unmapped");
	sfu_section_mark_bad(&code_range(test)->section, SFRAME_DEFECT_WORD_SIZE);
	KUNIT_EXPECT_TRUE(test, code_range(test)->unmapped);
	KUNIT_EXPECT_FALSE(test, sfu_section_is(&code_range(test)->section, SFU_SECTION_BAD));
}

/* A walk that holds the range of code that is unmapped meanwhile finds no rows there. */
static void stop_unmapped_meanwhile(struct kunit *test)
{
	struct sframe_row row;

	run_walk_steps(test, CALLED);
	begin_walk(scene_of(test));
	sfu_range_mark_unmapped(code_range(test));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_walk_find_row(&scene_of(test)->walk, code_range(test),
							 code(test, 4), &row));
}

static void stop_budget(struct kunit *test)
{
	costly_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	expect_within(test, "callers", count_callers(test), 20, 56000 / COSTLY_STEP);
	expect_end(test, "budget");
}

static struct kunit_case stop_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(stop_exec),
	KUNIT_CASE(stop_switch),
	KUNIT_CASE(stop_bad_when_gone),
	KUNIT_CASE(stop_unmapped_meanwhile),
	KUNIT_CASE(stop_budget),
	{}
};

static struct kunit_suite stop_suite = {
	.name = "sframe_walk_stop", .init = walk_scene_init, .test_cases = stop_tests,
};

kunit_test_suite(stop_suite);
