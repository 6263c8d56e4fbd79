/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to scan a process soon. See map/request.c. */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/types.h>

struct callback_head;
struct sfu_process;
struct sfu_request;
struct task_struct;

/* Any context, NMI included, under rcu_read_lock(). */
void sfu_request_init(struct sfu_request *request);
void sfu_request_for_sample(struct sfu_process *process);

/* Any context but NMI; does not sleep. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);
bool sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
			  unsigned int max_works);

/* Task context. */
void sfu_request_exit(void);

#endif /* SFU_REQUEST_H */
