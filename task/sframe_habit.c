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

/* The least that says something about a file that has been seen to its end. */
#define MIN_STARTS	1

/**
 * sframe_habit_count() - count how functions begin
 * @starts: added to
 * @text: code; begins at a multiple of SFRAME_TEXT_STEP
 * @len: bytes of it; a function at either end may be missed
 */
void sframe_habit_count(struct sframe_starts *starts, const u8 *text, size_t len)
{
	size_t i;

	for (i = SFRAME_TEXT_FIRST; i + SFRAME_TEXT_AFTER <= len; i += SFRAME_TEXT_STEP) {
		switch (sframe_text_start(text + i)) {
		case SFRAME_START_FP:
			starts->fp++;
			break;
		case SFRAME_START_OTHER:
			starts->other++;
			break;
		case SFRAME_START_NONE:
			break;
		}
	}
}

/**
 * sframe_habit_early() - the habit of a file, from a part of the code
 * @starts: the functions seen so far
 *
 * Return: The habit if it is clear, else SFRAME_HABIT_UNKNOWN.
 */
enum sframe_habit sframe_habit_early(const struct sframe_starts *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_HABIT_FP;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_HABIT_OTHER;
	return SFRAME_HABIT_UNKNOWN;
}

/**
 * sframe_habit_final() - the habit of a file, when all that may be read has been read
 * @starts: the functions seen
 *
 * Return: SFRAME_HABIT_FP or SFRAME_HABIT_OTHER.
 */
enum sframe_habit sframe_habit_final(const struct sframe_starts *starts)
{
	if (starts->fp >= MIN_STARTS && starts->fp >= 4 * starts->other)
		return SFRAME_HABIT_FP;
	return SFRAME_HABIT_OTHER;
}
