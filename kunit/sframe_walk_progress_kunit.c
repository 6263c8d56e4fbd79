// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: it moves up the stack, to its end. See walk_scene.h. */
#include "walk_scene.h"

/* c0 has called on another stack, its frame is further down. Only the call before c50 proves it. */
#define SWITCHED							\
	"fn c0 fp+16 (c-16) (c-8); fn c40 sp+16 u (c-8); fn c80 end; other-stack; at c4 s0 o0; " \
	"call c50 c0; o0=0,c50; o18=c84; "
#define ON_OTHER_STACK	"walk c4@0 c50@o10,fp? c84@o20 complete; "

static const struct script_case script_cases[] = {
	/* Below 0 is the top of the address space. The word below the top is below SP. */
	{ "CFA at the ends of the address space",
	  "fn c0 sp+16 u (c-8); at c4 -16; step bad-cfa; at c4 0; step stack-fault;"
	  "at c4 -32; step stack-fault; at c4 0x7ffffffffffffff0; step stack-fault;"
	  "at c4 0x8000000000000000; step stack-fault;"
	  "no-fn; fn c0 sp+32 u (c-8); at c4 -16; step bad-cfa;"
	  "no-fn; fn c0 sp-16 u (c-8); at c4 -16; step bad-cfa; at c4 0; step stack-fault;"
	  "no-fn; fn c0 sp+0 u (c-8); at c4 0; step stack-fault; at c4 -16; step bad-cfa;"
	  "no-fn; fn c0 sp+1 u (c-8); at c4 -1; step bad-cfa;"
	  "no-fn; fn c0 sp-1 u (c-8); at c4 0; step bad-cfa" },
	{ "no cycle by a CFA from memory",
	  "fn c0 (sp+0) u (sp+8); at c4 s0; s0=s20,c4; s20=s20,c4; walk c4@0 c4@20 bad-cfa;"
	  "s20=s10; walk c4@0 c4@20 bad-cfa; s20=s0; walk c4@0 c4@20 bad-cfa;"
	  "s0=s0; walk c4@0 c4@0 bad-cfa" },
	{ "no cycle by FP",
	  "fn c0 fp+16 (c-16) (c-8); at c4 s0 s0; s0=s0,c4; walk c4@0 c4@10 bad-cfa;"
	  "s0=s20,c4; s20=s10,c4; walk c4@0 c4@10,fp20 c4@30,fp10 bad-cfa" },
	{ "no cycle by rows of a signal frame",
	  "fn c0 signal sp+0 u (sp+8); at c4 s0; s8=c4; walk c4@0 c4@0 bad-cfa" },
	/* A call of another function; then no call. */
	{ "to another stack",
	  SWITCHED ON_OTHER_STACK "frames sframe=2 switches=1; call c50 c40; walk c4@0 bad-cfa;"
	  "call c50 c0; o8=c4c; walk c4@0 bad-cfa; o8=c50; " ON_OTHER_STACK },
	/*
	 * OCaml calls C like this: the caller's stack pointer is in memory, and it points to the
	 * return address. The FDE has the signal flag: the return address itself is looked up.
	 */
	{ "to a saved stack pointer",
	  "fn c0 signal (sp+8) u (c+0); fn c40 end; other-stack; at c4 s0; s8=o0; call c50 c0;"
	  "o0=c50;"
	  "x86: walk c4@0 c50@o8 complete; arm64: walk c4@0 c50@o0 complete; o0=c4c;"
	  "walk c4@0 bad-cfa;"
	  "o0=c40; call c40 c0; x86: walk c4@0 c40@o8 complete; arm64: walk c4@0 c40@o0 complete" },
	/* Calls of that function's first and last instruction, after it, before it, and no call. */
	{ "in code that a function jumps to: a call of the function proves the row",
	  "fn c0 sp+16 u (c-8); fn c80 end; range c jumped-to-from c180; at c4 s0; s8=c90;"
	  "call c90 c180; walk c4@0 c90@10 complete; call c90 c18c; walk c4@0 c90@10 complete;"
	  "call c90 c190; walk c4@0 nodata; call c90 c17c; walk c4@0 nodata;"
	  "s8=c94; walk c4@0 nodata" },
	{ "the same after a frame record, from which the stack pointer is not known for certain",
	  "fn c0 sp+16 u (c-8); fn c80 end; range c jumped-to-from c180; range b keeps-fp;"
	  "at b10 s0 s20; call c14 b0; s20=s60,c14; s38=c90; call c90 c180;"
	  "walk b10@0 c14@30,fp60 c90@40 complete; call c90 c190; walk b10@0 c14@30,fp60 nodata" },
	{ "to the end of the stack",
	  "fn c0 sp+16 u (c-8); budget 2688000; recursion 1024; callers 1024 stack-fault" },
	/* Records that lead up and down for ever end the walk. */
	{ "to and fro", SWITCHED "call c20 c0; o0=s20,c20; s20=o0,c20; callers 8 bad-cfa" },
};

NAMED_CASES(script);

/* CFA = SP + @off, for each offset around 0, in the sampled frame and in a caller. */
static void progress_every_offset(struct kunit *test)
{
	s32 off;

	for (off = -40; off <= 40; off++) {
		bool aligned = off % CFA_ALIGN == 0;
		char want[16];

		scnprintf(want, sizeof(want), "c84@%x", 0x40 + off);
		run_walk_steps(test, "no-fn; fn c0 sp%+d u (sp+8); fn c40 sp+64 u (sp+8); s8=c4;"
			       "s48=c84; at c4 s40; step %s; at c44 s0; second %s", off,
			       off >= 0 && aligned ? want : "bad-cfa",
			       off > 0 && aligned ? want : "bad-cfa");
	}
}

static const u32 depths[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 40, 126, 127, 128, 255, 511, 1022, 1023,
};

static void progress_every_depth(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 i, nr;

	/* All look-ups miss: the budget of a sample does not pay for that many. */
	scene->budget = SFU_BUDGET * 48;
	run_walk_steps(test, "fn c0 sp+16 u (c-8); fn c40 end");
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		recursion_scene(test, depths[i]);
		word(test, 16 * (depths[i] - 1) + 8, code(test, 0x44));
		nr = count_callers(test);
		KUNIT_EXPECT_EQ(test, nr, depths[i]);
		KUNIT_EXPECT_EQ(test, scene->walk.nr_frames[SFU_METHOD_SFRAME], nr);
		KUNIT_EXPECT_EQ(test, scene->walk.frame.sp, stack(test, 16 * nr));
		expect_end(test, "complete", "%u frames", nr);
	}
}

#define BETWEEN	"c4@0 c1004@10 c44@20,fp80 c1008@30,fp90 c1044@40,fpa0 complete"

/* The two pages of the code are two ranges, and the stack goes from one to the other and back. */
static void two_ranges(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	struct sfu_range *ranges;
	u32 i;

	run_walk_steps(test, "fn c0 sp+16 u (c-8); fn c40 sp+16 (c-16) (c-8);"
		       "fn c1000 sp+16 (c-16) (c-8); fn c1040 end; at c4 s0; s8=c1004;"
		       "s10=s80,c44,s90,c1008,sa0,c1044");
	scene->map = build_map(test, 3);
	ranges = scene->map->ranges;
	for (i = 0; i < 2; i++) {
		build_range(scene->map, i, scene->code + i * PAGE_SIZE, PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, 0, read_header(&ranges[i], scene->section, scene->b.len));
		renumber(&ranges[i]);
	}
	build_range(scene->map, 2, scene->bare, BARE_SIZE);
}

/* With each @max, a walk pays for each frame, and three times for its way to the other range. */
static void progress_between_ranges(struct kunit *test)
{
	struct walk_scene *scene = test->priv;
	u32 max, turns, budget;
	u64 ips[5];

	two_ranges(test);
	expect_walk(test, BETWEEN);
	for (max = 1; scene->shows_cache && max <= ARRAY_SIZE(ips); max++) {
		begin_walk(scene);
		budget = scene->walk.lookup.rd.budget;
		for (turns = 0; !scene->stop; turns++)
			next_frames(scene, ips, max);
		KUNIT_EXPECT_EQ(test, turns, 4 / max + 1);
		KUNIT_EXPECT_EQ(test, budget - scene->walk.lookup.rd.budget,
				4 * SFU_FAST_COST + 3 * SFU_RANGE_COST);
	}
}

/* Two functions in two ranges that call each other: what the walk pays bounds how far it goes. */
static void progress_between_ranges_to_budget(struct kunit *test)
{
	u32 nr;

	two_ranges(test);
	run_walk_steps(test, "fill s8 s4000 32 c1004; fill s18 s4000 32 c4");
	nr = count_callers(test);
	expect_end(test, "budget");
	if (scene_of(test)->shows_cache)
		KUNIT_EXPECT_EQ(test, nr, SFU_BUDGET / (SFU_FAST_COST + SFU_RANGE_COST));
}

/* The walk ends where it comes to the other range: by its section, by the stack, or by its code. */
static const struct {
	const char	*steps;
	const char	*want;
} ends[] = {
	{ "", BETWEEN },
	{ "range b bad", "c4@0 c1004@10 nodata" },
	{ "range b ready", BETWEEN },
	{ "s28=0", "c4@0 c1004@10 c44@20,fp80 bad-ra" },
	{ "s20=0", "c4@0 c1004@10 c44@20,fp80 bad-ra" },
	{ "s20=s90; s28=b0", "c4@0 c1004@10 c44@20,fp80 bad-ra needs-scan" },
	{ "s28=b210", "c4@0 c1004@10 c44@20,fp80 b210@30,fp90 nodata" },
	{ "s28=c1008; range b unmapped", "c4@0 bad-ra needs-scan" },
};

static void progress_between_ranges_to_end(struct kunit *test)
{
	u32 i;

	two_ranges(test);
	/* Then the rows of one range are remembered, and those of the other one are not. */
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		run_walk_steps(test, "%s; walk %s; range c renumbered; walk %s;"
			       "range b renumbered; walk %s",
			       ends[i].steps, ends[i].want, ends[i].want, ends[i].want);
}

struct kunit_case walk_progress_tests[] = {
	KUNIT_CASE_PARAM(run_walk_script, script_gen_params),
	KUNIT_CASE(progress_every_offset),
	KUNIT_CASE(progress_every_depth),
	KUNIT_CASE(progress_between_ranges),
	KUNIT_CASE(progress_between_ranges_to_budget),
	KUNIT_CASE(progress_between_ranges_to_end),
	{}
};
