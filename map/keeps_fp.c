// SPDX-License-Identifier: GPL-2.0-or-later
/* Judges whether code keeps frame pointers. No kernel in it: it compiles on the host, too. */
#include "map/keeps_fp.h"

/*
 * The difference at which no more code needs to be seen. If one function in 15 begins unlike the
 * others of its file, these lead by so many once in half a million.
 */
#define CLEAR_LEAD	5

/* From a part of the code of a file. Returns SFRAME_KEEPS_FP_UNKNOWN unless the lead is clear. */
enum sframe_keeps_fp sframe_keeps_fp_early(const struct sframe_prologues *starts)
{
	if (starts->fp >= starts->other + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_YES;
	if (starts->other >= starts->fp + CLEAR_LEAD)
		return SFRAME_KEEPS_FP_NO;
	return SFRAME_KEEPS_FP_UNKNOWN;
}

/* From all code of a file that may be read. Never returns SFRAME_KEEPS_FP_UNKNOWN. */
enum sframe_keeps_fp sframe_keeps_fp_final(const struct sframe_prologues *starts)
{
	return starts->fp && starts->fp >= 4 * starts->other ? SFRAME_KEEPS_FP_YES :
							       SFRAME_KEEPS_FP_NO;
}

/*
 * From a part of the code of a JIT, in which there may be few functions. More bytes tell a function
 * there than in a file, so one is enough.
 */
enum sframe_keeps_fp sframe_keeps_fp_of_jit(const struct sframe_prologues *starts)
{
	if (sframe_keeps_fp_final(starts) == SFRAME_KEEPS_FP_YES)
		return SFRAME_KEEPS_FP_YES;
	return sframe_keeps_fp_early(starts);
}
