// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognises __arch_chacha20_blocks_nostack() of the kernel's vDSO, from Linux 6.11 on. It is
 * assembly without call frame information, and never uses the stack. In the vDSO's other code
 * the frame pointer leads to the caller, so without rows the caller of this function would be
 * skipped.
 */
#include <stdlib.h>

#include "chacha.h"

/* The text of a vDSO is shorter, and so is the function. */
#define TEXT_MAX	(16u << 10)
#define CHACHA_MAX	1024

/* Code sections that are searched. A vDSO has one or two. */
#define NR_TEXTS	16

/* movups (%rsi), %xmm6; movups 0x10(%rsi), %xmm7; movq (%rdx), %xmm8; mov $1, %rax */
static const u8 begin_x86_64[] = {
	0x0f, 0x10, 0x36, 0x0f, 0x10, 0x7e, 0x10, 0xf3, 0x44, 0x0f, 0x7e, 0x02,
	0x48, 0xc7, 0xc0, 0x01, 0x00, 0x00, 0x00,
};

/* pxor %xmm7, %xmm7; pxor %xmm0, %xmm0; ret */
static const u8 end_x86_64[] = { 0x66, 0x0f, 0xef, 0xff, 0x66, 0x0f, 0xef, 0xc0, 0xc3 };

/* mov $0x3320646e61707865, x8 */
static const u8 begin_aarch64[] = {
	0x08, 0x64, 0xe6, 0xd2, 0xc8, 0x8d, 0xcc, 0xf2,
	0x08, 0x2e, 0xac, 0xf2, 0xa8, 0x0c, 0x8f, 0xf2,
};

static const u8 ret_aarch64[] = { 0xc0, 0x03, 0x5f, 0xd6 };
static const u8 bti_aarch64[] = { 0x5f, 0x24, 0x03, 0xd5 };

/* Return: the bytes up to the end of @what, or 0. */
static u32 end_of(const u8 *code, u64 size, const u8 *what, u64 len)
{
	u64 i;

	for (i = 0; i + len <= size && i + len <= CHACHA_MAX; i++)
		if (!memcmp(code + i, what, len))
			return i + len;
	return 0;
}

/* movaps CONSTANTS(%rip), %xmm5 comes first. */
static u32 size_x86_64(const u8 *code, u64 size)
{
	static const u8 first[] = { 0x0f, 0x28, 0x2d };

	if (size < 7 + sizeof(begin_x86_64) || memcmp(code, first, sizeof(first)) ||
	    memcmp(code + 7, begin_x86_64, sizeof(begin_x86_64)))
		return 0;
	return end_of(code, size, end_x86_64, sizeof(end_x86_64));
}

/* Maybe bti c */
static u32 size_aarch64(const u8 *code, u64 size)
{
	u64 i = size > 4 && !memcmp(code, bti_aarch64, sizeof(bti_aarch64)) ? 4 : 0;

	if (size < i + sizeof(begin_aarch64) ||
	    memcmp(code + i, begin_aarch64, sizeof(begin_aarch64)))
		return 0;
	return end_of(code, size, ret_aarch64, sizeof(ret_aarch64));
}

static u32 find_in_text(const struct elf *elf, const struct elf_section *sec, const u8 *code,
			u64 *start)
{
	u32 (*size_of)(const u8 *code, u64 size) =
		elf->machine == EM_X86_64 ? size_x86_64 : size_aarch64;
	u64 i;
	u32 size;

	for (i = 0; i < sec->size; i += 4) {
		size = size_of(code + i, sec->size - i);
		if (!size)
			continue;
		*start = sec->addr + i;
		return size;
	}
	return 0;
}

/**
 * chacha_find - find the function
 * @elf: the file
 * @start: set to its address, unless the return value is 0
 *
 * Return: its bytes; 0 if the file does not have it.
 */
u32 chacha_find(const struct elf *elf, u64 *start)
{
	struct elf_section sec;
	u32 i, nr_read = 0, size = 0;
	u8 *code;

	for (i = 0; !size && elf_get_section(elf, i, &sec); i++) {
		if (!(sec.flags & SHF_EXECINSTR) || sec.type != SHT_PROGBITS ||
		    sec.size > TEXT_MAX)
			continue;
		if (nr_read++ == NR_TEXTS)
			break;
		if (file_copy(&elf->file, sec.off, sec.size, &code))
			continue;
		size = find_in_text(elf, &sec, code, start);
		free(code);
	}
	return size;
}
