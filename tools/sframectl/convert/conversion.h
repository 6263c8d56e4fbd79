/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the call frame information of a file to a table. */
#ifndef CONVERSION_H
#define CONVERSION_H

#include "cfi_source.h"
#include "elf.h"
#include "table.h"
#include "table_file.h"

/**
 * struct conversion_facts - what is known of a conversion besides the table
 * @counts: what the table says
 * @nr_fdes: number of functions in the table, or parts of functions
 * @nr_rows: number of rows that are stored
 * @code: bytes of code of the file
 * @covered: how many of them the table describes
 * @eh_frame_size: bytes of .eh_frame and .debug_frame
 * @header_size: bytes of .eh_frame_hdr, 0 if there is none
 * @note: the build-id of the file
 * @type: ET_* of the file
 * @machine: EM_* of the file
 */
struct conversion_facts {
	struct table_counts	counts;
	u32			nr_fdes;
	u32			nr_rows;
	u64			code;
	u64			covered;
	u64			eh_frame_size;
	u64			header_size;
	struct table_note	note;
	u16			type;
	u16			machine;
};

/**
 * struct conversion - a file, converted
 * @table: the table
 * @facts: what else is known
 * @end: an address after all that the file loads
 */
struct conversion {
	struct table		table;
	struct conversion_facts	facts;
	u64			end;
};

const char *conversion_fill(struct table *table, const struct cfi_source *source);
const char *conversion_make(struct conversion *conv, const struct elf *elf);
void conversion_free(struct conversion *conv);

#endif /* CONVERSION_H */
