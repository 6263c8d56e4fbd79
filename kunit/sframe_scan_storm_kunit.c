// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: other threads change the process at any time, or scan it, too. */
#include "scan_scene.h"

struct storm;

struct storm_case {
	const char	*name;
	/* changes the process, and undoes the change in the next round */
	void (*act)(struct storm *storm);
	const char	*maps[6];	/* all maps that may be seen */
	const char	*rows[6];	/* all rows that may be found */
	unsigned int	first;		/* page that toggle() changes, and the next one */
	bool		is_replaced;
};

/* A thread that changes the process. */
struct storm {
	const struct storm_case	*c;
	struct scan_scene	*scene;	/* the test's scene */
	struct mm_struct	*mm;	/* the process */
	struct image		*other;	/* an image without a section */
	unsigned int		round;	/* number of rounds so far */
	unsigned int		failed;	/* changes that failed */
	/* rounds in which the map had a section that was unmapped */
	unsigned int		stale;
};

static unsigned long storm_page(struct storm *storm, unsigned int nr)
{
	return storm->scene->area + nr * PAGE_SIZE;
}

static void storm_map(struct storm *storm, struct file *file, unsigned int first,
		      unsigned long prot)
{
	unsigned long addr = storm_page(storm, first);

	storm->failed += vm_mmap(file, addr, 2 * PAGE_SIZE, prot, MAP_PRIVATE |
				 MAP_FIXED, first * PAGE_SIZE) != addr;
}

static void storm_unmap(struct storm *storm, unsigned int first)
{
	storm->failed += !!vm_munmap(storm_page(storm, first), 2 * PAGE_SIZE);
}

/* Between unmapping and mapping again no walk may use the section. */
static void expect_forgotten(struct storm *storm)
{
	struct sfu_range *range;
	struct sfu_map *map;

	map = map_of(storm->mm);
	range = map ? sfu_map_find(map, storm_page(storm, 1)) : NULL;
	storm->stale += range && (is_ready(range) || !strcmp(state_text(range), "bad"));
	sfu_map_put(map);
}

static void flip_row(struct storm *storm)
{
	storm->failed += !!put_user(storm->round % 2 ? 16 : 32,
				    (u8 __user *)storm_page(storm, 3) + ROW_WORDS);
}

/* New code, so that a scan reads the header again. */
static void flip_magic(struct storm *storm)
{
	storm->failed += !!put_user(storm->round % 2 ? 0xe2 : 0, (u8 __user *)storm_page(storm, 3));
	storm_map(storm, storm->scene->image.file, 1, PROT_EXEC);
}

/* Unmaps or replaces the code or the section, and maps it again. */
static void toggle(struct storm *storm)
{
	const struct storm_case *c = storm->c;

	if (storm->round % 2 == 0 && c->is_replaced)
		storm_map(storm, storm->other->file, c->first, PROT_EXEC);
	else if (storm->round % 2 == 0)
		storm_unmap(storm, c->first);
	expect_forgotten(storm);
	if (storm->round % 2)
		storm_map(storm, storm->scene->image.file, c->first,
			  c->first == 1 ? PROT_EXEC : PROT_READ);
}

static void toggle_access(struct storm *storm)
{
	storm->failed += !!user_mprotect(storm_page(storm, 3), 2 * PAGE_SIZE,
					 storm->round % 2 ? PROT_READ : PROT_NONE);
}

static int storm_thread(void *data)
{
	struct storm *storm = data;

	kthread_use_mm(storm->mm);
	while (!kthread_should_stop()) {
		storm->c->act(storm);
		storm->round++;
		cond_resched();
	}
	kthread_unuse_mm(storm->mm);
	return 0;
}

#define ROW_32		"sp+32 (c-16) (c-8)"
#define NO_ROW		"uncovered"
#define FAULT		"error -14"

/* The test held the map when it changed. */
#define LOST		"unknown"

static const struct storm_case storm_cases[] = {
	{ "row", flip_row, { SAME }, { ROW, ROW_32 } },
	{ "magic", flip_magic, { SAME, BAD, GONE, LOST }, { ROW, NO_ROW } },
	{ "code unmapped", toggle, { SAME, GONE, LOST, "nothing" }, { ROW, NO_ROW }, 1 },
	{ "code replaced", toggle, { SAME, GONE, LOST, PLAIN }, { ROW, NO_ROW }, 1, true },
	{ "section unmapped", toggle, { SAME, GONE, LOST, LATE }, { ROW, NO_ROW, FAULT }, 3 },
	{ "section forbidden", toggle_access, { SAME }, { ROW, FAULT } },
};

NAMED_CASES(storm);

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
	const find_row_t finds[] = { find_user_row, find_user_row_now };
	const struct storm_case *c = test->param_value;
	char map[MAP_TEXT], row[SECTION_ROW_TEXT];
	unsigned int i;

	sfu_watch_sample();
	sfu_processes_scan(current->mm);
	map_text(test, map);
	expect_one_of(test, c->maps, map);
	for (i = 0; i < ARRAY_SIZE(finds); i++) {
		row_text(finds[i], page(test, 1), row);
		expect_one_of(test, c->rows, row);
	}
}

static void scan_in_storm(struct kunit *test)
{
	const struct storm_case *c = test->param_value;
	struct scan_scene *scene = test->priv;
	struct storm storm = {
		.scene = scene,
		.mm = current->mm,
		.c = c,
		.other = another_image(test),
	};
	unsigned long end = jiffies + 2 * HZ;
	struct task_struct *thread;
	struct sfu_counters now;

	storm.other->ehdr.e_phnum = 3;
	image_write(test, storm.other);
	map_image(test);
	user_map_file(test, scene->image.file, page(test, 3), 2,
		      PROT_READ | PROT_WRITE, IMAGE_SECTION);
	expect_scanned(test, SAME, "scan.runs");

	thread = kthread_run(storm_thread, &storm, "sframe_storm");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	while (storm.round < 4000 || time_before(jiffies, end)) {
		expect_one_round(test);
		cond_resched();
	}
	kthread_stop(thread);

	KUNIT_EXPECT_EQ(test, 0, storm.failed);
	KUNIT_EXPECT_EQ(test, 0, storm.stale);
	counters_read(&now);
	kunit_info(test, "%u changes, %lu scans\n", storm.round, now.scans - scene->since.scans);
	run_steps(test, "file 3 2 3 r; file 1 2 1 rx");
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	run_steps(test, "map " SAME "; rows 0; held 1 1");
}

#define NR_SCANNING	8

static atomic_t nr_started;

static bool all_have_started(void)
{
	return atomic_read(&nr_started) == NR_SCANNING;
}

static int scanning_thread(void *data)
{
	struct mm_struct *mm = data;
	int err;

	atomic_inc(&nr_started);
	kthread_use_mm(mm);
	err = sfu_processes_scan(mm);
	kthread_unuse_mm(mm);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return err;
}

/* Many threads scan at the same time. No thread waits for another. */
static void scan_in_many_threads(struct kunit *test)
{
	struct task_struct *threads[NR_SCANNING];
	unsigned int i;

	atomic_set(&nr_started, 0);
	map_image(test);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		threads[i] = kthread_run(scanning_thread, current->mm, "sframe_scan/%u", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(threads[i]));
	}
	/* A thread that is stopped before it has started does not run. */
	KUNIT_EXPECT_TRUE(test, comes_true(all_have_started));
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		int err = kthread_stop(threads[i]);

		KUNIT_EXPECT_TRUE(test, err == 0 || err == -EAGAIN);
	}
	run_steps(test, "map " SAME "; held 1 1");
}

static struct kunit_case storm_tests[] = {
	KUNIT_CASE_PARAM_ATTR(scan_in_storm, storm_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(scan_in_many_threads),
	{}
};

static struct kunit_suite storm_suite = {
	.name = "sframe_scan_storm", .init = scan_scene_init, .test_cases = storm_tests,
};

kunit_test_suite(storm_suite);
