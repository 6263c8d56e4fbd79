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
 * A token bucket limits the scans of a process. In SHARE ns, it gains 1 ns, up to BURST ns.
 * A scan of T ns takes T ns out. If less than 0 is left, no scan begins until it is 0 again.
 * If BURST were half, or SHARE twice as large, walks in new code would find no callers for longer.
 * If BURST were twice as large, or SHARE half, scans would slow the process down more.
 */
#define SHARE		32
#define BURST		(3 * (s64)NSEC_PER_MSEC)

/*
 * If a scan for a sample finds nothing new, the next one waits for WAIT_MIN. Each further scan in
 * vain doubles the wait, up to WAIT_MAX. If WAIT_MAX were larger, an SFrame section that has just
 * been read from the disk could stay unused for longer.
 */
#define WAIT_MIN	((s64)NSEC_PER_MSEC)
#define WAIT_MAX	((s64)NSEC_PER_SEC)

/*
 * A scan makes pages of SFrame sections present, as walks cannot take page faults. If mmap() etc.
 * requested it, it examines at most PREFAULT_MIN bytes; if a sample did, up to PREFAULT_MAX.
 * With lower limits, more walks would find pages missing; with higher, scans would take longer.
 */
#define PREFAULT_MIN	((unsigned long)SZ_64K)
#define PREFAULT_MAX	((unsigned long)SZ_64M)
/* After this many scans for samples, the limit of a process has risen to PREFAULT_MAX. */
#define SAMPLE_SCANS_MAX	5
#define PAGE_NS		1000	/* estimated ns to make a section's page present in the process */

bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason)
{
	s64 now;

	/* Mostly, mmap() etc. have used up their scans: return without reading the clock. */
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
	 * A new process may end soon. So to make pages present, this scan may take only 1/SHARE of
	 * the age of the process: at PAGE_NS a page, this limits the bytes that it may examine.
	 * After n scans for samples, the limit is at least PREFAULT_MIN * 4^n bytes.
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
