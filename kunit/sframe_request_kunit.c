// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of requests to scan: the task or the worker that scans, and when. */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/task_work.h>
#include <asm/irq_regs.h>

#include "file_watch.h"
#include "scan_scene.h"
#include "sframe_map.h"
#include "sframe_request.h"
#include "user_arch.h"

/* Outside of interrupts it is unknown when the task returns to user mode: a worker scans. */
static void request_worker(struct kunit *test)
{
	map_image(test);
	sfu_request_for_sample(current->mm, NULL);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_map(test, SAME);
	expect_counted(test, "scan.runs scan.requests");
}

static void request_in_interrupt(struct pt_regs *interrupted)
{
	struct pt_regs *old;

	local_irq_disable();
	__irq_enter_raw();
	old = set_irq_regs(interrupted);
	sfu_request_for_sample(current->mm, NULL);
	set_irq_regs(old);
	__irq_exit_raw();
	local_irq_enable();
}

/* The interrupt hit user mode: the task scans when it returns to user mode. */
static void request_task(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	request_in_interrupt(&regs);
	expect_map(test, "unknown");
	expect_counted(test, "scan.requests");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

/* The interrupt hit the kernel, where the task may sleep first: a worker scans. */
static void request_interrupted_kernel(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	user_regs_make_kernel(&regs);
	request_in_interrupt(&regs);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "scan.runs scan.requests");
}

/* A task that exits runs its last task work without its memory. */
static void request_task_that_exits(struct kunit *test)
{
	struct mm_struct *first = current->mm;
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	request_in_interrupt(&regs);
	kthread_unuse_mm(first);
	task_work_run();
	kthread_use_mm(first);
	expect_map(test, "unknown");
	expect_counted(test, "scan.requests");
}

/* A second request changes nothing while the first is pending. */
static void request_twice(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	local_irq_disable();
	sfu_request_for_sample(current->mm, NULL);
	sfu_request_for_sample(current->mm, NULL);
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "scan.runs scan.requests");
}

static void request_task_twice(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	request_in_interrupt(&regs);
	request_in_interrupt(&regs);
	sfu_request_for_sample(current->mm, NULL);
	expect_counted(test, "scan.requests");
	task_work_run();
	expect_counted(test, "scan.runs");
}

static void request_worker_then_task(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	watch_image(test, NULL);
	watch.nap = 20000;
	sfu_request_for_sample(current->mm, NULL);
	request_in_interrupt(&regs);
	expect_counted(test, "scan.requests=2");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "scan.runs");
}

#define REQUESTS	64

static bool all_are_scanned(void)
{
	return atomic_long_read(&sfu_held.processes) == REQUESTS;
}

/*
 * At most 64 requests are pending at a time. Further ones are dropped, and may
 * be made again.
 */
static void request_too_much(struct kunit *test)
{
	struct mm_struct **mms = kunit_kcalloc(test, REQUESTS + 8, sizeof(*mms), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, mms);
	for (i = 0; i < REQUESTS + 8; i++)
		mms[i] = new_process(test);
	local_irq_disable();
	for (i = 0; i < REQUESTS + 8; i++)
		sfu_request_for_sample(mms[i], NULL);
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, comes_true(all_are_scanned));
	msleep(20);
	expect_counted(test, "scan.runs=64 scan.requests=64");
	for (i = 0; i < REQUESTS + 8; i++)
		mmput(mms[i]);
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	sfu_request_for_sample(current->mm, NULL);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "scan.runs scan.requests");
}

static struct mm_struct *ended[REQUESTS];

/* Only the test still holds the processes. */
static bool all_are_over(void)
{
	unsigned int i;

	for (i = 0; i < REQUESTS; i++)
		if (atomic_read(&ended[i]->mm_count) > 1)
			return false;
	return true;
}

/* A process that ends before its scan is not scanned, and its request ends. */
static void request_for_ended_process(struct kunit *test)
{
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < REQUESTS; i++) {
			ended[i] = new_process(test);
			mmgrab(ended[i]);
			mmput(ended[i]);
			sfu_request_for_sample(ended[i], NULL);
		}
		KUNIT_EXPECT_TRUE(test, comes_true(all_are_over));
		for (i = 0; i < REQUESTS; i++)
			mmdrop(ended[i]);
	}
	expect_counted(test, "scan.requests=128");
	KUNIT_EXPECT_TRUE(test, nothing_is_held());
}

static struct kunit_case request_tests[] = {
	KUNIT_CASE(request_worker),
	KUNIT_CASE(request_task),
	KUNIT_CASE(request_interrupted_kernel),
	KUNIT_CASE(request_task_that_exits),
	KUNIT_CASE(request_twice),
	KUNIT_CASE(request_task_twice),
	KUNIT_CASE(request_worker_then_task),
	KUNIT_CASE(request_too_much),
	KUNIT_CASE(request_for_ended_process),
	{}
};

SCAN_SUITE(sframe_request, request_tests);
