/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls: what does the code before a return address call? See walk/call.c. */
#ifndef SFU_CALL_H
#define SFU_CALL_H

#include "walk/frame.h"

/* The evidence for a return address. */
enum sfu_call_site {
	SFU_SITE_NONE,
	SFU_SITE_OF_DIRECT_CALL,
	SFU_SITE_OF_INDIRECT_CALL,
};

bool sfu_call_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
enum sfu_call_site sfu_call_classify_site(struct sfu_walk *walk, unsigned long ra);

#endif /* SFU_CALL_H */
