// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of sframe_elf.c: ELF headers by hand, each with the place of the section. */
#include "common.h"
#include "map/elf.h"
#include "sframe_format.h"

#define TOP		0xffffffffffffffffull
#define MAPPED		0x7f0000000000ull
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
	u64		map_offset;		/* file offset of the mapping of code */
	const char	*want;			/* the section, from @base; "none"; "bad" */
	struct elf64_phdr phdrs[MAX_PHDRS];	/* the first with p_type 0 ends them */
	u64		base;			/* address of the file's first byte, or MAPPED */
	u64		page_size;		/* or 4096 */
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
#define OURS		{ OUR_DATA, OUR_CODE, OUR_SFRAME }

static const struct phdr_case phdr_cases[] = {
	{ "section in front of its code", 0x2000, "1000-1200", OURS },
	{ "mapping of the code's last page", 0x4000, "1000-1200", OURS },
	{ "program at its own addresses", 0x1000, "800-900",
	  { LOAD(0, 0x400000, 0x1000, 0x1000), EXEC(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) }, .base = 0x400000 },
	{ "program mapped below its addresses", 0x1000, "800-900",
	  { LOAD(0, 0x400000, 0x1000, 0x1000), EXEC(0x1000, 0x401000, 0x1000, 0x1000),
	    SFRAME(0x800, 0x400800, 0x100, 0x100) }, .base = 0xf000 },
	{ "section among its code", 0, "100-180",
	  { EXEC(0, 0, 0x1000, 0x1000), SFRAME(0x100, 0x100, 0x80, 0x80) } },
	{ "empty section", 0x2000, "1000-1000",
	  { OUR_DATA, OUR_CODE, SFRAME(0x1000, 0x1000, 0, 0) } },
	{ "first of two sections", 0x2000, "1000-1200",
	  { OUR_DATA, OUR_CODE, OUR_SFRAME, SFRAME(0, 0, 0x10, 0x10) } },
	{ "no section", 0x2000, "none", { OUR_DATA, OUR_CODE } },
	{ "no program headers", 0, "none" },
	{ "no code", 0, "none", { OUR_DATA, OUR_SFRAME } },
	{ "mapping of what is no code", 0, "none", OURS },
	{ "executable, but not PT_LOAD", 0x2000, "none",
	  { OUR_DATA, PHDR(PT_NOTE, PF_R | PF_X, 0x2000, 0x2000, 0x3000, 0x3000), OUR_SFRAME } },
	{ "mapping one page too early", 0x1000, "none", OURS },
	{ "mapping one page too late", 0x5000, "none", OURS },
	{ "mapping of .bss", 0x3000, "none",
	  { OUR_DATA, EXEC(0x2000, 0x2000, 0x1000, 0x3000), OUR_SFRAME } },
	{ "code inside of a page", 0x2000, "1000-1200",
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, its end", 0x3000, "1000-1200",
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code inside of a page, after its end", 0x3000, "none",
	  { OUR_DATA, EXEC(0x2ff0, 0x2ff0, 0x10, 0x10), OUR_SFRAME } },
	{ "64 KiB pages", 0x10000, "1000-1200",
	  { OUR_DATA, EXEC(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME }, .page_size = 0x10000 },
	{ "64 KiB pages' mapping on 4 KiB pages", 0x10000, "none",
	  { OUR_DATA, EXEC(0x1fff0, 0x1fff0, 0x20, 0x20), OUR_SFRAME } },
	{ "code of endless size", 0x3000, "1000-1200",
	  { OUR_DATA, EXEC(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },
	{ "mapping before code of endless size", 0x1000, "none",
	  { OUR_DATA, EXEC(0x2010, 0x2010, TOP, TOP), OUR_SFRAME } },
	{ "section fills its segment", 0x2000, "0-1800",
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1800, 0x1800) } },
	{ "section one byte too long", 0x2000, "bad",
	  { OUR_DATA, OUR_CODE, SFRAME(0, 0, 0x1801, 0x1800) } },
	{ "section after its segment", 0x2000, "bad",
	  { OUR_DATA, OUR_CODE, SFRAME(0x1900, 0x1900, 0x10, 0x10) } },
	{ "section before its segment", 0x2000, "bad",
	  { LOAD(0, 0x1000, 0x1800, 0x1800), EXEC(0x2000, 0x3000, 0x1000, 0x1000),
	    SFRAME(0, 0xff0, 0x20, 0x20) }, .base = MAPPED + 0x1000 },
	{ "section of endless size", 0x2000, "bad",
	  { OUR_DATA, OUR_CODE, SFRAME(0x1000, 0x1000, TOP, TOP) } },
	{ "section that is not readable", 0x2000, "bad",
	  { PHDR(PT_LOAD, PF_W, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section that is not loaded", 0x2000, "bad",
	  { PHDR(PT_NOTE, PF_R, 0, 0, 0x1800, 0x1800), OUR_CODE, OUR_SFRAME } },
	{ "section across two segments", 0x2000, "bad",
	  { LOAD(0, 0, 0x1100, 0x1100), LOAD(0x1100, 0x1100, 0x100, 0x100), OUR_CODE,
	    OUR_SFRAME } },
	{ "section up to the last address", 0x2000, "ffff810000001000-ffff810000001fff",
	  { LOAD(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), EXEC(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0xfff, 0xfff) }, .base = MAPPED - 0x2000 },
	{ "section beyond the last address", 0x2000, "bad",
	  { LOAD(0, TOP - MAPPED - 0x1fff, 0x2000, 0x2000), EXEC(0x2000, 0, 0x1000, 0x1000),
	    SFRAME(0x1000, TOP - MAPPED - 0xfff, 0x1000, 0x1000) }, .base = MAPPED - 0x2000 },
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
	u64 base = c->base ?: MAPPED, start = 1, end = 1;
	char got[40] = "none";
	unsigned int nr = 0;
	int err;

	while (nr < MAX_PHDRS && c->phdrs[nr].p_type != PT_NULL)
		nr++;
	err = sframe_elf_find_section(copy_of(test, c->phdrs, nr * sizeof(c->phdrs[0])), nr,
				      c->page_size ?: 0x1000, base + c->map_offset, c->map_offset,
				      &start, &end);
	if (err)
		KUNIT_EXPECT_EQ(test, 0, start | end);
	if (!err)
		scnprintf(got, sizeof(got), "%llx-%llx", start - base, end - base);
	else if (err != -ENOENT)
		scnprintf(got, sizeof(got), err == -EBADMSG ? "bad" : "error %d", err);
	KUNIT_EXPECT_STREQ(test, got, c->want);
}

static struct kunit_case elf_tests[] = {
	KUNIT_CASE_PARAM(elf_check_header, header_gen_params),
	KUNIT_CASE_PARAM(elf_find_section, phdr_gen_params),
	{}
};

static struct kunit_suite elf_suite = { .name = "sframe_elf", .test_cases = elf_tests };

kunit_test_suite(elf_suite);
