/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes call frame instructions. */
#ifndef CFI_PROGRAM_H
#define CFI_PROGRAM_H

#include "cfi_entry.h"

/**
 * struct cfi_rows - the rows of one function, in an array that is used again for the next
 * @all: the rows, in the order of their starts; the first one has start 0
 * @nr: number of rows
 * @room: number of rows that @all has room for
 */
struct cfi_rows {
	struct cfi_row	*all;
	u32		nr;
	u32		room;
};

bool cfi_rows_add(struct cfi_rows *rows, const struct cfi_row *row);
void cfi_run_cie(const struct cfi_section *sec, const struct cfi_machine *machine,
		 struct cfi_cie *cie);
bool cfi_run_fde(const struct cfi_section *sec, const struct cfi_machine *machine,
		 const struct cfi_cie *cie, const struct cfi_fde *fde, struct cfi_rows *rows);

#endif /* CFI_PROGRAM_H */
