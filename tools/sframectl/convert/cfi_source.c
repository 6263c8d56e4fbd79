// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the call frame information of a file: the section .eh_frame or, where section headers
 * are stripped, what PT_GNU_EH_FRAME points to. Without either, it is .debug_frame.
 */
#include <stdlib.h>

#include "cfi_source.h"

/* User code is in the lower half of the address space, far below its end. */
#define END_MAX	0x4000000000000000

static const char *read_segments(struct cfi_source *source, const struct elf *elf)
{
	struct elf_segment seg;
	u64 end;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg); i++) {
		if (seg.type == PT_GNU_EH_FRAME)
			source->header_size = seg.filesz;
		if (seg.type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(seg.addr, seg.memsz, &end) || end > END_MAX)
			return "loads a segment at no address of a program";
		if (end > source->end)
			source->end = end;
		if (seg.flags & PF_X)
			ranges_add(&source->code, seg.addr, seg.memsz);
	}
	ranges_merge(&source->code);
	return source->code.nr ? NULL : "has no executable code";
}

static const char *copy(struct cfi_source *source, const struct elf *elf, u64 off, u64 size,
			u64 addr)
{
	const char *error;

	if (!file_has(&elf->file, off, size))
		return "its .eh_frame runs past the end of the file";
	if (size > FILE_COPY_MAX)
		return "its .eh_frame is larger than 128 MiB: no program has so much";
	error = file_copy(&elf->file, off, size, &source->data);
	if (!error)
		source->sec = (struct cfi_section){
			.data = source->data, .size = size, .addr = addr,
		};
	return error;
}

/* Return: NULL, also if there is no such section, or the error as a text. */
static const char *find_section(struct cfi_source *source, const struct elf *elf)
{
	bool is_debug_only = false;
	struct elf_section sec;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if (!sec.size || !(sec.flags & SHF_ALLOC) || !elf_is_named(elf, &sec, ".eh_frame"))
			continue;
		if (sec.type != SHT_NOBITS)
			return copy(source, elf, sec.off, sec.size, sec.addr);
		is_debug_only = true;
	}
	return is_debug_only ? "debug information only; convert the program itself" : NULL;
}

/* Finds the bytes of the file from @addr to the end of its segment. */
static bool find_bytes(const struct elf *elf, u64 addr, u64 *off, u64 *len)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg); i++) {
		if (seg.type != PT_LOAD || addr - seg.addr >= seg.filesz || addr < seg.addr)
			continue;
		*len = seg.filesz - (addr - seg.addr);
		return !__builtin_add_overflow(seg.off, addr - seg.addr, off) &&
		       *off <= elf->file.size;
	}
	return false;
}

/* .eh_frame_hdr begins with its version, three encodings, and the address of .eh_frame. */
#define HEADER_MIN	8
#define HEADER_MAX	20

static const char *find_header(struct cfi_source *source, const struct elf *elf)
{
	static const char broken[] = "its .eh_frame_hdr is damaged";
	struct elf_segment seg;
	u8 bytes[HEADER_MAX] = {};
	struct cfi_section header;
	struct cfi_cursor cur;
	u64 addr, off, len;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg) && seg.type != PT_GNU_EH_FRAME; i++)
		;
	if (!elf_get_segment(elf, i, &seg))
		return NULL;
	len = min_t(u64, seg.filesz, sizeof(bytes));
	if (len < HEADER_MIN || file_read(&elf->file, seg.off, bytes, len) || bytes[0] != 1)
		return broken;
	header = (struct cfi_section){ .data = bytes, .size = len, .addr = seg.addr };
	cur = (struct cfi_cursor){ .pos = bytes + 4, .end = bytes + len };
	addr = cfi_encoded(&header, &cur, bytes[1]);
	if (cur.is_bad || !find_bytes(elf, addr, &off, &len))
		return broken;
	return copy(source, elf, off, min_t(u64, len, elf->file.size - off), addr);
}

/* Without section headers nothing but a terminator ends .eh_frame. */
static void cut_at_terminator(struct cfi_section *sec)
{
	struct cfi_entry entry;
	u32 off = 0;

	while (off < sec->size && cfi_find_entry(sec, off, &entry) == CFI_ENTRY_FOUND)
		off = entry.end;
	sec->size = off;
}

/*
 * Programs whose compiler was told to leave out .eh_frame have it if they were built for a
 * debugger. A compressed section is not read.
 */
static const char *find_debug(struct cfi_source *source, const struct elf *elf)
{
	struct elf_section sec;
	const char *error;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if (!sec.size || sec.type == SHT_NOBITS || sec.flags & SHF_COMPRESSED ||
		    !elf_is_named(elf, &sec, ".debug_frame"))
			continue;
		error = copy(source, elf, sec.off, sec.size, 0);
		source->sec.is_debug = true;
		return error;
	}
	return "has no .eh_frame: nothing describes its stack frames";
}

static const char *find(struct cfi_source *source, const struct elf *elf)
{
	const char *error;

	if (elf->ident[EI_CLASS] != ELFCLASS64 || elf->ident[EI_DATA] != ELFDATA2LSB)
		return "not made for x86_64 or arm64";
	source->machine = cfi_find_machine(elf->machine);
	if (!source->machine)
		return "not made for x86_64 or arm64";
	if (elf->type != ET_EXEC && elf->type != ET_DYN)
		return "neither a program nor a shared library";
	error = find_section(source, elf);
	if (!error)
		error = read_segments(source, elf);
	if (error || source->data)
		return error;
	error = find_header(source, elf);
	if (error)
		return error;
	if (!source->data)
		return find_debug(source, elf);
	cut_at_terminator(&source->sec);
	return NULL;
}

/**
 * cfi_source_open - find and copy the call frame information of a file
 * @source: filled in
 * @elf: the file
 *
 * Return: NULL, or the error as a text. The caller calls cfi_source_close() in both cases.
 */
const char *cfi_source_open(struct cfi_source *source, const struct elf *elf)
{
	const char *error;

	*source = (struct cfi_source){};
	error = find(source, elf);
	if (!error)
		plts_find(&source->plts, elf, source->machine);
	return error;
}

void cfi_source_close(struct cfi_source *source)
{
	free(source->data);
	ranges_free(&source->code);
}
