/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that change the mappings of processes. See map/event.c.
 */
#ifndef SFU_EVENT_H
#define SFU_EVENT_H

struct mm_struct;
struct task_struct;
struct vm_area_struct;

/* The events, also for tests. Task context; preemption may be disabled. */
void sfu_event_mmap(struct vm_area_struct *vma);
void sfu_event_unmap(struct vm_area_struct *vma);
void sfu_event_fork(struct task_struct *child);
void sfu_event_end(struct mm_struct *mm);

/* Task context; may sleep. */
int sfu_event_set_hooks(void);
void sfu_event_remove_hooks(void);

#endif /* SFU_EVENT_H */
