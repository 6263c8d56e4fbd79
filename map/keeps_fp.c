// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides from counts of prologues whether code keeps frame pointers. Compiled on the host, too. */
#include "map/keeps_fp.h"

/*
 * Once one count of prologues exceeds the other by this number, no more code is read. In a file
 * where one function in 15 is an exception, exceptions lead by this number once in half a million.
 */
#define CLEAR_LEAD	5

/* Judges a part of the code of a file. Returns SFRAME_KEEPS_FP_UNKNOWN unless the lead is clear. */
enum sframe_keeps_fp sframe_keeps_fp_early(const struct sframe_prologues *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_YES;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_NO;
	return SFRAME_KEEPS_FP_UNKNOWN;
}

/* Judges all code of a file that a scan may read. Never returns SFRAME_KEEPS_FP_UNKNOWN. */
enum sframe_keeps_fp sframe_keeps_fp_final(const struct sframe_prologues *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other ? SFRAME_KEEPS_FP_YES :
							       SFRAME_KEEPS_FP_NO;
}

/*
 * Judges a part of the code of a JIT, which may have few functions. A prologue there is identified
 * by more bytes than in a file, so one function with a frame record can be enough.
 */
enum sframe_keeps_fp sframe_keeps_fp_of_jit(const struct sframe_prologues *starts)
{
	if (sframe_keeps_fp_final(starts) == SFRAME_KEEPS_FP_YES)
		return SFRAME_KEEPS_FP_YES;
	return sframe_keeps_fp_early(starts);
}
