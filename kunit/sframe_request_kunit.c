// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of requests to scan, and of the processes: the task that scans, and when. */
#include "scan_scene.h"

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
	run_steps(test, "counted scan.requests; run; map " SAME "; counted scan.runs");
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&process_of(current->mm)->refs));
}

static int sleeping_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

static struct task_struct *sleeper;

/* A task that is asked to scan has task work for it. */
static void expect_holder(struct kunit *test, const char *want)
{
	struct task_struct *holder = process_of(current->mm)->request.holder;

	KUNIT_EXPECT_STREQ(test, want, !holder ? "none" : holder == sleeper ? "sleeper" :
			   holder == current ? "current" : "another task");
	if (sleeper)
		KUNIT_EXPECT_EQ(test, holder == sleeper, !!READ_ONCE(sleeper->task_works));
}

/* The last task work of a task that exits runs without its memory. */
static void run_at_exit(struct mm_struct *mm)
{
	kthread_unuse_mm(mm);
	task_work_run();
	kthread_use_mm(mm);
}

static bool run_request_step(struct kunit *test, const char *step)
{
	struct sfu_process *process = process_of(current->mm);
	char who[8];
	int refs;

	if (!strcmp(step, "sample"))
		request_by_sample();
	else if (sscanf(step, "event %7s", who) == 1)
		request_by_event(*who == 's' ? sleeper : current);
	else if (sscanf(step, "holder %7s", who) == 1)
		expect_holder(test, who);
	else if (sscanf(step, "refs %d", &refs) == 1)
		KUNIT_EXPECT_EQ(test, refs, refcount_read(&process->refs));
	else if (!strcmp(step, "sleep"))
		sleeper = kthread_run(sleeping_thread, NULL, "sframe_sleeper");
	else if (!strcmp(step, "exit"))
		run_at_exit(current->mm);
	else if (!strcmp(step, "not-due"))
		process->quota.scan_at = S64_MAX / 2;
	else if (!strcmp(step, "close"))
		sfu_request_close(process);
	else
		return false;
	return true;
}

static void stop_sleeper(void *unused)
{
	if (!IS_ERR_OR_NULL(sleeper))
		kthread_stop(sleeper);
	sleeper = NULL;
}

static int request_scene_init(struct kunit *test)
{
	scan_scene_begin(test, run_request_step);
	return kunit_add_action_or_reset(test, stop_sleeper, NULL);
}

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	sample, event TASK	a sample, or an event of the task, requests a scan
 *	holder TASK		the task that is to scan: current, sleeper, or none
 *	refs N			compares the references to the process
 *	sleep			a thread begins to sleep, the sleeper
 *	exit			current runs its task work as a task that exits
 *	not-due, close		no scan is due for long; the process takes no requests any more
 */
static const struct script_case script_cases[] = {
	{ "a sample",
	  "image 0; sample; holder current; map unknown; counted scan.requests; run; map " SAME ";"
	  "counted scan.runs; holder none; refs 1" },
	{ "the task exits",
	  "image 0; sample; exit; map unknown; counted scan.requests; holder none" },
	/* After execve() a task has another memory. */
	{ "the task has another mm",
	  "image 0; sample; process 1; run; map unknown; process 0; map unknown;"
	  "counted scan.requests" },
	{ "not due", SCANNED "not-due; sample; event current; holder none; counted" },
	/* A task that sleeps does not keep a request from another task. */
	{ "another task",
	  "scan nothing; image 0; sleep; event sleeper; holder sleeper; refs 2; sample;"
	  "holder current; refs 2; run; map " SAME "; counted scan.runs scan.requests; refs 1" },
	/* A process that ends takes its request back, and refuses further ones. */
	{ "the process ends",
	  "scan nothing; image 0; sleep; event sleeper; close; holder none; refs 1; event current;"
	  "sample; holder none; refs 1; run; map nothing; counted scan.requests" },
};

NAMED_CASES(script);

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
		sfu_spares_refill(SPARES);
	}
	expect_counted(test, "scan.requests=256");
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
}

static unsigned int works_run;

static void run_work(struct callback_head *work)
{
	works_run++;
}

/* So many works that current has queued. Until they run, @works must exist. */
static void queue_works(struct kunit *test, struct callback_head *works, unsigned int nr)
{
	unsigned int i;

	works_run = 0;
	for (i = 0; i < nr; i++) {
		init_task_work(&works[i], run_work);
		KUNIT_ASSERT_EQ(test, 0, task_work_add(current, &works[i], TWA_RESUME));
	}
}

static struct callback_head *cancel(struct callback_head *work, unsigned int max)
{
	return sfu_cancel_task_work(current, work, NULL, max);
}

static void cancel_each_work(struct kunit *test)
{
	struct callback_head works[4];
	unsigned int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(works); nr++) {
		queue_works(test, works, ARRAY_SIZE(works));
		/* The last one is the first of the list. */
		KUNIT_EXPECT_NULL(test, cancel(&works[nr], 3 - nr));
		KUNIT_EXPECT_PTR_EQ(test, &works[nr], cancel(&works[nr], 4 - nr));
		KUNIT_EXPECT_NULL(test, cancel(&works[nr], UINT_MAX));
		task_work_run();
		KUNIT_EXPECT_EQ_MSG(test, works_run, 3, "work %u", nr);
		for (i = 0; i < ARRAY_SIZE(works); i++)
			KUNIT_EXPECT_NULL(test, cancel(&works[i], UINT_MAX));
	}
}

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
	sfu_spares_refill(SPARES);
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
	run_steps(test, SCANNED);
	sfu_processes_close();
	KUNIT_EXPECT_NULL(test, process_of(current->mm));
	KUNIT_EXPECT_NULL(test, add(current->mm));
	request_by_sample();
	KUNIT_EXPECT_EQ(test, -ENOMEM, sfu_processes_scan(current->mm));
	sfu_processes_open();
	expect_counted(test, "");
	sfu_spares_refill(SPARES);
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	expect_scanned(test, SAME, "scan.runs");
}

/* Works that current has queued before a request: as for the files that a system call closes. */
#define MANY	65

static void request_behind_many(struct kunit *test)
{
	struct callback_head *works = test_alloc(test, MANY * sizeof(*works));

	run_steps(test, SCANNED);
	process_of(current->mm)->quota.scan_at = 0;
	request_by_sample();
	expect_counted(test, "scan.requests");
	queue_works(test, works, MANY);
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
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(request_twice),
	KUNIT_CASE(request_for_ended_process),
	KUNIT_CASE(cancel_each_work),
	KUNIT_CASE(spares_run_out),
	KUNIT_CASE(add_known),
	KUNIT_CASE(add_while_closed),
	KUNIT_CASE(closed_busy),
	KUNIT_CASE(exit_busy),
	{}
};

static struct kunit_suite request_suite = {
	.name = "sframe_request", .init = request_scene_init, .test_cases = request_tests,
};

kunit_test_suite(request_suite);
