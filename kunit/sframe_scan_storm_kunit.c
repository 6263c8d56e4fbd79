// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: other threads change the process, or scan it, at any time. */
#include "scan_scene.h"

#define ROW_32		"sp+32 (c-16) (c-8)"
#define NO_ROW		"uncovered"
#define FAULT		"error -14"

/* The test held the map when it changed. */
#define LOST		"unknown"

/* A thread of the process takes the two steps by turns. The second one undoes the first. */
static const struct storm_case {
	const char	*name;
	const char	*steps[2];
	const char	*maps[6];	/* all maps that may be seen */
	const char	*rows[6];	/* all rows that may be found */
	bool		is_unmapped;	/* between the steps, no walk may use the section */
} storm_cases[] = {
	{ "row", { "poke 0x3033 32", "poke 0x3033 16" }, { SAME }, { ROW, ROW_32 } },
	/* New code, so that a scan reads the header again. */
	{ "magic", { "poke 0x3000 0; file 1 2 1 x", "poke 0x3000 0xe2; file 1 2 1 x" },
	  { SAME, BAD, GONE, LOST }, { ROW, NO_ROW } },
	{ "code unmapped", { "unmap 1 2", "file 1 2 1 x" }, { SAME, GONE, LOST, "nothing" },
	  { ROW, NO_ROW }, true },
	{ "code replaced", { "file 1 2 3 x", "file 1 2 1 x" }, { SAME, GONE, LOST, PLAIN },
	  { ROW, NO_ROW }, true },
	{ "section unmapped", { "unmap 3 2", "file 3 2 3 r" }, { SAME, GONE, LOST, LATE },
	  { ROW, NO_ROW, FAULT }, true },
	{ "section forbidden", { "protect 3 2 -", "protect 3 2 r" }, { SAME }, { ROW, FAULT } },
};

NAMED_CASES(storm);

struct storm {
	const struct storm_case	*c;
	struct kunit		*test;
	struct mm_struct	*mm;	/* the process */
	unsigned int		round;	/* steps so far */
	unsigned int		stale;	/* steps at which the map had the unmapped section */
};

static void expect_unmapped(struct storm *storm)
{
	struct sfu_map *map = map_of(storm->mm);
	struct sfu_range *range = map ? sfu_map_find(map, page(storm->test, 1)) : NULL;

	storm->stale += range && (is_ready(range) || !strcmp(state_text(range), "bad"));
	sfu_map_put(map);
}

static int storm_thread(void *data)
{
	struct storm *storm = data;

	kthread_use_mm(storm->mm);
	for (; !kthread_should_stop(); storm->round++) {
		if (storm->c->is_unmapped && storm->round % 2)
			expect_unmapped(storm);
		run_steps(storm->test, "%s", storm->c->steps[storm->round % 2]);
		if (storm->c->is_unmapped && storm->round % 2 == 0)
			expect_unmapped(storm);
		cond_resched();
	}
	kthread_unuse_mm(storm->mm);
	return 0;
}

/* No thread waits for another one that scans. */
static int scanning_thread(void *data)
{
	struct mm_struct *mm = data;
	int err = 0;

	kthread_use_mm(mm);
	while (!kthread_should_stop()) {
		err = sfu_processes_scan(mm);
		if (err && err != -EAGAIN)
			break;
		cond_resched();
	}
	kthread_unuse_mm(mm);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return err == -EAGAIN ? 0 : err;
}

static void expect_one_of(struct kunit *test, const char *const *wants, const char *got)
{
	unsigned int i;

	for (i = 0; wants[i]; i++)
		if (!strcmp(got, wants[i]))
			return;
	KUNIT_EXPECT_STREQ(test, got, wants[0]);
}

static void expect_one_round(struct kunit *test)
{
	const struct storm_case *c = test->param_value;
	char map[MAP_TEXT], row[SECTION_ROW_TEXT];
	unsigned int i;

	sfu_watch_sample();
	sfu_processes_scan(current->mm);
	map_text(test, map);
	expect_one_of(test, c->maps, map);
	for (i = 0; i < 2; i++) {
		row_text(i, page(test, 1), row);
		expect_one_of(test, c->rows, row);
	}
}

static void scan_in_storm(struct kunit *test)
{
	struct storm storm = { .c = test->param_value, .test = test, .mm = current->mm };
	unsigned long end = jiffies + 2 * HZ;
	struct task_struct *thread, *scanning;

	run_steps(test, "image 0; file 3 2 3 rw; scan " SAME);
	thread = kthread_run(storm_thread, &storm, "sframe_storm");
	scanning = kthread_run(scanning_thread, current->mm, "sframe_scan");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread) || IS_ERR(scanning));
	while (storm.round < 4000 || time_before(jiffies, end)) {
		expect_one_round(test);
		cond_resched();
	}
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, 0, kthread_stop(scanning));
	KUNIT_EXPECT_EQ(test, 0, storm.stale);
	run_steps(test, "file 3 2 3 r; file 1 2 1 rx");
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	run_steps(test, "map " SAME "; rows 0; held 1 1");
}

static struct kunit_case storm_tests[] = {
	KUNIT_CASE_PARAM_ATTR(scan_in_storm, storm_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite storm_suite = {
	.name = "sframe_scan_storm", .init = scan_scene_init, .test_cases = storm_tests,
};

kunit_test_suite(storm_suite);
