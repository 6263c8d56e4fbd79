/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects whether code keeps frame pointers. It is enough to read a part of a file's code: either
 * most functions that make a frame keep the frame pointer, or few do. map/text.c reads the part,
 * arch/ARCH/code.c counts functions of both kinds, map/keeps_fp.c judges.
 */
#ifndef SFRAME_KEEPS_FP_H
#define SFRAME_KEEPS_FP_H

#include "sframe_types.h"

struct sfu_prefault;
struct sfu_range;
struct vm_area_struct;

enum sframe_keeps_fp {
	SFRAME_KEEPS_FP_UNKNOWN,	/* no scan has read enough code yet to decide */
	SFRAME_KEEPS_FP_YES,		/* most functions with a frame push a record (FP, RA) */
	SFRAME_KEEPS_FP_NO,		/* fewer do, or no function with a frame was found */
};

enum sframe_prologue {
	SFRAME_PROLOGUE_NONE,		/* no start of a function with a frame at this address */
	SFRAME_PROLOGUE_FP,		/* start of a function that pushes a record (FP, RA) */
	SFRAME_PROLOGUE_OTHER,		/* start of a function with a frame that lacks (FP, RA) */
};

struct sframe_prologues {
	unsigned int	fp;
	unsigned int	other;
};

static inline void sframe_prologues_add(struct sframe_prologues *starts, enum sframe_prologue start)
{
	starts->fp += start == SFRAME_PROLOGUE_FP;
	starts->other += start == SFRAME_PROLOGUE_OTHER;
}

/*
 * Adds counts of function prologues in @text to @starts, by kind. May miss some at the text's ends.
 * @text: copy of code, from an address that is a multiple of 16
 * @is_jit: code of a JIT compiler; on x86, its functions may begin at any byte
 */
void sframe_count_prologues(struct sframe_prologues *starts, const u8 *text, size_t len,
			    bool is_jit);

enum sframe_keeps_fp sframe_keeps_fp_early(const struct sframe_prologues *starts);
enum sframe_keeps_fp sframe_keeps_fp_final(const struct sframe_prologues *starts);
enum sframe_keeps_fp sframe_keeps_fp_of_jit(const struct sframe_prologues *starts);

enum sframe_keeps_fp sfu_text_keeps_fp(struct sfu_range *range, const struct vm_area_struct *vma,
				       bool needs_all, struct sfu_prefault *prefault,
				       unsigned int *nr_pieces);

#endif /* SFRAME_KEEPS_FP_H */
