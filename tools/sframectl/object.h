/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file and the .sframe in it. */
#ifndef SFRAMECTL_OBJECT_H
#define SFRAMECTL_OBJECT_H

#include "elf.h"
#include "text.h"

/*
 * A bare section does not say where it stands. Half-way up user memory it has
 * room for what it describes on both sides.
 */
#define OBJECT_BARE_ADDR	0x400000000000ull

/**
 * struct object - a file and where its .sframe is
 * @file: all of its bytes
 * @file_size: how many
 * @elf: its headers, if @is_elf
 * @is_elf: else the file is a bare section
 * @place: how the data was found, NULL if there is none
 * @data: the data: in @file, or @copy
 * @size: bytes of @data
 * @addr: the address at which they stand
 * @copy: the data with its relocations applied, if there were any
 * @nr_starts: start fields that a relocation filled in
 * @has_segment: there is a PT_GNU_SFRAME
 * @segment_addr: its address
 * @mapped: @file is to be unmapped
 */
struct object {
	const u8	*file;
	u64		file_size;
	struct elf	elf;
	bool		is_elf;
	const char	*place;
	const u8	*data;
	u64		size;
	u64		addr;
	u8		*copy;
	u64		nr_starts;
	bool		has_segment;
	u64		segment_addr;
	bool		mapped;
};

const char *object_init(struct object *obj, const void *file, u64 size);
const char *object_open(struct object *obj, const char *path);
void object_close(struct object *obj);
bool object_is_relocatable(const struct object *obj);
s64 object_shown_addr(const struct object *obj, u64 addr);
const char *object_addr_text(const struct object *obj, u64 addr, char *text);

#endif /* SFRAMECTL_OBJECT_H */
