/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to scan a process soon. See task/sframe_request.c.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

struct mm_struct;
struct sfu_map;
struct task_struct;
struct vm_area_struct;

/* Any context, NMI included. */
void sfu_request_for_sample(struct mm_struct *mm, const struct sfu_map *seen);

/* Task context; does not sleep. */
void sfu_request_for_code(struct task_struct *task, const struct vm_area_struct *code);
void sfu_request_for_process(struct task_struct *task, struct mm_struct *mm);

int sfu_request_init(void);
void sfu_request_exit(void);

#endif /* SFU_REQUEST_H */
