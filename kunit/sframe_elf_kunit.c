// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of sframe_elf.c: ELF headers by hand, each with the place of the section. */
#include "common.h"
#include "map/elf.h"
#include "sframe_format.h"

#define TOP		0xffffffffffffffffull
#define MAPPED		0x7f0000000000ull
#define PAGE_4K		0x1000
#define PAGE_64K	0x10000
#define MAX_PHDRS	4

static const struct header_case {
	const char	*name;
	int		err;
	char		ident[EI_DATA + 2];	/* magic, class and byte order */
	u16		phentsize;		/* size of a program header, and their number */
	u16		phnum;
} header_cases[] = {
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

NAMED_CASES(header);

struct phdr_case {
	const char	*name;
	int		err;
	u64		page_size;
	u64		map_start;		/* of the code, and its file offset */
	u64		map_offset;
	u64		start;			/* of the section, if @err is 0 */
	u64		end;
	struct elf64_phdr phdrs[MAX_PHDRS];	/* the first with p_type 0 ends them */
};

#define PHDR(type, flags, offset, vaddr, filesz, memsz) {		\
	.p_type = (type), .p_flags = (flags), .p_offset = (offset),	\
	.p_vaddr = (vaddr), .p_filesz = (filesz), .p_memsz = (memsz) }
#define LOAD(...)	PHDR(PT_LOAD, PF_R, __VA_ARGS__)
#define EXEC(...)	PHDR(PT_LOAD, PF_R | PF_X, __VA_ARGS__)
#define SFRAME(...)	PHDR(SFRAME_PT_GNU_SFRAME, PF_R, __VA_ARGS__)

/* A library in the layout of ld, with code that is mapped from offset 0x2000. */
#define OUR_DATA	LOAD(0, 0, 0x1800, 0x1800)
#define OUR_CODE	EXEC(0x2000, 0x2000, 0x3000, 0x3000)
#define OUR_SFRAME	SFRAME(0x1000, 0x1000, 0x200, 0x200)

static const struct phdr_case phdr_cases[] = {
	{ "section in front of its code", 0, PAGE_4K, MAPPED + 0x2000, 0x2000,
	  MAPPED + 0x1000, MAPPED + 0x1200, { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "mapping of the code's last page", 0, PAGE_4K, MAPPED + 0x4000, 0x4000,
	  MAPPED + 0x1000, MAPPED + 0x1200, { OUR_DATA, OUR_CODE, OUR_SFRAME } },
	{ "program at its own addresses", 0, PAGE_4K, 0x401000, 0x1000,
	  0x400800, 0x400900,
	  { LOAD(0, 0x400000, 0x1000, 0x1000), EXEC(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) } },
	{ "program mapped below its addresses", 0, PAGE_4K, 0x10000, 0x1000, 0xf800, 0xf900,
	  { LOAD(0, 0x400000, 0x1000, 0x1000), EXEC(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) } },
	{ "section among its code", 0, PAGE_4K, MAPPED, 0, MAPPED + 0x100, MAPPED + 0x180,
	  { EXEC(0, 0, 0x1000, 0x1000), SFRAME(0x100, 0x100, 0x80, 0x80) } },
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
	  { OUR_DATA, EXEC(0x2000, 0x2000, 0x1000, 0x3000), OUR_SFRAME } },

	{ "code inside of a page", 0, PAGE_4K, MAPPED + 0x2000, 0x2000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, its end", 0, PAGE_4K, MAPPED + 0x3000, 0x3000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, after its end", -ENOENT, PAGE_4K, MAPPED + 0x3000, 0x3000, 0, 0,
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x10, 0x10), OUR_SFRAME } },
	{ "64 KiB pages", 0, PAGE_64K, MAPPED + 0x10000, 0x10000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, EXEC(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME } },
	{ "64 KiB pages' mapping on 4 KiB pages", -ENOENT, PAGE_4K, MAPPED + 0x10000, 0x10000,
	  0, 0,
	  { OUR_DATA, EXEC(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code of endless size", 0, PAGE_4K, MAPPED + 0x3000, 0x3000,
	  MAPPED + 0x1000, MAPPED + 0x1200,
	  { OUR_DATA, EXEC(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },
	{ "mapping before code of endless size", -ENOENT, PAGE_4K, MAPPED + 0x1000, 0x1000, 0, 0,
	  { OUR_DATA, EXEC(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },

	{ "section fills its segment", 0, PAGE_4K, MAPPED + 0x2000, 0x2000, MAPPED, MAPPED + 0x1800,
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1800, 0x1800) } },
	{ "section one byte too long", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1801, 0x1800) } },
	{ "section after its segment", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0x1900, 0x1900, 0x10, 0x10) } },
	{ "section before its segment", -EBADMSG, PAGE_4K, MAPPED + 0x3000, 0x2000, 0, 0,
	  { LOAD(0, 0x1000, 0x1800, 0x1800), EXEC(0x2000, 0x3000, 0x1000, 0x1000),
	    SFRAME(0, 0xff0, 0x20, 0x20) } },
	{ "section of endless size", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { OUR_DATA, OUR_CODE, SFRAME(0x1000, 0x1000, TOP, TOP) } },
	{ "section that is not readable", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { PHDR(PT_LOAD, PF_W, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section that is not loaded", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { PHDR(PT_NOTE, PF_R, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section across two segments", -EBADMSG, PAGE_4K, MAPPED + 0x2000, 0x2000, 0, 0,
	  { LOAD(0, 0, 0x1100, 0x1100), LOAD(0x1100, 0x1100, 0x100, 0x100), OUR_CODE,
	    OUR_SFRAME } },

	{ "section up to the last address", 0, PAGE_4K, MAPPED, 0x2000,
	  TOP - 0xfff, TOP,
	  { LOAD(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), EXEC(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0xfff, 0xfff) } },
	{ "section beyond the last address", -EBADMSG, PAGE_4K, MAPPED, 0x2000, 0, 0,
	  { LOAD(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), EXEC(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0x1000, 0x1000) } },
};

NAMED_CASES(phdr);

/* A copy with nothing after it: on the host, a read after the end is an error. */
static void *copy_of(struct kunit *test, const void *bytes, size_t len)
{
	return memcpy(test_alloc(test, len), bytes, len);
}

static void elf_check_header(struct kunit *test)
{
	const struct header_case *c = test->param_value;
	struct elf64_hdr ehdr = { .e_phentsize = c->phentsize, .e_phnum = c->phnum };

	memcpy(ehdr.e_ident, c->ident, sizeof(c->ident));
	KUNIT_EXPECT_EQ(test, c->err, sframe_elf_check_header(copy_of(test, &ehdr, sizeof(ehdr))));
}

static void elf_find_section(struct kunit *test)
{
	const struct phdr_case *c = test->param_value;
	u64 start = 1, end = 1;
	unsigned int nr = 0;
	int err;

	while (nr < MAX_PHDRS && c->phdrs[nr].p_type != PT_NULL)
		nr++;
	err = sframe_elf_find_section(copy_of(test, c->phdrs, nr * sizeof(c->phdrs[0])), nr,
				      c->page_size, c->map_start, c->map_offset, &start, &end);
	KUNIT_EXPECT_EQ(test, c->err, err);
	KUNIT_EXPECT_EQ(test, c->start, start);
	KUNIT_EXPECT_EQ(test, c->end, end);
}

static struct kunit_case elf_tests[] = {
	KUNIT_CASE_PARAM(elf_check_header, header_gen_params),
	KUNIT_CASE_PARAM(elf_find_section, phdr_gen_params),
	{}
};

static struct kunit_suite elf_suite = {
	.name = "sframe_elf", .test_cases = elf_tests,
};

kunit_test_suite(elf_suite);
