/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that change the mappings of processes. See task/sframe_event.c.
 */
#ifndef SFU_EVENT_H
#define SFU_EVENT_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;
struct vm_area_struct;

/* Any context, NMI included. */
bool sfu_event_profiled(void);
bool sfu_event_is_idle(unsigned long now);

/* The events, also for tests. Task context; preemption may be disabled. */
void sfu_event_mmap(struct vm_area_struct *vma);
void sfu_event_unmap(struct vm_area_struct *vma);
void sfu_event_fork(struct task_struct *child);
void sfu_event_end(struct mm_struct *mm);

int sfu_event_init(void);
void sfu_event_exit(void);

#endif /* SFU_EVENT_H */
