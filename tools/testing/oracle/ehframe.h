/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The .eh_frame of a file as libdw interprets it. */
#ifndef ORACLE_EHFRAME_H
#define ORACLE_EHFRAME_H

#include <elfutils/libdw.h>

#include "object.h"

/* How a file compares. It is the exit status, too. */
enum status {
	STATUS_EQUAL = 0,
	STATUS_DIFFERENT = 1,
	STATUS_UNREADABLE = 2,
};

/* The DWARF numbers of an architecture's registers. */
struct registers {
	u8	sp;
	u8	fp;
	u8	ra;
	int	pc;		/* in expressions, -1: not used */
};

/**
 * struct ehframe - the .eh_frame of a file
 * @regs: the architecture's registers
 * @elf: libdw's handle of the file
 * @cfi: libdw's handle of the section
 * @frame: libdw's last result, NULL if there is none
 * @start: first address at which @frame is valid
 * @end: first address after them
 * @signal: @frame describes a signal frame
 */
struct ehframe {
	struct registers regs;
	Elf		*elf;
	Dwarf_CFI	*cfi;
	Dwarf_Frame	*frame;
	Dwarf_Addr	start;
	Dwarf_Addr	end;
	bool		signal;
};

const char *ehframe_open(struct ehframe *eh, const struct object *obj);
void ehframe_close(struct ehframe *eh);
bool ehframe_row(struct ehframe *eh, u64 addr, struct sframe_row *row);
bool ehframe_saved_sp(struct ehframe *eh, u64 addr, struct sframe_rule *word, s64 *sum);
bool ehframe_sp_is_cfa(struct ehframe *eh, u64 addr, const struct sframe_row *row);
void ehframe_print_row(const char *who, u8 abi, const struct sframe_row *row);

#endif /* ORACLE_EHFRAME_H */
