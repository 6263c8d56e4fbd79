// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: the process map when mappings change. */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/timekeeping.h>

#include "mapping_change.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_scan.h"

static struct sfu_section *section_of_code(struct kunit *test)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = sfu_map_find(map, page(test, 1));

	/* The process has it, too. */
	sfu_map_put(map);
	KUNIT_ASSERT_NOT_NULL(test, range);
	return &range->section;
}

/* What a walk finds at the first page of the image's code. */
static int find_row_at_code(struct kunit *test)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET };
	struct sframe_row row;

	sfu_lookup_use_cache(&lookup, NULL);
	return sfu_section_find_row(section_of_code(test), &lookup, page(test, 1), &row);
}

/* The number of the section of that code, for row caches. */
static u64 number_of_code(struct kunit *test)
{
	return section_of_code(test)->number;
}

/*
 * The one function is on two pages. The mapping of the first page stays while the second one comes
 * and goes as code.
 */
static void change_beside_code(struct kunit *test)
{
	u64 number;

	map_image(test);
	protect_at(test, 2, 1, PROT_READ);
	expect_scanned(test, "1-2 ready by 3", "scan.runs");
	KUNIT_EXPECT_EQ(test, -ENOENT, find_row_at_code(test));
	number = number_of_code(test);
	protect_at(test, 2, 1, PROT_READ | PROT_WRITE | PROT_EXEC);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	expect_map(test, "1-2 ready by 3, 2-3 ready by 3");
	KUNIT_EXPECT_EQ(test, 0, find_row_at_code(test));
	KUNIT_EXPECT_NE(test, number, number_of_code(test));
	number = number_of_code(test);
	unmap_at(test, 2, 1);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	expect_map(test, "1-2 ready by 3");
	KUNIT_EXPECT_EQ(test, -ENOENT, find_row_at_code(test));
	KUNIT_EXPECT_NE(test, number, number_of_code(test));
}

/* A section keeps its number as long as it is mapped. A child has another one for its own copy. */
static void change_of_process(struct kunit *test)
{
	struct sfu_process *process;
	u64 number;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process = process_of(current->mm);
	number = number_of_code(test);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	KUNIT_EXPECT_EQ(test, number, number_of_code(test));
	WRITE_ONCE(process->inherited, rcu_access_pointer(process->map));
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	expect_map(test, SAME);
	KUNIT_EXPECT_NE(test, number, number_of_code(test));
	KUNIT_EXPECT_NULL(test, process->inherited);
}

static void unmap_all(struct kunit *test)
{
	unmap_at(test, 0, AREA_PAGES);
}

static void map_elsewhere(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	image_map(test, &scene->image, page(test, 8));
}

static void move_code(struct kunit *test)
{
	move_to(test, 1, 2, 9);
}

static void move_section(struct kunit *test)
{
	move_to(test, 3, 2, 11);
}

static void move_image(struct kunit *test)
{
	move_to(test, 0, 1, 8);
	move_to(test, 1, 2, 9);
	move_to(test, 3, 2, 11);
}

static void move_over_code(struct kunit *test)
{
	map_anonymous(test, 8, 2, PROT_READ | PROT_EXEC);
	move_to(test, 8, 2, 1);
}

static void move_over_section(struct kunit *test)
{
	map_anonymous(test, 8, 1, PROT_READ);
	move_to(test, 8, 1, 3);
}

static void shrink_code(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, page(test, 1),
			user_mremap(page(test, 1), 2 * PAGE_SIZE, PAGE_SIZE, 0));
}

static void exec_data(struct kunit *test)
{
	protect_at(test, 3, 2, PROT_READ | PROT_EXEC);
}

static void drop_pages(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, user_madvise(page(test, 0), IMAGE_PAGES * PAGE_SIZE,
					      MADV_DONTNEED));
}

struct change_case {
	const char	*name;
	void (*act)(struct kunit *test);
	const char	*at_once;
	const char	*scanned;
	const char	*counted;
};

/*
 * A range is unmapped when any page of its code or its section is. mprotect()
 * keeps the bytes, and the map keeps the range. A section that is not where it should
 * be may come later.
 */
static const struct change_case change_cases[] = {
	{ "unmap code", unmap_code, GONE, "nothing", "scan.runs" },
	{ "unmap first of code", unmap_code_first, GONE, "2-3 ready by 3", "scan.runs" },
	{ "unmap last of code", unmap_code_last, GONE, "1-2 ready by 3", "scan.runs" },
	{ "unmap section", unmap_section, GONE, LATE, "scan.runs" },
	{ "unmap first of section", unmap_first_byte, GONE, LATE, "scan.runs" },
	{ "unmap after section", unmap_last_byte, SAME, SAME, "scan.runs" },
	{ "unmap headers", unmap_headers, SAME, SAME, "scan.runs" },
	{ "unmap all", unmap_all, GONE, "nothing", "scan.runs" },
	{ "map over code", map_over_code, GONE, "1-3 none", "scan.runs" },
	{ "map over section", map_over_section, GONE, LATE, "scan.runs" },
	{ "map code again", map_code_again, GONE, SAME, "scan.runs" },
	{ "map section again", map_section_again, GONE, SAME, "scan.runs" },
	{ "map elsewhere", map_elsewhere, SAME,
	  "1-3 ready by 3, 9-11 ready by 11", "scan.runs" },
	{ "move code", move_code, GONE, "9-11 pending", "scan.runs" },
	{ "move section", move_section, GONE, LATE, "scan.runs" },
	{ "move image", move_image, GONE, "9-11 ready by 11", "scan.runs" },
	{ "move over code", move_over_code, GONE, "1-3 none", "scan.runs" },
	{ "move over section", move_over_section, GONE, LATE, "scan.runs" },
	{ "shrink code", shrink_code, GONE, "1-2 ready by 3", "scan.runs" },
	{ "forbid section", forbid_section, SAME, SAME, "scan.runs" },
	{ "code not executable", no_exec, SAME, "nothing", "scan.runs" },
	{ "last of code not executable", no_exec_last, SAME, "1-2 ready by 3", "scan.runs" },
	{ "data executable", exec_data, SAME, "1-5 ready by 3", "scan.runs" },
	{ "drop pages", drop_pages, SAME, SAME, "scan.runs" },
};

NAMED_CASES(change);

static void forget_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	c->act(test);
	expect_map(test, c->at_once);
	expect_counted(test, "");
	expect_scanned(test, c->scanned, c->counted);
}

/* Marks the section of the image's code as bad, as a walk does. */
static void mark_section_as_bad(struct kunit *test, enum sframe_defect defect)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = sfu_map_find(map, page(test, 1));

	KUNIT_EXPECT_NOT_NULL(test, range);
	if (range)
		sfu_section_mark_bad(&range->section, defect);
	sfu_map_put(map);
}

/* The same change, with a section that is marked as bad. */
static void forget_bad_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;
	bool stays = !strcmp(c->at_once, SAME);

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FDE_ORDER);
	expect_counted(test, "defect.fde-order section.bad");
	c->act(test);
	expect_map(test, stays ? BAD : GONE);
}

/* Unmapping one image does not affect the other. */
static void forget_one_of_two(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_image(test);
	image_map(test, &scene->image, page(test, 8));
	expect_scanned(test, "1-3 ready by 3, 9-11 ready by 11", "scan.runs");
	unmap_at(test, 8, 5);
	expect_map(test, "1-3 ready by 3, 9-11 unmapped");
	expect_rows(test, page(test, 0));
	expect_row(test, page(test, 9), "uncovered");
	expect_scanned(test, "1-3 ready by 3", "scan.runs");
}

/* A map that is held by another, too, is not changed. The process goes on without it. */
static void forget_while_held(struct kunit *test)
{
	char text[MAP_TEXT];
	struct sfu_map *old;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	old = map_of(current->mm);
	unmap_at(test, 3, 2);
	expect_map(test, "unknown");
	text_of_map(test, old, text);
	KUNIT_EXPECT_STREQ(test, text, SAME);
	sfu_map_put(old);
	expect_scanned(test, LATE, "scan.runs");
}

/* A JIT compiler writes to its code again before it unmaps it. */
static void forget_rewritten_code(struct kunit *test)
{
	map_image(test);
	map_anonymous(test, 8, 2, PROT_READ | PROT_EXEC);
	expect_scanned(test, SAME ", 8-10 none", "scan.runs");
	protect_at(test, 8, 2, PROT_READ | PROT_WRITE);
	unmap_at(test, 8, 2);
	expect_map(test, SAME ", 8-10 unmapped");
}

/* Other addresses do not matter to a map that is held. */
static void keep_while_held(struct kunit *test)
{
	struct sfu_map *old;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	old = map_of(current->mm);
	unmap_headers(test);
	unmap_last_byte(test);
	unmap_at(test, 5, 100);
	KUNIT_EXPECT_PTR_EQ(test, old, rcu_access_pointer(process_of(current->mm)->map));
	sfu_map_put(old);
}

/*
 * After mprotect() one VMA may have the place of many ranges. If it has that of more
 * than 64, the process drops its map.
 */
static void forget_many(struct kunit *test, unsigned int nr, bool is_kept)
{
	struct sfu_process *process;
	unsigned int i;

	map_image(test);
	for (i = 0; i < nr; i++)
		map_anonymous(test, 5 + i, 1, i % 2 ? PROT_EXEC : PROT_READ | PROT_EXEC);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	process = process_of(current->mm);
	rcu_read_lock();
	KUNIT_EXPECT_EQ(test, is_kept,
			sfu_process_unmap(process, page(test, 5), page(test, 5 + nr)));
	KUNIT_EXPECT_EQ(test, is_kept, !!rcu_access_pointer(process->map));
	rcu_read_unlock();
	expect_row(test, page(test, 1), is_kept ? ROW : "uncovered");
	for (i = 0; i < nr; i++)
		expect_row(test, page(test, 5 + i), "uncovered");
	unmap_at(test, 5, nr);
	counters_read(&((struct scan_scene *)test->priv)->since);
	expect_scanned(test, SAME, "scan.runs");
}

static void forget_64(struct kunit *test)
{
	forget_many(test, 64, true);
}

static void forget_65(struct kunit *test)
{
	forget_many(test, 65, false);
}

/* Only the first defect of a section is counted. */
static void bad_once(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_map(test, BAD);
	expect_counted(test, "defect.fre-cut section.bad");
	mark_section_as_bad(test, SFRAME_DEFECT_REP_SIZE);
	expect_counted(test, "");
	expect_row(test, page(test, 1), "uncovered");
}

static void bad_plain(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	scene->image.ehdr.e_phnum = 3;
	map_image(test);
	expect_scanned(test, "1-3 none", "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_map(test, "1-3 none");
	expect_counted(test, "");
}

/* A bad section stays bad while it is mapped. Another mapping of the section is not bad. */
static void bad_stays_so(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_counted(test, "defect.fre-cut section.bad");
	expect_scanned(test, BAD, "scan.runs");
	expect_scanned(test, BAD, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&sfu_held.sections));
	image_map(test, &scene->image, page(test, 8));
	expect_scanned(test, BAD ", 9-11 ready by 11", "scan.runs");
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
}

static void bad_is_replaced(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_counted(test, "defect.fre-cut section.bad");
	map_code_again(test);
	expect_map(test, GONE);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_counted(test, "defect.fre-cut section.bad");
	map_section_again(test);
	expect_map(test, GONE);
	expect_scanned(test, SAME, "scan.runs");
	expect_rows(test, page(test, 0));
}

/* mprotect() keeps the bytes: a bad section is not examined again. */
static void bad_is_forbidden(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	mark_section_as_bad(test, SFRAME_DEFECT_FRE_CUT);
	expect_counted(test, "defect.fre-cut section.bad");
	forbid_section(test);
	expect_scanned(test, BAD, "scan.runs");
	protect_at(test, 3, 2, PROT_READ);
	expect_scanned(test, BAD, "scan.runs");
}

/* The first scan reads the header; look-ups read the rest each time. */
static void section_changes(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	patch_file(test, 3 * PAGE_SIZE + ROW_WORDS, 32, 1);
	expect_row(test, page(test, 1), "sp+32 (c-16) (c-8)");
	patch_file(test, 3 * PAGE_SIZE + ROW_WORDS, 16, 1);
	expect_row(test, page(test, 1), ROW);
	patch_file(test, 3 * PAGE_SIZE, 0xffff, 2);
	expect_row(test, page(test, 1), ROW);
	expect_scanned(test, SAME, "scan.runs");
	map_section_again(test);
	expect_scanned(test, BAD, "defect.magic scan.runs");
	patch_file(test, 3 * PAGE_SIZE, 0xdee2, 2);
	expect_scanned(test, BAD, "scan.runs");
	map_section_again(test);
	expect_scanned(test, SAME, "scan.runs");
}

/* Scan number n that changes nothing runs after 1 + 2 + ... + 2^(n-2) ms, not earlier. */
static void scan_in_vain(struct kunit *test)
{
	unsigned int n;
	u64 start;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	start = ktime_get_mono_fast_ns();
	for (n = 1; n <= 7; n++) {
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		KUNIT_EXPECT_GE_MSG(test, ktime_get_mono_fast_ns() - start,
				    (BIT(n - 1) - 1) * NSEC_PER_MSEC, "time %u", n);
	}
	expect_counted(test, "scan.runs=7");
	expect_map(test, SAME);
}

/* The wait between scans that change nothing is at most one second. */
static void scan_in_vain_long(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int n;
	s64 before;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process = process_of(current->mm);
	for (n = 0; n < 15; n++) {
		process->scan_at = 0;
		process->sample_at = 0;
		before = ktime_get_mono_fast_ns();
		KUNIT_EXPECT_EQ(test, 0, sfu_scan_mm(current->mm));
		KUNIT_EXPECT_EQ(test, process->wait,
				min(BIT(n) * NSEC_PER_MSEC, NSEC_PER_SEC));
		KUNIT_EXPECT_GE(test, process->sample_at, before + process->wait);
	}
	expect_counted(test, "scan.runs=15");
}

/* A scan that finds something new ends the waits. */
static void scan_after_event(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int i;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	for (i = 0; i < 5; i++)
		expect_scanned(test, SAME, "scan.runs");
	image_map(test, &scene->image, page(test, 8));
	/* Events do not wait. */
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	unmap_at(test, 8, 5);
	expect_counted(test, "scan.runs");
	/* From here on the waits are as at the beginning. */
	scan_in_vain(test);
}

/* Events after which a scan finds nothing new do not make samples wait longer. */
static void scan_between_events(struct kunit *test)
{
	struct sfu_process *process;
	s64 sample_at;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	expect_scanned(test, SAME, "scan.runs");
	process = process_of(current->mm);
	sample_at = process->sample_at;
	/* The clock may be no finer than a jiffy. */
	schedule_timeout_uninterruptible(2);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_EQ(test, sample_at, process->sample_at);
}

static void scan_not_due(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process_of(current->mm)->scan_at = S64_MAX;
	KUNIT_EXPECT_EQ(test, 0, sfu_scan_mm(current->mm));
	expect_counted(test, "");
}

/* Moves the time of the next scan by the cost of one. Return: 32 times that cost, in ns. */
static s64 charge_one(struct kunit *test, s64 scan_at, enum sfu_scan_reason reason)
{
	struct sfu_process *process = process_of(current->mm);

	process->scan_at = scan_at;
	process->wait = 0;
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, reason));
	return process->scan_at - scan_at;
}

/* Scans get one part in 32 of the time. The process has saved up 3 ms for them at most. */
static void scan_share(struct kunit *test)
{
	const s64 saved = 32 * 3 * (s64)NSEC_PER_MSEC, long_ago = 100LL * NSEC_PER_SEC;
	s64 before, after, charge, taken;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	before = ktime_get_mono_fast_ns();
	charge = charge_one(test, before, SFU_SCAN_SAMPLE);
	taken = ktime_get_mono_fast_ns() - before;
	/* The time that it takes, but for a scan that is interrupted for long a part of it. */
	KUNIT_EXPECT_GE(test, charge, 32 * 2000);
	KUNIT_EXPECT_LE(test, charge, 32 * max(taken, 2000));
	/* A process that has waited for long begins with what it can save up. */
	KUNIT_EXPECT_LT(test, charge, 32 * 200000 + max(taken - saved, 0));
	/* The process has not been scanned for a long time. */
	before = ktime_get_mono_fast_ns();
	charge_one(test, before - long_ago, SFU_SCAN_NEW_CODE);
	after = ktime_get_mono_fast_ns();
	KUNIT_EXPECT_GE(test, process_of(current->mm)->scan_at, before - saved + 32 * 2000);
	KUNIT_EXPECT_LE(test, process_of(current->mm)->scan_at, after - saved + 32 * 200000);
}

/*
 * A process may be scanned for 48 events. It then waits for its samples, each of which allows one
 * more. It does not wait for a scan that a sample requests.
 */
static void scan_share_of_events(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process = process_of(current->mm);
	for (i = 0; i < 50; i++) {
		process->scan_at = 0;
		KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	}
	expect_counted(test, "scan.runs=48");
	process->scan_at = 0;
	process->sample_at = 0;
	KUNIT_EXPECT_FALSE(test, sfu_scan_is_due(process, SFU_SCAN_NEW_CODE));
	KUNIT_EXPECT_TRUE(test, sfu_scan_is_due(process, SFU_SCAN_SAMPLE));
	sfu_process_count_sample(process);
	for (i = 0; i < 2; i++) {
		process->scan_at = 0;
		KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	}
	expect_counted(test, "scan.runs");
	for (i = 0; i < 300; i++)
		sfu_process_count_sample(process);
	KUNIT_EXPECT_EQ(test, 48, process->event_scans);
}

/*
 * In a process that drops its pages again and again, each scan finds something new. Each costs
 * what it examines, and soon the next one is not due.
 */
static void scan_share_of_dropped_pages(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i;
	s64 before;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process = process_of(current->mm);
	for (i = 0; i < 100; i++) {
		drop_pages(test);
		before = ktime_get_mono_fast_ns();
		process->scan_at = before;
		KUNIT_EXPECT_EQ(test, 0, sfu_scan_mm(current->mm));
		KUNIT_EXPECT_EQ(test, 0, process->wait);
		KUNIT_EXPECT_GT(test, process->scan_at, before - (s64)NSEC_PER_SEC);
	}
	expect_counted(test, "scan.runs=100");
	process->scan_at = ktime_get_mono_fast_ns() + 1000LL * NSEC_PER_SEC;
	for (i = 0; i < 100; i++) {
		drop_pages(test);
		KUNIT_EXPECT_EQ(test, 0, sfu_scan_mm(current->mm));
	}
	expect_counted(test, "");
}

/* Two processes have different mappings at the same addresses. */
static void scan_two_processes(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	switch_process(second);
	expect_map(test, "unknown");
	expect_scanned(test, "nothing", "scan.runs");
	map_anonymous(test, 2, 1, PROT_EXEC);
	expect_scanned(test, "2-3 none", "scan.runs");
	switch_process(first);
	expect_map(test, SAME);
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
	mmput(second);
}

/* There are so many processes that some share a chain of the table. */
#define PROCESSES	300

static void scan_many_processes(struct kunit *test)
{
	struct mm_struct **mms = kunit_kcalloc(test, 2 * PROCESSES, sizeof(*mms), GFP_KERNEL);
	struct mm_struct *first = current->mm;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, mms);
	for (i = 0; i < 2 * PROCESSES; i++)
		mms[i] = new_process(test);
	for (i = 0; i < PROCESSES; i++) {
		switch_process(mms[i]);
		KUNIT_EXPECT_EQ(test, 0, sfu_scan_mm(mms[i]));
	}
	switch_process(first);
	KUNIT_EXPECT_EQ(test, PROCESSES, atomic_long_read(&sfu_held.processes));
	for (i = 0; i < 2 * PROCESSES; i++) {
		struct sfu_map *map = map_of(mms[i]);

		KUNIT_EXPECT_EQ_MSG(test, !map, i >= PROCESSES, "process %u", i);
		sfu_map_put(map);
		mmput(mms[i]);
	}
}

static long held_by_one;

static bool one_is_held(void)
{
	return atomic_long_read(&sfu_held.processes) == 1 &&
	       atomic_long_read(&sfu_held.bytes) == held_by_one;
}

/* The map of a process that ends is freed, even while its mm_struct is held. */
static void forget_process(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);

	expect_scanned(test, "nothing", "scan.runs");
	held_by_one = atomic_long_read(&sfu_held.bytes);
	switch_process(second);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	switch_process(first);
	mmgrab(second);
	mmput(second);
	KUNIT_EXPECT_NULL(test, map_of(second));
	KUNIT_EXPECT_TRUE(test, comes_true(one_is_held));
	KUNIT_EXPECT_EQ(test, held_by_one, atomic_long_read(&sfu_held.bytes));
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&sfu_held.sections));
	mmdrop(second);
	expect_map(test, "nothing");
}

/* A map that is held outlives its process. */
static void hold_map_of_ended_process(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);
	struct sfu_map *map;

	switch_process(second);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	map = map_of(second);
	switch_process(first);
	mmput(second);
	KUNIT_EXPECT_EQ(test, 1, map->nr_ranges);
	sfu_map_put(map);
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
}

static struct kunit_case change_tests[] = {
	KUNIT_CASE(change_beside_code),
	KUNIT_CASE(change_of_process),
	KUNIT_CASE_PARAM(forget_after, change_gen_params),
	KUNIT_CASE_PARAM(forget_bad_after, change_gen_params),
	KUNIT_CASE(forget_one_of_two),
	KUNIT_CASE(forget_while_held),
	KUNIT_CASE(forget_rewritten_code),
	KUNIT_CASE(keep_while_held),
	KUNIT_CASE(forget_64),
	KUNIT_CASE(forget_65),
	KUNIT_CASE(bad_once),
	KUNIT_CASE(bad_plain),
	KUNIT_CASE(bad_stays_so),
	KUNIT_CASE(bad_is_replaced),
	KUNIT_CASE(bad_is_forbidden),
	KUNIT_CASE(section_changes),
	KUNIT_CASE(scan_in_vain),
	KUNIT_CASE_SLOW(scan_in_vain_long),
	KUNIT_CASE(scan_after_event),
	KUNIT_CASE(scan_between_events),
	KUNIT_CASE(scan_not_due),
	KUNIT_CASE(scan_share_of_events),
	KUNIT_CASE(scan_share),
	KUNIT_CASE(scan_share_of_dropped_pages),
	KUNIT_CASE(scan_two_processes),
	KUNIT_CASE(scan_many_processes),
	KUNIT_CASE(forget_process),
	KUNIT_CASE(hold_map_of_ended_process),
	{}
};

SCAN_SUITE(sframe_scan_change, change_tests);
