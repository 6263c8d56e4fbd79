/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of a process: the time that it may spend on scans. See task/sframe_account.c.
 */
#ifndef SFU_ACCOUNT_H
#define SFU_ACCOUNT_H

#include <linux/types.h>

#include "sframe_scan.h"

/* Scans may take one part in so many of the time of a process. */
#define SFU_ACCOUNT_SHARE	32

/* Any context, NMI included. */
bool sfu_account_may_allow(const struct sfu_process *process);
bool sfu_account_allows(const struct sfu_process *process, enum sfu_scan_reason reason);
bool sfu_account_is_open(struct sfu_process *process);

/* Under &sfu_process.lock. */
void sfu_account_charge(struct sfu_process *process, enum sfu_scan_reason reason, s64 cost);
void sfu_account_set_wait(struct sfu_process *process, bool has_found_new);
void sfu_account_put_off(struct sfu_process *process);

#endif /* SFU_ACCOUNT_H */
