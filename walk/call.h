/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls: what does the code before a return address call? See walk/call.c. */
#ifndef SFU_CALL_H
#define SFU_CALL_H

#include "walk/frame.h"

/* The evidence for a return address. */
enum call_site {
	SITE_NONE,
	SITE_OF_DIRECT_CALL,
	SITE_OF_INDIRECT_CALL,
};

bool sfu_fallback_find_callee(struct sfu_walk *walk, unsigned long ra, unsigned long *func);
enum call_site classify_site(struct sfu_walk *walk, unsigned long ra);

#endif /* SFU_CALL_H */
