// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the build-id of a program. */
#include <stdlib.h>

#include "table_file.h"

/* The notes of programs are short. Core dumps have long ones. */
#define NOTES_MAX	(64u << 10)

static u64 aligned(u64 len)
{
	return (len + 3) & ~3ull;
}

/* @bytes has @len bytes of notes. Return: true if the build-id is among them. */
static bool find_among(struct table_note *note, const u8 *bytes, u64 len)
{
	struct elf64_note { u32 name_len, data_len, type; } head;
	u64 whole;

	for (; len >= sizeof(head); bytes += whole, len -= whole) {
		memcpy(&head, bytes, sizeof(head));
		whole = sizeof(head) + aligned(head.name_len) + aligned(head.data_len);
		if (whole > len)
			return false;
		if (head.type != NT_GNU_BUILD_ID || head.name_len != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + sizeof(head), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) ||
		    !head.data_len || whole > sizeof(note->bytes))
			continue;
		memcpy(note->bytes, bytes, whole);
		note->len = whole;
		return true;
	}
	return false;
}

static bool find_in_file(struct table_note *note, const struct elf *elf, u64 off, u64 len)
{
	u8 *bytes;
	bool found;

	if (len > NOTES_MAX || file_copy(&elf->file, off, len, &bytes))
		return false;
	found = find_among(note, bytes, len);
	free(bytes);
	return found;
}

/*
 * The segments of files with more headers are not all read: a file of notes could cost time
 * without end.
 */
#define NR_PLACES	256

/**
 * table_note_find - find the build-id of a program
 * @note: filled in
 * @elf: the program
 *
 * Go's linker makes a section with the build-id that no PT_NOTE covers.
 */
void table_note_find(struct table_note *note, const struct elf *elf)
{
	struct elf_segment seg;
	struct elf_section sec;
	u32 i;

	*note = (struct table_note){};
	for (i = 0; i < NR_PLACES && elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_NOTE && find_in_file(note, elf, seg.off, seg.filesz))
			return;
	for (i = 0; i < NR_PLACES && elf_get_section(elf, i, &sec); i++)
		if (sec.type == SHT_NOTE && find_in_file(note, elf, sec.off, sec.size))
			return;
}
