/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads call frame instructions as assemblers do, with their mistakes. */
#ifndef ORACLE_ASSEMBLER_H
#define ORACLE_ASSEMBLER_H

#include "ehframe.h"
#include "functions.h"

/*
 * Mistakes that an assembler may make between call frame instructions and rows.
 * The bits are the numbers of the errata. clang ignores .cfi_rel_offset, but its
 * instructions are the same as those of .cfi_offset: the mistake covers both.
 */
enum mistake {
	MISTAKE_RESTORE_FIRST = 1 << 1,	/* restore takes the first row's rule */
	MISTAKE_ONE_STATE = 1 << 2,	/* remember_state has one level only */
	MISTAKE_SP_BASED = 1 << 3,	/* another base of the CFA becomes SP */
	MISTAKE_FP_IS_RA = 1 << 4,	/* if FP is saved and RA is not, RA gets FP's rule */
	MISTAKE_RA_DEFINED = 1 << 5,	/* undefined RA is ignored */
	MISTAKE_FP_FORGOTTEN = 1 << 11,	/* offset of FP is ignored; without a CFA, FP is the CFA */
};

/**
 * struct assembler - an assembler that reads the instructions
 * @eh: libdw's view of .eh_frame, for expressions
 * @mistakes: its mistakes, a set of enum mistake
 * @remembers_last_row: MISTAKE_ONE_STATE also remembers the row before the current one
 */
struct assembler {
	struct ehframe	*eh;
	unsigned int	mistakes;
	bool		remembers_last_row;
};

bool assembler_row_until(const struct assembler *as, const struct function *func,
			 u64 addr, struct sframe_row *row, u64 *end);
bool assembler_row(const struct assembler *as, const struct function *func,
		   u64 addr, struct sframe_row *row);

#endif /* ORACLE_ASSEMBLER_H */
