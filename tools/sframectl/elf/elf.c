// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads ELF with libelf: headers, sections, segments, symbols, and the relocations
 * of one section. libelf reads by pread(), so a file that shrinks is an error and no
 * signal. It copies each table to memory, as large as the headers say: their numbers
 * are checked before.
 */
#include <stdint.h>
#include <stdlib.h>

#include "elf.h"

static const char too_many[] = "has more headers than any program; it is damaged";

/* Return: true if the file begins as an ELF file does. */
bool elf_magic(const struct file *file)
{
	char magic[SELFMAG];

	return !file_read(file, 0, magic, sizeof(magic)) &&
	       !memcmp(magic, ELFMAG, sizeof(magic));
}

/* libelf has one error for all of these. Return: NULL, or the error as a text. */
static const char *check_ident(const struct elf *elf)
{
	const u8 *ident = elf->ident;

	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return "ELF class is neither 32 nor 64 bit";
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return "ELF byte order is neither little nor big endian";
	if (ident[EI_VERSION] != EV_CURRENT)
		return "ELF version is not 1";
	if (elf->file.size < (ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) :
							      sizeof(Elf32_Ehdr)))
		return "ends inside the ELF header";
	return NULL;
}

/* The ELF header has no room for a large number of sections: section 0 has it then. */
static u64 number_in_section_0(const struct elf *elf, Elf *handle, u64 off)
{
	union {
		Elf32_Shdr narrow;
		Elf64_Shdr wide;
	} shdr;
	u8 raw[sizeof(shdr)];
	Elf_Data from = { .d_buf = raw, .d_type = ELF_T_SHDR, .d_version = EV_CURRENT };
	Elf_Data to = { .d_buf = &shdr, .d_size = sizeof(shdr), .d_version = EV_CURRENT };

	from.d_size = gelf_fsize(handle, ELF_T_SHDR, 1, EV_CURRENT);
	if (file_read(&elf->file, off, raw, from.d_size) ||
	    !gelf_xlatetom(handle, &to, &from, elf->ident[EI_DATA]))
		return 0;
	return gelf_getclass(handle) == ELFCLASS64 ? shdr.wide.sh_size :
						     shdr.narrow.sh_size;
}

/*
 * libelf allocates 200 bytes for each section as soon as it opens the file. So it reads
 * a copy of the ELF header first, which has no sections.
 */
static const char *check_nr_sections(struct elf *elf)
{
	u8 header[sizeof(Elf64_Ehdr)];
	u64 len = min_t(u64, sizeof(header), elf->file.size);
	const char *error = file_read(&elf->file, 0, header, len);
	GElf_Ehdr ehdr;
	Elf *handle;
	u64 nr;

	if (error)
		return error;
	handle = elf_memory((char *)header, len);
	if (!handle || !gelf_getehdr(handle, &ehdr)) {
		elf_end(handle);
		return elf_errmsg(-1);
	}
	nr = ehdr.e_shnum || !ehdr.e_shoff ? ehdr.e_shnum :
		number_in_section_0(elf, handle, ehdr.e_shoff);
	/* libelf takes the ELF header for them if they are at offset 0, where none can be. */
	if (ehdr.e_shoff && __builtin_add_overflow(ehdr.e_shoff, nr * ehdr.e_shentsize,
						   &elf->sections_end))
		elf->sections_end = UINT64_MAX;
	elf_end(handle);
	return nr > ELF_MAX_HEADERS ? too_many : NULL;
}

/* libelf has not read the program headers yet: it does so when the first is asked for. */
static const char *check_nr_segments(const struct elf *elf)
{
	size_t nr;

	if (elf_getphdrnum(elf->handle, &nr))
		return elf_errmsg(-1);
	return nr > ELF_MAX_HEADERS ? too_many : NULL;
}

static u64 find_names(const struct elf *elf)
{
	GElf_Shdr shdr;
	size_t index;

	if (!elf->sections_end || elf_getshdrstrndx(elf->handle, &index) ||
	    !gelf_getshdr(elf_getscn(elf->handle, index), &shdr))
		return elf->file.size;
	return shdr.sh_offset;
}

static Elf *open_handle(const struct file *file)
{
	if (file->is_open)
		return elf_begin(file->fd, ELF_C_READ, NULL);
	/* libelf does not write to the buffer as long as the file is only read. */
	return elf_memory((char *)file->bytes, file->size);
}

/**
 * elf_init - read the ELF header
 * @elf: filled in
 * @file: the file, open for as long as @elf is used
 *
 * Return: NULL, or the error as a text. The caller calls elf_close() in both cases.
 */
const char *elf_init(struct elf *elf, const struct file *file)
{
	const char *error;
	GElf_Ehdr ehdr;

	*elf = (struct elf){ .file = *file };
	if (!elf_magic(file) || file_read(file, 0, elf->ident, EI_NIDENT))
		return "not an ELF file";
	error = check_ident(elf);
	if (error)
		return error;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return elf_errmsg(-1);
	error = check_nr_sections(elf);
	if (error)
		return error;
	elf->handle = open_handle(file);
	if (!elf->handle || !gelf_getehdr(elf->handle, &ehdr))
		return elf_errmsg(-1);
	elf->swapped = (elf->ident[EI_DATA] == ELFDATA2MSB) ==
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	elf->type = ehdr.e_type;
	elf->machine = ehdr.e_machine;
	elf->entry = ehdr.e_entry;
	error = check_nr_segments(elf);
	if (!error)
		elf->names = find_names(elf);
	return error;
}

void elf_close(struct elf *elf)
{
	elf_end(elf->handle);
	elf->handle = NULL;
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

	if (!elf->sections_end || !gelf_getshdr(elf_getscn(elf->handle, index), &shdr))
		return false;
	*sec = (struct elf_section){
		.index	= index,
		.name	= shdr.sh_name,
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
 * elf_is_named - compare the name of a section
 * @elf: the file
 * @sec: the section
 * @name: the name, shorter than 32 bytes
 *
 * elf_strptr() is not used: it may search the whole table for the end of one name.
 *
 * Return: true if the section has this name.
 */
bool elf_is_named(const struct elf *elf, const struct elf_section *sec,
		  const char *name)
{
	size_t len = strlen(name) + 1;
	char found[32];
	u64 off;

	assert(len <= sizeof(found));
	return !__builtin_add_overflow(elf->names, (u64)sec->name, &off) &&
	       !file_read(&elf->file, off, found, len) && !memcmp(found, name, len);
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

/**
 * elf_is_whole - look for a file that was cut off
 * @elf: the file
 *
 * The segments of a file of debug information are those of its program, so they count only where
 * there are no section headers.
 *
 * Return: false if the file ends before what its headers say that it has.
 */
bool elf_is_whole(const struct elf *elf)
{
	struct elf_section sec;
	struct elf_segment seg;
	u32 i;

	if (elf->sections_end > elf->file.size)
		return false;
	for (i = 0; elf_get_section(elf, i, &sec); i++)
		if (sec.type != SHT_NULL && sec.type != SHT_NOBITS &&
		    !file_has(&elf->file, sec.off, sec.size))
			return false;
	for (i = 0; !elf->sections_end && elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_LOAD && !file_has(&elf->file, seg.off, seg.filesz))
			return false;
	return true;
}

/**
 * elf_list_code - list the executable segments, as the module takes them
 * @elf: the file
 * @segments: filled in
 *
 * Return: how many there are. More than SFRAME_SEGMENTS_MAX are left out.
 */
u32 elf_list_code(const struct elf *elf, struct sframe_segment segments[SFRAME_SEGMENTS_MAX])
{
	struct elf_segment seg;
	u32 i, nr = 0;

	for (i = 0; elf_get_segment(elf, i, &seg) && nr < SFRAME_SEGMENTS_MAX; i++)
		if (seg.type == PT_LOAD && seg.flags & PF_X)
			segments[nr++] = (struct sframe_segment){
				.offset = seg.off, .size = seg.filesz, .addr = seg.addr,
			};
	return nr;
}

/* libelf writes to its copy of the section headers: a file that is bytes has none. */
static const char *uncompress(const struct elf *elf, const struct elf_section *sec)
{
	static const char unknown[] = "its .debug_frame is compressed in a way that is not known";
	Elf_Scn *scn = elf_getscn(elf->handle, sec->index);
	GElf_Chdr chdr;

	if (!elf->file.is_open)
		return unknown;
	if (!(sec->flags & SHF_COMPRESSED))
		return elf_compress_gnu(scn, 0, 0) < 0 ? unknown : NULL;
	if (!gelf_getchdr(scn, &chdr) || chdr.ch_size > FILE_COPY_MAX ||
	    elf_compress(scn, 0, 0) < 0)
		return unknown;
	return NULL;
}

/**
 * elf_copy_section - copy the bytes of a section of debug information, which may be compressed
 * @elf: the file
 * @sec: the section; it is read once
 * @copy: set to the bytes, which the caller frees
 * @size: set to their number
 *
 * Return: NULL, or the error as a text.
 */
const char *elf_copy_section(const struct elf *elf, const struct elf_section *sec, u8 **copy,
			     u64 *size)
{
	bool is_compressed = sec->flags & SHF_COMPRESSED || elf_is_named(elf, sec, ".zdebug_frame");
	Elf_Data *data = NULL;
	const char *error;

	*size = sec->size;
	if (!is_compressed)
		return file_copy(&elf->file, sec->off, sec->size, copy);
	if (sec->size > FILE_COPY_MAX)
		return "too large to be read";
	error = uncompress(elf, sec);
	if (!error)
		data = elf_getdata(elf_getscn(elf->handle, sec->index), NULL);
	if (!data || data->d_size > FILE_COPY_MAX)
		return error ?: "too large to be read";
	*copy = malloc(data->d_size + 1);
	if (!*copy)
		return "out of memory";
	memcpy(*copy, data->d_buf, data->d_size);
	*size = data->d_size;
	return NULL;
}

/* Reads a table of symbols or relocations, once. Return: NULL if that is impossible. */
static Elf_Data *get_table(const struct elf *elf, const struct elf_section *sec)
{
	if (sec->size > FILE_COPY_MAX)
		return NULL;
	return elf_getdata(elf_getscn(elf->handle, sec->index), NULL);
}

/**
 * elf_get_symbol - read a symbol
 * @elf: the file
 * @table: the section of the symbols
 * @index: index of the symbol
 * @sym: filled in, unchecked
 *
 * Return: true if there is such a symbol.
 */
bool elf_get_symbol(const struct elf *elf, const struct elf_section *table,
		    u32 index, struct elf_symbol *sym)
{
	GElf_Sym raw;

	if (!gelf_getsym(get_table(elf, table), index, &raw))
		return false;
	*sym = (struct elf_symbol){
		.name	 = raw.st_name,
		.type	 = GELF_ST_TYPE(raw.st_info),
		.section = raw.st_shndx,
		.value	 = raw.st_value,
		.size	 = raw.st_size,
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

static bool relocate_one(const struct elf *elf, const GElf_Rela *rela,
			 const struct elf_section *symbols, u8 *bytes, u64 size,
			 bool pcrel)
{
	u8 len = pc_relative_size(elf->machine, GELF_R_TYPE(rela->r_info));
	u64 off = rela->r_offset;
	struct elf_symbol sym;

	if (!len || off > size || len > size - off)
		return false;
	if (!elf_get_symbol(elf, symbols, GELF_R_SYM(rela->r_info), &sym))
		sym.value = 0;
	put(elf, bytes + off, sym.value + rela->r_addend - (pcrel ? off : 0), len);
	return true;
}

/* Only the first table is used: assemblers write one, and more tables could cost time. */
static bool find_relocations(const struct elf *elf, u32 index,
			     struct elf_section *relocations,
			     struct elf_section *symbols)
{
	u32 i;

	for (i = 0; elf_get_section(elf, i, relocations); i++)
		if (relocations->type == SHT_RELA && relocations->info == index)
			return elf_get_section(elf, relocations->link, symbols);
	return false;
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
	struct elf_section relocations, symbols;
	Elf_Data *table;
	GElf_Rela rela;
	u64 done = 0;
	int i;

	if (!find_relocations(elf, index, &relocations, &symbols))
		return 0;
	table = get_table(elf, &relocations);
	for (i = 0; gelf_getrela(table, i, &rela); i++)
		done += relocate_one(elf, &rela, &symbols, bytes, size, pcrel);
	return done;
}
