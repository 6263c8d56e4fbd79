/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects whether code keeps frame pointers. A compiler keeps them in all functions of a file, or
 * in few. So map/text.c reads a small part of the code, arch/ARCH/code.c counts the prologues in
 * it, and map/keeps_fp.c judges the counts. In both kinds of files, many functions have no frame.
 */
#ifndef SFRAME_KEEPS_FP_H
#define SFRAME_KEEPS_FP_H

#include "sframe_types.h"

struct sfu_prefault;
struct sfu_range;
struct vm_area_struct;

enum sframe_keeps_fp {
	SFRAME_KEEPS_FP_UNKNOWN,	/* not examined, or too little code in memory to decide */
	SFRAME_KEEPS_FP_YES,		/* most functions push a frame record (FP and RA) */
	SFRAME_KEEPS_FP_NO,		/* many functions push no record; or no prologue found */
};

/* Which kind of function prologue begins at an address of code. */
enum sframe_prologue {
	SFRAME_PROLOGUE_NONE,		/* no function that makes a frame begins here */
	SFRAME_PROLOGUE_FP,		/* a function begins here, and pushes a frame record */
	SFRAME_PROLOGUE_OTHER,		/* a function begins, and makes a frame without a record */
};

/* How many functions begin with SFRAME_PROLOGUE_FP, and how many with SFRAME_PROLOGUE_OTHER. */
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
 * Counts the function prologues in @text, a copy of code whose address is a multiple of 16, and
 * adds the numbers to @starts. May miss a function at either end. @is_jit: JIT code.
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
