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
#include "sframe_prologue.h"

/*
 * The difference at which no more code needs to be seen. If one function in 15 begins
 * against the habit of its file, the wrong habit leads by so many once in half a million.
 */
#define CLEAR_LEAD	5

static void count_start(struct sframe_starts *starts, enum sframe_start start)
{
	starts->fp += start == SFRAME_START_FP;
	starts->other += start == SFRAME_START_OTHER;
}

/*
 * Adds to @starts how functions begin in @text, which begins at a multiple of SFRAME_TEXT_STEP. A
 * function at either end of it may be missed.
 */
void sframe_habit_count(struct sframe_starts *starts, const u8 *text, size_t len)
{
	size_t i;

	for (i = SFRAME_TEXT_FIRST; i + SFRAME_TEXT_AFTER <= len; i += SFRAME_TEXT_STEP)
		count_start(starts, sframe_text_start(text + i));
}

/*
 * As sframe_habit_count(), for code of a JIT. A frame without a record counts where compilers begin
 * functions.
 */
void sframe_habit_count_jit(struct sframe_starts *starts, const u8 *text, size_t len)
{
	size_t i;

	for (i = SFRAME_TEXT_FIRST; i + SFRAME_TEXT_AFTER <= len; i += SFRAME_JIT_STEP) {
		enum sframe_start start = sframe_jit_start(text + i);

		if (start == SFRAME_START_NONE && i % SFRAME_TEXT_STEP == 0)
			start = sframe_jit_text_start(text + i);
		count_start(starts, start);
	}
}

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
