// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of requests to scan, and of the processes: the task that scans, and when. */
#include "scan_scene.h"
#include "map/process.h"

/* A sample of current misses something. Its irq work has run at the end. */
static void request_by_sample(void)
{
	struct sfu_process *process;

	rcu_read_lock();
	sfu_request_for_sample(sfu_processes_find(current->mm) ?:
			       sfu_processes_add(current->mm, NULL));
	rcu_read_unlock();
	process = process_of(current->mm);
	if (process)
		irq_work_sync(&process->request.irq_work);
}

static void request_by_event(struct task_struct *task)
{
	rcu_read_lock();
	sfu_request_for_event(process_of(current->mm), task);
	rcu_read_unlock();
}

static void request(struct kunit *test)
{
	struct sfu_process *process;

	map_image(test);
	request_by_sample();
	process = process_of(current->mm);
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, current);
	expect_map(test, "unknown");
	expect_counted(test, "scan.requests");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_NULL(test, process->request.holder);
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process->refs));
}

/* A second request changes nothing while the first is pending. */
static void request_twice(struct kunit *test)
{
	map_image(test);
	local_irq_disable();
	rcu_read_lock();
	sfu_request_for_sample(sfu_processes_add(current->mm, NULL));
	sfu_request_for_sample(sfu_processes_find(current->mm));
	rcu_read_unlock();
	local_irq_enable();
	request_by_sample();
	request_by_sample();
	expect_counted(test, "scan.requests");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process_of(current->mm)->refs));
}

/* A task that exits runs its last task work without its memory. */
static void request_task_that_exits(struct kunit *test)
{
	struct mm_struct *mm = current->mm;

	map_image(test);
	request_by_sample();
	kthread_unuse_mm(mm);
	task_work_run();
	kthread_use_mm(mm);
	expect_map(test, "unknown");
	expect_counted(test, "scan.requests");
	KUNIT_EXPECT_NULL(test, process_of(mm)->request.holder);
}

/* After execve() a task has another memory. */
static void request_task_with_another_mm(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);

	map_image(test);
	request_by_sample();
	switch_process(second);
	task_work_run();
	expect_map(test, "unknown");
	switch_process(first);
	expect_map(test, "unknown");
	expect_counted(test, "scan.requests");
	mmput(second);
}

static void request_not_due(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process_of(current->mm)->quota.scan_at = S64_MAX / 2;
	request_by_sample();
	request_by_event(current);
	KUNIT_EXPECT_NULL(test, process_of(current->mm)->request.holder);
	expect_counted(test, "");
}

/* A thread of the process that sleeps, and never goes to user mode. */
static int sleeping_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

static struct task_struct *start_sleeper(struct kunit *test)
{
	struct task_struct *task = kthread_run(sleeping_thread, NULL, "sframe_sleeper");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

/* A task that sleeps does not keep a request from another task. */
static void request_moves(struct kunit *test)
{
	struct task_struct *sleeper;
	struct sfu_process *process;

	expect_scanned(test, "nothing", "scan.runs");
	process = process_of(current->mm);
	map_image(test);
	sleeper = start_sleeper(test);
	request_by_event(sleeper);
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, sleeper);
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(sleeper->task_works));
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&process->refs));
	request_by_sample();
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, current);
	KUNIT_EXPECT_NULL(test, READ_ONCE(sleeper->task_works));
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&process->refs));
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs scan.requests");
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process->refs));
	kthread_stop(sleeper);
}

/* A process that ends takes its request back, from a task that sleeps as well. */
static void request_closed(struct kunit *test)
{
	struct task_struct *sleeper;
	struct sfu_process *process;

	expect_scanned(test, "nothing", "scan.runs");
	process = process_of(current->mm);
	map_image(test);
	sleeper = start_sleeper(test);
	request_by_event(sleeper);
	sfu_request_close(process);
	KUNIT_EXPECT_NULL(test, process->request.holder);
	KUNIT_EXPECT_NULL(test, READ_ONCE(sleeper->task_works));
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process->refs));
	/* It refuses further ones. */
	request_by_event(current);
	request_by_sample();
	KUNIT_EXPECT_NULL(test, process->request.holder);
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process->refs));
	task_work_run();
	expect_map(test, "nothing");
	expect_counted(test, "scan.requests");
	kthread_stop(sleeper);
}

static void request_for_ended_process(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second;
	unsigned int i;

	for (i = 0; i < 2 * SPARES; i++) {
		second = new_process(test);
		switch_process(second);
		request_by_sample();
		KUNIT_EXPECT_NOT_NULL(test, process_of(second));
		switch_process(first);
		mmput(second);
		task_work_run();
		refill_spares();
	}
	expect_counted(test, "scan.requests=256");
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
}

/* ---- task work that is taken back ---- */

static unsigned int works_run;

static void run_work(struct callback_head *work)
{
	works_run++;
}

static void cancel_one_of(struct kunit *test, unsigned int nr)
{
	struct callback_head works[4];
	unsigned int i;

	works_run = 0;
	for (i = 0; i < ARRAY_SIZE(works); i++) {
		init_task_work(&works[i], run_work);
		KUNIT_ASSERT_EQ(test, 0, task_work_add(current, &works[i], TWA_RESUME));
	}
	/* The last one is the first of the list. */
	KUNIT_EXPECT_FALSE(test, sfu_cancel_task_work(current, &works[nr],
						      ARRAY_SIZE(works) - 1 - nr));
	KUNIT_EXPECT_TRUE(test, sfu_cancel_task_work(current, &works[nr], ARRAY_SIZE(works) - nr));
	KUNIT_EXPECT_FALSE(test, sfu_cancel_task_work(current, &works[nr], UINT_MAX));
	task_work_run();
	KUNIT_EXPECT_EQ_MSG(test, works_run, ARRAY_SIZE(works) - 1, "work %u", nr);
	for (i = 0; i < ARRAY_SIZE(works); i++)
		KUNIT_EXPECT_FALSE(test, sfu_cancel_task_work(current, &works[i], UINT_MAX));
}

static void cancel_each_work(struct kunit *test)
{
	unsigned int nr;

	for (nr = 0; nr < 4; nr++)
		cancel_one_of(test, nr);
}

/* ---- spare processes ---- */

/* An address that no mm_struct has. The table only compares it. */
static struct mm_struct *no_mm(struct kunit *test, unsigned int nr)
{
	return test->priv + nr;
}

static struct sfu_process *add(struct mm_struct *mm)
{
	struct sfu_process *process;

	rcu_read_lock();
	process = sfu_processes_add(mm, NULL);
	rcu_read_unlock();
	return process;
}

static void spares_run_out(struct kunit *test)
{
	struct sfu_process *process;
	unsigned int i, nr = 0;

	/* The worker that makes spare ones does not run meanwhile. */
	local_irq_disable();
	for (i = 0; i < SPARES; i++)
		nr += !!add(no_mm(test, i));
	process = add(no_mm(test, SPARES));
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, SPARES, nr);
	KUNIT_EXPECT_NULL(test, process);
	sfu_spares_refill(2);
	KUNIT_EXPECT_NOT_NULL(test, add(no_mm(test, SPARES)));
	KUNIT_EXPECT_EQ(test, SPARES + 1, atomic_long_read(&sfu_held.processes));
	for (i = 0; i <= SPARES; i++)
		sfu_processes_end(no_mm(test, i));
	refill_spares();
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
}

static void add_known(struct kunit *test)
{
	struct sfu_process *process = add(current->mm);

	KUNIT_EXPECT_NOT_NULL(test, process);
	KUNIT_EXPECT_NULL(test, add(current->mm));
	KUNIT_EXPECT_PTR_EQ(test, process, process_of(current->mm));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.processes));
}

/* While the hooks of events are not set, no process is known. */
static void add_while_closed(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	sfu_processes_close();
	KUNIT_EXPECT_NULL(test, process_of(current->mm));
	KUNIT_EXPECT_NULL(test, add(current->mm));
	request_by_sample();
	KUNIT_EXPECT_EQ(test, -ENOMEM, sfu_processes_scan(current->mm));
	sfu_processes_open();
	expect_counted(test, "");
	refill_spares();
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	expect_scanned(test, SAME, "scan.runs");
}

/* ---- requests behind many other works ---- */

/* Works that current has queued before a request: as for the files that a system call closes. */
#define MANY	65

static void request_behind_many(struct kunit *test)
{
	struct callback_head *works;
	unsigned int i;

	works = kunit_kcalloc(test, MANY, sizeof(*works), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, works);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	process_of(current->mm)->quota.scan_at = 0;
	request_by_sample();
	expect_counted(test, "scan.requests");
	works_run = 0;
	for (i = 0; i < MANY; i++) {
		init_task_work(&works[i], run_work);
		KUNIT_ASSERT_EQ(test, 0, task_work_add(current, &works[i], TWA_RESUME));
	}
}

/* A process that ends does not search for its request. The task that has it scans nothing. */
static void closed_busy(struct kunit *test)
{
	struct sfu_process *process;

	request_behind_many(test);
	process = process_of(current->mm);
	sfu_processes_close();
	KUNIT_EXPECT_PTR_EQ(test, process->request.holder, current);
	task_work_run();
	KUNIT_EXPECT_EQ(test, MANY, works_run);
	expect_counted(test, "");
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	sfu_processes_open();
}

/* Unloading takes it from a task that may sleep for ever. */
static void exit_busy(struct kunit *test)
{
	request_behind_many(test);
	sfu_processes_close();
	sfu_request_exit();
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	task_work_run();
	KUNIT_EXPECT_EQ(test, MANY, works_run);
	sfu_processes_open();
}

static struct kunit_case request_tests[] = {
	KUNIT_CASE(request),
	KUNIT_CASE(request_twice),
	KUNIT_CASE(request_task_that_exits),
	KUNIT_CASE(request_task_with_another_mm),
	KUNIT_CASE(request_not_due),
	KUNIT_CASE(request_moves),
	KUNIT_CASE(request_closed),
	KUNIT_CASE(request_for_ended_process),
	KUNIT_CASE(cancel_each_work),
	{}
};

static struct kunit_case process_tests[] = {
	KUNIT_CASE(spares_run_out),
	KUNIT_CASE(add_known),
	KUNIT_CASE(add_while_closed),
	KUNIT_CASE(closed_busy),
	KUNIT_CASE(exit_busy),
	{}
};

static struct kunit_suite request_suite = {
	.name = "sframe_request", .init = scan_scene_init, .test_cases = request_tests,
};

kunit_test_suite(request_suite);
static struct kunit_suite process_suite = {
	.name = "sframe_process", .init = scan_scene_init, .test_cases = process_tests,
};

kunit_test_suite(process_suite);
