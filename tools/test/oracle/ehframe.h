/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The .eh_frame of a file, as libdw interprets it. */
#ifndef ORACLE_EHFRAME_H
#define ORACLE_EHFRAME_H

#include <elfutils/libdw.h>

#include "object.h"

/* What has to be known of an architecture to read .eh_frame for SFrame. */
struct registers {
	u8	sp;		/* DWARF register numbers */
	u8	fp;
	u8	ra;
	int	pc;		/* of expressions, -1: none */
};

/**
 * struct ehframe - the .eh_frame of a file
 * @regs: the architecture's registers
 * @elf: for libdw
 * @cfi: likewise
 * @frame: libdw's last answer, NULL if there was none
 * @start: the first address at which it holds
 * @end: the first behind them
 * @signal: it describes a signal frame
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

#endif /* ORACLE_EHFRAME_H */
