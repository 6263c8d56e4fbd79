/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scan of a process: from its VMAs to a new map. See map/scan.c.
 */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include "map/quota.h"

struct mm_struct;
struct sfu_map;
struct sfu_process;

/* Under mmap_lock. */
bool sfu_scan_map_matches(const struct sfu_map *map, struct mm_struct *mm);

/* Task context: may sleep, and tries mmap_lock. */
int sfu_scan(struct sfu_process *process, enum sfu_scan_reason reason);

#endif /* SFU_SCAN_H */
