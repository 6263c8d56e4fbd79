/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A section as the module has it in a resident table: compiled. Makes what make_table() of
 * table/table.c makes.
 */
#ifndef RESIDENT_H
#define RESIDENT_H

#include "table/compiled.h"

/**
 * struct resident - a section that may be a resident table
 * @table: for look-ups
 * @is_accepted: the module accepts the section as a table
 * @defect: else its defect
 */
struct resident {
	struct sframe_compiled	table;
	bool			is_accepted;
	enum sframe_defect	defect;
};

void resident_init(struct resident *res, const struct sframe_header *hdr, const u8 *bytes,
		   u32 len);
void resident_free(struct resident *res);
int resident_find(const struct resident *res, u64 pc, struct sframe_row *row);

#endif /* RESIDENT_H */
