// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads ELF with libelf: headers, sections, segments, and the relocations of one
 * section. libelf checks the structures that it reads. elf_bytes() checks the
 * ranges of the file that a header names.
 */
#include "elf.h"

/* Return: NULL if the file does not contain all @len bytes from @off. */
const void *elf_bytes(const struct elf *elf, u64 off, u64 len)
{
	if (off > elf->size || len > elf->size - off)
		return NULL;
	return elf->data + off;
}

bool elf_magic(const void *data, u64 size)
{
	return size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
}

/* libelf has one error for all of these. Return: NULL, or the error as a text. */
static const char *check_ident(const u8 *ident, u64 size)
{
	if (size < EI_NIDENT || !elf_magic(ident, size))
		return "not an ELF file";
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return "ELF class is neither 32 nor 64 bit";
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return "ELF byte order is neither little nor big endian";
	if (ident[EI_VERSION] != EV_CURRENT)
		return "ELF version is not 1";
	if (size < (ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return "ends inside the ELF header";
	return NULL;
}

static u64 find_names(const struct elf *elf)
{
	GElf_Shdr shdr;
	size_t index;

	if (elf_getshdrstrndx(elf->handle, &index) ||
	    !gelf_getshdr(elf_getscn(elf->handle, index), &shdr))
		return elf->size;
	return shdr.sh_offset;
}

/**
 * elf_init - read the ELF header
 * @elf: filled in
 * @data: the file
 * @size: bytes of the file
 *
 * Return: NULL, or the error as a text. The caller calls elf_close() in both cases.
 */
const char *elf_init(struct elf *elf, const void *data, u64 size)
{
	const char *error = check_ident(data, size);
	const u8 *ident = data;
	GElf_Ehdr ehdr;

	*elf = (struct elf){ .data = data, .size = size };
	if (error)
		return error;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return elf_errmsg(-1);
	/* libelf does not write to the buffer as long as the file is only read. */
	elf->handle = elf_memory((char *)data, size);
	if (!elf->handle || !gelf_getehdr(elf->handle, &ehdr))
		return elf_errmsg(-1);

	elf->swapped = (ident[EI_DATA] == ELFDATA2MSB) ==
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	elf->type = ehdr.e_type;
	elf->machine = ehdr.e_machine;
	elf->names = find_names(elf);
	return NULL;
}

void elf_close(struct elf *elf)
{
	elf_end(elf->handle);
	elf->handle = NULL;
}

/* A longer name is treated as missing: no .sframe needs it, and its search costs time. */
#define NAME_MAX_LEN	256

/* elf_strptr() is not used: it may search the whole table for the end of one name. */
static const char *section_name(const struct elf *elf, u64 name)
{
	const char *string;
	u64 off;

	if (__builtin_add_overflow(elf->names, name, &off))
		return "";
	string = elf_bytes(elf, off, 1);
	if (!string || !memchr(string, 0, min_t(u64, elf->size - off, NAME_MAX_LEN)))
		return "";
	return string;
}

/**
 * elf_get_section - read a section header
 * @elf: the file
 * @index: index of the section
 * @sec: filled in, unchecked
 *
 * Return: true if there is such a section header.
 */
bool elf_get_section(const struct elf *elf, u32 index, struct elf_section *sec)
{
	GElf_Shdr shdr;

	if (!gelf_getshdr(elf_getscn(elf->handle, index), &shdr))
		return false;
	*sec = (struct elf_section){
		.name	= section_name(elf, shdr.sh_name),
		.type	= shdr.sh_type,
		.link	= shdr.sh_link,
		.info	= shdr.sh_info,
		.flags	= shdr.sh_flags,
		.addr	= shdr.sh_addr,
		.off	= shdr.sh_offset,
		.size	= shdr.sh_size,
	};
	return true;
}

/**
 * elf_get_segment - read a program header
 * @elf: the file
 * @index: index of the segment
 * @seg: filled in, unchecked
 *
 * Return: true if there is such a program header.
 */
bool elf_get_segment(const struct elf *elf, u32 index, struct elf_segment *seg)
{
	GElf_Phdr phdr;

	if (!gelf_getphdr(elf->handle, index, &phdr))
		return false;
	*seg = (struct elf_segment){
		.type	= phdr.p_type,
		.flags	= phdr.p_flags,
		.off	= phdr.p_offset,
		.addr	= phdr.p_vaddr,
		.filesz	= phdr.p_filesz,
		.memsz	= phdr.p_memsz,
	};
	return true;
}

/* Return: number of bytes that a PC-relative relocation writes; 0: the type is unknown. */
static u8 pc_relative_size(u16 machine, u32 type)
{
	switch (machine) {
	case EM_X86_64:
		return type == R_X86_64_PC32 ? 4 : type == R_X86_64_PC64 ? 8 : 0;
	case EM_AARCH64:
		return type == R_AARCH64_PREL32 ? 4 :
		       type == R_AARCH64_PREL64 ? 8 : 0;
	case EM_S390:
		return type == R_390_PC32 ? 4 : type == R_390_PC64 ? 8 : 0;
	default:
		return 0;
	}
}

static void put(const struct elf *elf, u8 *to, u64 value, u8 len)
{
	u64 v64 = elf->swapped ? swab64(value) : value;
	u32 v32 = elf->swapped ? swab32(value) : value;

	memcpy(to, len == sizeof(v64) ? (void *)&v64 : (void *)&v32, len);
}

static bool relocate_one(const struct elf *elf, const GElf_Rela *rela, Elf_Data *symbols,
			 u8 *bytes, u64 size, bool pcrel)
{
	u8 len = pc_relative_size(elf->machine, GELF_R_TYPE(rela->r_info));
	u64 off = rela->r_offset;
	GElf_Sym sym;
	u64 value;

	if (!len || off > size || len > size - off)
		return false;
	if (!gelf_getsym(symbols, GELF_R_SYM(rela->r_info), &sym))
		sym.st_value = 0;
	value = sym.st_value + rela->r_addend;
	put(elf, bytes + off, value - (pcrel ? off : 0), len);
	return true;
}

static Elf_Data *section_data(const struct elf *elf, u32 index)
{
	return elf_getdata(elf_getscn(elf->handle, index), NULL);
}

/* Only the first table is used: assemblers write one, and more tables could cost time. */
static Elf_Data *find_relocations(const struct elf *elf, u32 index, Elf_Data **symbols)
{
	struct elf_section sec;
	u32 i;

	for (i = 0; elf_get_section(elf, i, &sec); i++) {
		if (sec.type != SHT_RELA || sec.info != index)
			continue;
		*symbols = section_data(elf, sec.link);
		return section_data(elf, i);
	}
	return NULL;
}

/**
 * elf_relocate_starts - apply the relocations of an unlinked .sframe
 * @elf: the file, of type ET_REL
 * @index: index of the section
 * @bytes: a copy of its bytes
 * @size: number of bytes
 * @pcrel: the header says that start fields are relative to themselves
 *
 * The relocations of the assembler are always relative to the field. Where
 * @pcrel is false, ld makes the value relative to the section, and so does this
 * function. As in all files of ET_REL, the section has address 0, and the value
 * of a symbol is the offset in its own section.
 *
 * Return: number of start fields that a relocation filled in.
 */
u64 elf_relocate_starts(const struct elf *elf, u32 index, u8 *bytes, u64 size,
			bool pcrel)
{
	Elf_Data *symbols = NULL;
	Elf_Data *relocations = find_relocations(elf, index, &symbols);
	GElf_Rela rela;
	u64 done = 0;
	int i;

	for (i = 0; gelf_getrela(relocations, i, &rela); i++)
		done += relocate_one(elf, &rela, symbols, bytes, size, pcrel);
	return done;
}
