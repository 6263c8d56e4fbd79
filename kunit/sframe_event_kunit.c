// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the events: new mappings and new processes. */
#include <linux/perf_event.h>

#include "scan_scene.h"

static struct task_struct children[3];

/* Process @nr gets the mappings of the image, as by a fork. It never runs. */
static struct task_struct *copy_process_to(struct kunit *test, unsigned int nr)
{
	struct mm_struct *parent = current->mm, *mm = process_mm(test, nr);
	struct task_struct *child = &children[nr];

	if (child->mm == mm)
		return child;
	raw_spin_lock_init(&child->pi_lock);
	child->mm = mm;
	switch_process(mm);
	image_map(test, &scene_of(test)->image, scene_of(test)->area);
	switch_process(parent);
	return child;
}

static void report_fork(struct task_struct *child)
{
	preempt_disable();
	sfu_event_fork(child);
	preempt_enable();
}

/* Lets current do what the child would do on its way to user mode. */
static void return_to_user_in(struct kunit *test, struct task_struct *child)
{
	struct mm_struct *parent = current->mm;

	switch_process(child->mm);
	rcu_read_lock();
	sfu_request_for_event(sfu_processes_find(child->mm), current);
	rcu_read_unlock();
	task_work_run();
	KUNIT_EXPECT_NULL(test, process_of(child->mm)->inherited.map);
	switch_process(parent);
}

static bool has_inherited(const struct sfu_process *process)
{
	bool is_inherited;

	rcu_read_lock();
	sfu_process_walk_map(process, &is_inherited);
	rcu_read_unlock();
	return is_inherited;
}

static void expect_child(struct kunit *test, struct task_struct *child, const char *want)
{
	struct sfu_process *process = process_of(child->mm);
	const char *got = "unknown";

	if (process) {
		KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(process->map),
				    rcu_access_pointer(process_of(current->mm)->map));
		got = process->request.holder == child ? "scans" :
		      has_inherited(process) ? "inherits" : "shares";
	}
	KUNIT_EXPECT_STREQ(test, got, want);
}

static int end_profiler(void)
{
	int err = get_callchain_buffers(PERF_MAX_STACK_DEPTH);

	if (!err)
		put_callchain_buffers();
	return err;
}

static void drop_code(struct sfu_process *process)
{
	struct sfu_map *map = rcu_access_pointer(process->map);

	rcu_assign_pointer(process->map, sfu_map_get_empty());
	sfu_map_put(map);
}

static bool run_event_step(struct kunit *test, const char *step)
{
	struct sfu_process *process = process_of(current->mm);
	unsigned int nr;
	char want[10];

	if (sscanf(step, "copy %u", &nr) == 1)
		copy_process_to(test, nr);
	else if (sscanf(step, "fork %u", &nr) == 1)
		report_fork(copy_process_to(test, nr));
	else if (sscanf(step, "child %u %9s", &nr, want) == 2)
		expect_child(test, &children[nr], want);
	else if (sscanf(step, "return %u", &nr) == 1)
		return_to_user_in(test, &children[nr]);
	else if (sscanf(step, "event-scans %u", &nr) == 1)
		process->quota.event_scans = nr;
	else if (!strcmp(step, "new-code"))
		process->vma_hints.has_new_code = true;
	else if (!strcmp(step, "mark"))
		sfu_range_mark_unmapped(&rcu_access_pointer(process->map)->ranges[0]);
	else if (!strcmp(step, "no-code"))
		drop_code(process);
	else if (!strcmp(step, "thread"))
		report_fork(current);
	else if (!strcmp(step, "profiler-ends"))
		KUNIT_ASSERT_EQ(test, 0, end_profiler());
	else if (!strcmp(step, "profile"))
		sfu_watch_sample();
	else
		return false;
	return true;
}

static int event_scene_init(struct kunit *test)
{
	memset(children, 0, sizeof(children));
	return scan_scene_begin(test, run_event_step);
}

/* Other threads of the parent change mappings during a fork, so that the child lacks code. */
#define FORKED(change, scanned)						\
	SCANNED "copy 1; process 1; " change "; process 0; fork 1; child 1 scans; return 1;"	\
	"process 1; map " scanned "; process 0; map " SAME "; counted scan.runs"

/* It is not known for sure that the child has the mappings of its parent: it is scanned. */
#define IN_DOUBT(begin, end)						\
	SCANNED "copy 1; " begin "; fork 1; " end "child 1 scans; return 1; process 1;"	\
	"map " SAME "; process 0; counted scan.runs"

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	copy N, fork N		process N gets the mappings of the image; the kernel reports that
 *				current has made it by a fork
 *	child N HOW		compares how the module knows process N: "unknown"; "inherits" the
 *				map of current; "scans" on its way to user mode, and inherits until
 *				then
 *	return N		process N goes to user mode
 *	event-scans N		events of the process may scan it N times more
 *	new-code		new code was reported, and is not scanned yet
 *	mark, no-code		the code is marked as unmapped; the map has none
 *	thread			the kernel reports a new thread
 *	profiler-ends, profile	the last profiler ends; a sample shows that there is one
 */
static const struct script_case script_cases[] = {
	/* A process that runs already is left to its first sample. */
	{ "unknown process", "image 0; report 1; run; map unknown; counted" },
	/* A new program has no code yet, so its map is complete. */
	{ "exec", "image 0; exec 1; map nothing; run; map " SAME "; counted scan.runs" },
	{ "exec, unmaps what its map does not have yet",
	  "image 0; exec 1; unmap 0 128; map nothing; counted" },
	{ "code",
	  "scan nothing; image 0; report 1; map nothing; run; map " SAME "; counted scan.runs" },
	{ "no code",
	  "scan nothing; image 0; anon 8 1 x; report 3; report 8; run; map nothing; counted" },
	/* A loader maps the code of a file first, and the part with the section a moment later. */
	{ "awaited section",
	  "image 0; anon 3 2 -; scan " LATE "; file 8 1 3 r; report 8; run; counted;"
	  "file 3 2 3 r; report 3; run; map " SAME "; counted scan.runs; report 3; run; counted" },
	/* A loader maps a whole file, and then its parts over it. */
	{ "over the section",
	  SCANNED "unmap 3 2; map " GONE "; image 0; report 3; run; map " SAME ";"
	  "counted scan.runs" },
	/* A loader cuts the first mapping of a library. The rest is left to the next sample. */
	{ "beside what remains",
	  SCANNED "unmap 1 1; map " GONE "; report 3; run; map " GONE ";"
	  "counted; scan 2-3 ready by 3" },
	{ "over a part of code",
	  SCANNED "file 1 1 1 r; report 1; run; map 2-3 ready by 3; counted scan.runs" },
	/* New code is cut, or is gone, after it was reported, and before the scan. */
	{ "code that is cut",
	  SCANNED "image 50; report 51; unmap 51 1; run; map " SAME ", 52-53 ready by 53;"
	  "counted scan.runs" },
	{ "code that is gone",
	  SCANNED "image 10; report 11; unmap 10 5; run; map " SAME "; counted scan.runs" },
	{ "code that was not reported",
	  SCANNED "image 20; image 10; anon 40 1 x; report 11; run;"
	  "map " SAME ", 11-13 ready by 13, 21-23 ready by 23, 40-41 none; counted scan.runs" },
	{ "fork, code unmapped", FORKED("unmap 1 2", "nothing") },
	{ "fork, code cut", FORKED("unmap 2 1", "1-2 ready by 3") },
	{ "fork, code replaced", FORKED("anon 1 2 rx", PLAIN) },
	{ "fork, section unmapped", FORKED("unmap 3 2", LATE) },
	{ "fork, section replaced", FORKED("anon 3 1 r", LATE) },
	/* Another thread has unmapped code after the mappings of the child were copied. */
	{ "fork, code is marked in the map of the parent", IN_DOUBT("mark", "") },
	{ "fork, new code of the parent is reported", IN_DOUBT("new-code", "") },
	{ "fork, the map of the parent has no code", IN_DOUBT("no-code", "") },
	{ "fork, the mappings of the child are locked",
	  IN_DOUBT("process 1; lock; process 0", "process 1; unlock; process 0;") },
	/* The scan has forgotten what events have reported, and has not published its map yet. */
	{ "fork, another thread of the parent scans", IN_DOUBT("begin-scan", "end-scan;") },
	{ "fork of an unknown process", "image 0; fork 1; child 1 unknown; counted" },
	/* A child that has changed its code has a child. At the end only the parent has the map. */
	{ "forks",
	  SCANNED "fork 1; process 1; fork 2; unmap 1 2; map unknown; process 0; map " SAME ";"
	  "end 1; process 2; map " SAME "; unmap 1 2; map unknown; process 0; end 2; unmap 1 2;"
	  "map " GONE },
	/* Events of the parent have used up their scans. No sample comes: its map stays. */
	{ "fork without scans",
	  SCANNED "event-scans 0; fork 1; child 1 inherits; end 1; new-code; fork 2;"
	  "child 2 unknown; event-scans 1; fork 2; child 2 scans; return 2; process 2; map " SAME },
	/* munmap() in one of two processes leaves the map of the other as it is. */
	{ "unmapped in the parent",
	  SCANNED "fork 1; unmap 1 2; map unknown; return 1; process 1; map " SAME "; process 0;"
	  "end 1; counted scan.runs; scan nothing" },
	/* The map is the parent's alone again: it is marked, and not dropped. */
	{ "unmapped in the child",
	  SCANNED "fork 1; process 1; unmap 3 2; map unknown; process 0; map " SAME "; rows 0;"
	  "end 1; unmap 1 2; map " GONE },
	{ "new thread", "image 0; thread; run; map unknown; counted" },
	/* The last profiler has ended: the maps are kept right, but nothing is scanned. */
	{ "without a profiler",
	  "image 0; exec 1; run; map " SAME "; counted scan.runs; profiler-ends; image 8; report 9;"
	  "unmap 1 2; run; map " GONE "; counted; profile; report 9; run; map 9-11 ready by 11;"
	  "counted scan.runs" },
};

NAMED_CASES(script);

/* perf_event_open() asks for call chains, and then fails. It is forgotten in the end. */
static void event_of_profiler_that_failed(struct kunit *test)
{
	sfu_watch_sample();
	KUNIT_EXPECT_EQ(test, -EOVERFLOW, get_callchain_buffers(U16_MAX));
	KUNIT_EXPECT_FALSE(test, sfu_watch_is_idle(jiffies));
	/* The time was read before the profiler came. */
	KUNIT_EXPECT_FALSE(test, sfu_watch_is_idle(jiffies - HZ));
	KUNIT_EXPECT_FALSE(test, sfu_watch_is_idle(jiffies + 500 * HZ));
	KUNIT_EXPECT_TRUE(test, sfu_watch_is_idle(jiffies + 601 * HZ));
	KUNIT_EXPECT_TRUE(test, sfu_watch_is_idle(jiffies + 500 * HZ));
	/* A sample shows that somebody profiles. */
	KUNIT_EXPECT_TRUE(test, sfu_watch_sample());
	KUNIT_EXPECT_FALSE(test, sfu_watch_is_idle(jiffies));
}

static void event_by_fork_of_same(struct kunit *test)
{
	struct mm_struct *parent = current->mm;
	struct sfu_process *process;
	struct sfu_map *map;

	run_steps(test, SCANNED "fork 1; child 1 inherits");
	process = process_of(process_mm(test, 1));
	map = rcu_access_pointer(process->map);
	KUNIT_EXPECT_FALSE(test, has_inherited(process_of(parent)));

	/* A scan that fails leaves it the map. */
	run_steps(test, "process 1; begin-scan; busy; end-scan; map " SAME "; counted scan.lost");

	/* Once it is scanned for a sample, it has one of its own. */
	run_steps(test, "scan " SAME);
	KUNIT_EXPECT_PTR_NE(test, map, rcu_access_pointer(process->map));
	KUNIT_EXPECT_FALSE(test, has_inherited(process));
	run_steps(test, "process 0; map " SAME);
}

/* The parent has written garbage into its copy of the section. The child has one of its own. */
static void event_by_fork_of_bad(struct kunit *test)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET, .is_inherited = true };
	struct sfu_section *section;
	struct sframe_row row;
	struct sfu_map *map;

	sfu_lookup_use_cache(&lookup, NULL);
	run_steps(test, SCANNED "fork 1");
	map = map_of(current->mm);
	section = &map->ranges[0].section;
	atomic_set(&section->state, SFU_SECTION_BAD);
	run_steps(test, "process 1");
	KUNIT_EXPECT_EQ(test, -EBADMSG,
			sfu_section_find_row(section, &lookup, page(test, 1), &row));
	KUNIT_EXPECT_PTR_EQ(test, lookup.bad, section);
	run_steps(test, "scan " SAME "; process 0; map " BAD);
	sfu_map_put(map);
}

/* The memory of a process that no sample has hit: all of it, if it shares the map. */
static void event_by_fork_takes_little(struct kunit *test)
{
	long bytes;

	run_steps(test, SCANNED);
	sfu_spares_refill(SPARES);
	bytes = atomic_long_read(&sfu_held.bytes);
	run_steps(test, "fork 1; child 1 inherits");
	sfu_spares_refill(2);
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_LE(test, atomic_long_read(&sfu_held.bytes) - bytes, 512);
}

/* A look at very many mappings takes long. New code of such a process is left to its samples. */
static void event_of_many_mappings(struct kunit *test)
{
	unsigned long many;

	run_steps(test, "scan nothing; image 0");
	many = map_many(test, 1100, PROT_READ);
	run_steps(test, "report 1; run; map nothing; counted");
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(many, 2 * 1100 * PAGE_SIZE));
	run_steps(test, "report 1; run; map " SAME "; counted scan.runs");
}

/* munmap() of a process without a map requests no scan: the next sample does. */
static void event_unmaps_without_map(struct kunit *test)
{
	struct sfu_process *process = sfu_processes_get(current->mm);

	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_EXPECT_NULL(test, sfu_process_map(process));
	KUNIT_EXPECT_TRUE(test, sfu_process_unmap(process, 0, PAGE_SIZE));
	sfu_process_put(process);
}

static struct kunit_case event_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(event_by_fork_of_same),
	KUNIT_CASE(event_by_fork_of_bad),
	KUNIT_CASE(event_by_fork_takes_little),
	KUNIT_CASE(event_of_profiler_that_failed),
	KUNIT_CASE(event_of_many_mappings),
	KUNIT_CASE(event_unmaps_without_map),
	{}
};

static struct kunit_suite event_suite = {
	.name = "sframe_event", .init = event_scene_init, .test_cases = event_tests,
};

kunit_test_suite(event_suite);
