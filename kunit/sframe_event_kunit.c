// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the events: new mappings and new processes. */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/perf_event.h>
#include <linux/sched/mm.h>
#include <linux/task_work.h>

#include "mapping_change.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_event.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_request.h"

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

/* execve() maps the new program. */
static void report_exec(struct kunit *test, unsigned int nr)
{
	current->in_execve = 1;
	report_mmap(test, nr);
	current->in_execve = 0;
}

/* A process that runs already is left to its first sample. */
static void event_of_unknown_process(struct kunit *test)
{
	map_image(test);
	report_mmap(test, 1);
	task_work_run();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

/* A new program has no code yet, so its map is complete. */
static void event_of_exec(struct kunit *test)
{
	map_image(test);
	report_exec(test, 1);
	expect_map(test, "nothing");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_NULL(test, process_of(current->mm)->cache);
}

static void event_of_code(struct kunit *test)
{
	expect_scanned(test, "nothing", "scan.runs");
	map_image(test);
	report_mmap(test, 1);
	expect_map(test, "nothing");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

static void event_of_no_code(struct kunit *test)
{
	expect_scanned(test, "nothing", "scan.runs");
	map_image(test);
	map_anonymous(test, 8, 1, PROT_EXEC);
	report_mmap(test, 3);
	report_mmap(test, 8);
	task_work_run();
	expect_map(test, "nothing");
	expect_counted(test, "");
}

/* A loader maps the code of a file first, and the part with the section a moment later. */
static void event_of_awaited_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_image(test);
	map_anonymous(test, 3, 2, PROT_NONE);
	expect_scanned(test, LATE, "scan.runs");
	user_map_file(test, scene->image.file, page(test, 8), 1, PROT_READ, IMAGE_SECTION);
	report_mmap(test, 8);
	task_work_run();
	expect_counted(test, "");
	map_section_again(test);
	report_mmap(test, 3);
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	/* It is not awaited any more. */
	report_mmap(test, 3);
	task_work_run();
	expect_counted(test, "");
}

/* A loader cuts the first mapping of a library. The rest of it is left to the next sample. */
/* A loader maps a whole file, and then its parts over it. */
static void event_over_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	unmap_section(test);
	expect_map(test, GONE);
	image_map(test, &scene->image, scene->area);
	report_mmap(test, 3);
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

static void event_beside_what_remains(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	unmap_code_first(test);
	expect_map(test, GONE);
	report_mmap(test, 3);
	task_work_run();
	expect_map(test, GONE);
	expect_counted(test, "");
	expect_scanned(test, "2-3 ready by 3", "scan.runs");
}

static void keep_all(struct kunit *test)
{
}

/**
 * struct fork_case - other threads of the parent change mappings during a fork
 * @name: of the case
 * @change: makes the child's mappings different from those in the parent's map
 * @scanned: text of the child's map after its scan
 */
struct fork_case {
	const char	*name;
	void (*change)(struct kunit *test);
	const char	*scanned;
};

static const struct fork_case fork_cases[] = {
	{ "nothing changed", keep_all, SAME },
	{ "code unmapped", unmap_code, "nothing" },
	{ "code cut", unmap_code_last, "1-2 ready by 3" },
	{ "code replaced", map_over_code, PLAIN },
	{ "section unmapped", unmap_section, LATE },
	{ "section replaced", map_over_section, LATE },
};

NAMED_CASES(fork);

/* A child with mappings like those of the image. It never runs. */
static struct task_struct *make_child(struct kunit *test, void (*change)(struct kunit *test))
{
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	struct mm_struct *parent = current->mm;
	struct scan_scene *scene = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, child);
	raw_spin_lock_init(&child->pi_lock);
	child->mm = new_process(test);
	switch_process(child->mm);
	image_map(test, &scene->image, scene->area);
	change(test);
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
	sfu_request_for_event(sfu_process_find(child->mm), current, SFU_SCAN_NEW_CODE);
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

/* The child shares the map of its parent, until it finds its own mappings. */
static void event_by_fork(struct kunit *test)
{
	const struct fork_case *c = test->param_value;
	struct mm_struct *parent = current->mm;
	struct sfu_process *process;
	struct task_struct *child;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	child = make_child(test, c->change);
	report_fork(child);
	process = process_of(child->mm);
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(process->map),
			    rcu_access_pointer(process_of(parent)->map));
	KUNIT_EXPECT_NULL(test, process->cache);
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, child);
	return_to_user_in(child);
	KUNIT_EXPECT_NULL(test, process->inherited);
	expect_map_in(test, child->mm, c->scanned);
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	mmput(child->mm);
}

/* The child has as many mappings as its parent had. That does not prove that they are the same. */
static void event_by_fork_with_as_many(struct kunit *test)
{
	const struct fork_case *c = test->param_value;
	struct task_struct *child;
	struct sfu_map *map;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	child = make_child(test, c->change);
	map = map_of(current->mm);
	map->nr_vmas = child->mm->map_count;
	sfu_map_put(map);
	report_fork(child);
	return_to_user_in(child);
	expect_map_in(test, child->mm, c->scanned);
	expect_counted(test, "scan.runs");
	mmput(child->mm);
}

static void event_by_fork_of_unknown(struct kunit *test)
{
	struct task_struct *child;

	map_image(test);
	child = make_child(test, keep_all);
	report_fork(child);
	KUNIT_EXPECT_NULL(test, process_of(child->mm));
	expect_counted(test, "");
	mmput(child->mm);
}

/* munmap() in one of two processes leaves the map of the other as it is. */
static void event_unmap_in_parent(struct kunit *test)
{
	struct task_struct *child;

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	child = make_child(test, keep_all);
	report_fork(child);
	unmap_code(test);
	expect_map(test, "unknown");
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

	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	child = make_child(test, keep_all);
	report_fork(child);
	switch_process(child->mm);
	unmap_section(test);
	expect_map(test, "unknown");
	switch_process(parent);
	expect_map(test, SAME);
	expect_rows(test, page(test, 0));
	mmput(child->mm);
	/* The map is the parent's alone again: it is marked, and not dropped. */
	unmap_code(test);
	expect_map(test, GONE);
}

/* A new program unmaps what its map does not have yet. */
static void event_unmap_without_code(struct kunit *test)
{
	map_image(test);
	report_exec(test, 1);
	unmap_at(test, 0, AREA_PAGES);
	expect_map(test, "nothing");
	expect_counted(test, "");
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
	map_image(test);
	report_exec(test, 1);
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");

	KUNIT_ASSERT_EQ(test, 0, get_callchain_buffers(PERF_MAX_STACK_DEPTH));
	put_callchain_buffers();
	image_map(test, &((struct scan_scene *)test->priv)->image, page(test, 8));
	report_mmap(test, 9);
	unmap_code(test);
	task_work_run();
	expect_map(test, GONE);
	expect_counted(test, "");

	sfu_event_profiled();
	report_mmap(test, 9);
	task_work_run();
	expect_map(test, "9-11 ready by 11");
	expect_counted(test, "scan.runs");
}

/* A look at very many mappings takes long. New code of such a process is left to its samples. */
static void event_of_many_mappings(struct kunit *test)
{
	unsigned long many = user_area(test, 2 * 1100);
	unsigned int i;

	expect_scanned(test, "nothing", "scan.runs");
	map_image(test);
	for (i = 0; i < 1100; i++)
		KUNIT_ASSERT_EQ(test, 0, user_mprotect(many + 2 * i * PAGE_SIZE, PAGE_SIZE,
						       PROT_READ));
	report_mmap(test, 1);
	task_work_run();
	expect_map(test, "nothing");
	expect_counted(test, "");
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(many, 2 * 1100 * PAGE_SIZE));
	report_mmap(test, 1);
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

static struct kunit_case event_tests[] = {
	KUNIT_CASE(event_of_unknown_process),
	KUNIT_CASE(event_of_exec),
	KUNIT_CASE(event_of_code),
	KUNIT_CASE(event_of_no_code),
	KUNIT_CASE(event_of_awaited_section),
	KUNIT_CASE(event_over_section),
	KUNIT_CASE(event_beside_what_remains),
	KUNIT_CASE_PARAM(event_by_fork, fork_gen_params),
	KUNIT_CASE_PARAM(event_by_fork_with_as_many, fork_gen_params),
	KUNIT_CASE(event_by_fork_of_unknown),
	KUNIT_CASE(event_after_profiler),
	KUNIT_CASE(event_of_many_mappings),
	KUNIT_CASE(event_unmap_in_parent),
	KUNIT_CASE(event_unmap_in_child),
	KUNIT_CASE(event_unmap_without_code),
	KUNIT_CASE(event_of_thread),
	{}
};

SCAN_SUITE(sframe_event, event_tests);
