/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spare processes, for contexts that cannot allocate. See map/spares.c.
 */
#ifndef SFU_SPARES_H
#define SFU_SPARES_H

struct sfu_process;

/* Any context, NMI included; one caller at a time. */
struct sfu_process *sfu_spares_take(void);

/* Task context; may sleep. */
void sfu_spares_refill(unsigned int nr);
int sfu_spares_init(void);
void sfu_spares_exit(void);

#endif /* SFU_SPARES_H */
