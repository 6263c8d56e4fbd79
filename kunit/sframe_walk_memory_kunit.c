// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the walk: memory that cannot be read.
 *
 * "c4@0 c44@10 bad-ra" is a walk: frames at 4 and 0x44 in the code with a section, whose stack
 * pointers are 0 and 0x10 bytes into the stack, and the reason why it ended. "b" is other code.
 */
#include "walk/user.h"
#include "walk_scene.h"

static void memory_whole_walk(struct kunit *test)
{
	outermost_function(test, 0x80);
	call_scene(test);
	word(test, 0x18, code(test, 0x84));
	expect_walk(test, "c4@0 c44@10 c84@20 complete");
}

/* A word of the stack crosses the end of its mapping, by each number of bytes. */
static void memory_stack_ends(struct kunit *test)
{
	u32 cut;

	call_scene(test);
	for (cut = 1; cut <= 8; cut++) {
		build_again(test);
		flex_function(test, 0, AT_REG(R_SP, 16), IN_REG(R_A, 0), 0);
		use_section(test);
		set_register(&((struct walk_scene *)test->priv)->regs, R_A,
			     stack(test, STACK_SIZE - 8 + cut));
		expect_walk(test, "c4@0 stack-fault", "%u bytes too many", cut);
	}
}

static void memory_stack_forbidden(struct kunit *test)
{
	call_scene(test);
	sample(test, code(test, 4), stack(test, PAGE_SIZE - 16), 0);
	word(test, PAGE_SIZE - 8, code(test, 0x44));
	user_forbid(test, stack(test, PAGE_SIZE));
	expect_walk(test, "c4@ff0 c44@1000 stack-fault");
}

/* The page is not touched yet. No walk waits for it. */
static void memory_stack_not_present(struct kunit *test)
{
	call_scene(test);
	sample(test, code(test, 4), stack(test, PAGE_SIZE - 16), 0);
	word(test, PAGE_SIZE - 8, code(test, 0x44));
	user_allow(test, stack(test, PAGE_SIZE));
	expect_walk(test, "c4@ff0 c44@1000 stack-fault");
}

static void memory_stack_in_kernel(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	sample(test, code(test, 4), (unsigned long)scene->text & ~15UL, 0);
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

	call_scene(test);
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

static void memory_section_forbidden(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	user_forbid(test, scene->section);
	expect_walk(test, "c4@0 section-fault needs-scan");
	KUNIT_EXPECT_TRUE(test, is_ready(code_range(test)));
}

/* A scan has read the header. */
static void memory_section_not_present(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	user_allow(test, scene->section);
	expect_walk(test, "c4@0 section-fault needs-scan");
	user_store(test, scene->section, scene->b.bytes, scene->b.len);
	expect_walk(test, "c4@0 c44@10 bad-ra");
}

static void memory_section_unmapped(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	call_scene(test);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(scene->section, PAGE_SIZE));
	expect_walk(test, "c4@0 section-fault needs-scan");
}

/* Only part of the section can be read: the walk keeps the frames that it has found. */
static void memory_section_half_there(struct kunit *test)
{
	struct walk_scene *scene = test->priv;

	scene->section = map_present(test, 2) + PAGE_SIZE - 28 - 16;
	call_scene(test);
	user_forbid(test, scene->section + 28 + 16);
	/* The entry of the first function can be read, but its rows cannot. */
	expect_walk(test, "c4@0 section-fault needs-scan");
	sample(test, code(test, 0x44), stack(test, 0), 0);
	expect_walk(test, "c44@0 section-fault needs-scan");
}

/* Code that cannot be read proves nothing. */
static void memory_code_forbidden(struct kunit *test)
{
	call_scene(test);
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	expect_step(test, FOLLOWED);
	user_forbid(test, bare(test, 0));
	expect_step(test, "nodata");
	/* A stub that cannot be read is not recognized. */
	sample(test, bare(test, 0x100), stack(test, CONTEXT), 0);
	expect_step(test, "nodata");
}

/* The callee may be a PLT slot. If its code cannot be read, the call proves nothing. */
static void memory_callee_forbidden(struct kunit *test)
{
	call_scene(test);
	record(test, 0x20, 0, bare(test, 0x210));
	store_call(test, plain_call(), bare(test, 0x210), code(test, 0x1000));
	sample(test, code(test, 0x1010), stack(test, 0), stack(test, 0x20));
	user_forbid(test, code(test, 0x1000));
	expect_step(test, "nodata");
}

static struct kunit_case memory_tests[] = {
	KUNIT_CASE(memory_whole_walk),
	KUNIT_CASE(memory_stack_ends),
	KUNIT_CASE(memory_stack_forbidden),
	KUNIT_CASE(memory_stack_not_present),
	KUNIT_CASE(memory_stack_in_kernel),
	KUNIT_CASE(memory_missing_is_charged),
	KUNIT_CASE(memory_section_forbidden),
	KUNIT_CASE(memory_section_not_present),
	KUNIT_CASE(memory_section_unmapped),
	KUNIT_CASE(memory_section_half_there),
	KUNIT_CASE(memory_code_forbidden),
	KUNIT_CASE(memory_callee_forbidden),
	{}
};

WALK_SUITE(memory);
