/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame instructions as assemblers read them, mistakes included. */
#ifndef ORACLE_ASSEMBLER_H
#define ORACLE_ASSEMBLER_H

#include "ehframe.h"
#include "functions.h"

/*
 * What an assembler may get wrong on the way from call frame instructions to
 * rows. The numbers are those of the errata. Instructions do not tell
 * .cfi_rel_offset, which is what clang forgets, from .cfi_offset.
 */
enum mistake {
	MISTAKE_RESTORE_FIRST = 1 << 1,	/* restore: the first row's rule */
	MISTAKE_ONE_STATE = 1 << 2,	/* remember_state: one level only */
	MISTAKE_SP_BASED = 1 << 3,	/* any base of the CFA is SP or FP */
	MISTAKE_FP_IS_RA = 1 << 4,	/* FP saved, RA not: reads as RA */
	MISTAKE_RA_DEFINED = 1 << 5,	/* undefined RA: ignored */
	MISTAKE_FP_FORGOTTEN = 1 << 11,	/* offset of FP: ignored; no CFA: FP */
};

/**
 * struct assembler - who read the instructions
 * @eh: what libdw says, for expressions
 * @mistakes: what it gets wrong, of enum mistake
 * @remembers_last_row: MISTAKE_ONE_STATE also takes the row before the current
 */
struct assembler {
	struct ehframe	*eh;
	unsigned int	mistakes;
	bool		remembers_last_row;
};

bool assembler_row(const struct assembler *as, const struct function *func,
		   u64 addr, struct sframe_row *row);

#endif /* ORACLE_ASSEMBLER_H */
