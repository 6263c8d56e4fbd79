// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the events: new mappings and new processes. */
#include <linux/perf_event.h>

#include "scan_scene.h"
#include "map/process.h"

/* New code of the process, as the kernel reports it. See scan_scene.h for the steps. */
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
	/* Other data takes the place of a part of the code. The rest of the code remains. */
	{ "over a part of code",
	  SCANNED "file 1 1 1 r; report 1; run; map 2-3 ready by 3; counted scan.runs" },
	/* New code is cut, or is gone, after it was reported, and before the scan. */
	{ "code that is cut",
	  SCANNED "image 50; report 51; unmap 51 1; run; map " SAME ", 52-53 ready by 53;"
	  "counted scan.runs" },
	{ "code that is gone",
	  SCANNED "image 10; report 11; unmap 10 5; run; map " SAME "; counted scan.runs" },
	/* A scan for new code finds code that no event has reported. */
	{ "code that was not reported",
	  SCANNED "image 20; image 10; anon 40 1 x; report 11; run;"
	  "map " SAME ", 11-13 ready by 13, 21-23 ready by 23, 40-41 none; counted scan.runs" },
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

/* Other threads of the parent change mappings during a fork. */
static const struct fork_case {
	const char	*name;
	/* makes the child's mappings different from those in the parent's map */
	const char	*change;
	const char	*scanned;	/* text of the child's map after its scan */
} fork_cases[] = {
	{ "code unmapped", "unmap 1 2", "nothing" },
	{ "code cut", "unmap 2 1", "1-2 ready by 3" },
	{ "code replaced", "anon 1 2 rx", PLAIN },
	{ "section unmapped", "unmap 3 2", LATE },
	{ "section replaced", "anon 3 1 r", LATE },
};

NAMED_CASES(fork);

/* A child with mappings like those of the image. It never runs. */
static struct task_struct *make_child(struct kunit *test, const char *change)
{
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct mm_struct *parent = current->mm;

	KUNIT_ASSERT_NOT_NULL(test, child);
	raw_spin_lock_init(&child->pi_lock);
	child->mm = new_process(test);
	switch_process(child->mm);
	image_map(test, &scene_of(test)->image, scene_of(test)->area);
	run_steps(test, change);
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
static void return_to_user_in(struct task_struct *child)
{
	struct mm_struct *parent = current->mm;

	switch_process(child->mm);
	rcu_read_lock();
	sfu_request_for_event(sfu_processes_find(child->mm), current);
	rcu_read_unlock();
	task_work_run();
	switch_process(parent);
}

static void expect_map_in(struct kunit *test, struct mm_struct *mm, const char *want)
{
	struct mm_struct *old = current->mm;

	switch_process(mm);
	expect_map(test, want);
	switch_process(old);
}

/* The child has not all code of the map. It shares the map until it finds its own mappings. */
static void event_by_fork(struct kunit *test)
{
	const struct fork_case *c = test->param_value;
	struct mm_struct *parent = current->mm;
	struct sfu_process *process;
	struct task_struct *child;

	run_steps(test, SCANNED);
	child = make_child(test, c->change);
	report_fork(child);
	process = process_of(child->mm);
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(process->map),
			    rcu_access_pointer(process_of(parent)->map));
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, child);
	return_to_user_in(child);
	KUNIT_EXPECT_NULL(test, process->inherited.map);
	expect_map_in(test, child->mm, c->scanned);
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	mmput(child->mm);
}

/* A child with the mappings of its parent needs no scan. */
static struct task_struct *fork_same(struct kunit *test)
{
	struct task_struct *child = make_child(test, "");

	report_fork(child);
	return child;
}

static bool has_borrowed(const struct sfu_process *process)
{
	bool is_borrowed;

	rcu_read_lock();
	sfu_process_walk_map(process, &is_borrowed);
	rcu_read_unlock();
	return is_borrowed;
}

static void event_by_fork_of_same(struct kunit *test)
{
	struct mm_struct *parent = current->mm;
	struct sfu_process *process;
	struct task_struct *child;
	struct sfu_map *map;

	run_steps(test, SCANNED);
	child = fork_same(test);
	process = process_of(child->mm);
	KUNIT_ASSERT_NOT_NULL(test, process);
	map = rcu_access_pointer(process->map);
	KUNIT_EXPECT_PTR_EQ(test, map, rcu_access_pointer(process_of(parent)->map));
	KUNIT_EXPECT_NULL(test, process->request.holder);
	KUNIT_EXPECT_TRUE(test, has_borrowed(process));
	KUNIT_EXPECT_FALSE(test, has_borrowed(process_of(parent)));

	/* A scan that fails leaves it the map. */
	switch_process(child->mm);
	mutex_lock(&process->lock);
	KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_processes_scan(child->mm));
	mutex_unlock(&process->lock);
	expect_map(test, SAME);
	expect_counted(test, "scan.lost");

	/* Once it is scanned for a sample, it has one of its own. */
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_PTR_NE(test, map, rcu_access_pointer(process->map));
	KUNIT_EXPECT_FALSE(test, has_borrowed(process));
	switch_process(parent);
	expect_map(test, SAME);
	mmput(child->mm);
}

/* The parent has written garbage into its copy of the section. The child has one of its own. */
static void event_by_fork_of_bad(struct kunit *test)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET, .is_borrowed = true };
	struct mm_struct *parent = current->mm;
	struct sfu_section *section;
	struct task_struct *child;
	struct sframe_row row;
	struct sfu_map *map;

	sfu_lookup_use_cache(&lookup, NULL);
	run_steps(test, SCANNED);
	child = fork_same(test);
	map = map_of(parent);
	section = &map->ranges[0].section;
	atomic_set(&section->state, SFU_SECTION_BAD);
	switch_process(child->mm);
	KUNIT_EXPECT_EQ(test, -EBADMSG,
			sfu_section_find_row(section, &lookup, page(test, 1), &row));
	KUNIT_EXPECT_PTR_EQ(test, lookup.bad, section);
	expect_scanned(test, SAME, "scan.runs");
	switch_process(parent);
	expect_map(test, BAD);
	sfu_map_put(map);
	mmput(child->mm);
}

/* Why it is not known that the child has the mappings of its parent. */
enum doubt { MARKED, REPORTED, NO_CODE, LOCKED, SCANNING };

static void begin_doubt(struct task_struct *child, enum doubt doubt)
{
	struct sfu_process *process = process_of(current->mm);

	if (doubt == MARKED)
		sfu_range_mark_unmapped(&rcu_access_pointer(process->map)->ranges[0]);
	else if (doubt == REPORTED)
		process->vma_hints.has_new_code = true;
	else if (doubt == NO_CODE)
		rcu_assign_pointer(process->map, sfu_map_get_empty());
	else if (doubt == LOCKED)
		mmap_write_lock(child->mm);
	else
		mutex_lock(&process->lock);
}

static void end_doubt(struct task_struct *child, enum doubt doubt)
{
	if (doubt == LOCKED)
		mmap_write_unlock(child->mm);
	else if (doubt == SCANNING)
		mutex_unlock(&process_of(current->mm)->lock);
}

static const struct doubt_case {
	const char	*name;
	enum doubt	doubt;
} doubt_cases[] = {
	/* Another thread has unmapped code after the mappings of the child were copied. */
	{ "code is marked in the map of the parent", MARKED },
	{ "new code of the parent is reported", REPORTED },
	{ "the map of the parent has no code", NO_CODE },
	{ "the mappings of the child are locked", LOCKED },
	/* The scan has forgotten what events have reported, and has not published its map yet. */
	{ "another thread of the parent scans", SCANNING },
};

NAMED_CASES(doubt);

static void event_by_fork_in_doubt(struct kunit *test)
{
	const struct doubt_case *c = test->param_value;
	struct sfu_map *map;
	struct task_struct *child;

	run_steps(test, SCANNED);
	map = map_of(current->mm);
	child = make_child(test, "");
	begin_doubt(child, c->doubt);
	report_fork(child);
	end_doubt(child, c->doubt);
	KUNIT_EXPECT_PTR_EQ(test, process_of(child->mm)->request.holder, child);
	return_to_user_in(child);
	expect_map_in(test, child->mm, SAME);
	expect_counted(test, "scan.runs");
	mmput(child->mm);
	/* One reference is the test's, one is that of the process. */
	if (rcu_access_pointer(process_of(current->mm)->map) != map)
		sfu_map_put(map);
	sfu_map_put(map);
}

/* A child that has changed its code has a child, and that one another. */
static void event_by_forks(struct kunit *test)
{
	struct mm_struct *parent = current->mm;
	struct task_struct *child, *grandchild;

	run_steps(test, SCANNED);
	child = fork_same(test);
	switch_process(child->mm);
	grandchild = fork_same(test);
	run_steps(test, "unmap 1 2; map unknown");
	switch_process(parent);
	expect_map(test, SAME);
	mmput(child->mm);
	expect_map_in(test, grandchild->mm, SAME);
	switch_process(grandchild->mm);
	run_steps(test, "unmap 1 2; map unknown");
	switch_process(parent);
	mmput(grandchild->mm);
	/* The map is the parent's alone again. */
	run_steps(test, "unmap 1 2; map " GONE);
}

/* The memory of a process that no sample has hit: all of it, if it shares the map. */
static void event_by_fork_takes_little(struct kunit *test)
{
	struct task_struct *child;
	long bytes;

	run_steps(test, SCANNED);
	refill_spares();
	bytes = atomic_long_read(&sfu_held.bytes);
	child = fork_same(test);
	KUNIT_EXPECT_NULL(test, process_of(child->mm)->request.holder);
	sfu_spares_refill(2);
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_LE(test, atomic_long_read(&sfu_held.bytes) - bytes, 512);
	mmput(child->mm);
}

/* Events of the parent have used up their scans. No sample comes, so its map stays as it is. */
static void event_by_fork_without_scans(struct kunit *test)
{
	struct task_struct *child;

	run_steps(test, SCANNED);
	process_of(current->mm)->quota.event_scans = 0;
	child = fork_same(test);
	KUNIT_EXPECT_NULL(test, process_of(child->mm)->request.holder);
	mmput(child->mm);
	process_of(current->mm)->vma_hints.has_new_code = true;
	child = make_child(test, "");
	report_fork(child);
	KUNIT_EXPECT_NULL(test, process_of(child->mm));
	mmput(child->mm);
	process_of(current->mm)->quota.event_scans = 1;
	child = make_child(test, "");
	report_fork(child);
	KUNIT_EXPECT_PTR_EQ(test, process_of(child->mm)->request.holder, child);
	return_to_user_in(child);
	expect_map_in(test, child->mm, SAME);
	mmput(child->mm);
}

static void event_by_fork_of_unknown(struct kunit *test)
{
	struct task_struct *child;

	map_image(test);
	child = make_child(test, "");
	report_fork(child);
	KUNIT_EXPECT_NULL(test, process_of(child->mm));
	expect_counted(test, "");
	mmput(child->mm);
}

/* munmap() in one of two processes leaves the map of the other as it is. */
static void event_unmap_in_parent(struct kunit *test)
{
	struct task_struct *child;

	run_steps(test, SCANNED);
	child = make_child(test, "");
	report_fork(child);
	run_steps(test, "unmap 1 2; map unknown");
	return_to_user_in(child);
	expect_map_in(test, child->mm, SAME);
	mmput(child->mm);
	expect_counted(test, "scan.runs");
	expect_scanned(test, "nothing", "scan.runs");
}

static void event_unmap_in_child(struct kunit *test)
{
	struct mm_struct *parent = current->mm;
	struct task_struct *child;

	run_steps(test, SCANNED);
	child = make_child(test, "");
	report_fork(child);
	switch_process(child->mm);
	run_steps(test, "unmap 3 2; map unknown");
	switch_process(parent);
	expect_map(test, SAME);
	expect_rows(test, page(test, 0));
	mmput(child->mm);
	/* The map is the parent's alone again: it is marked, and not dropped. */
	run_steps(test, "unmap 1 2; map " GONE);
}

/* A new thread shares the memory of its process: no scan is needed. */
static void event_of_thread(struct kunit *test)
{
	struct task_struct *thread = kunit_kzalloc(test, sizeof(*thread), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, thread);
	map_image(test);
	thread->mm = current->mm;
	preempt_disable();
	sfu_event_fork(thread);
	preempt_enable();
	task_work_run();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

/* The last profiler has ended: the maps are kept right, but nothing is scanned. */
static void event_after_profiler(struct kunit *test)
{
	run_steps(test, "image 0; exec 1; run; map " SAME "; counted scan.runs");
	KUNIT_ASSERT_EQ(test, 0, get_callchain_buffers(PERF_MAX_STACK_DEPTH));
	put_callchain_buffers();
	run_steps(test, "image 8; report 9; unmap 1 2; run; map " GONE "; counted");
	sfu_watch_sample();
	run_steps(test, "report 9; run; map 9-11 ready by 11; counted scan.runs");
}

/* A look at very many mappings takes long. New code of such a process is left to its samples. */
static void event_of_many_mappings(struct kunit *test)
{
	unsigned long many = user_area(test, 2 * 1100);
	unsigned int i;

	run_steps(test, "scan nothing; image 0");
	for (i = 0; i < 1100; i++)
		KUNIT_ASSERT_EQ(test, 0, user_mprotect(many + 2 * i * PAGE_SIZE, PAGE_SIZE,
						       PROT_READ));
	run_steps(test, "report 1; run; map nothing; counted");
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(many, 2 * 1100 * PAGE_SIZE));
	run_steps(test, "report 1; run; map " SAME "; counted scan.runs");
}

static struct kunit_case event_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(event_by_fork_of_same),
	KUNIT_CASE(event_by_fork_of_bad),
	KUNIT_CASE_PARAM(event_by_fork_in_doubt, doubt_gen_params),
	KUNIT_CASE(event_by_forks),
	KUNIT_CASE(event_by_fork_takes_little),
	KUNIT_CASE_PARAM(event_by_fork, fork_gen_params),
	KUNIT_CASE(event_by_fork_without_scans),
	KUNIT_CASE(event_by_fork_of_unknown),
	KUNIT_CASE(event_after_profiler),
	KUNIT_CASE(event_of_profiler_that_failed),
	KUNIT_CASE(event_of_many_mappings),
	KUNIT_CASE(event_unmap_in_parent),
	KUNIT_CASE(event_unmap_in_child),
	KUNIT_CASE(event_of_thread),
	{}
};

static struct kunit_suite event_suite = {
	.name = "sframe_event", .init = scan_scene_init, .test_cases = event_tests,
};

kunit_test_suite(event_suite);
