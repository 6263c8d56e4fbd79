/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came out: how often, and in which function. */
#ifndef TRUTH_TALLY_H
#define TRUTH_TALLY_H

#include <stdio.h>

#include "sframe_types.h"

struct binary;

/* A return address is wrong: that of the function to which the frame is counted. */
#define TALLY_WRONG_RA	"return address"

/* The frame is on another stack of the thread, and is none of those that are there. */
#define TALLY_WRONG_STACK	"frame of another stack"

/* Reasons of wrong frames that come after something else, for which a function is to blame. */
#define TALLY_LOST_FP	"after a wrong frame pointer"
#define TALLY_BY_HAND	"after a caller that no call has made"

/* How a walk compares with the shadow stack. */
enum verdict {
	VERDICT_WHOLE,		/* both end at the same frame */
	VERDICT_PREFIX,		/* the walk ends earlier, and says why */
	VERDICT_FP,		/* a frame pointer differs; nothing has used it */
	VERDICT_SHORT,		/* the walk takes a frame for the outermost one */
	VERDICT_LONG,		/* the walk goes on after the outermost frame */
	VERDICT_SP,		/* the stack pointer of a frame is wrong */
	VERDICT_WRONG,		/* a frame is wrong */
	NR_VERDICTS
};

/**
 * struct tally - how often the same came out
 * @next: the next one of all
 * @verdict: what came out
 * @reason: why the walk ended
 * @binary: the file of the frame where it ended
 * @func: the function, by its symbol
 * @count: steps
 * @example: one of them, or NULL
 */
struct tally {
	struct tally		*next;
	enum verdict		verdict;
	const char		*reason;
	const struct binary	*binary;
	u64			func;
	u64			count;
	char			*example;
};

void tally_read_known(const char *path);
struct tally *tally_find(enum verdict verdict, const char *reason, const struct binary *binary,
			 u64 addr);
bool tally_is_wrong(enum verdict verdict);
u64 tally_print(FILE *out, const char *program);

#endif /* TRUTH_TALLY_H */
