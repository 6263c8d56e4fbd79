/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to scan a process soon. See map/request.c.
 */
#ifndef SFU_REQUEST_H
#define SFU_REQUEST_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "map/scan.h"

struct sfu_process;
struct task_struct;

/**
 * struct sfu_request - the request of a process, part of &struct sfu_process
 * @work: task work of @holder
 * @irq_work: from a sample in any context to @work
 * @sampled: the task of that sample; referenced. NULL: @irq_work is not in use
 * @lock: protects the members below. May be taken with interrupts disabled
 * @holder: the task that will scan; NULL: nothing is pending. It has not run @work yet,
 *	so it exists
 * @reason: the reason that asks for most
 * @is_closed: the process has ended, or the module goes: refuse requests
 * @left: in the list of closed requests that their holders have kept; under left_lock
 */
struct sfu_request {
	struct callback_head	work;
	struct irq_work		irq_work;
	struct task_struct	*sampled;
	raw_spinlock_t		lock;
	struct task_struct	*holder;
	enum sfu_scan_reason	reason;
	bool			is_closed;
	struct list_head	left;
};

void sfu_request_init(struct sfu_request *request);

/* Any context, NMI included, under rcu_read_lock(). */
void sfu_request_for_sample(struct sfu_process *process);

/* Any context but NMI; does not sleep. */
void sfu_request_for_event(struct sfu_process *process, struct task_struct *task);
void sfu_request_close(struct sfu_process *process);

/* Task context. */
void sfu_request_exit(void);

/* Any context but NMI. */
bool sfu_cancel_task_work(struct task_struct *task, struct callback_head *work,
			  unsigned int most);

#endif /* SFU_REQUEST_H */
