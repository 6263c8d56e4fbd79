/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A decoded section as a text, which tests compare. A row reads
 * "CFA FP RA":
 *
 *	sp+16	the stack pointer plus 16
 *	(c-8)	the word in memory at CFA - 8
 *	r10+0	DWARF register 10
 *	u	unchanged: still in its register
 *
 * A whole section has the format of test_decoder.c of the host tests, see section_cases.c.
 */
#ifndef SECTION_TEXT_H
#define SECTION_TEXT_H

#include "sframe_core.h"

#define SECTION_ROW_TEXT	128
#define SECTION_TEXT		4096

void section_row_text(u8 abi, const struct sframe_row *row, char *text);
void section_text(struct sframe_reader *rd, u64 addr, u64 len, char *text);

#endif /* SECTION_TEXT_H */
