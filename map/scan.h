/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scan of a process: from its VMAs to a new map. See map/scan.c.
 */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include <linux/types.h>

struct mm_struct;
struct sfu_map;
struct sfu_process;

/* Why a process is scanned; a later reason asks for more. */
enum sfu_scan_reason {
	SFU_SCAN_NONE,		/* no scan is requested */
	SFU_SCAN_NEW_CODE,	/* code, or a section that is awaited, has been mapped */
	SFU_SCAN_SAMPLE,	/* a sample has missed something, or is about to */
};

/* Under mmap_lock. */
bool sfu_scan_map_matches(const struct sfu_map *map, struct mm_struct *mm);

/* Any context, NMI included. */
bool sfu_scan_is_due(const struct sfu_process *process, enum sfu_scan_reason reason);

/* Task context: may sleep, and tries mmap_lock. */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason);
int sfu_scan_mm(struct mm_struct *mm);

#endif /* SFU_SCAN_H */
