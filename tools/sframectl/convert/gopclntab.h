/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a Go program, as .gopclntab has them. Go's runtime needs it: strip keeps it. */
#ifndef GOPCLNTAB_H
#define GOPCLNTAB_H

#include "cfi_program.h"
#include "elf.h"

struct gopclntab_layout;

/**
 * struct gopclntab - the section .gopclntab of a file
 * @elf: the file
 * @machine: its architecture
 * @layout: where this version has what, NULL if there is no such section
 * @data: the section, to be freed
 * @size: its bytes
 * @text: the address that addresses in the section are relative to
 * @nr: number of functions
 * @names: offset of the names
 * @deltas: offset of the tables of stack pointers
 * @functions: offset of the list of functions
 * @code: the segment with the code
 */
struct gopclntab {
	const struct elf		*elf;
	const struct cfi_machine	*machine;
	const struct gopclntab_layout	*layout;
	u8				*data;
	u64				size;
	u64				text;
	u32				nr;
	u64				names;
	u64				deltas;
	u64				functions;
	struct elf_segment		code;
};

void gopclntab_open(struct gopclntab *go, const struct elf *elf, const struct cfi_machine *machine);
bool gopclntab_get(const struct gopclntab *go, u32 index, u64 *start, u64 *end);
bool gopclntab_run(const struct gopclntab *go, u32 index, struct cfi_cie *cie,
		   struct cfi_rows *rows);
void gopclntab_close(struct gopclntab *go);

#endif /* GOPCLNTAB_H */
