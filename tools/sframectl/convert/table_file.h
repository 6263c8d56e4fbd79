/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table files: a section .sframe for a program, in an ELF file of its own. */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include <stdio.h>

#include "elf.h"
#include "table.h"

/* A note: its header of 12 bytes, the name "GNU", and at most 64 bytes of build-id. */
#define TABLE_FILE_NOTE_MAX	(12 + 4 + 64)

/**
 * struct table_note - the note with the build-id of a program
 * @bytes: the whole note
 * @len: its bytes; 0: the program has none
 */
struct table_note {
	u8	bytes[TABLE_FILE_NOTE_MAX];
	u32	len;
};

/**
 * struct table_file - a table file
 * @section: the bytes of .sframe
 * @size: their number
 * @addr: address that the section was made for
 * @note: the build-id of the program
 * @type: ET_* of the program
 * @machine: EM_* of the program
 */
struct table_file {
	const void			*section;
	u64				size;
	u64				addr;
	const struct table_note		*note;
	u16				type;
	u16				machine;
};

u64 table_file_addr(u64 end);
bool table_file_write_section(FILE *out, const struct table *table, u64 addr);
void table_note_find(struct table_note *note, const struct elf *elf);
bool table_file_write(FILE *out, const struct table_file *file);

#endif /* TABLE_FILE_H */
