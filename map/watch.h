/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time during which the hooks of events are set. See map/watch.c.
 */
#ifndef SFU_WATCH_H
#define SFU_WATCH_H

#include <linux/types.h>

/* Any context, NMI included. */
bool sfu_watch_sample(void);
bool sfu_watch_is_idle(unsigned long now);
bool sfu_watch_expects_samples(void);

/* Task context; may sleep. */
int sfu_watch_init(void);
void sfu_watch_exit(void);

#endif /* SFU_WATCH_H */
