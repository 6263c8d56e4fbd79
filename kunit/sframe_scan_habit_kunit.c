// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: which code keeps frame pointers. */
#include "scan_scene.h"
#include "user_arch.h"

/* Bytes of a function. How it begins is in user_arch.h; instructions that do nothing follow. */
#define FUNCTION	16

static void write_functions(u8 *code, u64 start, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		memcpy(code + i * FUNCTION, &start, sizeof(start));
}

/* Gives a page of the image so many functions of two kinds. */
static void write_page(struct kunit *test, unsigned int nr, u64 first, unsigned int nr_first,
		       u64 second, unsigned int nr_second)
{
	struct scan_scene *scene = test->priv;
	loff_t at = nr * PAGE_SIZE;
	u8 *code = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, code);
	memset64((u64 *)code, CODE_NOPS, PAGE_SIZE / 8);
	/* Of the first function of a page nothing precedes: it is not counted. */
	write_functions(code + FUNCTION, first, nr_first);
	write_functions(code + FUNCTION * (1 + nr_first), second, nr_second);
	KUNIT_ASSERT_EQ(test, PAGE_SIZE, kernel_write(scene->image.file, code, PAGE_SIZE, &at));
}

/* Likewise the first page of its code. */
static void write_code(struct kunit *test, u64 first, unsigned int nr_first, u64 second,
		       unsigned int nr_second)
{
	write_page(test, IMAGE_CODE, first, nr_first, second, nr_second);
}

static struct sfu_range copy_range(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range range;

	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_ASSERT_LT(test, nr, map->nr_ranges);
	range = map->ranges[nr];
	sfu_map_put(map);
	return range;
}

static int habit_of_range(struct kunit *test, unsigned int nr)
{
	return copy_range(test, nr).keeps_fp;
}

static bool has_no_data(struct kunit *test, unsigned int nr)
{
	return copy_range(test, nr).has_no_data;
}

static const struct habit_case {
	const char	*name;
	u64		first;
	unsigned int	nr_first;
	u64		second;
	unsigned int	nr_second;
	int		habit;
} habit_cases[] = {
	{ "no functions", CODE_WITH_RECORD, 0, CODE_WITH_FRAME, 0, SFRAME_KEEPS_FP_NO },
	{ "one with a record", CODE_WITH_RECORD, 1, CODE_WITH_FRAME, 0, SFRAME_KEEPS_FP_YES },
	{ "one with another frame", CODE_WITH_RECORD, 0, CODE_WITH_FRAME, 1, SFRAME_KEEPS_FP_NO },
	{ "all with records", CODE_WITH_RECORD, 200, CODE_WITH_FRAME, 0, SFRAME_KEEPS_FP_YES },
	{ "all with other frames", CODE_WITH_RECORD, 0, CODE_WITH_FRAME, 200, SFRAME_KEEPS_FP_NO },
	{ "most without a frame", CODE_WITH_RECORD, 1, CODE_WITHOUT_FRAME, 200, SFRAME_KEEPS_FP_YES },
	{ "four to one", CODE_WITH_RECORD, 4, CODE_WITH_FRAME, 1, SFRAME_KEEPS_FP_YES },
	{ "three to one", CODE_WITH_RECORD, 3, CODE_WITH_FRAME, 1, SFRAME_KEEPS_FP_NO },
	{ "as many", CODE_WITH_RECORD, 100, CODE_WITH_FRAME, 100, SFRAME_KEEPS_FP_NO },
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
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 0), c->keeps_fp);
}

/* Nobody asks for the habit of a process that has no section. */
static void scan_leaves_habit_without_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	scene->image.ehdr.e_phnum = IMAGE_PH_SFRAME;
	image_write(test, &scene->image);
	write_code(test, CODE_WITH_RECORD, 200, CODE_WITH_FRAME, 0);
	image_map(test, &scene->image, scene->area);
	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 0), SFRAME_KEEPS_FP_UNKNOWN);
}

/* A file without a section beside one that has one. */
static void scan_marks_file_without_data(struct kunit *test)
{
	struct image *without = another_image(test);

	map_image(test);
	without->ehdr.e_phnum = IMAGE_PH_SFRAME;
	image_write(test, without);
	image_map(test, without, page(test, 8));
	expect_scanned(test, "1-3 ready by 3, 9-11 none", "scan.runs");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_NO);
	KUNIT_EXPECT_FALSE(test, has_no_data(test, 0));
	KUNIT_EXPECT_TRUE(test, has_no_data(test, 1));
}

/* Shared memory without a name, none of which is there. */
static void scan_marks_shared_memory(struct kunit *test)
{
	unsigned long addr = page(test, 8);

	map_image(test);
	KUNIT_ASSERT_EQ(test, addr, vm_mmap(NULL, addr, 4 * PAGE_SIZE, PROT_READ | PROT_EXEC,
					    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, 0));
	expect_scanned(test, "1-3 ready by 3, 8-12 none", "scan.runs");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_NO);
	KUNIT_EXPECT_TRUE(test, has_no_data(test, 1));
}

/*
 * A scan that no sample has requested reads 64 pieces of 512 bytes: four ranges of two pages. A
 * scan for a sample reads the others.
 */
static void scan_limits_habits(struct kunit *test)
{
	unsigned int i;

	expect_scanned(test, "nothing", "scan.runs");
	image_write(test, &scene_of(test)->image);
	for (i = 0; i < 8; i++)
		image_map(test, &scene_of(test)->image, page(test, 8 * i));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i),
				    i < 4 ? SFRAME_KEEPS_FP_NO : SFRAME_KEEPS_FP_UNKNOWN,
				    "range %u", i);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i), SFRAME_KEEPS_FP_NO,
				    "range %u", i);
		KUNIT_EXPECT_FALSE_MSG(test, has_no_data(test, i), "range %u", i);
	}
}

/* What is known about the file is not read again: it does not count. */
static void scan_remembers_habits(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	time64_t at = ktime_get_real_seconds() - 1000;
	unsigned int i;

	image_write(test, &scene->image);
	write_code(test, CODE_WITH_RECORD, 200, CODE_WITH_FRAME, 0);
	inode_set_ctime(file_inode(scene->image.file), at, 0);
	image_map(test, &scene->image, scene->area);
	expect_scanned(test, SAME, "scan.runs");
	write_code(test, CODE_WITH_FRAME, 200, CODE_WITH_RECORD, 0);
	inode_set_ctime(file_inode(scene->image.file), at, 0);
	for (i = 1; i < 8; i++)
		image_map(test, &scene->image, page(test, 8 * i));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i), SFRAME_KEEPS_FP_YES, "range %u", i);
}

/*
 * The first page of the code says one thing, and the second one another. Whoever reads the file may
 * put only the second one into the page cache.
 */
static void scan_leaves_habit_without_page(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct folio *folio;
	unsigned int i;

	image_write(test, &scene->image);
	write_code(test, CODE_WITH_RECORD, 200, CODE_WITH_FRAME, 0);
	write_page(test, IMAGE_CODE + 1, CODE_WITH_FRAME, 200, CODE_WITH_RECORD, 0);
	inode_set_ctime(file_inode(scene->image.file), ktime_get_real_seconds() - 1000, 0);
	folio = filemap_get_folio(scene->image.file->f_mapping, IMAGE_CODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	image_map(test, &scene->image, scene->area);
	folio_clear_uptodate(folio);
	for (i = 0; i < 3; i++) {
		expect_scanned(test, SAME, "scan.runs");
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 0), SFRAME_KEEPS_FP_UNKNOWN,
				    "scan %u", i);
	}
	folio_mark_uptodate(folio);
	folio_put(folio);
	/* Nothing that a scan has seen before counts for another mapping. */
	image_map(test, &scene->image, page(test, 8));
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 0), SFRAME_KEEPS_FP_YES);
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES);
}

/* Writes functions that keep frame pointers to a page of anonymous code. */
static void write_anonymous(struct kunit *test, unsigned int nr)
{
	u64 code[20 * FUNCTION / sizeof(u64)];

	memset64(code, CODE_NOPS, ARRAY_SIZE(code));
	write_functions((u8 *)code + FUNCTION, CODE_WITH_RECORD, 10);
	user_store(test, page(test, nr), code, sizeof(code));
}

/* Asks for the habit of anonymous code, as a walk does that needs it. */
static void ask_for_habit(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = map_of(current->mm);

	KUNIT_ASSERT_NOT_NULL(test, map);
	WRITE_ONCE(map->ranges[nr].asked, map->ranges[nr].start + 0x180);
	sfu_map_put(map);
}

/* Anonymous code may be written at any time. It is read for samples only, if a walk asks. */
static void scan_finds_habit_of_anonymous_code(struct kunit *test)
{
	run_steps(test, "scan nothing; image 0; anon 8 1 rwx");
	write_anonymous(test, 8);
	run_steps(test, "new " SAME ", 8-9 none");
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_UNKNOWN);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_UNKNOWN, "not asked");
	ask_for_habit(test, 1);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_UNKNOWN, "no sample");
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES);
}

/* A JIT changes the mappings of its code all the time. */
static void scan_keeps_habit_of_anonymous_code(struct kunit *test)
{
	run_steps(test, "scan nothing; image 0; anon 8 2 rwx");
	write_anonymous(test, 8);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	ask_for_habit(test, 1);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES);
	run_steps(test, "anon 10 1 rwx; counted scan.runs=2; new " SAME ", 8-11 none");
	KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES, "it has grown");
	run_steps(test, "unmap 8 1; new " SAME ", 9-11 none");
	KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES, "its rest");
}

/* An interpreter's few functions may be far from its instructions: parts of 8 pages are read. */
static void scan_reads_anonymous_code_in_parts(struct kunit *test)
{
	unsigned int i;

	run_steps(test, "scan nothing; image 0; anon 8 24 rwx");
	write_anonymous(test, 8 + 17);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_UNKNOWN,
				    "part %u", i);
		ask_for_habit(test, 1);
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	}
	KUNIT_EXPECT_EQ(test, habit_of_range(test, 1), SFRAME_KEEPS_FP_YES);
}

/* Files whose code is not in memory do not use up what a scan may read of other files. */
static void scan_passes_over_missing_code(struct kunit *test)
{
	struct image *image = another_image(test);
	struct scan_scene *scene = test->priv;
	struct folio *folio;
	unsigned int i;

	expect_scanned(test, "nothing", "scan.runs");
	image_write(test, &scene->image);
	image_write(test, image);
	inode_set_ctime(file_inode(scene->image.file), ktime_get_real_seconds() - 1000, 0);
	folio = filemap_get_folio(scene->image.file->f_mapping, IMAGE_CODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	for (i = 0; i < 8; i++)
		image_map(test, i < 4 ? &scene->image : image, page(test, 8 * i));
	folio_clear_uptodate(folio);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	folio_mark_uptodate(folio);
	folio_put(folio);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, habit_of_range(test, i),
				    i < 4 ? SFRAME_KEEPS_FP_UNKNOWN : SFRAME_KEEPS_FP_NO,
				    "range %u", i);
}

static struct kunit_case habit_tests[] = {
	KUNIT_CASE_PARAM(scan_finds_habit, habit_gen_params),
	KUNIT_CASE(scan_leaves_habit_without_section),
	KUNIT_CASE(scan_marks_file_without_data),
	KUNIT_CASE(scan_marks_shared_memory),
	KUNIT_CASE(scan_limits_habits),
	KUNIT_CASE(scan_remembers_habits),
	KUNIT_CASE(scan_leaves_habit_without_page),
	KUNIT_CASE(scan_passes_over_missing_code),
	KUNIT_CASE(scan_finds_habit_of_anonymous_code),
	KUNIT_CASE(scan_keeps_habit_of_anonymous_code),
	KUNIT_CASE(scan_reads_anonymous_code_in_parts),
	{}
};

static struct kunit_suite habit_suite = {
	.name = "sframe_scan_habit", .init = scan_scene_init, .test_cases = habit_tests,
};

kunit_test_suite(habit_suite);
