/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does code keep frame pointers? A compiler keeps them in all functions of a file, or in few. So a
 * small part of the code shows it: count how functions begin. Functions without a frame say
 * nothing; they are usual in both kinds of files.
 *
 * arch/ARCH/code.c counts, map/keeps_fp.c judges the counts, and map/text.c reads the code.
 */
#ifndef SFRAME_KEEPS_FP_H
#define SFRAME_KEEPS_FP_H

#include "sframe_types.h"

struct sfu_prefault;
struct sfu_range;
struct vm_area_struct;

enum sframe_keeps_fp {
	SFRAME_KEEPS_FP_UNKNOWN,	/* too little of the code was in memory */
	SFRAME_KEEPS_FP_YES,		/* functions begin with a frame record */
	SFRAME_KEEPS_FP_NO,		/* many functions do not, or there are too few to say */
};

/* How a function begins. */
enum sframe_prologue {
	SFRAME_PROLOGUE_NONE,		/* no function with a frame begins here */
	SFRAME_PROLOGUE_FP,		/* it makes a frame record */
	SFRAME_PROLOGUE_OTHER,		/* it makes a frame without a record */
};

/* Functions, counted by how they begin. */
struct sframe_prologues {
	unsigned int	fp;
	unsigned int	other;
};

static inline void sframe_prologues_add(struct sframe_prologues *starts,
					enum sframe_prologue start)
{
	starts->fp += start == SFRAME_PROLOGUE_FP;
	starts->other += start == SFRAME_PROLOGUE_OTHER;
}

/*
 * Adds to @starts how functions begin in @text, which begins at a multiple of 16. A function at
 * either end of @text may be missed. @is_jit: a JIT has made the code.
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
