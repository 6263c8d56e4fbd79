/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the call frame information of a file to a table. */
#ifndef CONVERSION_H
#define CONVERSION_H

#include "cfi_source.h"
#include "elf.h"
#include "table.h"
#include "table_file.h"

/**
 * struct conversion - a file, converted
 * @table: the table
 * @note: the build-id of the file
 * @type: ET_* of the file
 * @end: an address after all that the file loads
 * @eh_frame_size: bytes of .eh_frame and .debug_frame
 * @header_size: bytes of .eh_frame_hdr, 0 if there is none
 */
struct conversion {
	struct table		table;
	struct table_note	note;
	u16			type;
	u64			end;
	u64			eh_frame_size;
	u64			header_size;
};

const char *conversion_fill(struct table *table, const struct cfi_source *source);
const char *conversion_make(struct conversion *conv, const struct elf *elf);
bool conversion_write(const struct conversion *conv, FILE *out);
void conversion_free(struct conversion *conv);

#endif /* CONVERSION_H */
