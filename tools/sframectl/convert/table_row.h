/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of SFrame version 3, as they are stored. */
#ifndef TABLE_ROW_H
#define TABLE_ROW_H

#include "cfi_row.h"
#include "sframe_format.h"

/* For the longest row: a start, the info word, six words, and three bytes that are overwritten. */
#define TABLE_ROW_ROOM	32

enum cfi_hole table_row_hole(const struct cfi_machine *machine, const struct cfi_row *row);
bool table_row_is_plain(const struct cfi_machine *machine, const struct cfi_row *row);
u32 table_row_put(u8 *to, const struct cfi_machine *machine, const struct cfi_row *row,
		  u32 start, u8 addr_type, bool flex);

#endif /* TABLE_ROW_H */
