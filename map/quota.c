// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The quota of a process limits its scans. After a burst, they take at most 1/SHARE of the time.
 *
 * Scans for mmap(), munmap() and fork() are in vain if no sample follows. Such scans may use only
 * half of the time of a burst, and their number is limited until samples come.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/timekeeping.h>

#include "map/process.h"

/*
 * A scan of T ns delays the next scan of the process by SHARE * T. But time without scans is saved:
 * after SHARE * BURST ns, scans that take BURST ns in total cause no delay.
 * With half of BURST, or twice SHARE, walks in new code find no callers for longer.
 * With twice BURST, or half of SHARE, scans slow the process down more.
 */
#define SHARE		32
#define BURST		(3 * (s64)NSEC_PER_MSEC)

/*
 * Delay between scans for samples, if the last found nothing new: WAIT_MIN, then each time twice
 * as long, up to WAIT_MAX. With twice WAIT_MAX, a section that was not in memory may stay unused
 * for longer after it has been read.
 */
#define WAIT_MIN	((s64)NSEC_PER_MSEC)
#define WAIT_MAX	((s64)NSEC_PER_SEC)

/*
 * Limits, in bytes, of the SFrame sections that one scan examines, to make their pages present.
 * With less, more walks need missing pages. With more, scans take longer.
 */
#define PREFAULT_MIN	((unsigned long)SZ_64K)
#define PREFAULT_MAX	((unsigned long)SZ_64M)
/* After this number of scans for samples, each later one may examine PREFAULT_MAX bytes. */
#define SAMPLE_SCANS_MAX	5
#define PAGE_NS		1000	/* estimated ns to make a section's page present in the process */

bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 now;

	/* Mostly, mmap() etc. have used up their scans: return early, without reading the clock. */
	if (reason != SFU_SCAN_SAMPLE && !READ_ONCE(quota->event_scans))
		return false;
	now = ktime_get_mono_fast_ns();
	if (reason != SFU_SCAN_SAMPLE)
		return now >= READ_ONCE(quota->scan_at) + SHARE * BURST / 2;
	return now >= READ_ONCE(quota->scan_at) && now >= READ_ONCE(quota->sample_at);
}

unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	/* ktime_get_mono_fast_ns() may go back a little: a negative age counts as 0. */
	s64 age = ktime_get_mono_fast_ns() - quota->began_at;

	if (reason != SFU_SCAN_SAMPLE)
		return PREFAULT_MIN;
	/*
	 * A new process may end soon: spend only 1/SHARE of its age so far on adding pages.
	 * But after n scans for samples, a scan may examine at least PREFAULT_MIN * 4^n bytes.
	 */
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

/* Delays later scans, or reduces their number, after a scan failed because mmap_lock was held. */
void sfu_quota_charge_lost(struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	if (reason == SFU_SCAN_SAMPLE)
		WRITE_ONCE(quota->sample_at, (s64)ktime_get_mono_fast_ns() + WAIT_MIN);
	else
		use_up_event_scan(quota);
}

void sfu_quota_delay_samples(struct sfu_quota *quota, bool found_new)
{
	quota->wait = found_new ? 0 : clamp(2 * quota->wait, WAIT_MIN, WAIT_MAX);
	WRITE_ONCE(quota->sample_at, (s64)ktime_get_mono_fast_ns() + quota->wait);
}
