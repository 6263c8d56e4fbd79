/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quota of a process limits the time of its scans. See map/quota.c. */
#ifndef SFU_QUOTA_H
#define SFU_QUOTA_H

#include <linux/compiler.h>
#include <linux/types.h>

/* Why a process is scanned. The scan for a higher value examines more. */
enum sfu_scan_reason {
	SFU_SCAN_NONE,		/* no scan is requested */
	SFU_SCAN_NEW_CODE,	/* an event, such as new code */
	SFU_SCAN_SAMPLE,	/* a sample found the map missing, incomplete or outdated */
};

/*
 * When a process may be scanned. Times are in ns of ktime_get_mono_fast_ns(). Scans for events
 * decrease @event_scans and samples increase it, in any context and without a lock, so a change may
 * be lost. A scan writes the other members under &sfu_process.lock.
 */
struct sfu_quota {
	s64	scan_at;	/* no scan before this time; an event waits longer */
	s64	sample_at;	/* no scan for a sample before this time */
	s64	wait;		/* delay of @sample_at after a scan that found nothing new */
	s64	began_at;	/* when an event reported the process; 0: it ran before */
	u8	event_scans;	/* scans that events may still request */
	u8	nr_sample_scans; /* scans for samples so far, at most SAMPLE_SCANS_MAX */
};

/*
 * Scans for events that a process may have without a sample; a library takes two. Halved, programs
 * with many libraries lose first samples; doubled, processes without samples are scanned longer.
 */
#define SFU_EVENT_SCANS_MAX	48

/* Lets events request one more scan after a sample. Any context, NMI included. */
static inline void sfu_quota_count_sample(struct sfu_quota *quota)
{
	unsigned int event_scans = READ_ONCE(quota->event_scans);

	if (event_scans < SFU_EVENT_SCANS_MAX)
		WRITE_ONCE(quota->event_scans, event_scans + 1);
}

bool sfu_quota_may_scan(const struct sfu_quota *quota, enum sfu_scan_reason reason);

/* Called under &sfu_process.lock. */
unsigned long sfu_quota_may_prefault(const struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_charge(struct sfu_quota *quota, enum sfu_scan_reason reason, s64 cost);
void sfu_quota_charge_lost(struct sfu_quota *quota, enum sfu_scan_reason reason);
void sfu_quota_delay_samples(struct sfu_quota *quota, bool found_new);

#endif /* SFU_QUOTA_H */
