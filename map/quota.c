// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The quota of a process limits its scans: after a burst, they take at most 1/SHARE of the time.
 *
 * A scan for mmap(), munmap() or fork() is useless if no sample comes. So these may use half of the
 * burst, and the number of their scans is limited until samples come. A new process may end soon.
 * So a scan examines more pages if the process is older, or had more scans for samples.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "map/process.h"

/*
 * Scans that take BURST ns together delay no scan; then T ns of scans delay the next by SHARE * T.
 * With half of BURST or twice SHARE, a process that loads much code waits longer for rows; with
 * twice BURST or half of SHARE, scans take twice the time.
 */
#define SHARE		32
#define BURST		(3 * (s64)NSEC_PER_MSEC)

/*
 * Delay of the next scan for a sample after a scan that found nothing new; doubled each time. With
 * half, twice as many scans find nothing; with twice WAIT_MAX, a page may be found 2 s late.
 */
#define WAIT_MIN	((s64)NSEC_PER_MSEC)
#define WAIT_MAX	((s64)NSEC_PER_SEC)

/*
 * Least and most bytes of sections that one scan examines; without a sample, it gets the least.
 * With half, more walks find pages missing; with the double, a scan takes longer.
 */
#define PREFAULT_MIN	((unsigned long)SZ_64K)
#define PREFAULT_MAX	((unsigned long)SZ_64M)
#define SAMPLE_SCANS_MAX	5	/* as PREFAULT_MIN << 2 * 5 is PREFAULT_MAX */
#define PAGE_NS		1000	/* estimated time to map a page, in ns */

bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 now;

	/* Checked before the clock is read: at most events, event_scans is 0. */
	if (reason != SFU_SCAN_SAMPLE && !READ_ONCE(quota->event_scans))
		return false;
	now = ktime_get_mono_fast_ns();
	if (reason != SFU_SCAN_SAMPLE)
		return now >= READ_ONCE(quota->scan_at) + SHARE * BURST / 2;
	return now >= READ_ONCE(quota->scan_at) && now >= READ_ONCE(quota->sample_at);
}

/*
 * Returns how many bytes of sections a scan may examine. For a sample: one page for each 32 us of
 * the age of the process, but at least PREFAULT_MIN * 4^n after n scans for samples.
 */
unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 age = ktime_get_mono_fast_ns() - quota->began_at;

	if (reason != SFU_SCAN_SAMPLE)
		return PREFAULT_MIN;
	/* The age may be negative: ktime_get_mono_fast_ns() may go back a little. */
	return clamp(max(age, 0) / SHARE / PAGE_NS * PAGE_SIZE,
		     PREFAULT_MIN << 2 * quota->nr_sample_scans, PREFAULT_MAX);
}

static void use_up_event_scan(struct sfu_quota *quota)
{
	unsigned int event_scans = READ_ONCE(quota->event_scans);

	if (event_scans)
		WRITE_ONCE(quota->event_scans, event_scans - 1);
}

void sfu_quota_charge(struct sfu_quota *quota, enum sfu_scan_reason reason, s64 cost)
{
	s64 saved_since = (s64)ktime_get_mono_fast_ns() - SHARE * BURST;

	WRITE_ONCE(quota->scan_at, max(quota->scan_at, saved_since) + SHARE * cost);
	if (reason != SFU_SCAN_SAMPLE)
		use_up_event_scan(quota);
	else if (quota->nr_sample_scans < SAMPLE_SCANS_MAX)
		quota->nr_sample_scans++;
}

/* Charges the quota for a scan that has given up because another thread held mmap_lock. */
void sfu_quota_charge_lost(struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	if (reason == SFU_SCAN_SAMPLE)
		WRITE_ONCE(quota->sample_at, (s64)ktime_get_mono_fast_ns() + WAIT_MIN);
	else
		use_up_event_scan(quota);
}

/* Delays the next scan for a sample, unless the last scan found anything new. */
void sfu_quota_delay_samples(struct sfu_quota *quota, bool found_new)
{
	quota->wait = found_new ? 0 : clamp(2 * quota->wait, WAIT_MIN, WAIT_MAX);
	WRITE_ONCE(quota->sample_at, (s64)ktime_get_mono_fast_ns() + quota->wait);
}
