// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the .sframe in a file. An ELF file has the section or, where the section
 * headers are stripped, the segment. Any other file is taken for a bare section.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object.h"

bool object_is_relocatable(const struct object *obj)
{
	return obj->is_elf && obj->elf.type == ET_REL;
}

static bool is_sframe(const struct elf_section *sec)
{
	return sec->type == SFRAME_SHT_GNU_SFRAME || !strcmp(sec->name, ".sframe");
}

static const char *use(struct object *obj, const char *place, u64 addr, u64 off,
		       u64 size)
{
	obj->place = place;
	obj->addr = addr;
	obj->size = size;
	obj->data = elf_bytes(&obj->elf, off, size);
	return obj->data ? NULL : "its .sframe runs past the end of the file";
}

/* Without this flag ld writes starts that are relative to the section. */
static bool starts_are_pcrel(const struct object *obj)
{
	struct sframe_raw_header raw;

	if (obj->size < sizeof(raw))
		return false;
	memcpy(&raw, obj->data, sizeof(raw));
	return raw.flags & SFRAME_F_FDE_FUNC_START_PCREL;
}

static const char *relocate(struct object *obj, u32 index)
{
	obj->copy = malloc(obj->size ? obj->size : 1);
	if (!obj->copy)
		return "out of memory";
	memcpy(obj->copy, obj->data, obj->size);
	obj->nr_starts = elf_relocate_starts(&obj->elf, index, obj->copy,
					     obj->size, starts_are_pcrel(obj));
	obj->data = obj->copy;
	return NULL;
}

static const char *find_segment(struct object *obj)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != SFRAME_PT_GNU_SFRAME)
			continue;
		obj->has_segment = true;
		obj->segment_addr = seg.addr;
		return use(obj, "PT_GNU_SFRAME", seg.addr, seg.off, seg.filesz);
	}
	return NULL;
}

static const char *find_section(struct object *obj)
{
	struct elf_section sec;
	const char *error;
	u32 i;

	for (i = 0; elf_get_section(&obj->elf, i, &sec); i++) {
		/* A file of debug information has the section header, but not the bytes. */
		if (!is_sframe(&sec) || sec.type == SHT_NOBITS)
			continue;
		error = use(obj, ".sframe", sec.addr, sec.off, sec.size);
		if (!error && object_is_relocatable(obj))
			error = relocate(obj, i);
		return error;
	}
	return NULL;
}

/**
 * object_init - find the .sframe in the bytes of a file
 * @obj: filled in; on success @obj->place is NULL if there is no .sframe
 * @file: the bytes, which the caller owns
 * @size: number of bytes
 *
 * Return: NULL, or the error as a text. The caller calls object_close() in both cases.
 */
const char *object_init(struct object *obj, const void *file, u64 size)
{
	const char *error;

	*obj = (struct object){ .file = file, .file_size = size };
	if (!elf_magic(file, size)) {
		obj->place = "bare section";
		obj->data = file;
		obj->size = size;
		obj->addr = OBJECT_BARE_ADDR;
		return NULL;
	}
	obj->is_elf = true;
	error = elf_init(&obj->elf, file, size);
	if (error)
		return error;
	/* Section headers are preferred: the segment may be longer than its data. */
	return find_segment(obj) ?: find_section(obj);
}

static const char *map_file(int fd, const void **file, u64 *size)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	*size = st.st_size;
	*file = "";
	if (st.st_size == 0)
		return NULL;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return strerror(errno);
	*file = map;
	return NULL;
}

/**
 * object_open - map a file and find its .sframe
 * @obj: filled in; on success @obj->place is NULL if there is no .sframe
 * @path: the file
 *
 * Return: NULL, or the error as a text. The caller calls object_close() in both cases.
 */
const char *object_open(struct object *obj, const char *path)
{
	const void *file;
	const char *error;
	u64 size = 0;
	int fd;

	*obj = (struct object){};
	/* O_NONBLOCK: open() of a FIFO must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return strerror(errno);
	error = map_file(fd, &file, &size);
	close(fd);
	if (error)
		return error;
	error = object_init(obj, file, size);
	obj->mapped = size > 0;
	return error;
}

void object_close(struct object *obj)
{
	elf_close(&obj->elf);
	if (obj->mapped)
		munmap((void *)obj->file, obj->file_size);
	free(obj->copy);
}

/* Addresses of a bare section are shown relative to its start. */
s64 object_shown_addr(const struct object *obj, u64 addr)
{
	return obj->is_elf ? addr : addr - OBJECT_BARE_ADDR;
}

/* @text has TEXT_SIZE bytes. */
const char *object_addr_text(const struct object *obj, u64 addr, char *text)
{
	s64 off = object_shown_addr(obj, addr);

	if (obj->is_elf)
		snprintf(text, TEXT_SIZE, "0x%" PRIx64, addr);
	else
		snprintf(text, TEXT_SIZE, "section%c0x%" PRIx64,
			 off < 0 ? '-' : '+', off < 0 ? -(u64)off : (u64)off);
	return text;
}
