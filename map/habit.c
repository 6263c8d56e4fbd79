// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The habit of a file: whether its functions keep frame pointers.
 *
 * A compiler keeps frame pointers in all functions of a file, or in few. So a small part of the
 * code shows the habit: how its functions begin is counted. Functions without a frame, which are
 * usual in both kinds of files, do not count. The bytes of the code are not trusted. This file
 * calls nothing of the kernel: it compiles unchanged in the module and on the host.
 */
#include "map/habit.h"

/*
 * The difference of both counts at which no more code needs to be read. If one function in 15
 * begins against the habit of its file, the wrong habit leads by 5 once in half a million.
 */
#define CLEAR_LEAD	5

/* Returns the habit of a file from a part of its code; SFRAME_HABIT_UNKNOWN if it is not clear. */
enum sframe_habit sframe_habit_early(const struct sframe_starts *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_HABIT_FP;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_HABIT_OTHER;
	return SFRAME_HABIT_UNKNOWN;
}

/* For the code of a JIT, or for a file of which all pieces have been counted. */
static bool most_keep_fp(const struct sframe_starts *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other;
}

/* Returns the habit of a file, FP or OTHER, when all pieces have been read. */
enum sframe_habit sframe_habit_final(const struct sframe_starts *starts)
{
	return most_keep_fp(starts) ? SFRAME_HABIT_FP : SFRAME_HABIT_OTHER;
}

/*
 * Returns the habit of a part of a JIT's code; SFRAME_HABIT_UNKNOWN if it is not clear. Few
 * functions are enough: they are recognized by more bytes than functions of files.
 */
enum sframe_habit sframe_habit_of_jit(const struct sframe_starts *starts)
{
	return most_keep_fp(starts) ? SFRAME_HABIT_FP : sframe_habit_early(starts);
}
