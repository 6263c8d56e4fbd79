// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the call frame information of a file: the section .eh_frame or, where section headers
 * are stripped, what PT_GNU_EH_FRAME points to; .gopclntab; and .debug_frame.
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

/* Linkers write no other forms of the list in .eh_frame_hdr. */
#define COUNT_FORM	0x03	/* DW_EH_PE_udata4 */
#define LIST_FORM	0x3b	/* DW_EH_PE_datarel | DW_EH_PE_sdata4 */

/*
 * Reads the list in .eh_frame_hdr. @cur is after the address of .eh_frame. Return: number of
 * functions; @last is set to the offset of the last of their entries.
 */
static u64 read_list(const struct cfi_section *sec, const struct cfi_section *header,
		     struct cfi_cursor cur, u64 *last)
{
	u64 i, off, nr = cfi_fixed(&cur, 4);

	*last = 0;
	if (header->data[2] != COUNT_FORM || header->data[3] != LIST_FORM)
		return 0;
	nr = min_t(u64, nr, (cur.end - cur.pos) / 8);
	for (i = 0; i < nr; i++) {
		cfi_fixed(&cur, 4);	/* where the function is */
		off = header->addr + cfi_signed(cfi_fixed(&cur, 4), 4) - sec->addr;
		if (off < sec->size && off > *last)
			*last = off;
	}
	return nr;
}

/*
 * Without section headers, a terminator may be the end of .eh_frame, or in its middle: an object
 * may bring one, and BOLT writes one between new entries and old ones. So .eh_frame ends after all
 * functions that .eh_frame_hdr lists. Offsets are wrong there if a linker script has moved the
 * entries (lld 14): the functions are counted, too.
 */
static void cut_at_end(struct cfi_section *sec, const struct cfi_section *header,
		       struct cfi_cursor cur)
{
	u64 last, nr_listed = read_list(sec, header, cur, &last), nr = 0;
	enum cfi_entry_kind kind;
	u32 off, end = 0;
	struct cfi_entry entry;

	for (off = 0; off < sec->size; off = entry.end) {
		kind = cfi_find_entry(sec, off, &entry);
		if (kind == CFI_ENTRY_TERMINATOR ? nr >= nr_listed && off >= last :
						   kind != CFI_ENTRY_FOUND)
			break;
		if (kind == CFI_ENTRY_TERMINATOR)
			continue;
		nr += !entry.is_cie;
		end = entry.end;
	}
	sec->size = end;
}

/* .eh_frame_hdr begins with its version, three forms, and the address of .eh_frame. */
#define HEADER_MIN	8

static const char *read_header(struct cfi_source *source, const struct elf *elf,
			       const struct cfi_section *header)
{
	struct cfi_cursor cur = { .pos = header->data + 4, .end = header->data + header->size };
	u64 addr, off, len;
	const char *error;

	addr = cfi_encoded(header, &cur, header->data[1]);
	if (header->data[0] != 1 || cur.is_bad || !find_bytes(elf, addr, &off, &len))
		return "its .eh_frame_hdr is damaged";
	error = copy(source, elf, off, min_t(u64, len, elf->file.size - off), addr);
	if (!error)
		cut_at_end(&source->sec, header, cur);
	return error;
}

static const char *find_header(struct cfi_source *source, const struct elf *elf)
{
	struct elf_segment seg;
	const char *error;
	u8 *bytes;
	u64 len;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg) && seg.type != PT_GNU_EH_FRAME; i++)
		;
	if (!elf_get_segment(elf, i, &seg))
		return NULL;
	len = seg.off < elf->file.size ? min_t(u64, seg.filesz, elf->file.size - seg.off) : 0;
	if (len < HEADER_MIN)
		return "its .eh_frame_hdr is damaged";
	error = file_copy(&elf->file, seg.off, len, &bytes);
	if (error)
		return error;
	error = read_header(source, elf, &(struct cfi_section){
		.data = bytes, .size = len, .addr = seg.addr,
	});
	free(bytes);
	return error;
}

/*
 * C that was compiled without .eh_frame has .debug_frame if it was built for a debugger. The
 * program can run without it: it is no error if it cannot be read, unless there is nothing else.
 */
static const char *find_debug(struct cfi_source *source, const struct elf *elf)
{
	const char *error = NULL;
	struct elf_section sec;
	u64 size;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if (!sec.size || sec.type == SHT_NOBITS ||
		    !(elf_is_named(elf, &sec, ".debug_frame") ||
		      elf_is_named(elf, &sec, ".zdebug_frame")))
			continue;
		error = elf_copy_section(elf, &sec, &source->debug_data, &size);
		if (!error)
			source->debug = (struct cfi_section){
				.data = source->debug_data, .size = size, .is_debug = true,
			};
		break;
	}
	return source->data || source->go.nr ? NULL : error;
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
	error = find_section(source, elf) ?: read_segments(source, elf);
	if (!error && !source->data)
		error = find_header(source, elf);
	if (error)
		return error;
	gopclntab_open(&source->go, elf, source->machine);
	return find_debug(source, elf);
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

	*source = (struct cfi_source){ .elf = elf };
	error = find(source, elf);
	if (!error)
		plts_find(&source->plts, elf, source->machine);
	return error;
}

void cfi_source_close(struct cfi_source *source)
{
	free(source->data);
	free(source->debug_data);
	gopclntab_close(&source->go);
	ranges_free(&source->code);
}
