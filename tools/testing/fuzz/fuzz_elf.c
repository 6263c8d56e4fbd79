// SPDX-License-Identifier: GPL-2.0-or-later
/* Fuzzes the ELF reader of sframectl: the file has room for all that it finds. */
#include "fuzz.h"
#include "object.h"
#include "scanned.h"

static void look_at(const struct object *obj, u64 size)
{
	char text[TEXT_SIZE];

	if (!obj->place)
		return;
	require(obj->data && obj->size <= size);
	require(*object_addr_text(obj, obj->addr, text));
	scan_checked(obj->data, obj->addr, obj->size);
}

/* Reads all headers of the file, with or without .sframe. */
static void read_headers(const struct elf *elf, u64 size)
{
	struct elf_section sec;
	struct elf_segment seg;
	u32 i;

	/* Headers do not overlap: together they are no larger than the file. */
	for (i = 0; elf_get_section(elf, i, &sec); i++)
		elf_is_named(elf, &sec, ".sframe");
	require(i * sizeof(Elf32_Shdr) <= size);
	for (i = 0; elf_get_segment(elf, i, &seg); i++)
		;
	require(i * sizeof(Elf32_Phdr) <= size);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct file file = file_of_bytes(data, size);
	struct object obj;
	const char *error = object_init(&obj, &file);

	require(!error || *error);
	if (!error)
		look_at(&obj, size);
	if (obj.is_elf)
		read_headers(&obj.elf, size);
	object_close(&obj);
	return 0;
}
