/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The habit of a file: whether its functions keep frame pointers. See map/habit.c. */
#ifndef SFRAME_HABIT_H
#define SFRAME_HABIT_H

#include "sframe_types.h"

enum sframe_habit {
	SFRAME_HABIT_UNKNOWN,	/* too little of the code was in memory */
	SFRAME_HABIT_FP,	/* functions begin with a frame record */
	SFRAME_HABIT_OTHER,	/* many functions do not, or there are too few to say */
};

/* How a function begins. */
enum sframe_start {
	SFRAME_START_NONE,	/* no function with a frame begins here */
	SFRAME_START_FP,	/* it makes a frame record */
	SFRAME_START_OTHER,	/* it makes a frame without a record */
};

/* Functions of a file, counted by how they begin. */
struct sframe_starts {
	unsigned int	fp;	/* functions that begin with a frame record */
	unsigned int	other;	/* functions that begin with another frame */
};

static inline void sframe_starts_add(struct sframe_starts *starts, enum sframe_start start)
{
	starts->fp += start == SFRAME_START_FP;
	starts->other += start == SFRAME_START_OTHER;
}

/*
 * Adds to @starts how functions begin in @text, which begins at a multiple of 16. A function at
 * either end of it may be missed. @is_jit: a JIT has made the code. In arch/ARCH/code.c.
 */
void sframe_habit_count(struct sframe_starts *starts, const u8 *text, size_t len, bool is_jit);

enum sframe_habit sframe_habit_early(const struct sframe_starts *starts);
enum sframe_habit sframe_habit_final(const struct sframe_starts *starts);
enum sframe_habit sframe_habit_of_jit(const struct sframe_starts *starts);

#endif /* SFRAME_HABIT_H */
