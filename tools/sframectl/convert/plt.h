/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PLTs that no call frame information describes. */
#ifndef PLT_H
#define PLT_H

#include "cfi_row.h"
#include "elf.h"

#define PLT_NR_ROWS	3

/**
 * struct plt - a part of a PLT: its header, or slots of one form
 * @start: its address
 * @size: its bytes
 * @rows: its rows, as if call frame information had described it
 * @nr: their number
 */
struct plt {
	u64		start;
	u32		size;
	struct cfi_row	rows[PLT_NR_ROWS];
	u32		nr;
};

/* A header and slots of .plt; the other sections have slots only. */
#define PLT_NR_PARTS	8

/**
 * struct plts - the parts of all PLTs of a file, in the order of addresses
 * @all: the parts
 * @nr: their number
 */
struct plts {
	struct plt	all[PLT_NR_PARTS];
	u32		nr;
};

void plts_find(struct plts *plts, const struct elf *elf, const struct cfi_machine *machine);

#endif /* PLT_H */
