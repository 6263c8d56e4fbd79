// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: which code keeps frame pointers. */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>

#include "mapping_change.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_process.h"

/* How functions of 16 bytes begin; nop fills the rest. */
static const u8 with_record[] = { 0x55, 0x48, 0x89, 0xe5 };	/* push %rbp; mov %rsp,%rbp */
static const u8 with_frame[] = { 0x48, 0x83, 0xec, 0x18 };	/* sub $24,%rsp */
static const u8 without_frame[] = { 0x31, 0xc0, 0xc3, 0x90 };	/* xor %eax,%eax; ret; nop */

#define FUNCTION	16
#define NOP		0x90

static void write_functions(u8 *code, const u8 *start, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(code + i * FUNCTION, start, 4);
}

/* Gives the first page of the image's code so many functions of two kinds. */
static void write_code(struct kunit *test, const u8 *first, unsigned int nr_first,
		       const u8 *second, unsigned int nr_second)
{
	struct scan_scene *scene = test->priv;
	loff_t at = IMAGE_CODE * PAGE_SIZE;
	u8 *code = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, code);
	memset(code, NOP, PAGE_SIZE);
	/* Of the first function of a page nothing precedes: it is not counted. */
	write_functions(code + FUNCTION, first, nr_first);
	write_functions(code + FUNCTION * (1 + nr_first), second, nr_second);
	KUNIT_ASSERT_EQ(test, PAGE_SIZE, kernel_write(scene->image.file, code, PAGE_SIZE, &at));
}

static int habit_of_range(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = map_of(current->mm);
	int habit;

	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_ASSERT_LT(test, nr, map->nr_ranges);
	habit = map->ranges[nr].habit;
	sfu_map_put(map);
	return habit;
}

struct habit_case {
	const char	*name;
	const u8	*first;
	unsigned int	nr_first;
	const u8	*second;
	unsigned int	nr_second;
	int		habit;
};

static const struct habit_case habit_cases[] = {
	{ "no functions", with_record, 0, with_frame, 0, SFRAME_HABIT_OTHER },
	{ "one with a record", with_record, 1, with_frame, 0, SFRAME_HABIT_FP },
	{ "one with another frame", with_record, 0, with_frame, 1, SFRAME_HABIT_OTHER },
	{ "all with records", with_record, 200, with_frame, 0, SFRAME_HABIT_FP },
	{ "all with other frames", with_record, 0, with_frame, 200, SFRAME_HABIT_OTHER },
	{ "most without a frame", with_record, 1, without_frame, 200, SFRAME_HABIT_FP },
	{ "four to one", with_record, 4, with_frame, 1, SFRAME_HABIT_FP },
	{ "three to one", with_record, 3, with_frame, 1, SFRAME_HABIT_OTHER },
	{ "as many", with_record, 100, with_frame, 100, SFRAME_HABIT_OTHER },
};

NAMED_CASES(habit);

static void scan_finds_habit(struct kunit *test)
{
	const struct habit_case *c = test->param_value;
	struct scan_scene *scene = test->priv;

	image_write(test, &scene->image);
	write_code(test, c->first, c->nr_first, c->second, c->nr_second);
	image_map(test, &scene->image, scene->area);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 0), c->habit);
}

/* Nobody asks for the habit of a process that has no section. */
static void scan_leaves_habit_without_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	scene->image.ehdr.e_phnum = IMAGE_PH_SFRAME;
	image_write(test, &scene->image);
	write_code(test, with_record, 200, with_frame, 0);
	image_map(test, &scene->image, scene->area);
	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 0), SFRAME_HABIT_UNKNOWN);
}

/*
 * A scan that no sample has requested reads 64 pieces of 512 bytes: four ranges of two
 * pages. A scan for a sample reads the others.
 */
static void scan_limits_habits(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int i;

	expect_scanned(test, "nothing", "scan.runs");
	image_write(test, &scene->image);
	for (i = 0; i < 8; i++)
		image_map(test, &scene->image, page(test, 8 * i));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i),
				    i < 4 ? SFRAME_HABIT_OTHER : SFRAME_HABIT_UNKNOWN,
				    "range %u", i);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i), SFRAME_HABIT_OTHER,
				    "range %u", i);
}

/* What is known about the file is not read again: it does not count. */
static void scan_remembers_habits(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	time64_t at = ktime_get_real_seconds() - 1000;
	unsigned int i;

	image_write(test, &scene->image);
	write_code(test, with_record, 200, with_frame, 0);
	inode_set_ctime(file_inode(scene->image.file), at, 0);
	image_map(test, &scene->image, scene->area);
	expect_scanned(test, SAME, "scan.runs");
	write_code(test, with_frame, 200, with_record, 0);
	inode_set_ctime(file_inode(scene->image.file), at, 0);
	for (i = 1; i < 8; i++)
		image_map(test, &scene->image, page(test, 8 * i));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i), SFRAME_HABIT_FP, "range %u",
				    i);
}

/* Anonymous code may be written at any time. It is read for samples only. */
static void scan_finds_habit_of_anonymous_code(struct kunit *test)
{
	u8 code[20 * FUNCTION];

	expect_scanned(test, "nothing", "scan.runs");
	map_image(test);
	map_anonymous(test, 8, 1, PROT_READ | PROT_WRITE | PROT_EXEC);
	memset(code, NOP, sizeof(code));
	write_functions(code + FUNCTION, with_record, 10);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)page(test, 8), code, sizeof(code)));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	expect_map(test, SAME ", 8-9 none");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_HABIT_UNKNOWN);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_HABIT_FP);
}

static struct kunit_case habit_tests[] = {
	KUNIT_CASE_PARAM(scan_finds_habit, habit_gen_params),
	KUNIT_CASE(scan_leaves_habit_without_section),
	KUNIT_CASE(scan_limits_habits),
	KUNIT_CASE(scan_remembers_habits),
	KUNIT_CASE(scan_finds_habit_of_anonymous_code),
	{}
};

static struct kunit_suite habit_suite = {
	.name = "sframe_scan_habit",
	.init = scan_scene_init,
	.test_cases = habit_tests,
};

kunit_test_suite(habit_suite);
