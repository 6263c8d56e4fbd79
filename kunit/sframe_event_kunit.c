// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the events: new mappings and new processes. */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/task_work.h>

#include "mapping_change.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_event.h"
#include "sframe_map.h"
#include "sframe_process.h"

/* The kernel reports mappings in a task of the process: here in the test's kernel thread. */
static void report_mmap(struct kunit *test, unsigned int nr)
{
	mmap_read_lock(current->mm);
	preempt_disable();
	current->flags &= ~PF_KTHREAD;
	sfu_event_mmap(find_vma(current->mm, page(test, nr)));
	current->flags |= PF_KTHREAD;
	preempt_enable();
	mmap_read_unlock(current->mm);
}

static void return_to_user(void)
{
	current->flags &= ~PF_KTHREAD;
	task_work_run();
	current->flags |= PF_KTHREAD;
}

static void event_of_code(struct kunit *test)
{
	map_image(test);
	report_mmap(test, 1);
	expect_map(test, "unknown");
	return_to_user();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	/* An event for a known range starts no scan. */
	report_mmap(test, 1);
	return_to_user();
	expect_counted(test, "");
}

static void event_of_no_code(struct kunit *test)
{
	map_image(test);
	map_anonymous(test, 8, 1, PROT_EXEC);
	report_mmap(test, 3);
	report_mmap(test, 8);
	return_to_user();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

/* A loader cuts the first mapping of a library. The rest of it is still code. */
static void event_beside_what_remains(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	report_mmap(test, 3);
	return_to_user();
	expect_counted(test, "");
	unmap_code_first(test);
	expect_map(test, GONE);
	report_mmap(test, 3);
	return_to_user();
	expect_map(test, "2-3 ready by 3");
	expect_counted(test, "scan.runs");
	report_mmap(test, 3);
	return_to_user();
	expect_counted(test, "");
}

/* A tracer may keep the task from returning to user mode. */
static void event_traced(struct kunit *test)
{
	map_image(test);
	current->ptrace = PT_PTRACED;
	report_mmap(test, 1);
	current->ptrace = 0;
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	return_to_user();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

static void keep_all(struct kunit *test)
{
}

/**
 * struct fork_case - other threads of the parent change mappings during a fork
 * @name: of the case
 * @change: the change, made before the child has its copy
 * @inherited: text of the child's map before it runs
 * @scanned: text of its map after a scan
 * @counted: what the scan has counted
 */
struct fork_case {
	const char	*name;
	void (*change)(struct kunit *test);
	const char	*inherited;
	const char	*scanned;
	const char	*counted;
};

static const struct fork_case fork_cases[] = {
	{ "nothing changed", keep_all, SAME, SAME, "scan.runs" },
	{ "code unmapped", unmap_code, GONE, "nothing", "scan.runs" },
	{ "code cut", unmap_code_last, GONE, "1-2 ready by 3", "scan.runs" },
	{ "code replaced", map_over_code, GONE, PLAIN, "scan.runs" },
	{ "section unmapped", unmap_section, GONE, PLAIN, "defect.segment scan.runs" },
	{ "parent unknown", NULL, "unknown", SAME, "scan.runs" },
};

NAMED_CASES(fork);

static struct mm_struct *born;
static struct sfu_map *born_with;

static bool child_is_scanned(void)
{
	struct sfu_map *map = sfu_process_get_map(born);

	sfu_map_put(map);
	return map != born_with;
}

/* The child never runs here. It is traced, so that a worker scans it. */
static void event_by_fork(struct kunit *test)
{
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	const struct fork_case *c = test->param_value;
	struct mm_struct *parent = current->mm;
	struct scan_scene *scene = test->priv;
	char inherited[MAP_TEXT];

	KUNIT_ASSERT_NOT_NULL(test, child);
	map_image(test);
	if (c->change)
		expect_scanned(test, SAME, "scan.runs");
	born = new_process(test);
	switch_process(born);
	image_map(test, &scene->image, scene->area);
	if (c->change)
		c->change(test);
	switch_process(parent);
	child->mm = born;
	child->ptrace = PT_PTRACED;

	preempt_disable();
	sfu_event_fork(child);
	born_with = sfu_process_get_map(born);
	preempt_enable();
	text_of_map(test, born_with, inherited);
	KUNIT_EXPECT_STREQ(test, inherited, c->inherited);
	KUNIT_EXPECT_TRUE(test, comes_true(child_is_scanned));
	sfu_map_put(born_with);
	switch_process(born);
	expect_map(test, c->scanned);
	switch_process(parent);
	expect_counted(test, c->counted);
	mmput(born);
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
	return_to_user();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

static struct kunit_case event_tests[] = {
	KUNIT_CASE(event_of_code),
	KUNIT_CASE(event_of_no_code),
	KUNIT_CASE(event_beside_what_remains),
	KUNIT_CASE(event_traced),
	KUNIT_CASE_PARAM(event_by_fork, fork_gen_params),
	KUNIT_CASE(event_of_thread),
	{}
};

SCAN_SUITE(sframe_event, event_tests);
