// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the .sframe in a file. An ELF file has the section or, where the section
 * headers are stripped, the segment. Any other file is taken for a bare section.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "object.h"
#include "vdso.h"

#define ELF_HEADER_SIZE	64

bool object_is_relocatable(const struct object *obj)
{
	return obj->is_elf && obj->elf.type == ET_REL;
}

/* A linker that has discarded all functions leaves a section of no bytes. */
bool object_is_empty(const struct object *obj)
{
	return obj->is_elf && obj->place && !obj->size;
}

/* As the module, this asks for a segment with code. No code begins in the header of the file. */
static bool has_code(const struct elf *elf, u64 start, u64 size)
{
	bool is_without = true;
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg); i++) {
		u64 off = start - seg.addr, header = seg.off || !seg.filesz ? 0 : ELF_HEADER_SIZE;

		if (seg.type != PT_LOAD || !(seg.flags & PF_X))
			continue;
		is_without = false;
		if (off >= header && off <= seg.memsz &&
		    size <= seg.memsz - off)
			return true;
	}
	/* A table file describes the code of another one. */
	return is_without;
}

/*
 * The assembler makes the start fields of V1 and V2 relative to themselves. A linker that knows
 * SFrame makes them relative to the section, and sorts them; or a flag of V2 says that they stay.
 * mold leaves them without that flag. The module does not find such data: it has no segment.
 */
static bool is_unlinked(const struct sframe_header *sec)
{
	return sec->version < SFRAME_VERSION_3 &&
	       !(sec->flags & (SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL));
}

/**
 * object_judge - the defect that only the file itself shows
 * @obj: the file
 * @sec: the header
 * @fde: the function; NULL: judge the header alone
 *
 * Return: the defect. Of a file that is not linked, nothing is known.
 */
enum sframe_defect object_judge(const struct object *obj, const struct sframe_header *sec,
				const struct sframe_fde *fde)
{
	if (!obj->is_elf || object_is_relocatable(obj))
		return SFRAME_DEFECT_NONE;
	if (is_unlinked(sec))
		return fde ? SFRAME_DEFECT_NONE : SFRAME_DEFECT_UNLINKED;
	if (fde && !has_code(&obj->elf, fde->start, fde->size))
		return SFRAME_DEFECT_STALE;
	return SFRAME_DEFECT_NONE;
}

static bool is_sframe(const struct elf *elf, const struct elf_section *sec)
{
	return sec->type == SFRAME_SHT_GNU_SFRAME ||
	       elf_is_named(elf, sec, ".sframe");
}

static const char *use(struct object *obj, const char *place, u64 addr, u64 off,
		       u64 size)
{
	const char *error;

	if (!file_has(&obj->file, off, size))
		return "its .sframe runs past the end of the file";
	if (size > FILE_COPY_MAX)
		return "its .sframe is larger than 128 MiB: no program needs so much";
	error = file_copy(&obj->file, off, size, &obj->data);
	if (error)
		return error;
	obj->place = place;
	obj->addr = addr;
	obj->size = size;
	return NULL;
}

/* The flags of the first header. */
static u8 flags_of(const struct object *obj)
{
	struct sframe_raw_header raw;

	if (obj->size < sizeof(raw))
		return 0;
	memcpy(&raw, obj->data, sizeof(raw));
	return raw.flags;
}

static const char *find_section(struct object *obj)
{
	struct elf_section sec;
	const char *error;
	u32 i;

	for (i = 0; elf_get_section(&obj->elf, i, &sec); i++) {
		if (!is_sframe(&obj->elf, &sec))
			continue;
		/* A file of debug information has the section header, but not the bytes. */
		obj->debug_only = sec.type == SHT_NOBITS;
		if (obj->debug_only)
			continue;
		error = use(obj, ".sframe", sec.addr, sec.off, sec.size);
		if (!error && object_is_relocatable(obj))
			/* Without this flag ld writes starts that are relative to the section. */
			obj->nr_starts = elf_relocate_starts(&obj->elf, i, obj->data, obj->size,
							     flags_of(obj) &
							     SFRAME_F_FDE_FUNC_START_PCREL);
		return error;
	}
	return NULL;
}

/* Notes where the segment is. Its data is used if no section was found. */
static const char *find_segment(struct object *obj)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != SFRAME_PT_GNU_SFRAME)
			continue;
		if (!file_has(&obj->file, seg.off, seg.filesz))
			return "its PT_GNU_SFRAME runs past the end of the file";
		obj->has_segment = true;
		obj->segment_addr = seg.addr;
		return obj->place ? NULL : use(obj, "PT_GNU_SFRAME", seg.addr,
					       seg.off, seg.filesz);
	}
	return NULL;
}

static const char *find_sframe(struct object *obj)
{
	const char *error = elf_init(&obj->elf, &obj->file);

	if (error)
		return error;
	obj->is_elf = true;
	/* Section headers are preferred: the segment may be longer than its data. */
	error = find_section(obj);
	if (!error && !obj->debug_only)
		error = find_segment(obj);
	obj->is_used = obj->has_segment && flags_of(obj) & SFRAME_F_FDE_SORTED;
	return error;
}

/**
 * object_init - find the .sframe in an open file
 * @obj: filled in; on success @obj->place is NULL if there is no .sframe
 * @file: the file; @obj is its owner from now on
 *
 * Return: NULL, or the error as a text. The caller calls object_close() in both cases.
 */
const char *object_init(struct object *obj, const struct file *file)
{
	*obj = (struct object){ .file = *file };
	if (elf_magic(&obj->file))
		return find_sframe(obj);
	if (file->size > FILE_COPY_MAX)
		return "no ELF file, and too large for a bare section";
	return use(obj, "bare section", OBJECT_BARE_ADDR, 0, file->size);
}

/**
 * object_open - open a file and find its .sframe
 * @obj: filled in; on success @obj->place is NULL if there is no .sframe
 * @path: the file, or VDSO_NAME
 *
 * Return: NULL, or the error as a text. The caller calls object_close() in both cases.
 */
const char *object_open(struct object *obj, const char *path)
{
	struct file file;
	const char *error = vdso_is_name(path) ? vdso_open(&file) : file_open(&file, path);

	if (!error)
		return object_init(obj, &file);
	*obj = (struct object){};
	return error;
}

void object_close(struct object *obj)
{
	elf_close(&obj->elf);
	file_close(&obj->file);
	free(obj->data);
}

/* Return: the place in a bare section, whose address is unknown; it may lie before the section. */
s64 object_bare_off(u64 addr)
{
	return addr - OBJECT_BARE_ADDR;
}

/* @text has TEXT_SIZE bytes. */
const char *object_addr_text(const struct object *obj, u64 addr, char *text)
{
	s64 off = object_bare_off(addr);

	if (obj->is_elf)
		snprintf(text, TEXT_SIZE, "0x%" PRIx64, addr);
	else
		snprintf(text, TEXT_SIZE, "section%c0x%" PRIx64,
			 off < 0 ? '-' : '+', off < 0 ? -(u64)off : (u64)off);
	return text;
}
