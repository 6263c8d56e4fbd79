// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The quota of a process: after a burst, scans take at most 1/SHARE of its time.
 *
 * A scan for an event is useless if no sample comes. So events may use half of the burst, and the
 * number of their scans is limited until samples come. A new process may end soon. So a scan
 * examines more pages if the process is older, or had more scans for samples.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "map/process.h"

/*
 * Scans that take BURST ns together delay no scan. With half of BURST or of the share, a process
 * that loads much code waits longer for rows; with the double, scans take twice the time.
 */
#define SHARE		32
#define BURST		(3 * (s64)NSEC_PER_MSEC)

/*
 * Delay after a scan that found nothing new, doubled each time. With half of it, twice as many
 * scans find nothing; with twice WAIT_MAX, a page that is read late is found after 2 s.
 */
#define WAIT_MIN	((s64)NSEC_PER_MSEC)
#define WAIT_MAX	((s64)NSEC_PER_SEC)

/*
 * Least and most bytes of sections that one scan examines; a scan for an event gets the least.
 * Halved, more samples find pages missing; doubled, a scan takes longer.
 */
#define PREFAULT_MIN	((unsigned long)SZ_64K)
#define PREFAULT_MAX	((unsigned long)SZ_64M)
#define SAMPLE_SCANS_MAX	5	/* PREFAULT_MIN << 2 * 5 is PREFAULT_MAX */
#define PAGE_NS		1000	/* estimated time to map a page */

bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 now;

	/* Most events come after the process has used up its scans for events. */
	if (reason != SFU_SCAN_SAMPLE && !READ_ONCE(quota->event_scans))
		return false;
	now = ktime_get_mono_fast_ns();
	if (reason != SFU_SCAN_SAMPLE)
		return now >= READ_ONCE(quota->scan_at) + SHARE * BURST / 2;
	return now >= READ_ONCE(quota->scan_at) && now >= READ_ONCE(quota->sample_at);
}

/*
 * Returns how many bytes of sections a scan may examine. For a sample: a page for each 32 us since
 * the process began, but at least PREFAULT_MIN, times 4 for each earlier scan for a sample.
 */
unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 age = ktime_get_mono_fast_ns() - quota->began_at;

	if (reason != SFU_SCAN_SAMPLE)
		return PREFAULT_MIN;
	/* The age may be negative: this clock may go back a little. */
	return clamp(max(age, 0) / SHARE / PAGE_NS * PAGE_SIZE,
		     PREFAULT_MIN << 2 * quota->nr_sample_scans, PREFAULT_MAX);
}

static void use_up_event_scan(struct sfu_quota *quota)
{
	unsigned int event_scans = READ_ONCE(quota->event_scans);

	if (event_scans)
		WRITE_ONCE(quota->event_scans, event_scans - 1);
}

/* Charges the quota for a scan that took @cost ns. */
void sfu_quota_charge(struct sfu_quota *quota, enum sfu_scan_reason reason, s64 cost)
{
	s64 saved_since = (s64)ktime_get_mono_fast_ns() - SHARE * BURST;

	WRITE_ONCE(quota->scan_at, max(quota->scan_at, saved_since) + SHARE * cost);
	if (reason != SFU_SCAN_SAMPLE)
		use_up_event_scan(quota);
	else if (quota->nr_sample_scans < SAMPLE_SCANS_MAX)
		quota->nr_sample_scans++;
}

/* Charges the quota for a scan that found mmap_lock held by another thread of the process. */
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
