/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file and the .sframe in it. */
#ifndef SFRAMECTL_OBJECT_H
#define SFRAMECTL_OBJECT_H

#include "elf.h"
#include "sframe_core.h"
#include "text.h"

/*
 * The address of a bare section is unknown. In the middle of user memory there is
 * room on both sides for the code that the section describes.
 */
#define OBJECT_BARE_ADDR	0x400000000000ull

#define OBJECT_DEBUG_ONLY \
	"debug information only; its .sframe is in the program itself"

/**
 * struct object - a file and its .sframe
 * @file: the file
 * @elf: the ELF headers, if @is_elf
 * @is_elf: true for an ELF file, false for a bare section
 * @debug_only: a file of debug information: it has the header of .sframe without the data
 * @place: the place of the data in words, NULL if there is no data
 * @data: a copy of the data, with its relocations applied
 * @size: bytes of @data
 * @addr: the address of the data in the process
 * @nr_starts: number of start fields that a relocation filled in
 * @has_segment: there is a PT_GNU_SFRAME
 * @segment_addr: the address of PT_GNU_SFRAME
 * @is_used: the module uses the data: it finds PT_GNU_SFRAME, and functions that are sorted
 */
struct object {
	struct file	file;
	struct elf	elf;
	bool		is_elf;
	bool		debug_only;
	const char	*place;
	u8		*data;
	u64		size;
	u64		addr;
	u64		nr_starts;
	bool		has_segment;
	u64		segment_addr;
	bool		is_used;
};

const char *object_init(struct object *obj, const struct file *file);
const char *object_open(struct object *obj, const char *path);
void object_close(struct object *obj);
bool object_is_relocatable(const struct object *obj);
bool object_is_empty(const struct object *obj);
enum sframe_defect object_judge(const struct object *obj, const struct sframe_header *sec,
				const struct sframe_fde *fde);
s64 object_bare_off(u64 addr);
const char *object_addr_text(const struct object *obj, u64 addr, char *text);

#endif /* SFRAMECTL_OBJECT_H */
