// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the converter. An input is an ELF file, or a struct setting and the bytes of an .eh_frame.
 * The table that is made must be sound, whatever it was made of.
 */
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "conversion.h"
#include "object.h"
#include "fuzz.h"
#include "scanned.h"

#define EH_FRAME_ADDR	0x200000
#define CODE_ADDR	0x10000
#define CODE_SIZE	0x20000

struct setting {
	u8	machine;	/* even: x86_64, odd: AArch64 */
} __packed;

static struct fuzz_most most_bytes = { .what = "bytes of a table" };

static u64 sum_of_holes(const struct table_counts *counts)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < NR_CFI_HOLES; i++)
		if (i != CFI_HOLE_OUTSIDE)
			bytes += counts->holes[i];
	return bytes;
}

/* Each function has at least one row. None begins before the one before it ends. */
static void check_functions(struct buffer_reader *buf, const struct sframe_header *sec,
			    const struct table *table, u64 addr)
{
	struct sframe_fde fde;
	struct sframe_row row;
	u64 end = 0, bytes = 0;
	u32 i;

	for (i = 0; i < sec->num_fdes; i++) {
		buffer_reader_refill(buf);
		require(!sframe_get_fde(sec, &buf->rd, i, &fde));
		require(fde.start >= end && fde.size && fde.num_fres);
		end = fde.start + fde.size;
		require(end <= addr);
		bytes += fde.size;
		require(!sframe_find_row(sec, &buf->rd, fde.start, &row));
		buffer_reader_refill(buf);
		require(!sframe_find_row(sec, &buf->rd, end - 1, &row));
		require(row.func == fde.start);
	}
	require(bytes == table->counts.plain + table->counts.flex + table->counts.plt);
}

static void check_table(const u8 *bytes, u64 addr, const struct table *table)
{
	struct sframe_header sec;
	struct buffer_reader buf;
	u64 size = table_size(table);

	buffer_reader_init(&buf, bytes, addr, size);
	require(!sframe_header_read(&sec, &buf.rd, addr, size));
	require(sframe_header_span(&sec) == size);
	require(sec.num_fdes == table->nr_fdes && sec.abi == table->machine->abi);
	check_functions(&buf, &sec, table, addr);
	require(scan_checked(bytes, addr, size) == 0);
}

static void check_written(const struct conversion *conv)
{
	struct table_file table = {
		.size = table_size(&conv->table), .addr = table_file_addr(conv->end),
		.note = &conv->facts.note, .type = ET_DYN, .machine = conv->table.machine->machine,
	};
	struct object obj;
	struct file file;
	char *bytes = NULL;
	size_t size = 0;
	size_t section_size = 0;
	char *section = NULL;
	FILE *out = open_memstream(&section, &section_size);

	require(out && table_file_write_section(out, &conv->table, table.addr) && !fclose(out));
	require(section_size == table.size);
	table.section = section;
	out = open_memstream(&bytes, &size);
	require(out && table_file_write(out, &table) && !fclose(out));
	free(section);
	file = file_of_bytes(bytes, size);
	require(!object_init(&obj, &file) && obj.place && obj.addr >= conv->end);
	check_table(obj.data, obj.addr, &conv->table);
	object_close(&obj);
	free(bytes);
}

static void convert_file(const u8 *data, size_t size)
{
	struct file file = file_of_bytes(data, size);
	struct conversion conv;
	const char *error;
	struct elf elf;

	error = elf_init(&elf, &file);
	if (!error) {
		error = conversion_make(&conv, &elf);
		require(!error || *error);
		if (!error)
			check_written(&conv);
		conversion_free(&conv);
	}
	elf_close(&elf);
}

static void convert_section(const u8 *data, size_t size)
{
	struct setting setting;
	struct conversion conv = { .end = EH_FRAME_ADDR + size };
	struct cfi_source source = {};
	const char *error;

	if (size < sizeof(setting))
		return;
	memcpy(&setting, data, sizeof(setting));
	source.machine = cfi_find_machine(setting.machine & 1 ? EM_AARCH64 : EM_X86_64);
	source.sec = (struct cfi_section){
		.data = data + sizeof(setting),
		.size = size - sizeof(setting),
		.addr = EH_FRAME_ADDR,
	};
	if (setting.machine & 2) {
		source.debug = source.sec;
		source.debug.is_debug = true;
		source.sec.size = 0;
	}
	ranges_add(&source.code, CODE_ADDR, CODE_SIZE);
	ranges_merge(&source.code);
	table_init(&conv.table, source.machine);
	error = conversion_fill(&conv.table, &source);
	require(!error || *error);
	/* Rows of 29 bytes for two bytes of instructions, an index entry for each. */
	fuzz_note(&most_bytes, table_size(&conv.table), 28 + 64 * size);
	require(sum_of_holes(&conv.table.counts) <= CODE_SIZE);
	if (!error && conv.table.nr_fdes)
		check_written(&conv);
	table_free(&conv.table);
	ranges_free(&source.code);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG))
		convert_file(data, size);
	else
		convert_section(data, size);
	return 0;
}

static void __attribute__((__destructor__)) tell(void)
{
	fuzz_tell(&most_bytes);
}
