// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: the process map of mappings that do not change. */
#include "scan_scene.h"

/* Where the file has fields of program headers, and the section: offset and size. */
#define CODE_OFFSET	"128 8 "
#define CODE_VADDR	"136 8 "
#define CODE_FILESZ	"152 8 "
#define SFRAME_FILESZ	"264 8 "
#define HEADERS_FLAGS	"68 4 "
#define HEADERS_FILESZ	"96 8 "
#define HEADERS_MEMSZ	"104 8 "
#define CODE_TYPE	"120 4 "
#define DATA_TYPE	"176 4 "
#define NUM_FDES	"0x3008 4 "

static bool is_present(unsigned long addr)
{
	u8 byte;

	return !sfu_user_read_now(&byte, addr, 1);
}

/* A section of LONG_PAGES pages. The page cache has all of them. */
#define LONG_PAGES	100

static void map_long_section(struct kunit *test)
{
	unsigned long len = LONG_PAGES * PAGE_SIZE;
	struct scan_scene *scene = test->priv;

	scene->image.phdrs[IMAGE_PH_DATA].p_memsz = len;
	scene->image.phdrs[IMAGE_PH_SFRAME].p_filesz = len;
	image_write(test, &scene->image);
	/* The header has 28 bytes and the entry 16; the rest is rows. */
	patch_file(test, 3 * PAGE_SIZE + 16, len - 44, 4);
	image_fill(test, &scene->image, IMAGE_PAGES, LONG_PAGES - 2);
	image_map(test, &scene->image, scene->area);
	user_map_file(test, scene->image.file, page(test, 3), LONG_PAGES, PROT_READ, 3);
}

static bool run_long_step(struct kunit *test, const char *step)
{
	struct sfu_process *process = process_of(current->mm);
	unsigned int nr;
	long us;

	if (!strcmp(step, "long")) {
		map_long_section(test);
	} else if (!strcmp(step, "no-samples")) {
		process->quota.nr_sample_scans = 0;
	} else if (sscanf(step, "age %ld", &us) == 1) {
		process->quota.began_at = ktime_get_mono_fast_ns() - us * NSEC_PER_USEC;
	} else if (sscanf(step, "present %u", &nr) == 1) {
		while (nr--)
			KUNIT_EXPECT_TRUE_MSG(test, is_present(page(test, 3 + nr)), "page %u", nr);
	} else if (sscanf(step, "absent %u", &nr) == 1) {
		KUNIT_EXPECT_FALSE(test, is_present(page(test, 3 + nr)));
	} else {
		return false;
	}
	return true;
}

static int long_scene_init(struct kunit *test)
{
	return scan_scene_begin(test, run_long_step);
}

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	long			maps the image with a section of 100 pages, none of them present
 *	no-samples, age US	no sample of the process has been taken; the process began then
 *	present N, absent N	compares that the first N pages of the section are present, or that
 *				page N is not
 */

/* Whatever address the file is linked for, its section is found. */
#define LINKED(addr)	"linked " addr "; image 0; scan " SAME "; rows 0"

/* The section of 60 bytes, of which 28 are its header, is at @at in the file. */
#define AT(at, place)	"section 3 5 " at "; image 0; scan 1-3 ready by " place "; rows 0"

/* It is not all there. It may come later, and nothing is wrong with it: no defect is counted. */
#define NOT_THERE(at, steps)	"section 3 5 " at "; image 0; " steps "; scan " LATE

static const struct script_case script_cases[] = {
	{ "V1", "section 1 1 0x3000; image 0; scan " SAME "; rows 0; held 1 1" },
	{ "V2", "section 2 1 0x3000; image 0; scan " SAME "; rows 0; held 1 1" },
	{ "V2 BOTH", "section 2 5 0x3000; image 0; scan " SAME "; rows 0; held 1 1" },
	{ "V3", "image 0; scan " SAME "; rows 0; held 1 1" },
	/* lld leaves functions unsorted. A search would take too long. */
	{ "V3 unsorted", "section 3 4 0x3000; image 0; scan " PLAIN "; held 1 0" },
	{ "linked for 0", LINKED("0") },
	{ "linked for 4 MiB", LINKED("0x400000") },
	{ "linked above all users", LINKED("0x100000000000000") },
	{ "linked for 2^63", LINKED("0x8000000000000000") },
	{ "wraps after the headers", LINKED("-0x1000") },
	{ "wraps after the code", LINKED("-0x3000") },
	{ "unaligned", AT("0x3001", "3+1") },
	{ "ends with a page", AT("0x3fc4", "4-60") },
	{ "last byte on the next page", AT("0x3fc5", "4-59") },
	{ "header ends with a page", AT("0x3fe4", "4-28") },
	{ "header on two pages", AT("0x3ff2", "4-14") },
	{ "first byte on the page before", AT("0x3fff", "4-1") },
	{ "last of all", AT("0x4fc4", "5-60") },
	{ "ends with the code", AT("0x2fc4", "3-60") },
	{ "before the code", AT("0xfc4", "1-60") },
	{ "not mapped", NOT_THERE("0x3000", "unmap 3 2") },
	{ "last byte not mapped", NOT_THERE("0x3fc5", "unmap 4 1") },
	{ "rows not mapped", NOT_THERE("0x3fe4", "unmap 4 1") },
	{ "half of the header not mapped", NOT_THERE("0x3ff2", "unmap 4 1") },
	{ "first byte not mapped", NOT_THERE("0x3fff", "unmap 3 1") },
	{ "forbidden", NOT_THERE("0x3000", "protect 3 2 -") },
	{ "first byte forbidden", NOT_THERE("0x3fff", "protect 3 1 -") },
	{ "in anonymous memory", NOT_THERE("0x3000", "anon 3 2 rw") },
	{ "of another file", NOT_THERE("0x3000", "other 8; move 11 2 3; unmap 8 3") },
	{ "after the file's end", NOT_THERE("0x3000", "cut 0x3000") },
	{ "nothing", "map unknown; scan nothing" },
	{ "one image of two", "image 0; other 8; scan " SAME ", 9-11 none; rows 0" },
	{ "one image twice", "image 0; image 7; scan " SAME ", 8-10 ready by 10; rows 0; rows 7" },
	{ "code split by mprotect()",
	  "image 0; protect 2 1 rwx; scan 1-2 ready by 3, 2-3 ready by 3; rows 0" },
	{ "code of no segment",
	  "image 0; file 0 1 0 x; file 8 1 3 x; scan 0-1 none, 1-3 ready by 3, 8-9 none" },
	/* A loader reserves addresses first, and may then map the code before the section. */
	{ "section comes late",
	  "file 1 2 1 x; scan " LATE "; scan " LATE "; scan " LATE ";"
	  "file 3 2 3 r; map " GONE "; scan " SAME "; rows 0" },
	/* Besides the data of the image there is one more mapping: of the file, or of none. */
	{ "read", "file 3 2 3 r; file 1 1 1 r; scan nothing" },
	{ "write", "file 3 2 3 r; file 1 1 1 rw; scan nothing" },
	{ "none", "file 3 2 3 r; file 1 1 1 -; scan nothing" },
	{ "exec", "file 3 2 3 r; file 1 1 1 x; scan 1-2 ready by 3" },
	{ "read exec", "file 3 2 3 r; file 1 1 1 rx; scan 1-2 ready by 3" },
	{ "write exec", "file 3 2 3 r; file 1 1 1 wx; scan 1-2 ready by 3" },
	{ "anonymous", "file 3 2 3 r; anon 1 1 rw; scan nothing" },
	{ "anonymous exec", "file 3 2 3 r; anon 1 1 rx; scan 1-2 none" },
	/* Some linkers do not separate code: one segment holds everything. */
	{ "one segment",
	  "image 0; patch " HEADERS_FLAGS "5; patch " HEADERS_FILESZ "0x5000; patch " HEADERS_MEMSZ
	  "0x5000; patch " CODE_TYPE "0; patch " DATA_TYPE "0; file 0 5 0 rx;"
	  "scan 0-5 ready by 3; row 0 error -2; row 1 " ROW },
	{ "segment does not begin a page",
	  "image 0; patch " CODE_OFFSET "0x1123; patch " CODE_VADDR "0x1123;"
	  "patch " CODE_FILESZ "0x1edd; scan " SAME "; rows 0" },
	/* ld sizes the segment before it merges sections: up to 90 bytes too many, all zero. */
	{ "segment is longer than the section",
	  "image 0; patch " SFRAME_FILESZ "150; scan " SAME "; rows 0" },
	/* ld leaves 28 zero bytes if there is nothing to merge. They are examined once. */
	{ "segment is all zero",
	  "image 0; patch " SFRAME_FILESZ "28; patch 0x3000 8 0; patch 0x3008 8 0;"
	  "patch 0x3010 8 0; patch 0x3018 4 0; scan " BAD " | defect.empty scan.runs; scan " BAD },
	/* A header without functions is sound, but of no use. */
	{ "section has no functions", "image 0; patch " NUM_FDES "0; scan " PLAIN },
	/* A sample may not wait for a page. After a scan all pages of the section are present. */
	{ "prefaults the section", "long; absent 0; scan " SAME "; present 100" },
	/* Scans for the first samples examine 16 pages, 64, 256..., of however young a process. */
	{ "prefaults by samples",
	  "scan nothing; no-samples; long; absent 99; age -1000000; scan " SAME "; present 1;"
	  "absent 16; absent 99; age -1000000; scan " SAME "; present 17; absent 99;"
	  "age -1000000; scan " SAME "; present 100" },
	/* The older it is, the more pages a scan examines: one for each 32 us. */
	{ "prefaults by age",
	  "scan nothing; no-samples; long; age 3232; scan " SAME "; present 100" },
	{ "long section is left to a sample",
	  "scan nothing; long; new " LATE "; absent 0; scan " SAME },
	/* A scan waits for nobody. */
	{ "mmap_lock is held",
	  "image 0; lock; busy; unlock; map unknown; counted scan.lost; scan " SAME },
	{ "another task scans", SCANNED "begin-scan; busy; end-scan; counted scan.lost" },
};

NAMED_CASES(script);

static void scan_section_of(struct kunit *test, u8 abi, const char *counted)
{
	struct build *b = &scene_of(test)->image.section;

	build_start(b, SFRAME_VERSION_3, BOTH, abi);
	build_fde(b, -2 * PAGE_SIZE, 2 * PAGE_SIZE, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_finish(b);
	run_steps(test, "image 0; scan " BAD " | %s; scan " BAD, counted);
}

static void scan_other_machine(struct kunit *test)
{
	scan_section_of(test, SFU_ARCH_ABI == AMD64 ? AARCH64 : AMD64, "defect.foreign scan.runs");
}

static void scan_other_byte_order(struct kunit *test)
{
	scan_section_of(test, AARCH64_BE, "defect.endian scan.runs");
}

/* Pages beyond the budget are left to the next scan. At least one page is examined. */
static void scan_keeps_prefault_budget(struct kunit *test)
{
	static const unsigned int allowed[] = { 16, 4, 1, 0 }, examined[] = { 10, 4, 1, 1 };
	struct scan_scene *scene = test->priv;
	unsigned int i;

	image_write(test, &scene->image);
	image_fill(test, &scene->image, 0, 10);
	for (i = 0; i < ARRAY_SIZE(allowed); i++) {
		struct sfu_prefault prefault = { .bytes = allowed[i] * PAGE_SIZE };

		user_map_file(test, scene->image.file, page(test, 3), 10, PROT_READ, 0);
		mmap_read_lock(current->mm);
		sfu_prefault_map(&prefault, current->mm, scene->image.file, page(test, 3),
				 page(test, 13));
		mmap_read_unlock(current->mm);
		KUNIT_EXPECT_EQ(test, prefault.nr_examined, examined[i]);
		KUNIT_EXPECT_EQ(test, prefault.bytes,
				(allowed[i] - min(allowed[i], examined[i])) * PAGE_SIZE);
	}
}

/* More ranges than any real process has. */
#define MANY	2000

static void scan_many_mappings(struct kunit *test)
{
	unsigned long many = map_many(test, MANY, PROT_EXEC);
	struct sfu_map *map;
	unsigned int i;

	map_image(test);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	map = map_now();
	KUNIT_EXPECT_EQ(test, map->nr_ranges, MANY + 1);
	KUNIT_EXPECT_EQ(test, map->nr_sections, 1);
	for (i = 0; i < 2 * MANY; i++) {
		unsigned long addr = many + i * PAGE_SIZE;
		struct sfu_range *range = sfu_map_find(map, addr);

		KUNIT_EXPECT_EQ_MSG(test, !range, i % 2, "page %u", i);
		if (range)
			KUNIT_EXPECT_EQ(test, range->start, addr);
	}
	run_steps(test, "rows 0");
}

static void scan_too_many_mappings(struct kunit *test)
{
	map_many(test, SFU_MAX_RANGES + 10, PROT_EXEC);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, map_now()->nr_ranges, SFU_MAX_RANGES);
}

static struct kunit_case scan_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(scan_other_machine),
	KUNIT_CASE(scan_other_byte_order),
	KUNIT_CASE(scan_keeps_prefault_budget),
	KUNIT_CASE_SLOW(scan_many_mappings),
	KUNIT_CASE_SLOW(scan_too_many_mappings),
	{}
};

static struct kunit_suite scan_suite = {
	.name = "sframe_scan", .init = long_scene_init, .test_cases = scan_tests,
};

kunit_test_suite(scan_suite);
