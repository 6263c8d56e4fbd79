/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file of either class and byte order, read by libelf. The file may contain
 * any bytes, and may change at any time. A header that libelf refuses is reported as
 * missing. What the headers refer to may lie outside of the file.
 */
#ifndef SFRAMECTL_ELF_H
#define SFRAMECTL_ELF_H

#include <gelf.h>

#include "file.h"
#include "uapi/sframe_unwind.h"

/* A file with more sections, or more segments, is refused. */
#define ELF_MAX_HEADERS	262144

/**
 * struct elf - an ELF file whose header has been read
 * @file: the file; its owner closes it
 * @handle: libelf's handle; NULL if libelf refused the file
 * @ident: the first bytes of the file
 * @swapped: the byte order of the file is not that of this machine
 * @type: ET_*
 * @machine: EM_*
 * @entry: address at which the kernel starts the program
 * @sections_end: file offset of the end of the section headers; 0: there are none
 * @names: file offset of the section names; after the end of the file if there are none
 */
struct elf {
	struct file	file;
	Elf		*handle;
	u8		ident[EI_NIDENT];
	bool		swapped;
	u16		type;
	u16		machine;
	u64		entry;
	u64		sections_end;
	u64		names;
};

struct elf_section {
	u32	index;
	u32	name;
	u32	type;
	u32	link;
	u32	info;
	u64	flags;
	u64	addr;
	u64	off;
	u64	size;
};

struct elf_segment {
	u32	type;
	u32	flags;
	u64	off;
	u64	addr;
	u64	filesz;
	u64	memsz;
};

struct elf_symbol {
	u32	name;
	u8	type;		/* STT_* */
	u16	section;	/* SHN_UNDEF: defined elsewhere */
	u64	value;
	u64	size;
};

bool elf_magic(const struct file *file);
const char *elf_init(struct elf *elf, const struct file *file);
void elf_close(struct elf *elf);
bool elf_is_whole(const struct elf *elf);
bool elf_get_section(const struct elf *elf, u32 index, struct elf_section *sec);
bool elf_is_named(const struct elf *elf, const struct elf_section *sec,
		  const char *name);
bool elf_get_segment(const struct elf *elf, u32 index, struct elf_segment *seg);
u32 elf_list_code(const struct elf *elf, struct sframe_segment segments[SFRAME_SEGMENTS_MAX]);
const char *elf_copy_section(const struct elf *elf, const struct elf_section *sec, u8 **copy,
			     u64 *size);
bool elf_get_symbol(const struct elf *elf, const struct elf_section *table,
		    u32 index, struct elf_symbol *sym);
u64 elf_relocate_starts(const struct elf *elf, u32 index, u8 *bytes, u64 size,
			bool pcrel);

#endif /* SFRAMECTL_ELF_H */
