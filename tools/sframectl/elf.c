// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading ELF: headers, sections, segments, and the relocations of one
 * section. No allocation, no output; every read goes through elf_bytes().
 */
#include "elf.h"

/* Where a field is, in ELFCLASS32 and in ELFCLASS64. */
struct field {
	u8 off[2];
	u8 len[2];
};

static const struct field e_type	= { { 16, 16 }, { 2, 2 } };
static const struct field e_machine	= { { 18, 18 }, { 2, 2 } };
static const struct field e_phoff	= { { 28, 32 }, { 4, 8 } };
static const struct field e_shoff	= { { 32, 40 }, { 4, 8 } };
static const struct field e_phentsize	= { { 42, 54 }, { 2, 2 } };
static const struct field e_phnum	= { { 44, 56 }, { 2, 2 } };
static const struct field e_shentsize	= { { 46, 58 }, { 2, 2 } };
static const struct field e_shnum	= { { 48, 60 }, { 2, 2 } };
static const struct field e_shstrndx	= { { 50, 62 }, { 2, 2 } };

static const struct field sh_name	= { {  0,  0 }, { 4, 4 } };
static const struct field sh_type	= { {  4,  4 }, { 4, 4 } };
static const struct field sh_flags	= { {  8,  8 }, { 4, 8 } };
static const struct field sh_addr	= { { 12, 16 }, { 4, 8 } };
static const struct field sh_offset	= { { 16, 24 }, { 4, 8 } };
static const struct field sh_size	= { { 20, 32 }, { 4, 8 } };
static const struct field sh_link	= { { 24, 40 }, { 4, 4 } };
static const struct field sh_info	= { { 28, 44 }, { 4, 4 } };

static const struct field p_type	= { {  0,  0 }, { 4, 4 } };
static const struct field p_flags	= { { 24,  4 }, { 4, 4 } };
static const struct field p_offset	= { {  4,  8 }, { 4, 8 } };
static const struct field p_vaddr	= { {  8, 16 }, { 4, 8 } };
static const struct field p_filesz	= { { 16, 32 }, { 4, 8 } };
static const struct field p_memsz	= { { 20, 40 }, { 4, 8 } };

static const struct field r_offset	= { {  0,  0 }, { 4, 8 } };
static const struct field r_info	= { {  4,  8 }, { 4, 8 } };
static const struct field r_addend	= { {  8, 16 }, { 4, 8 } };

static const struct field st_value	= { {  4,  8 }, { 4, 8 } };

static const u8 ehdr_size[2]	= { 52, 64 };
static const u8 phdr_size[2]	= { 32, 56 };
static const u8 shdr_size[2]	= { 40, 64 };
static const u8 rela_size[2]	= { 12, 24 };
static const u8 sym_size[2]	= { 16, 24 };

/* @base: a record that has been seen to lie in the buffer with all its fields. */
static u64 get(const struct elf *elf, const u8 *base, struct field field)
{
	u8 len = field.len[elf->is64];
	u64 v64 = 0;
	u32 v32;
	u16 v16;

	base += field.off[elf->is64];
	switch (len) {
	case 2:
		memcpy(&v16, base, sizeof(v16));
		return elf->swapped ? swab16(v16) : v16;
	case 4:
		memcpy(&v32, base, sizeof(v32));
		return elf->swapped ? swab32(v32) : v32;
	default:
		memcpy(&v64, base, sizeof(v64));
		return elf->swapped ? swab64(v64) : v64;
	}
}

static void put(const struct elf *elf, u8 *to, u64 value, u8 len)
{
	bool big = elf->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	u8 i;

	for (i = 0; i < len; i++)
		to[big ? len - 1 - i : i] = value >> (8 * i);
}

/* NULL: that is not in the file. */
const void *elf_bytes(const struct elf *elf, u64 off, u64 len)
{
	if (off > elf->size || len > elf->size - off)
		return NULL;
	return elf->data + off;
}

/* Entry @index of a table of @entsize bytes each, of which @need are read. */
static const u8 *entry(const struct elf *elf, u64 table, u64 entsize, u64 index,
		       u64 need)
{
	u64 off;

	if (entsize < need || __builtin_mul_overflow(entsize, index, &off) ||
	    __builtin_add_overflow(off, table, &off))
		return NULL;
	return elf_bytes(elf, off, need);
}

static const u8 *section_header(const struct elf *elf, u32 index)
{
	return entry(elf, elf->shoff, elf->shentsize, index,
		     shdr_size[elf->is64]);
}

/* Counts that do not fit the ELF header stand in section header 0. */
static void read_counts(struct elf *elf, const u8 *ehdr)
{
	const u8 *zero = elf->shoff ? section_header(elf, 0) : NULL;

	elf->phnum = get(elf, ehdr, e_phnum);
	elf->shnum = get(elf, ehdr, e_shnum);
	elf->shstrndx = get(elf, ehdr, e_shstrndx);
	if (!zero) {
		elf->shnum = 0;
		return;
	}
	if (elf->phnum == PN_XNUM)
		elf->phnum = get(elf, zero, sh_info);
	if (!elf->shnum)
		elf->shnum = get(elf, zero, sh_size);
	if (elf->shstrndx == SHN_XINDEX)
		elf->shstrndx = get(elf, zero, sh_link);
}

/* An absurd count must not cost time: what is not in the file does not count. */
static u32 clamp_count(const struct elf *elf, u64 table, u16 entsize, u32 count)
{
	u64 room = table < elf->size ? elf->size - table : 0;

	if (!entsize)
		return 0;
	return count < room / entsize ? count : room / entsize;
}

bool elf_magic(const void *data, u64 size)
{
	return size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
}

/**
 * elf_init - read the ELF header
 * @elf: filled in
 * @data: the file
 * @size: its bytes
 *
 * Return: NULL, or what is wrong with it.
 */
const char *elf_init(struct elf *elf, const void *data, u64 size)
{
	const u8 *ehdr = data;
	bool big;

	*elf = (struct elf){ .data = data, .size = size };
	if (size < EI_NIDENT || !elf_magic(data, size))
		return "not an ELF file";
	if (ehdr[EI_CLASS] != ELFCLASS32 && ehdr[EI_CLASS] != ELFCLASS64)
		return "ELF class is neither 32 nor 64 bit";
	if (ehdr[EI_DATA] != ELFDATA2LSB && ehdr[EI_DATA] != ELFDATA2MSB)
		return "ELF byte order is neither little nor big endian";

	big = ehdr[EI_DATA] == ELFDATA2MSB;
	elf->is64 = ehdr[EI_CLASS] == ELFCLASS64;
	elf->swapped = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	if (size < ehdr_size[elf->is64])
		return "ends inside the ELF header";

	elf->type = get(elf, ehdr, e_type);
	elf->machine = get(elf, ehdr, e_machine);
	elf->phoff = get(elf, ehdr, e_phoff);
	elf->shoff = get(elf, ehdr, e_shoff);
	elf->phentsize = get(elf, ehdr, e_phentsize);
	elf->shentsize = get(elf, ehdr, e_shentsize);
	read_counts(elf, ehdr);
	elf->phnum = clamp_count(elf, elf->phoff, elf->phentsize, elf->phnum);
	elf->shnum = clamp_count(elf, elf->shoff, elf->shentsize, elf->shnum);
	return NULL;
}

/* Longer names than any .sframe has are no names: they could cost time. */
#define NAME_MAX_LEN	256

static const char *section_name(const struct elf *elf, u64 name)
{
	const u8 *names = section_header(elf, elf->shstrndx);
	const char *string;
	u64 off;

	if (!names || __builtin_add_overflow(get(elf, names, sh_offset), name, &off))
		return "";
	string = elf_bytes(elf, off, 1);
	if (!string || !memchr(string, 0, min_t(u64, elf->size - off, NAME_MAX_LEN)))
		return "";
	return string;
}

/**
 * elf_get_section - read a section header
 * @elf: the file
 * @index: which
 * @sec: filled in; nothing in it has been checked
 *
 * Return: is there such a section header?
 */
bool elf_get_section(const struct elf *elf, u32 index, struct elf_section *sec)
{
	const u8 *shdr = section_header(elf, index);

	if (index >= elf->shnum || !shdr)
		return false;
	*sec = (struct elf_section){
		.name	= section_name(elf, get(elf, shdr, sh_name)),
		.type	= get(elf, shdr, sh_type),
		.link	= get(elf, shdr, sh_link),
		.info	= get(elf, shdr, sh_info),
		.flags	= get(elf, shdr, sh_flags),
		.addr	= get(elf, shdr, sh_addr),
		.off	= get(elf, shdr, sh_offset),
		.size	= get(elf, shdr, sh_size),
	};
	return true;
}

/**
 * elf_get_segment - read a program header
 * @elf: the file
 * @index: which
 * @seg: filled in; nothing in it has been checked
 *
 * Return: is there such a program header?
 */
bool elf_get_segment(const struct elf *elf, u32 index, struct elf_segment *seg)
{
	const u8 *phdr = entry(elf, elf->phoff, elf->phentsize, index,
			       phdr_size[elf->is64]);

	if (index >= elf->phnum || !phdr)
		return false;
	*seg = (struct elf_segment){
		.type	= get(elf, phdr, p_type),
		.flags	= get(elf, phdr, p_flags),
		.off	= get(elf, phdr, p_offset),
		.addr	= get(elf, phdr, p_vaddr),
		.filesz	= get(elf, phdr, p_filesz),
		.memsz	= get(elf, phdr, p_memsz),
	};
	return true;
}

/* Bytes that a PC-relative relocation writes; 0: not a relocation we know. */
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

static u64 symbol_value(const struct elf *elf, u32 symtab, u64 index)
{
	struct elf_section sec;
	const u8 *sym;

	if (!elf_get_section(elf, symtab, &sec))
		return 0;
	sym = entry(elf, sec.off, sym_size[elf->is64], index,
		    sym_size[elf->is64]);
	return sym ? get(elf, sym, st_value) : 0;
}

static bool relocate_one(const struct elf *elf, const u8 *rela, u32 symtab,
			 u8 *bytes, u64 size, bool pcrel)
{
	u64 info = get(elf, rela, r_info);
	u64 off = get(elf, rela, r_offset);
	u8 len = pc_relative_size(elf->machine, elf->is64 ? (u32)info : (u8)info);
	u64 value;

	if (!len || off > size || len > size - off)
		return false;
	value = symbol_value(elf, symtab, info >> (elf->is64 ? 32 : 8)) +
		get(elf, rela, r_addend);
	put(elf, bytes + off, value - (pcrel ? off : 0), len);
	return true;
}

/* The first will do: assemblers write one, and more could cost time. */
static bool find_relocations(const struct elf *elf, u32 index,
			     struct elf_section *rela)
{
	u32 i;

	for (i = 0; elf_get_section(elf, i, rela); i++)
		if (rela->type == SHT_RELA && rela->info == index)
			return true;
	return false;
}

/**
 * elf_relocate_starts - apply the relocations of an unlinked .sframe
 * @elf: the file, of type ET_REL
 * @index: the section
 * @bytes: a copy of its bytes
 * @size: how many
 * @pcrel: the header says that start fields are relative to themselves
 *
 * What the assembler asks for is always relative to the field. Where @pcrel is
 * false, ld then makes it relative to the section, and so does this function.
 * The section stands at address 0 and the symbols at their offsets in their
 * own sections, as in all of ET_REL.
 *
 * Return: how many start fields got their value.
 */
u64 elf_relocate_starts(const struct elf *elf, u32 index, u8 *bytes, u64 size,
			bool pcrel)
{
	struct elf_section rela;
	const u8 *one;
	u64 done = 0;
	u64 i;

	if (!find_relocations(elf, index, &rela))
		return 0;
	for (i = 0; i < rela.size / rela_size[elf->is64]; i++) {
		one = entry(elf, rela.off, rela_size[elf->is64], i,
			    rela_size[elf->is64]);
		if (!one)
			break;
		done += relocate_one(elf, one, rela.link, bytes, size, pcrel);
	}
	return done;
}
