/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks of mmap(), munmap(), fork() and exit (map/event.c), set during profiling (map/watch.c). */
#ifndef SFU_EVENT_H
#define SFU_EVENT_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;
struct vm_area_struct;

/* Called by the hooks and by tests. Task context; preemption may be disabled. */
void sfu_event_mmap(struct vm_area_struct *vma);
void sfu_event_unmap(struct vm_area_struct *vma);
void sfu_event_fork(struct task_struct *child);

/* Called by the watch. Task context; may sleep. */
int sfu_event_set_hooks(void);
void sfu_event_remove_hooks(void);

/* Called in any context, NMI included. */
bool sfu_watch_sample(void);
bool sfu_watch_is_idle(unsigned long now);
bool sfu_watch_expects_samples(void);

/* Called in task context; may sleep. */
int sfu_watch_init(void);
void sfu_watch_exit(void);

#endif /* SFU_EVENT_H */
