// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognises the code at which the kernel starts the loader of glibc. No call frame
 * information describes it, and it has no caller: each stack of a starting program ends there.
 */
#include "start.h"

/* The code is shorter. */
#define START_MAX	160

/* Return: the file offset of an address; after the end of the file if it is not loaded. */
static u64 file_offset(const struct elf *elf, u64 addr)
{
	struct elf_segment seg;
	u32 i;

	for (i = 0; elf_get_segment(elf, i, &seg); i++)
		if (seg.type == PT_LOAD && addr - seg.addr < seg.filesz)
			return seg.off + (addr - seg.addr);
	return ~0ull;
}

/* mov %rsp, %rdi; call _dl_start; ...; jmp *%r12 */
static u32 size_x86_64(const u8 *code)
{
	static const u8 begin[] = { 0x48, 0x89, 0xe7, 0xe8 }, end[] = { 0x41, 0xff, 0xe4 };
	u32 i;

	if (memcmp(code, begin, sizeof(begin)))
		return 0;
	for (i = 8; i <= START_MAX - sizeof(end); i++)
		if (!memcmp(code + i, end, sizeof(end)))
			return i + sizeof(end);
	return 0;
}

static u32 instruction(const u8 *code)
{
	u32 bits;

	memcpy(&bits, code, sizeof(bits));
	return bits;
}

/* bti c, maybe; mov x0, sp; bl _dl_start; ...; br to the program */
static u32 size_aarch64(const u8 *code)
{
	u32 i = instruction(code) == 0xd503245f ? 4 : 0;

	if (instruction(code + i) != 0x910003e0 || instruction(code + i + 4) >> 26 != 0x25)
		return 0;
	for (i += 8; i < START_MAX; i += 4)
		if ((instruction(code + i) & 0xfffffc1f) == 0xd61f0000)
			return i + 4;
	return 0;
}

/**
 * start_size - how long is the code at which the kernel starts a loader?
 * @elf: the file
 *
 * Return: its bytes from &elf.entry on, or 0 if it is other code.
 */
u32 start_size(const struct elf *elf)
{
	u8 code[START_MAX];

	if (file_read(&elf->file, file_offset(elf, elf->entry), code, sizeof(code)))
		return 0;
	switch (elf->machine) {
	case EM_X86_64:
		return size_x86_64(code);
	case EM_AARCH64:
		return size_aarch64(code);
	default:
		return 0;
	}
}
