/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file in a buffer, of either class and byte order, read by libelf. The
 * bytes may be anything. What libelf refuses, or what lies outside of the
 * buffer, is reported as missing.
 */
#ifndef SFRAMECTL_ELF_H
#define SFRAMECTL_ELF_H

#include <gelf.h>

#include "sframe_types.h"

/**
 * struct elf - an ELF file whose header has been read
 * @handle: libelf's; NULL if the file was refused
 * @data: the file
 * @size: its bytes
 * @swapped: stored in the byte order that is not this machine's
 * @type: ET_*
 * @machine: EM_*
 * @names: where in the file the sections' names begin; past its end if nowhere
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
	const char	*name;	/* in the buffer, "" if it has none */
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
