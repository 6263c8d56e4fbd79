// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: stop reasons, and memory that cannot be read. See walk_scene.h. */
#include "walk_scene.h"

/* c4 is sampled, and called from c44. */
#define CALLED		"fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0; s8=c44; "
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
	  CALLED "at c4 sfe0; sfe8=c44; sff8=0; walk c4@fe0 c44@ff0 complete; at c4 sfc0; sfc8=c44;"
	  "sfd8=signed 0; walk c4@fc0 c44@fd0 complete; at c4 sfb0; sfb8=c44; sfc8=signed 0;"
	  "walk c4@fb0 c44@fc0 bad-ra; at c4 s0; s18=signed 0; walk c4@0 c44@10 bad-ra;"
	  "at c4 sfe0 s80; walk c4@fe0 c44@ff0 bad-ra" },
	{ "nodata",
	  CALLED "s18=b10; walk c4@0 c44@10 b10@20 nodata; s18=c100;"
	  "walk c4@0 c44@10 c100@20 nodata" },
	/* In execve() the registers belong to the old memory. At first it is still there. */
	{ "exec",
	  CALLED "sections 1; exec 1; walk c4@0 c44@10 bad-ra; map empty; walk c4@0 exec;"
	  "map none; walk c4@0 exec; exec 0; walk c4@0 unscanned needs-scan" },
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
	{ "a word crosses the end of the stack, by 1, 4 and 8 bytes",
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
	user_remap(test, addr, PROT_NONE);
	sfu_walk_init(walk, scene->map, false, cache_of(scene), &scene->regs);
	before = walk->lookup.rd.budget;
	KUNIT_EXPECT_EQ(test, SFU_STOP_STACK, sfu_walk_read_word(walk, addr, &val));
	KUNIT_EXPECT_EQ(test, before - SFU_READ_COST - 1008, walk->lookup.rd.budget);
	KUNIT_EXPECT_FALSE(test, sfu_walk_read_code(walk, bytes, addr, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, before - 2 * SFU_READ_COST - 2016, walk->lookup.rd.budget);
	/* One that succeeds costs as before. */
	KUNIT_EXPECT_EQ(test, SFU_STOP_NONE, sfu_walk_read_word(walk, stack(test, 0), &val));
	KUNIT_EXPECT_EQ(test, before - 3 * SFU_READ_COST - 2024, walk->lookup.rd.budget);
	user_remap(test, scene->section, PROT_NONE);
	KUNIT_EXPECT_EQ(test, -EFAULT, sfu_user_find(&code_range(test)->section.hdr,
						     &walk->lookup.rd, code(test, 4), &raw));
	KUNIT_EXPECT_EQ(test, before - 3 * SFU_READ_COST - 3792, walk->lookup.rd.budget);
}

static void stop_budget(struct kunit *test)
{
	costly_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	expect_within(test, "callers", count_callers(test), 20, 56000 / COSTLY_STEP);
	expect_end(test, "budget");
}

struct kunit_case walk_stop_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(stop_switch),
	KUNIT_CASE(stop_bad_when_gone),
	KUNIT_CASE(stop_unmapped_meanwhile),
	KUNIT_CASE(stop_budget),
	KUNIT_CASE(memory_stack_in_kernel),
	KUNIT_CASE(memory_missing_is_charged),
	{}
};
