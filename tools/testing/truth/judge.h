/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a walk with the shadow stack. */
#ifndef TRUTH_JUDGE_H
#define TRUTH_JUDGE_H

#include "thread.h"

/* How much of the stack a walk has to find again. */
enum judge_depth {
	JUDGE_NEW,	/* up to a frame where another walk came to the same state */
	JUDGE_ALL,	/* all of it */
};

void judge(struct thread *thread, enum judge_depth depth, bool use_cache);

#endif /* TRUTH_JUDGE_H */
