// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: the process map when mappings change. */
#include "scan_scene.h"

static struct sfu_map *held;
static u64 last_number;

static bool run_change_step(struct kunit *test, const char *step)
{
	char text[MAP_TEXT];
	u64 number;

	if (!strcmp(step, "hold")) {
		held = map_of(current->mm);
	} else if (!strcmp(step, "release")) {
		sfu_map_put(held);
	} else if (!strcmp(step, "same-map")) {
		KUNIT_EXPECT_PTR_EQ(test, held, map_now());
	} else if (strstarts(step, "held-map ")) {
		text_of_map(test, held, text);
		KUNIT_EXPECT_STREQ(test, text, step + strlen("held-map "));
	} else if (!strcmp(step, "all-freed")) {
		KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	} else if (!strcmp(step, "new-number") || !strcmp(step, "same-number")) {
		number = range_at(test, 1)->section.number;
		KUNIT_EXPECT_EQ(test, *step == 's', number == last_number);
		last_number = number;
	} else {
		return false;
	}
	return true;
}

static int change_scene_init(struct kunit *test)
{
	return scan_scene_begin(test, run_change_step);
}

/* A child has a number of its own for its copy of a section. */
static void change_of_process(struct kunit *test)
{
	struct sfu_process *process;

	run_steps(test, SCANNED "new-number; new " SAME "; same-number");
	process = process_of(current->mm);
	WRITE_ONCE(process->inherited.map, rcu_access_pointer(process->map));
	run_steps(test, "new " SAME "; new-number");
	KUNIT_EXPECT_NULL(test, process->inherited.map);
}

/*
 * A range is unmapped when any page of its code or its section is. mprotect() keeps the bytes, and
 * the map keeps the range. A section that is not where it should be may come later.
 */
static const struct change_case {
	const char	*name;
	const char	*steps;
	const char	*at_once;	/* the map before the next scan */
	const char	*scanned;	/* and after it */
} change_cases[] = {
	{ "unmap code", "unmap 1 2", GONE, "nothing" },
	{ "unmap first of code", "unmap 1 1", GONE, "2-3 ready by 3" },
	{ "unmap last of code", "unmap 2 1", GONE, "1-2 ready by 3" },
	{ "unmap section", "unmap 3 2", GONE, LATE },
	{ "unmap first of section", "unmap 3 1", GONE, LATE },
	{ "unmap after section", "unmap 4 1", SAME, SAME },
	{ "unmap headers", "unmap 0 1", SAME, SAME },
	{ "unmap all", "unmap 0 128", GONE, "nothing" },
	{ "map over code", "anon 1 2 rx", GONE, PLAIN },
	{ "map over section", "anon 3 1 r", GONE, LATE },
	{ "map code again", "file 1 2 1 rx", GONE, SAME },
	{ "map section again", "file 3 2 3 r", GONE, SAME },
	{ "map elsewhere", "image 8", SAME, SAME ", 9-11 ready by 11" },
	{ "move code", "move 1 2 9", GONE, "9-11 pending" },
	{ "move section", "move 3 2 11", GONE, LATE },
	{ "move image", "move 0 1 8; move 1 2 9; move 3 2 11", GONE, "9-11 ready by 11" },
	{ "move over code", "anon 8 2 rx; move 8 2 1", GONE, PLAIN },
	{ "move over section", "anon 8 1 r; move 8 1 3", GONE, LATE },
	{ "shrink code", "shrink 1 2 1", GONE, "1-2 ready by 3" },
	{ "forbid section", "protect 3 2 -", SAME, SAME },
	{ "code not executable", "protect 1 2 r", SAME, "nothing" },
	{ "last of code not executable", "protect 2 1 r", SAME, "1-2 ready by 3" },
	{ "data executable", "protect 3 2 rx", SAME, "1-5 ready by 3" },
	{ "drop pages", "drop 0 5", SAME, SAME },
};

NAMED_CASES(change);

static void forget_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;

	run_steps(test, SCANNED "%s; map %s; counted; scan %s", c->steps, c->at_once, c->scanned);
}

#define MADE_BAD	SCANNED "bad; counted defect.fre-cut section.bad;"

static void forget_bad_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;

	run_steps(test, MADE_BAD "%s; map %s", c->steps, strcmp(c->at_once, SAME) ? GONE : BAD);
}

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	hold, release		a reader holds the map of the process, and releases it
 *	same-map, held-map MAP	the process still has that map; compares it
 *	all-freed		nothing is held for any process in the end
 *	new-number, same-number	row caches know the section of the code at page 1 by a number
 */
static const struct script_case script_cases[] = {
	/* A map that is held is not changed. The process drops it, unless it is still right. */
	{ "a held map",
	  SCANNED "hold; unmap 0 1; unmap 4 1; unmap 5 100; same-map; unmap 3 1; map unknown;"
	  "held-map " SAME "; release; scan " LATE },
	{ "a held map of a process that ends",
	  "process 1; " SCANNED "hold; process 0; end 1; held-map " SAME "; release; all-freed" },
	/* The one function is on two pages. The first stays, the second comes and goes as code. */
	{ "beside code",
	  "image 0; protect 2 1 r; scan 1-2 ready by 3; row 1 error -2; new-number;"
	  "protect 2 1 rwx; new 1-2 ready by 3, 2-3 ready by 3; row 1 " ROW "; new-number;"
	  "unmap 2 1; scan 1-2 ready by 3; row 1 error -2; new-number" },
	/* The ranges that share a section lose it together, and no other range does. */
	{ "shared section is unmapped",
	  "image 0; image 8; protect 2 1 rwx;"
	  "scan 1-2 ready by 3, 2-3 ready by 3, 9-11 ready by 11; unmap 3 1;"
	  "map 1-2 unmapped, 2-3 unmapped, 9-11 ready by 11" },
	{ "one of two images is unmapped",
	  "image 0; image 8; scan 1-3 ready by 3, 9-11 ready by 11; unmap 8 5;"
	  "map 1-3 ready by 3, 9-11 unmapped; rows 0; row 9 uncovered; scan " SAME },
	/* A JIT compiler writes to its code again before it unmaps it. */
	{ "rewritten code is unmapped",
	  "image 0; anon 8 2 rx; scan " SAME ", 8-10 none; protect 8 2 rw; unmap 8 2;"
	  "map " SAME ", 8-10 unmapped" },
	{ "a plain file cannot be bad", "other 0; scan " PLAIN "; bad; map " PLAIN "; counted" },
	/* Only the first defect of a section is counted. It stays bad while it is mapped. */
	{ "bad is counted once",
	  MADE_BAD "bad; counted; map " BAD "; row 1 uncovered; scan " BAD "; scan " BAD ";"
	  "image 8; scan " BAD ", 9-11 ready by 11" },
	{ "bad code is replaced", MADE_BAD "file 1 2 1 rx; map " GONE "; scan " SAME "; rows 0" },
	{ "bad section is replaced", MADE_BAD "file 3 2 3 r; map " GONE "; scan " SAME "; rows 0" },
	{ "bad section is forbidden",
	  MADE_BAD "protect 3 2 -; scan " BAD "; protect 3 2 r; scan " BAD },
	/* A scan reads the header once, at 0x3000; look-ups the rest: a row's words at 0x3033. */
	{ "section is written",
	  SCANNED "patch 0x3033 1 32; row 1 sp+32 (c-16) (c-8); patch 0x3033 1 16; row 1 " ROW ";"
	  "patch 0x3000 2 0xffff; row 1 " ROW "; scan " SAME ";"
	  "file 3 2 3 r; scan " BAD " | defect.magic scan.runs;"
	  "patch 0x3000 2 0xdee2; scan " BAD "; file 3 2 3 r; scan " SAME },
	{ "two processes",
	  SCANNED "process 1; map unknown; scan nothing; anon 2 1 x; scan 2-3 none; process 0;"
	  "map " SAME "; held 2 1" },
};

NAMED_CASES(script);

/* After mprotect() one VMA may have the place of many ranges: more than 64 cost the map. */
static void forget_many(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i, nr;

	map_image(test);
	for (nr = 64; nr <= 65; nr++) {
		const bool is_kept = nr == 64;

		for (i = 0; i < nr; i++)
			run_steps(test, "anon %u 1 %s", 5 + i, i % 2 ? "x" : "rx");
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		process = process_of(current->mm);
		rcu_read_lock();
		KUNIT_EXPECT_EQ(test, is_kept,
				sfu_process_unmap(process, page(test, 5), page(test, 5 + nr)));
		KUNIT_EXPECT_EQ(test, is_kept, !!rcu_access_pointer(process->map));
		rcu_read_unlock();
		run_steps(test, "row 1 %s", is_kept ? ROW : "uncovered");
		for (i = 0; i < nr; i++)
			run_steps(test, "row %u uncovered", 5 + i);
		run_steps(test, "unmap 5 65");
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		run_steps(test, "map " SAME);
	}
}

/* Scan number n that changes nothing runs after 1 + 2 + ... + 2^(n-2) ms, not earlier. */
static void scan_in_vain(struct kunit *test)
{
	unsigned int n;
	u64 start;

	run_steps(test, SCANNED);
	start = ktime_get_mono_fast_ns();
	for (n = 1; n <= 7; n++) {
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		KUNIT_EXPECT_GE_MSG(test, ktime_get_mono_fast_ns() - start,
				    (BIT(n - 1) - 1) * NSEC_PER_MSEC, "time %u", n);
	}
	run_steps(test, "counted scan.runs=7; map " SAME);
}

/* The wait between scans that change nothing is at most one second. */
static void scan_in_vain_long(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int n;
	s64 before;

	run_steps(test, SCANNED);
	process = process_of(current->mm);
	for (n = 0; n < 15; n++) {
		process->quota.scan_at = 0;
		process->quota.sample_at = 0;
		before = ktime_get_mono_fast_ns();
		KUNIT_EXPECT_EQ(test, 0, sfu_processes_scan(current->mm));
		KUNIT_EXPECT_EQ(test, process->quota.wait,
				min(BIT(n) * NSEC_PER_MSEC, NSEC_PER_SEC));
		KUNIT_EXPECT_GE(test, process->quota.sample_at, before + process->quota.wait);
	}
	expect_counted(test, "scan.runs=15");
}

/* A scan that finds something new ends the waits. */
static void scan_after_event(struct kunit *test)
{
	unsigned int i;

	run_steps(test, SCANNED);
	for (i = 0; i < 5; i++)
		run_steps(test, "scan " SAME);
	/* Events do not wait. */
	run_steps(test, "image 8; new " SAME ", 9-11 ready by 11; unmap 8 5");
	/* From here on the waits are as at the beginning. */
	scan_in_vain(test);
}

/* Events after which a scan finds nothing new do not make samples wait longer. */
static void scan_between_events(struct kunit *test)
{
	struct sfu_process *process;
	s64 sample_at;

	run_steps(test, SCANNED "scan " SAME);
	process = process_of(current->mm);
	sample_at = process->quota.sample_at;
	/* The clock may be no finer than a jiffy. */
	schedule_timeout_uninterruptible(2);
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_EQ(test, sample_at, process->quota.sample_at);
}

/* Moves the time of the next scan by the cost of one. Return: 32 times that cost, in ns. */
static s64 charge_one(struct kunit *test, s64 scan_at, enum sfu_scan_reason reason)
{
	struct sfu_process *process = process_of(current->mm);

	process->quota.scan_at = scan_at;
	process->quota.wait = 0;
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, reason));
	return process->quota.scan_at - scan_at;
}

/* Scans get one part in 32 of the time. The process has saved up 3 ms for them at most. */
static void scan_share(struct kunit *test)
{
	const s64 saved = 32 * 3 * (s64)NSEC_PER_MSEC, long_ago = 100LL * NSEC_PER_SEC;
	s64 before, after, charge, taken;

	run_steps(test, SCANNED);
	before = ktime_get_mono_fast_ns();
	charge = charge_one(test, before, SFU_SCAN_SAMPLE);
	taken = ktime_get_mono_fast_ns() - before;
	/* The time that it takes, but for a scan that is interrupted for long a part of it. */
	KUNIT_EXPECT_GE(test, charge, 32 * 2000);
	KUNIT_EXPECT_LE(test, charge, 32 * max(taken, 2000));
	/* A process that has waited for long begins with what it can save up. */
	KUNIT_EXPECT_LT(test, charge, 32 * 200000 + max(taken - saved, 0));
	before = ktime_get_mono_fast_ns();
	charge_one(test, before - long_ago, SFU_SCAN_NEW_CODE);
	after = ktime_get_mono_fast_ns();
	KUNIT_EXPECT_GE(test, process_of(current->mm)->quota.scan_at, before - saved + 32 * 2000);
	KUNIT_EXPECT_LE(test, process_of(current->mm)->quota.scan_at, after - saved + 32 * 200000);
}

/*
 * A process may be scanned for 48 events. It then waits for its samples, each of which allows one
 * more. It does not wait for a scan that a sample requests.
 */
static void scan_share_of_events(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i;

	run_steps(test, SCANNED);
	process = process_of(current->mm);
	for (i = 0; i < 50; i++) {
		process->quota.scan_at = 0;
		KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	}
	expect_counted(test, "scan.runs=48");
	process->quota.scan_at = 0;
	process->quota.sample_at = 0;
	KUNIT_EXPECT_FALSE(test, sfu_quota_may_scan(&process->quota, SFU_SCAN_NEW_CODE));
	KUNIT_EXPECT_TRUE(test, sfu_quota_may_scan(&process->quota, SFU_SCAN_SAMPLE));
	sfu_quota_count_sample(&process->quota);
	for (i = 0; i < 2; i++) {
		process->quota.scan_at = 0;
		KUNIT_EXPECT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	}
	expect_counted(test, "scan.runs");
	for (i = 0; i < 300; i++)
		sfu_quota_count_sample(&process->quota);
	KUNIT_EXPECT_EQ(test, 48, process->quota.event_scans);
}

/*
 * In a process that drops its pages again and again, each scan finds something new. Each costs what
 * it examines, and soon the next one is not due.
 */
static void scan_share_of_dropped_pages(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i;
	s64 before;

	run_steps(test, SCANNED);
	process = process_of(current->mm);
	for (i = 0; i < 100; i++) {
		run_steps(test, "drop 0 5");
		before = ktime_get_mono_fast_ns();
		process->quota.scan_at = before;
		KUNIT_EXPECT_EQ(test, 0, sfu_processes_scan(current->mm));
		KUNIT_EXPECT_EQ(test, 0, process->quota.wait);
		KUNIT_EXPECT_GT(test, process->quota.scan_at, before - (s64)NSEC_PER_SEC);
	}
	expect_counted(test, "scan.runs=100");
	process->quota.scan_at = ktime_get_mono_fast_ns() + 1000LL * NSEC_PER_SEC;
	for (i = 0; i < 100; i++) {
		run_steps(test, "drop 0 5");
		KUNIT_EXPECT_EQ(test, 0, sfu_processes_scan(current->mm));
	}
	expect_counted(test, "");
}

/* There are so many processes that some share a chain of the table. */
#define PROCESSES	300

static void scan_many_processes(struct kunit *test)
{
	struct mm_struct **mms = test_alloc(test, 2 * PROCESSES * sizeof(*mms));
	struct mm_struct *first = current->mm;
	unsigned int i;

	for (i = 0; i < 2 * PROCESSES; i++)
		mms[i] = new_process(test);
	for (i = 0; i < PROCESSES; i++) {
		switch_process(mms[i]);
		KUNIT_EXPECT_EQ(test, 0, sfu_processes_scan(mms[i]));
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
	run_steps(test, SCANNED);
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

static struct kunit_case change_tests[] = {
	KUNIT_CASE(change_of_process),
	KUNIT_CASE_PARAM(forget_after, change_gen_params),
	KUNIT_CASE_PARAM(forget_bad_after, change_gen_params),
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(forget_many),
	KUNIT_CASE(scan_in_vain),
	KUNIT_CASE_SLOW(scan_in_vain_long),
	KUNIT_CASE(scan_after_event),
	KUNIT_CASE(scan_between_events),
	KUNIT_CASE(scan_share_of_events),
	KUNIT_CASE(scan_share),
	KUNIT_CASE(scan_share_of_dropped_pages),
	KUNIT_CASE(scan_many_processes),
	KUNIT_CASE(forget_process),
	{}
};

static struct kunit_suite change_suite = {
	.name = "sframe_scan_change", .init = change_scene_init, .test_cases = change_tests,
};

kunit_test_suite(change_suite);
