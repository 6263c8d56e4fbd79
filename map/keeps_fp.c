// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides from counts of prologues whether code keeps frame pointers. Compiled on the host, too. */
#include "map/keeps_fp.h"

/*
 * Once functions that push a frame record outnumber functions with another frame by this number, or
 * the reverse, no more code is read. In a file where one function in 15 is an exception, the
 * exceptions lead by this number once in half a million.
 */
#define CLEAR_LEAD	5

/* Says if a part of code keeps FP; SFRAME_KEEPS_FP_UNKNOWN if no count leads by CLEAR_LEAD. */
enum sframe_keeps_fp sframe_keeps_fp_early(const struct sframe_prologues *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_YES;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_NO;
	return SFRAME_KEEPS_FP_UNKNOWN;
}

/* Says if code keeps FP, after all its pieces are read. Never SFRAME_KEEPS_FP_UNKNOWN. */
enum sframe_keeps_fp sframe_keeps_fp_final(const struct sframe_prologues *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other ? SFRAME_KEEPS_FP_YES :
							       SFRAME_KEEPS_FP_NO;
}

/*
 * Says if JIT code keeps FP, from a part of it, which may have few functions. A prologue there is
 * identified by more bytes than in a file, so one function with a frame record can be enough.
 */
enum sframe_keeps_fp sframe_keeps_fp_of_jit(const struct sframe_prologues *starts)
{
	if (sframe_keeps_fp_final(starts) == SFRAME_KEEPS_FP_YES)
		return SFRAME_KEEPS_FP_YES;
	return sframe_keeps_fp_early(starts);
}
