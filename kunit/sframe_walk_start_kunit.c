// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the walk: it ends where libc starts programs and threads. See walk_scene.h. */
#include "walk_scene.h"

#define RA		0x210		/* in the code without a section */
#define MAX_DISTANCE	768		/* from the stack pointer to the start of the stack */

NAMED_CASES(start);

static void store_start(struct kunit *test, const u8 *code, unsigned long ra)
{
	user_store(test, ra - START_BEFORE, code, START_CODE);
}

/* The frame is @distance bytes below the stack pointer that the process began with. */
static void set_distance(unsigned long sp, unsigned long distance)
{
	current->mm->start_stack = sp + distance;
}

/* libstdc++ is called by the first code here that calls a thread's function, at b810. */
static void store_outer(struct kunit *test)
{
	const struct start_case *c = start_cases;

	while (c->start != CALLS_THREAD)
		c++;
	store_start(test, c->code, bare(test, 0x810));
	run_walk_steps(test, "s28=b810");
}

static bool is_thread(const struct start_case *c)
{
	return c->start == CALLS_THREAD || c->start == CALLS_CXX_THREAD;
}

static void forget_start(struct kunit *test)
{
	struct sfu_map *map = scene_of(test)->map;

	map->main_ra = 0;
	map->thread_ra = 0;
}

static const char *first_walk_text(struct kunit *test)
{
	forget_start(test);
	return walk_text(test);
}

#define expect_first_walk(test, want, ...)				\
	expect_text(test, first_walk_text, want, ##__VA_ARGS__)

/*
 * c4 is called by the code of the case, at b210, whose frame is 0x10 into the stack. The frame
 * record at s400 leads nowhere.
 */
static void start_scene(struct kunit *test, const struct start_case *c)
{
	run_walk_steps(test, "fn c0 sp+16 u (c-8); fn c40 sp+16 u (c-8); at c4 s0 %s; s8=b210",
		       c->start == IS_ENTRY ? "0" : "s400");
	store_start(test, c->code, bare(test, RA));
	set_distance(stack(test, 0x10), is_thread(c) ? -1UL : 256);
	if (c->start == CALLS_CXX_THREAD)
		store_outer(test);
}

#define STARTED		"c4@0 b210@10 start"
#define NOT_STARTED	"c4@0 b210@10 nodata"

static void start_code(struct kunit *test)
{
	const struct start_case *c = test->param_value;
	u8 code[START_CODE];
	u32 i, bit;

	start_scene(test, c);
	expect_first_walk(test, STARTED);
	for (i = c->at; i < c->end; i++) {
		for (bit = 1; bit < 0x100; bit <<= 1) {
			memcpy(code, c->code, sizeof(code));
			code[i] ^= bit;
			store_start(test, code, bare(test, RA));
			expect_first_walk(test, c->any[i] & bit ? STARTED : NOT_STARTED,
					  "byte %u, bit 0x%x", i, bit);
		}
	}
}

/* A child does not rely on what its parent's walks have noted, and notes nothing. */
static void start_inherited(struct kunit *test)
{
	const struct start_case *c = test->param_value;
	struct walk_scene *scene = test->priv;
	u8 nothing[START_CODE] = {};

	start_scene(test, c);
	scene->is_inherited = true;
	/* Rows of a section that the parent has mapped are remembered after a scan of the child. */
	expect_first_walk(test, scene->shows_cache ? STARTED " needs-scan" : STARTED);
	KUNIT_EXPECT_EQ(test, 0, scene->map->main_ra | scene->map->thread_ra);
	scene->is_inherited = false;
	expect_first_walk(test, STARTED);
	KUNIT_EXPECT_EQ(test, bare(test, RA), scene->map->main_ra | scene->map->thread_ra);
	store_start(test, nothing, bare(test, RA));
	expect_text(test, walk_text, STARTED);
	scene->is_inherited = true;
	expect_text(test, walk_text, scene->shows_cache ? NOT_STARTED " needs-scan" : NOT_STARTED);
}

/* The frame of main() is near the start of the stack. That of a thread may be anywhere. */
static void start_distance(struct kunit *test)
{
	static const unsigned long distances[] = {
		0, 8, 256, MAX_DISTANCE, MAX_DISTANCE + 1, MAX_DISTANCE + 16, 0x100000, LONG_MAX,
		-1UL, -16UL,
	};
	const struct start_case *c = test->param_value;
	u32 i;

	start_scene(test, c);
	for (i = 0; i < ARRAY_SIZE(distances); i++) {
		set_distance(stack(test, 0x10), distances[i]);
		expect_first_walk(test, i < 4 || is_thread(c) ? STARTED : NOT_STARTED,
				  "%lu", distances[i]);
	}
	current->mm->start_stack = 0;
	expect_first_walk(test, is_thread(c) ? STARTED : NOT_STARTED);
}

static const struct {
	const char	*steps;		/* after start_scene() */
	const char	*want;
	/* the kinds of start, as bits, for which the walk has no data instead; -1: for all */
	int		no_start;
} changes[] = {
	/* The outermost frame is marked by a frame pointer of 0. Only _start is one. */
	{ "at c4 s0 0", STARTED, 0 },
	{ "at c4 s0 s400", STARTED, 1 << IS_ENTRY },
	/* libstdc++ has to be called by libc: here other code, no code, and nothing. */
	{ "s28=ba10", STARTED, 1 << CALLS_CXX_THREAD },
	{ "s28=s100", STARTED, 1 << CALLS_CXX_THREAD },
	{ "s28=0", STARTED, 1 << CALLS_CXX_THREAD },
	/* The code itself was interrupted: it has called nothing yet, or has been returned to. */
	{ "at b210 s10; B=0", "b210@10 nodata", 0 },
	/* The frame pointer is proved, so the walk goes on. */
	{ "at c4 s0 s20; s20=0,b610; call b610 b0", "c4@0 b210@10 b610@30,fp? nodata", 0 },
};

static void start_changed(struct kunit *test)
{
	const struct start_case *c = test->param_value;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		start_scene(test, c);
		run_walk_steps(test, "%s", changes[i].steps);
		expect_first_walk(test, changes[i].no_start & 1 << c->start ? NOT_STARTED :
				  changes[i].want, "%s", changes[i].steps);
	}
}

static void start_interrupted(struct kunit *test)
{
	const struct start_case *c = test->param_value;

	run_walk_steps(test, "fn c0 sp+16 u (c-8); put b100 stub; at c4 sff0; sff8=b100;"
		       "context s1000 b210 s100");
	word(test, CONTEXT + context_register(R_B), 0);
	store_start(test, c->code, bare(test, RA));
	set_distance(stack(test, 0x100), 256);
	expect_first_walk(test, "c4@ff0 b100@1000 b210@100 nodata");
}

/* The section of a static program covers libc, but has no rows for it; then a row for it. */
static void start_in_covered_code(struct kunit *test)
{
	const struct start_case *c = test->param_value;

	start_scene(test, c);
	store_start(test, c->code, code(test, 0x1210));
	run_walk_steps(test, "s8=c1210");
	expect_first_walk(test, "c4@0 c1210@10 start");
	store_start(test, c->code, code(test, 0x50));
	run_walk_steps(test, "s8=c50; s18=0; at c4 s0");
	expect_first_walk(test, "c4@0 c50@10 bad-ra");
}

/* The code ends where its mapping ends: too few bytes follow the return address. */
static void start_at_end(struct kunit *test)
{
	const struct start_case *c = test->param_value;

	start_scene(test, c);
	word(test, 8, bare(test, BARE_SIZE));
	user_store(test, bare(test, BARE_SIZE - START_BEFORE), c->code, START_BEFORE);
	expect_first_walk(test, "c4@0 b1000@10 nodata");
	word(test, 8, bare(test, 1));
	user_store(test, bare(test, 0), c->code + START_BEFORE - 1, START_CODE - START_BEFORE);
	expect_first_walk(test, "c4@0 b1@10 nodata");
}

/* Later walks compare the address only, and the distance. The sampled frame is no start. */
static void start_known(struct kunit *test)
{
	static const u8 nothing[START_CODE];
	const struct start_case *c = test->param_value;

	start_scene(test, c);
	expect_first_walk(test, STARTED);
	expect_walk(test, STARTED, "again");
	store_start(test, nothing, bare(test, RA));
	expect_walk(test, STARTED, "without the code");

	set_distance(stack(test, 0x10), MAX_DISTANCE + 1);
	expect_walk(test, is_thread(c) ? STARTED : NOT_STARTED, "too far");
	set_distance(stack(test, 0x10), MAX_DISTANCE);
	expect_walk(test, STARTED, "near");
	word(test, 8, bare(test, RA + 1));
	run_walk_steps(test, "walk c4@0 b211@10 nodata; at b210 s10; walk b210@10 nodata");
	forget_start(test);
}

struct kunit_case walk_start_tests[] = {
	KUNIT_CASE_PARAM(start_code, start_gen_params),
	KUNIT_CASE_PARAM(start_inherited, start_gen_params),
	KUNIT_CASE_PARAM(start_distance, start_gen_params),
	KUNIT_CASE_PARAM(start_changed, start_gen_params),
	KUNIT_CASE_PARAM(start_interrupted, start_gen_params),
	KUNIT_CASE_PARAM(start_in_covered_code, start_gen_params),
	KUNIT_CASE_PARAM(start_at_end, start_gen_params),
	KUNIT_CASE_PARAM(start_known, start_gen_params),
	{}
};
