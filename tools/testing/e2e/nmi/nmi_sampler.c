// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nmi_sampler - NMIs for perf to sample at, on machines without a PMU
 *
 * Each CPU has a timer that sends an NMI to all CPUs, itself included. The
 * handler runs the tracepoint nmi_sampler:nmi, so that
 *
 *	perf record -e nmi_sampler:nmi --call-graph=fp ...
 *
 * takes its samples and their stacks in the NMI. A CPU's own NMI hits the
 * timer's interrupt. The NMIs of other CPUs hit anywhere: user code, system
 * calls, interrupts, and code that holds locks.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/cpu_entry_area.h>
#include <asm/nmi.h>

#define CREATE_TRACE_POINTS
#include "nmi_sampler.h"

static unsigned int period_us = 500;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "microseconds between two NMIs that a CPU sends");

/* perf events are used as timers, because their interface is the same in all kernels. */
static DEFINE_PER_CPU(struct perf_event *, timer);

static void on_timer(struct perf_event *event, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	__apic_send_IPI_mask(cpu_online_mask, NMI_VECTOR);
}

/*
 * Before the entry code has stored the user's registers, task_pt_regs() has the
 * registers of the previous entry, and perf takes them for the current ones.
 */
static bool has_user_regs(const struct pt_regs *regs)
{
	unsigned long stored = (unsigned long)task_pt_regs(current);

	return regs->sp >= TASK_SIZE_MAX &&
	       regs->sp - CPU_ENTRY_AREA_BASE >= CPU_ENTRY_AREA_MAP_SIZE &&
	       regs->sp - stored - 1 >= sizeof(*regs);
}

/* In a task switch, the memory of the next task is in place before current is the next task. */
static bool has_user_memory(void)
{
	unsigned long word;

	return !copy_from_user_nofault(&word, (void __user *)task_pt_regs(current)->sp,
				       sizeof(word));
}

static unsigned int find_hit(struct pt_regs *regs)
{
	if (user_mode(regs))
		return HIT_USER;
	if (!has_user_regs(regs))
		return HIT_ENTRY;
	return has_user_memory() ? HIT_KERNEL : HIT_SWITCH;
}

/*
 * Two NMIs at the same time are delivered as one. So each NMI counts as ours;
 * the kernel calls the other handlers, too.
 */
static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	trace_nmi(find_hit(regs), regs->ax);
	return NMI_HANDLED;
}

static void remove_timers(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (per_cpu(timer, cpu))
			perf_event_release_kernel(per_cpu(timer, cpu));
}

static int add_timers(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = period_us * NSEC_PER_USEC,
		.pinned = 1,
	};
	struct perf_event *event;
	int cpu;

	for_each_online_cpu(cpu) {
		event = perf_event_create_kernel_counter(&attr, cpu, NULL,
							 on_timer, NULL);
		if (IS_ERR(event)) {
			remove_timers();
			return PTR_ERR(event);
		}
		per_cpu(timer, cpu) = event;
	}
	return 0;
}

static void do_nothing(void *unused)
{
}

/* An NMI arrives before any interrupt that is sent after it: wait for an interrupt on each CPU. */
static void remove_handler(void)
{
	on_each_cpu(do_nothing, NULL, 1);
	unregister_nmi_handler(NMI_LOCAL, "nmi_sampler");
}

static int __init nmi_sampler_init(void)
{
	int err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "nmi_sampler");

	if (err)
		return err;
	err = add_timers();
	if (err)
		remove_handler();
	return err;
}

static void __exit nmi_sampler_exit(void)
{
	remove_timers();
	remove_handler();
	tracepoint_synchronize_unregister();
}

module_init(nmi_sampler_init);
module_exit(nmi_sampler_exit);

MODULE_DESCRIPTION("NMIs for perf to sample at");
MODULE_AUTHOR("The sframe_unwind developers");
MODULE_LICENSE("GPL");
