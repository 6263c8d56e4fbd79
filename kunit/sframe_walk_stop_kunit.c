// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: each stop reason, and its counters. */
#include <linux/mm.h>
#include <linux/sched.h>

#include "counters.h"
#include "expect_within.h"
#include "walk_scene.h"

static void stop_complete_outermost(struct kunit *test)
{
	outermost_function(test, 0x80);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/* In V3 a function without rows is the outermost. */
static void stop_complete_no_rows(struct kunit *test)
{
	build_function(test, 0x80, 0, 0);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/*
 * The code that starts a coroutine leaves 0 as the return address, which may be signed, at the end
 * of the stack: here @above bytes below it.
 */
static const char *ra_0_text(struct kunit *test, u32 above, unsigned long fp)
{
	const u32 sp = PAGE_SIZE - above - 0x20;

	sample(test, code(test, 4), stack(test, sp), fp);
	word(test, sp + 0x08, code(test, 0x44));
	word(test, sp + 0x18, above ? SIGN(0UL) : 0);
	return walk_text(test);
}

/* A wrong row may find a 0. A scan finds no code there. */
static void stop_ra_0(struct kunit *test)
{
	call_scene(test);
	KUNIT_EXPECT_STREQ(test, ra_0_text(test, 0, 0), "c4@fe0 c44@ff0 complete");
	KUNIT_EXPECT_STREQ(test, ra_0_text(test, 32, 0), "c4@fc0 c44@fd0 complete");
	KUNIT_EXPECT_STREQ(test, ra_0_text(test, 48, 0), "c4@fb0 c44@fc0 bad-ra");
	KUNIT_EXPECT_STREQ(test, ra_0_text(test, PAGE_SIZE - 0x20, 0), "c4@0 c44@10 bad-ra");
	KUNIT_EXPECT_STREQ(test, ra_0_text(test, 0, stack(test, 0x80)), "c4@fe0 c44@ff0 bad-ra");
}

static void stop_nodata(struct kunit *test)
{
	call_scene(test);
	word(test, 0x18, bare(test, 0x10));
	expect_walk(test, "c4@0 c44@10 b10@20 nodata");
	word(test, 0x18, code(test, 0x100));
	expect_walk(test, "c4@0 c44@10 c100@20 nodata");
}

/* The process has no map. */
static void stop_unscanned_process(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	scene->map = NULL;
	expect_walk(test, "c4@0 unscanned needs-scan");
}

static void stop_unscanned_empty(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	scene->map = build_map(test, 0);
	expect_walk(test, "c4@0 unscanned needs-scan");
}

/* The map has no range for the address. */
static void stop_unscanned_address(struct kunit *test)
{
	call_scene(test);
	sample(test, stack(test, 0), stack(test, 0), 0);
	expect_step(test, "unscanned needs-scan");
	sample(test, 0, stack(test, 0), 0);
	expect_step(test, "unscanned needs-scan");
	sample(test, -1UL, stack(test, 0), 0);
	expect_step(test, "unscanned needs-scan");
}

static void stop_unscanned_gone(struct kunit *test)
{
	call_scene(test);
	mark_as_unmapped(code_range(test));
	expect_walk(test, "c4@0 unscanned needs-scan");
}

/*
 * In execve() the registers belong to the old memory. It has sections, and is still there. The new
 * one has none yet.
 */
static void stop_exec(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
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
	struct mm_struct *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct walk_scene *scene = test->priv;
	struct mm_struct *mm = current->mm;

	KUNIT_ASSERT_NOT_NULL(test, other);
	call_scene(test);
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

/* A section that contradicts itself is marked as bad, counted once, and not used again. */
static void stop_bad(struct kunit *test)
{
	struct build *b = build_function(test, 0x80, 0, 0);
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];

	build_row(b, 0, 0x61, 16);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	counters_read(&since);
	expect_walk(test, "c4@0 c44@10 c84@20 bad-section");
	KUNIT_EXPECT_TRUE(test, is_bad(code_range(test)));
	expect_walk(test, "c4@0 nodata");
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, "defect.word-size section.bad");
}

/* Marking a section as bad does not undo that its code has been unmapped. */
static void stop_bad_when_gone(struct kunit *test)
{
	stop_bad(test);
	mark_as_unmapped(code_range(test));
	sfu_section_mark_bad(&code_range(test)->section, SFRAME_DEFECT_WORD_SIZE);
	KUNIT_EXPECT_TRUE(test, is_unmapped(code_range(test)));
	KUNIT_EXPECT_FALSE(test, is_bad(code_range(test)));
}

/* A walk that holds the range of code that is unmapped meanwhile finds no rows there. */
static void stop_unmapped_meanwhile(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sframe_row row;

	call_scene(test);
	begin_walk(scene);
	mark_as_unmapped(code_range(test));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_walk_find_row(&scene->walk, code_range(test),
							 code(test, 4), &row));
}

/* A look-up that only proves a frame pointer marks a bad section as well. */
static void stop_bad_callee(struct kunit *test)
{
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];

	build_row(build_function(test, 0x80, 0, 0), 0, 0x61, 16);
	fallback_scene(test);
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x80));
	counters_read(&since);
	expect_walk(test, "b10@0 nodata");
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, "defect.word-size section.bad");
	KUNIT_EXPECT_TRUE(test, is_bad(code_range(test)));
}

/* Refused rows are counted each time, and the section stays ready. */
static void expect_refused(struct kunit *test, const char *want)
{
	struct sfu_counters since;
	char counted[COUNTERS_TEXT];

	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	counters_read(&since);
	expect_walk(test, "c4@0 c44@10 c84@20 refused");
	expect_walk(test, "c4@0 c44@10 c84@20 refused");
	KUNIT_EXPECT_TRUE(test, is_ready(code_range(test)));
	counters_text(&since, counted);
	KUNIT_EXPECT_STREQ(test, counted, want);
}

/* No machine has this register. */
static void stop_refused_register(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(0x1fff, 16), IN_CFA(-8), 0);
	expect_refused(test, "defect.regnum=2");
}

/* The specification has no such type of function yet. */
static void stop_refused_type(struct kunit *test)
{
	build_row(build_function(test, 0x80, 0, 2), 0, 0x03, 16);
	expect_refused(test, "defect.fde-type=2");
}

static void stop_budget(struct kunit *test)
{
	costly_section(test);
	recursion_scene(test, STACK_SIZE / 16);
	expect_within(test, "callers", count_callers(test), 20, 56000 / COSTLY_STEP);
	expect_end(test, "budget");
}

static void stop_cfa(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(R_SP, -16), IN_REG(R_SP, 8), 0);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	word(test, 0x28, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 bad-cfa");
}

static void stop_ra(struct kunit *test)
{
	call_scene(test);
	word(test, 0x18, stack(test, 0));
	expect_walk(test, "c4@0 c44@10 bad-ra needs-scan");
}

/* A return address in an unmapped range is not accepted. */
static void stop_ra_gone(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	word(test, 0x18, bare(test, 0x10));
	mark_as_unmapped(&scene->map->ranges[1]);
	expect_walk(test, "c4@0 c44@10 bad-ra needs-scan");
}

static void stop_register(struct kunit *test)
{
	flex_function(test, 0x80, AT_REG(R_A, 16), IN_CFA(-8), 0);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 register");
}

static void stop_signal(struct kunit *test)
{
	build_function(test, 0x80, SIGNAL, 0);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	word(test, 0x20 + CONTEXT_MARK, CONTEXT_MARK_WORD);
	word(test, 0x20 + CONTEXT_IP, stack(test, 0));
	expect_walk(test, "c4@0 c44@10 c84@20 bad-signal");
}

static struct kunit_case stop_tests[] = {
	KUNIT_CASE(stop_complete_outermost),
	KUNIT_CASE(stop_complete_no_rows),
	KUNIT_CASE(stop_ra_0),
	KUNIT_CASE(stop_nodata),
	KUNIT_CASE(stop_unscanned_process),
	KUNIT_CASE(stop_unscanned_empty),
	KUNIT_CASE(stop_unscanned_address),
	KUNIT_CASE(stop_unscanned_gone),
	KUNIT_CASE(stop_exec),
	KUNIT_CASE(stop_switch),
	KUNIT_CASE(stop_bad),
	KUNIT_CASE(stop_bad_when_gone),
	KUNIT_CASE(stop_unmapped_meanwhile),
	KUNIT_CASE(stop_bad_callee),
	KUNIT_CASE(stop_refused_register),
	KUNIT_CASE(stop_refused_type),
	KUNIT_CASE(stop_budget),
	KUNIT_CASE(stop_cfa),
	KUNIT_CASE(stop_ra),
	KUNIT_CASE(stop_ra_gone),
	KUNIT_CASE(stop_register),
	KUNIT_CASE(stop_signal),
	{}
};

WALK_SUITE(stop);
