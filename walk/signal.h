/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signal frames. See walk/signal.c. */
#ifndef SFU_SIGNAL_H
#define SFU_SIGNAL_H

#include "walk/frame.h"

bool sfu_signal_is_at_return(struct sfu_walk *walk);
enum sfu_stop sfu_signal_step(struct sfu_walk *walk);

#endif /* SFU_SIGNAL_H */
