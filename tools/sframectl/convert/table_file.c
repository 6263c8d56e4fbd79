// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes table files: the build-id of the program, and the section .sframe at an address after
 * all that the program loads. Nothing of it is loaded, so there are no segments.
 */
#include "table_file.h"

static const char names[] = "\0.note.gnu.build-id\0.sframe\0.shstrtab";

enum { NAME_NOTE = 1, NAME_SFRAME = 20, NAME_NAMES = 28 };

enum { SECTION_NONE, SECTION_NOTE, SECTION_SFRAME, SECTION_NAMES, NR_SECTIONS };

static void put(FILE *out, const void *bytes, size_t len)
{
	fwrite(bytes, 1, len, out);
}

/* Each section begins at a multiple of 8. */
static u64 padded(u64 len)
{
	return (len + 7) & ~7ull;
}

static void put_padding(FILE *out, u64 len)
{
	static const u8 zeros[8];

	put(out, zeros, padded(len) - len);
}

/* The start of a function is stored relative to the field itself. */
static void put_fdes(FILE *out, const struct table *table, u64 addr)
{
	u32 i;

	for (i = 0; i < table->nr_fdes; i++) {
		struct sframe_raw_fde_v3 raw = {
			.start = table->fdes[i].start - (addr + i * sizeof(raw)),
			.size = table->fdes[i].size,
			.fre_off = table->fdes[i].list,
		};

		put(out, &raw, sizeof(raw));
	}
}

/* The address of the section, for a program that loads nothing from @end on. */
u64 table_file_addr(u64 end)
{
	return (end + 0xfff) & ~0xfffull;
}

/**
 * table_file_write_section - write the section alone
 * @out: the file
 * @table: the table
 * @addr: address that the section is made for
 *
 * Return: false if a write failed.
 */
bool table_file_write_section(FILE *out, const struct table *table, u64 addr)
{
	struct sframe_raw_header header = {
		.magic = SFRAME_MAGIC,
		.version = SFRAME_VERSION_3,
		.flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL,
		.abi_arch = table->machine->abi,
		.cfa_fixed_ra_offset = table->machine->fixed_ra,
		.num_fdes = table->nr_fdes,
		.num_fres = table->nr_rows,
		.fre_len = table->rows_len,
		.freoff = table->nr_fdes * sizeof(struct sframe_raw_fde_v3),
	};

	put(out, &header, sizeof(header));
	put_fdes(out, table, addr + sizeof(header));
	put(out, table->rows, table->rows_len);
	return !fflush(out) && !ferror(out);
}

/**
 * table_file_write - write a table file
 * @out: the file
 * @file: its contents
 *
 * Return: false if a write failed.
 */
bool table_file_write(FILE *out, const struct table_file *file)
{
	const struct table_note *note = file->note;
	u64 note_off = sizeof(Elf64_Ehdr);
	u64 sframe_off = note_off + padded(note->len);
	u64 names_off = sframe_off + padded(file->size);
	Elf64_Shdr sections[NR_SECTIONS] = {
		[SECTION_NOTE] = {
			.sh_name = NAME_NOTE, .sh_type = SHT_NOTE, .sh_offset = note_off,
			.sh_size = note->len, .sh_addralign = 4,
		},
		[SECTION_SFRAME] = {
			.sh_name = NAME_SFRAME, .sh_type = SFRAME_SHT_GNU_SFRAME,
			.sh_flags = SHF_ALLOC,
			.sh_addr = file->addr, .sh_offset = sframe_off,
			.sh_size = file->size, .sh_addralign = 8,
		},
		[SECTION_NAMES] = {
			.sh_name = NAME_NAMES, .sh_type = SHT_STRTAB, .sh_offset = names_off,
			.sh_size = sizeof(names), .sh_addralign = 1,
		},
	};
	Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
		EV_CURRENT },
		.e_type = file->type, .e_machine = file->machine, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(ehdr), .e_shentsize = sizeof(*sections), .e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_NAMES, .e_shoff = names_off + padded(sizeof(names)),
	};

	put(out, &ehdr, sizeof(ehdr));
	put(out, note->bytes, note->len);
	put_padding(out, note->len);
	put(out, file->section, file->size);
	put_padding(out, file->size);
	put(out, names, sizeof(names));
	put_padding(out, sizeof(names));
	put(out, sections, sizeof(sections));
	return !fflush(out) && !ferror(out);
}
