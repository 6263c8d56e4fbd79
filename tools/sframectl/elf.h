/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file in a buffer, of either class and byte order, read by libelf. The
 * file may contain any bytes. A header or range is reported as missing if libelf
 * refuses it or if it lies outside of the buffer.
 */
#ifndef SFRAMECTL_ELF_H
#define SFRAMECTL_ELF_H

#include <gelf.h>

#include "sframe_types.h"

/**
 * struct elf - an ELF file whose header has been read
 * @handle: libelf's handle; NULL if libelf refused the file
 * @data: the file
 * @size: bytes of the file
 * @swapped: the byte order of the file is not that of this machine
 * @type: ET_*
 * @machine: EM_*
 * @names: file offset of the section names; after the end of the file if there are none
 */
struct elf {
	Elf		*handle;
	const u8	*data;
	u64		size;
	bool		swapped;
	u16		type;
	u16		machine;
	u64		names;
};

struct elf_section {
	const char	*name;	/* in the buffer; "" if the section has none */
	u32		type;
	u32		link;
	u32		info;
	u64		flags;
	u64		addr;
	u64		off;
	u64		size;
};

struct elf_segment {
	u32	type;
	u32	flags;
	u64	off;
	u64	addr;
	u64	filesz;
	u64	memsz;
};

bool elf_magic(const void *data, u64 size);
const char *elf_init(struct elf *elf, const void *data, u64 size);
void elf_close(struct elf *elf);
const void *elf_bytes(const struct elf *elf, u64 off, u64 len);
bool elf_get_section(const struct elf *elf, u32 index, struct elf_section *sec);
bool elf_get_segment(const struct elf *elf, u32 index, struct elf_segment *seg);
u64 elf_relocate_starts(const struct elf *elf, u32 index, u8 *bytes, u64 size,
			bool pcrel);

#endif /* SFRAMECTL_ELF_H */
