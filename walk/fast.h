/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path of a walk. See walk/fast.c. */
#ifndef SFU_FAST_H
#define SFU_FAST_H

#include "walk/frame.h"

enum sfu_stop sfu_fast_callers(struct sfu_walk *walk, u64 *ips, unsigned int max, unsigned int *nr);

#endif /* SFU_FAST_H */
