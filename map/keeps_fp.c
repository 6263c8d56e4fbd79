// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides from counts of prologues whether code keeps frame pointers. Host tests compile it. */
#include "map/keeps_fp.h"

/*
 * Functions with a frame record and functions with another frame are counted. When one count leads
 * by this number, no more code is read. With less, exceptional functions would decide more often.
 */
#define CLEAR_LEAD	5

/* Decides by the part read if code makes frame records. SFRAME_KEEPS_FP_UNKNOWN: read more. */
enum sframe_keeps_fp sframe_keeps_fp_early(const struct sframe_prologues *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_YES;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_NO;
	return SFRAME_KEEPS_FP_UNKNOWN;
}

enum sframe_keeps_fp sframe_keeps_fp_final(const struct sframe_prologues *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other ? SFRAME_KEEPS_FP_YES :
							       SFRAME_KEEPS_FP_NO;
}

/*
 * Decides whether JIT code keeps frame pointers, from a few pages of it. They may hold only one
 * prologue. If it makes a frame record, the answer is yes. This is hardly ever wrong: in JIT
 * code on x86, only bytes that are rare inside functions count as prologues.
 */
enum sframe_keeps_fp sframe_keeps_fp_of_jit(const struct sframe_prologues *starts)
{
	if (sframe_keeps_fp_final(starts) == SFRAME_KEEPS_FP_YES)
		return SFRAME_KEEPS_FP_YES;
	return sframe_keeps_fp_early(starts);
}
