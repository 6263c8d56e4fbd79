/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/sframe_unwind. See table/device.c.
 */
#ifndef SFU_DEV_H
#define SFU_DEV_H

int sfu_dev_init(void);
void sfu_dev_exit(void);

#endif /* SFU_DEV_H */
