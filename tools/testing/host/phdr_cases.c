// SPDX-License-Identifier: GPL-2.0-or-later
/* ELF headers by hand, each with the place of the section that the module must find. */
#include <stdio.h>

#include "guard.h"
#include "phdr_cases.h"
#include "sframe_elf.h"
#include "sframe_format.h"

#define TOP		0xffffffffffffffffull
#define MAPPED		0x7f0000000000ull
#define PAGE_4K		0x1000
#define PAGE_64K	0x10000
#define MAX_PHDRS	4

/**
 * struct header_case - an ELF header, and the result of the check
 * @name: name of the case
 * @err: the expected return value
 * @ident: magic, class and byte order
 * @phentsize: size of a program header
 * @phnum: number of program headers
 */
struct header_case {
	const char	*name;
	int		err;
	char		ident[EI_DATA + 2];
	u16		phentsize;
	u16		phnum;
};

static const struct header_case header_cases[] = {
	{ "good", 0, "\177ELF\2\1", 56, 3 },
	{ "big-endian: not looked at", 0, "\177ELF\2\2", 56, 3 },
	{ "first byte of magic", -ENOEXEC, "\176ELF\2\1", 56, 3 },
	{ "last byte of magic", -ENOEXEC, "\177ELG\2\1", 56, 3 },
	{ "class 32", -ENOEXEC, "\177ELF\1\1", 56, 3 },
	{ "class 0", -ENOEXEC, "\177ELF\0\1", 56, 3 },
	{ "class 3", -ENOEXEC, "\177ELF\3\1", 56, 3 },
	{ "program headers too small", -ENOEXEC, "\177ELF\2\1", 55, 3 },
	{ "program headers too large", -ENOEXEC, "\177ELF\2\1", 57, 3 },
	{ "program headers of ELF32", -ENOEXEC, "\177ELF\2\1", 32, 3 },
	{ "no program header", -ENOEXEC, "\177ELF\2\1", 56, 0 },
	{ "one program header", 0, "\177ELF\2\1", 56, 1 },
	{ "128 program headers", 0, "\177ELF\2\1", 56, 128 },
	{ "129 program headers", -ENOEXEC, "\177ELF\2\1", 56, 129 },
	{ "65535 program headers", -ENOEXEC, "\177ELF\2\1", 56, 0xffff },
};

/**
 * struct phdr_case - program headers, and the place of the section
 * @name: name of the case
 * @err: the expected return value
 * @page_size: page size of the machine
 * @map_start: address of the code mapping
 * @map_offset: file offset of the code mapping
 * @start: start of the section, if @err is 0
 * @end: end of the section, if @err is 0
 * @phdrs: the program headers; the first with p_type 0 ends them
 */
struct phdr_case {
	const char	*name;
	int		err;
	u64		page_size;
	u64		map_start;
	u64		map_offset;
	u64		start;
	u64		end;
	struct elf64_phdr phdrs[MAX_PHDRS];
};

#define PHDR(type, flags, offset, vaddr, filesz, memsz) {		\
	.p_type = (type), .p_flags = (flags), .p_offset = (offset),	\
	.p_vaddr = (vaddr), .p_filesz = (filesz), .p_memsz = (memsz) }
#define DATA(...)	PHDR(PT_LOAD, PF_R, __VA_ARGS__)
#define CODE(...)	PHDR(PT_LOAD, PF_R | PF_X, __VA_ARGS__)
#define SFRAME(...)	PHDR(SFRAME_PT_GNU_SFRAME, PF_R, __VA_ARGS__)

/* A library in the layout of ld, with code that is mapped from offset 0x2000. */
#define OUR_DATA	DATA(0, 0, 0x1800, 0x1800)
#define OUR_CODE	CODE(0x2000, 0x2000, 0x3000, 0x3000)
#define OUR_SFRAME	SFRAME(0x1000, 0x1000, 0x200, 0x200)

static const struct phdr_case phdr_cases[] = {
	{ "section in front of its code", 0, PAGE_4K, MAPPED + 0x2000, 0x2000,
	  MAPPED + 0x1000, MAPPED + 0x1200, { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "mapping of the code's last page", 0, PAGE_4K, MAPPED + 0x4000, 0x4000,
	  MAPPED + 0x1000, MAPPED + 0x1200, { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "program at its own addresses", 0, PAGE_4K, 0x401000, 0x1000,
	  0x400800, 0x400900,
	  { DATA(0, 0x400000, 0x1000, 0x1000), CODE(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) } },
	{ "program mapped below its addresses", 0, PAGE_4K, 0x10000, 0x1000, 0xf800, 0xf900,
	  { DATA(0, 0x400000, 0x1000, 0x1000), CODE(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) } },
	{ "section among its code", 0, PAGE_4K, MAPPED, 0, MAPPED + 0x100, MAPPED + 0x180,
	  { CODE(0, 0, 0x1000, 0x1000), SFRAME(0x100, 0x100, 0x80, 0x80) } },
	{ "empty section", 0, PAGE_4K, MAPPED + 0x2000, 0x2000, MAPPED + 0x1000, MAPPED + 0x1000,
	  { OUR_DATA, OUR_CODE, SFRAME(0x1000, 0x1000, 0, 0) } },
	{ "first of two sections", 0, PAGE_4K, MAPPED + 0x2000, 0x2000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, OUR_CODE, OUR_SFRAME, SFRAME(0, 0, 0x10, 0x10) } },

	{ "no section", -ENOENT, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0, { OUR_DATA, OUR_CODE } },
	{ "no program headers", -ENOENT, PAGE_4K, MAPPED, 0, 0, 0, { } },
	{ "no code", -ENOENT, PAGE_4K, MAPPED, 0, 0, 0, { OUR_DATA, OUR_SFRAME } },
	{ "mapping of what is no code", -ENOENT, PAGE_4K, MAPPED, 0, 0, 0,
	  { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "executable, but not PT_LOAD", -ENOENT, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, PHDR(PT_NOTE, PF_R | PF_X, 0x2000, 0x2000, 0x3000, 0x3000), OUR_SFRAME } },
	{ "mapping one page too early", -ENOENT, PAGE_4K, MAPPED + 0x1000, 0x1000, 0, 0,
	  { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "mapping one page too late", -ENOENT, PAGE_4K, MAPPED + 0x5000, 0x5000, 0, 0,
	  { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "mapping of .bss", -ENOENT, PAGE_4K, MAPPED + 0x3000, 0x3000, 0, 0,
	  { OUR_DATA, CODE(0x2000, 0x2000, 0x1000, 0x3000), OUR_SFRAME } },

	{ "code inside of a page", 0, PAGE_4K, MAPPED + 0x2000, 0x2000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, CODE(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, its end", 0, PAGE_4K, MAPPED + 0x3000, 0x3000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, CODE(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, after its end", -ENOENT, PAGE_4K, MAPPED + 0x3000, 0x3000, 0, 0,
	  { OUR_DATA, CODE(0x2ff0, 0x2ff0, 0x10, 0x10), OUR_SFRAME } },
	{ "64 KiB pages", 0, PAGE_64K, MAPPED + 0x10000, 0x10000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, CODE(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME } },
	{ "64 KiB pages' mapping on 4 KiB pages", -ENOENT, PAGE_4K, MAPPED + 0x10000, 0x10000,
	  0, 0,
	  { OUR_DATA, CODE(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code of endless size", 0, PAGE_4K, MAPPED + 0x3000, 0x3000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, CODE(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },
	{ "mapping before code of endless size", -ENOENT, PAGE_4K, MAPPED + 0x1000, 0x1000, 0, 0,
	  { OUR_DATA, CODE(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },

	{ "section fills its segment", 0, PAGE_4K, MAPPED + 0x2000, 0x2000, MAPPED, MAPPED + 0x1800,
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1800, 0x1800) } },
	{ "section one byte too long", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1801, 0x1800) } },
	{ "section after its segment", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0x1900, 0x1900, 0x10, 0x10) } },
	{ "section before its segment", -EBADMSG, PAGE_4K, MAPPED + 0x3000, 0x2000, 0, 0,
	  { DATA(0, 0x1000, 0x1800, 0x1800), CODE(0x2000, 0x3000, 0x1000, 0x1000),
	    SFRAME(0, 0xff0, 0x20, 0x20) } },
	{ "section of endless size", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0x1000, 0x1000, TOP, TOP) } },
	{ "section that is not readable", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { PHDR(PT_LOAD, PF_W, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section that is not loaded", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { PHDR(PT_NOTE, PF_R, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section across two segments", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { DATA(0, 0, 0x1100, 0x1100), DATA(0x1100, 0x1100, 0x100, 0x100), OUR_CODE,
	    OUR_SFRAME } },

	{ "section up to the last address", 0, PAGE_4K, MAPPED, 0x2000,
	  TOP - 0xfff, TOP,
	  { DATA(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), CODE(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0xfff, 0xfff) } },
	{ "section beyond the last address", -EBADMSG, PAGE_4K, MAPPED, 0x2000, 0, 0,
	  { DATA(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), CODE(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0x1000, 0x1000) } },
};

static bool check_header_case(const struct header_case *c)
{
	struct elf64_hdr ehdr = { .e_phentsize = c->phentsize, .e_phnum = c->phnum };

	memcpy(ehdr.e_ident, c->ident, sizeof(c->ident));
	return sframe_elf_check_header((void *)guard_copy(&ehdr, sizeof(ehdr))) == c->err;
}

static bool check_phdr_case(const struct phdr_case *c)
{
	u64 start = 1, end = 1;
	unsigned int nr = 0;
	const void *phdrs;
	int err;

	while (nr < MAX_PHDRS && c->phdrs[nr].p_type != PT_NULL)
		nr++;
	phdrs = guard_copy(c->phdrs, nr * sizeof(c->phdrs[0]));
	err = sframe_elf_find_section(phdrs, nr, c->page_size, c->map_start, c->map_offset,
				      &start, &end);
	if (err == c->err && start == c->start && end == c->end)
		return true;
	printf("# %s: %d, 0x%llx to 0x%llx\n", c->name, err, (unsigned long long)start,
	       (unsigned long long)end);
	return false;
}

int run_phdr_cases(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(header_cases); i++)
		printf("%s - header: %s\n", check_header_case(&header_cases[i]) ? "ok" : "not ok",
		       header_cases[i].name);
	for (i = 0; i < ARRAY_SIZE(phdr_cases); i++)
		printf("%s - program headers: %s\n",
		       check_phdr_case(&phdr_cases[i]) ? "ok" : "not ok", phdr_cases[i].name);
	return ARRAY_SIZE(header_cases) + ARRAY_SIZE(phdr_cases);
}
