// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The account of a process: the time that it may spend on scans.
 *
 * A process may spend BURST on scans, and then one part in SFU_ACCOUNT_SHARE of its time. Scans
 * that no sample has requested are a guess that one will come. For them, the limits are
 * EVENT_BURST, and then SAMPLE_WORTH for each sample that this processor takes, between one
 * part in EVENT_SHARE and one in SFU_ACCOUNT_SHARE: the more samples, the more of them would be
 * lost.
 *
 * If a scan for a sample finds nothing new, the process waits before the next one, twice as long
 * each time.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>

#include "sframe_account.h"
#include "sframe_process.h"
#include "sframe_stats.h"

#define BURST		(3 * (s64)NSEC_PER_MSEC)
#define EVENT_SHARE	512
#define EVENT_BURST	(1 * (s64)NSEC_PER_MSEC)
#define SAMPLE_WORTH	(5 * (s64)NSEC_PER_USEC)
#define WAIT_MIN	((s64)NSEC_PER_MSEC)
#define WAIT_MAX	((s64)NSEC_PER_SEC)

/* The time from which on a process may be scanned again, which has spent @cost on a scan. */
static s64 due_after(s64 at, s64 now, unsigned int share, s64 burst, s64 cost)
{
	return max(at, now - share * burst) + share * cost;
}

/**
 * struct sample_rate - how often a processor takes samples
 * @then: when that was found out, in jiffies
 * @walks: its counter of walks at that time
 * @hz: samples a second
 */
struct sample_rate {
	unsigned long	then;
	unsigned long	walks;
	unsigned long	hz;
};

static DEFINE_PER_CPU(struct sample_rate, sample_rates);

/*
 * How often does this processor take samples? Found out once in a tenth of a second. Before that,
 * at least as often as this tenth has shown: a profiler may just have begun.
 */
static unsigned long samples_per_second(void)
{
	struct sample_rate *rate = get_cpu_ptr(&sample_rates);
	unsigned long passed = jiffies - rate->then;
	unsigned long walks = this_cpu_read(sfu_counters.walks), hz;

	if (passed >= HZ / 10) {
		rate->hz = (walks - rate->walks) * HZ / passed;
		rate->then = jiffies;
		rate->walks = walks;
	}
	hz = max(rate->hz, 10 * (walks - rate->walks));
	put_cpu_ptr(&sample_rates);
	return hz;
}

/* Each event looks at the time that this sets: in jiffies, for a clock costs more. */
static void charge_event(struct sfu_process *process, s64 now, s64 cost)
{
	s64 worth = max(samples_per_second(), 1UL) * SAMPLE_WORTH;
	s64 share = clamp((s64)NSEC_PER_SEC / worth, SFU_ACCOUNT_SHARE, EVENT_SHARE);

	WRITE_ONCE(process->event_at,
		   due_after(process->event_at, now, share, EVENT_BURST, cost));
	if (process->event_at > now)
		WRITE_ONCE(process->event_due,
			   jiffies + nsecs_to_jiffies(process->event_at - now) + 1);
}

/**
 * sfu_account_charge() - a process has been scanned
 * @process: the process, under its lock
 * @reason: why it was scanned
 * @cost: of the scan, in ns
 *
 * Context: Task.
 */
void sfu_account_charge(struct sfu_process *process, enum sfu_scan_reason reason, s64 cost)
{
	s64 now = ktime_get_mono_fast_ns();

	WRITE_ONCE(process->scan_at,
		   due_after(process->scan_at, now, SFU_ACCOUNT_SHARE, BURST, cost));
	if (reason == SFU_SCAN_SAMPLE)
		process->nr_sample_scans += process->nr_sample_scans < U8_MAX;
	else
		charge_event(process, now, cost);
}

/**
 * sfu_account_set_wait() - set how long samples wait after a scan
 * @process: the process, under its lock
 * @has_found_new: whether the scan has found something new. If so, they do not wait
 *
 * Context: Task.
 */
void sfu_account_set_wait(struct sfu_process *process, bool has_found_new)
{
	process->wait = has_found_new ? 0 : clamp(2 * process->wait, WAIT_MIN, WAIT_MAX);
	WRITE_ONCE(process->sample_at, (s64)ktime_get_mono_fast_ns() + process->wait);
}

/**
 * sfu_account_put_off() - a process could not be scanned: samples wait a little
 * @process: the process, under its lock
 *
 * Context: Task.
 */
void sfu_account_put_off(struct sfu_process *process)
{
	WRITE_ONCE(process->sample_at, (s64)ktime_get_mono_fast_ns() + WAIT_MIN);
}

/**
 * sfu_account_may_allow() - may a process be scanned without a sample?
 * @process: the process
 *
 * This asks no clock: most events come when the process has to wait.
 *
 * Context: Any, NMI included.
 * Return: false if sfu_account_allows() returns false for each reason but SFU_SCAN_SAMPLE.
 */
bool sfu_account_may_allow(const struct sfu_process *process)
{
	return !time_before(jiffies, READ_ONCE(process->event_due));
}

/**
 * sfu_account_allows() - may a process be scanned?
 * @process: the process
 * @reason: why
 *
 * Context: Any, NMI included.
 * Return: false while the process has to wait.
 */
bool sfu_account_allows(const struct sfu_process *process, enum sfu_scan_reason reason)
{
	s64 now;

	if (reason != SFU_SCAN_SAMPLE && !sfu_account_may_allow(process))
		return false;
	now = ktime_get_mono_fast_ns();
	return now >= READ_ONCE(process->scan_at) &&
	       (reason != SFU_SCAN_SAMPLE || now >= READ_ONCE(process->sample_at));
}

/**
 * sfu_account_is_open() - would a process have fewer limits if it were forgotten?
 * @process: the process
 *
 * Context: Any, NMI included.
 * Return: true if it is scanned now, or what it has spent on scans still counts.
 */
bool sfu_account_is_open(struct sfu_process *process)
{
	s64 now = ktime_get_mono_fast_ns();

	return mutex_is_locked(&process->lock) || READ_ONCE(process->sample_at) > now ||
	       READ_ONCE(process->scan_at) > now - SFU_ACCOUNT_SHARE * BURST ||
	       READ_ONCE(process->event_at) > now - EVENT_SHARE * EVENT_BURST;
}
