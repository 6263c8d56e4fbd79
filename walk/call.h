/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls: what does the code before a return address call? See walk/call.c. */
#ifndef SFU_CALL_H
#define SFU_CALL_H

#include "walk/frame.h"

bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
bool sfu_call_is_before(struct sfu_walk *walk, unsigned long ra);

#endif /* SFU_CALL_H */
