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

static u64 start_of(char kind)
{
	return kind == 'r' ? CODE_WITH_RECORD : kind == 'f' ? CODE_WITH_FRAME : CODE_WITHOUT_FRAME;
}

static void write_page(struct kunit *test, unsigned int nr, u64 first, unsigned int nr_first,
		       u64 second, unsigned int nr_second)
{
	loff_t at = nr * PAGE_SIZE;
	u8 *code = test_alloc(test, PAGE_SIZE);

	memset64((u64 *)code, CODE_NOPS, PAGE_SIZE / 8);
	/* Of the first function of a page nothing precedes: it is not counted. */
	write_functions(code + FUNCTION, first, nr_first);
	write_functions(code + FUNCTION * (1 + nr_first), second, nr_second);
	KUNIT_ASSERT_EQ(test, PAGE_SIZE,
			kernel_write(written_image(test)->file, code, PAGE_SIZE, &at));
}

static void write_anonymous(struct kunit *test, unsigned int nr)
{
	u64 code[20 * FUNCTION / sizeof(u64)];

	memset64(code, CODE_NOPS, ARRAY_SIZE(code));
	write_functions((u8 *)code + FUNCTION, CODE_WITH_RECORD, 10);
	user_store(test, page(test, nr), code, sizeof(code));
}

/* Compares a letter for each range of the map: habits, or whether the file has data. */
static void expect_ranges(struct kunit *test, const char *want, bool is_habit)
{
	static const char letters[] = {
		[SFRAME_KEEPS_FP_UNKNOWN] = 'U',
		[SFRAME_KEEPS_FP_NO] = 'O',
		[SFRAME_KEEPS_FP_YES] = 'F',
	};
	struct sfu_map *map = map_now();
	char got[16] = "";
	unsigned int i;

	for (i = 0; i < min(map->nr_ranges, sizeof(got) - 1); i++)
		got[i] = is_habit ? letters[map->ranges[i].keeps_fp] :
			 map->ranges[i].has_no_data ? 'N' : 'Y';
	KUNIT_EXPECT_STREQ(test, got, want);
}

static bool run_habit_step(struct kunit *test, const char *step)
{
	unsigned int nr, nr_first, nr_second;
	char first[16], second[8];

	if (sscanf(step, "code %u %15s %u %7s %u", &nr, first, &nr_first, second, &nr_second) == 5)
		write_page(test, nr, start_of(*first), nr_first, start_of(*second), nr_second);
	else if (sscanf(step, "functions %u", &nr) == 1)
		write_anonymous(test, nr);
	else if (sscanf(step, "ask %u", &nr) == 1)
		map_now()->ranges[nr].missed_addr = map_now()->ranges[nr].start + 0x180;
	else if (sscanf(step, "stale %u", &nr) == 1)
		folio_clear_uptodate(folio_at(test, nr));
	else if (sscanf(step, "fresh %u", &nr) == 1)
		folio_mark_uptodate(folio_at(test, nr));
	else if (sscanf(step, "habits %15s", first) == 1)
		expect_ranges(test, first, true);
	else if (sscanf(step, "data %15s", first) == 1)
		expect_ranges(test, first, false);
	else
		return false;
	return true;
}

static int habit_scene_init(struct kunit *test)
{
	return scan_scene_begin(test, run_habit_step);
}

#define CODE(functions, habit)						\
	"code 1 " functions "; image 0; scan " SAME "; habits " habit

#define SEVEN_MORE							\
	"image 8; image 16; image 24; image 32; image 40; image 48; image 56; "
#define EIGHT								\
	SAME ", 9-11 ready by 11, 17-19 ready by 19, 25-27 ready by 27, 33-35 ready by 35, "	\
	"41-43 ready by 43, 49-51 ready by 51, 57-59 ready by 59"

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	code P KIND N KIND N	writes functions to a page of the image: with a record of the frame
 *				pointer, with another frame, or bare ones
 *	functions P		writes ten functions with records to a page of anonymous code
 *	ask R			a walk asks for the habit of range R
 *	stale P, fresh P	the page of the image is not up to date, or is again
 *	habits LETTERS		compares the habits of all ranges: (F)rame pointers, (O)ther,
 *				(U)nknown
 *	data LETTERS		compares whether their files have data: (Y)es, (N)o
 */
static const struct script_case script_cases[] = {
	{ "no functions", CODE("record 0 frame 0", "O") },
	{ "one with a record", CODE("record 1 frame 0", "F") },
	{ "one with another frame", CODE("record 0 frame 1", "O") },
	{ "all with records", CODE("record 200 frame 0", "F") },
	{ "all with other frames", CODE("record 0 frame 200", "O") },
	{ "most without a frame", CODE("record 1 bare 200", "F") },
	{ "four to one", CODE("record 4 frame 1", "F") },
	{ "three to one", CODE("record 3 frame 1", "O") },
	{ "equal numbers", CODE("record 100 frame 100", "O") },
	/* Nobody asks for the habit of a process that has no section. e_phnum is at byte 56. */
	{ "no section",
	  "code 1 record 200 frame 0; patch 56 2 3; image 0; scan " PLAIN "; habits U" },
	{ "a file without a section beside one that has one",
	  "image 0; other 8; scan " SAME ", 9-11 none; habits OO; data YN" },
	/* A scan for an event reads 64 pieces of 512 bytes: four ranges of two pages. */
	{ "limit",
	  "scan nothing; image 0; " SEVEN_MORE "new " EIGHT "; habits OOOOUUUU; scan " EIGHT ";"
	  "habits OOOOOOOO; data YYYYYYYY" },
	/* What is known about the file is not read again: it does not count. */
	{ "remembered",
	  "code 1 record 200 frame 0; changed -1000 0; image 0; scan " SAME ";"
	  "code 1 frame 200 record 0; changed -1000 0; " SEVEN_MORE "new " EIGHT ";"
	  "habits FFFFFFFF" },
	/*
	 * The pages of the code differ. A reader of the file may put only the second one into the
	 * page cache. Nothing that a scan has seen before counts for another mapping.
	 */
	{ "page is missing",
	  "code 1 record 200 frame 0; code 2 frame 200 record 0; changed -1000 0; image 0; stale 1;"
	  "scan " SAME "; habits U; scan " SAME "; habits U; scan " SAME "; habits U; fresh 1;"
	  "image 8; scan " SAME ", 9-11 ready by 11; habits FF" },
	/* Anonymous code may be written at any time. It is read for samples, if a walk asks. */
	{ "anonymous code",
	  "scan nothing; image 0; anon 8 1 rwx; functions 8; new " SAME ", 8-9 none; habits OU;"
	  "scan " SAME ", 8-9 none; habits OU; ask 1; new " SAME ", 8-9 none; habits OU;"
	  "scan " SAME ", 8-9 none; habits OF" },
	/* A JIT changes the mappings of its code all the time: it grows, or a rest remains. */
	{ "anonymous code that changes",
	  "scan nothing; image 0; anon 8 2 rwx; functions 8; scan " SAME ", 8-10 none; ask 1;"
	  "scan " SAME ", 8-10 none; habits OF; anon 10 1 rwx; new " SAME ", 8-11 none; habits OF;"
	  "unmap 8 1; new " SAME ", 9-11 none; habits OF" },
	/* An interpreter's few functions may be far from its instructions: 8 pages are read. */
	{ "anonymous code in parts",
	  "scan nothing; image 0; anon 8 24 rwx; functions 25; scan " SAME ", 8-32 none; habits OU;"
	  "ask 1; scan " SAME ", 8-32 none; habits OU; ask 1; scan " SAME ", 8-32 none; habits OU;"
	  "ask 1; scan " SAME ", 8-32 none; habits OF" },
};

NAMED_CASES(script);

/* Shared memory without a name, none of which is there. */
static void scan_marks_shared_memory(struct kunit *test)
{
	unsigned long addr = page(test, 8);

	map_image(test);
	KUNIT_ASSERT_EQ(test, addr, vm_mmap(NULL, addr, 4 * PAGE_SIZE, PROT_READ | PROT_EXEC,
					    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, 0));
	run_steps(test, "scan 1-3 ready by 3, 8-12 none; habits OO; data YN");
}

/* Files whose code is not in memory do not use up what a scan may read of other files. */
static void scan_passes_over_missing_code(struct kunit *test)
{
	struct image *image = another_image(test);
	unsigned int nr;

	run_steps(test, "scan nothing; image 0; image 8; image 16; image 24; changed -1000 0");
	image_write(test, image);
	for (nr = 32; nr < 64; nr += 8)
		image_map(test, image, page(test, nr));
	run_steps(test, "stale 1; new " EIGHT "; fresh 1; habits UUUUOOOO");
}

static struct kunit_case habit_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(scan_marks_shared_memory),
	KUNIT_CASE(scan_passes_over_missing_code),
	{}
};

static struct kunit_suite habit_suite = {
	.name = "sframe_scan_habit", .init = habit_scene_init, .test_cases = habit_tests,
};

kunit_test_suite(habit_suite);
