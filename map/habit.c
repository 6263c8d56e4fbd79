// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The habit of a file: do its functions keep frame pointers?
 *
 * A compiler keeps frame pointers in all functions of a file, or in few. So a small
 * part of the code shows the habit: count how functions begin. Functions without a frame
 * say nothing; they are usual in both kinds of files.
 *
 * The code belongs to somebody else and may say anything. This file reads no other memory
 * and calls nothing of the kernel: it compiles unchanged in the module and on the host.
 */
#include "map/habit.h"

/*
 * The difference at which no more code needs to be seen. If one function in 15 begins
 * against the habit of its file, the wrong habit leads by so many once in half a million.
 */
#define CLEAR_LEAD	5

/* The habit of a file, from a part of the code: SFRAME_HABIT_UNKNOWN unless it is clear. */
enum sframe_habit sframe_habit_early(const struct sframe_starts *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_HABIT_FP;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_HABIT_OTHER;
	return SFRAME_HABIT_UNKNOWN;
}

/* Only for the code of a JIT, or for a file of which all pieces have been counted. */
static bool most_keep_fp(const struct sframe_starts *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other;
}

/* The habit of a file, when all that may be read has been read: FP or OTHER. */
enum sframe_habit sframe_habit_final(const struct sframe_starts *starts)
{
	return most_keep_fp(starts) ? SFRAME_HABIT_FP : SFRAME_HABIT_OTHER;
}

/*
 * The habit of the code of a JIT, from a part of it: SFRAME_HABIT_UNKNOWN unless it is clear. There
 * may be few functions. They are told by more bytes than those of files.
 */
enum sframe_habit sframe_habit_of_jit(const struct sframe_starts *starts)
{
	return most_keep_fp(starts) ? SFRAME_HABIT_FP : sframe_habit_early(starts);
}
