/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scan of a process: from its VMAs to a new map. See task/sframe_scan.c.
 */
#ifndef SFU_SCAN_H
#define SFU_SCAN_H

#include <linux/types.h>

struct mm_struct;
struct sfu_map;
struct sfu_process;

/* Task context: may sleep, takes mmap_lock. */
int sfu_scan_mm(struct mm_struct *mm, const struct sfu_map *seen);

/* Likewise, under &sfu_process.lock. */
bool sfu_scan_is_due(const struct sfu_process *process);
int sfu_scan_process(struct sfu_process *process, bool recheck);

/* Task context: does not sleep. */
struct sfu_map *sfu_scan_inherit(const struct sfu_map *parent, struct mm_struct *mm);

#endif /* SFU_SCAN_H */
