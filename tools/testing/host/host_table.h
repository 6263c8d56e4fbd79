/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A section as the module has it in a table: compiled. Makes what sfu_table_compile() of
 * table/table.c makes.
 */
#ifndef HOST_TABLE_H
#define HOST_TABLE_H

#include "table/compile.h"

/**
 * struct host_table - a section that may be a table
 * @compiled: for look-ups
 * @is_accepted: the module accepts the section as a table
 * @defect: else its defect
 */
struct host_table {
	struct sframe_compiled	compiled;
	bool			is_accepted;
	enum sframe_defect	defect;
};

void host_table_init(struct host_table *res, const struct sframe_header *hdr, const u8 *bytes,
		     u32 len);
void host_table_free(struct host_table *res);
int host_table_find(const struct host_table *res, u64 pc, struct sframe_row *row);

#endif /* HOST_TABLE_H */
