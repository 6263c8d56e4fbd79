// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: files that have wrong headers, are cut, or change during the read. */
#include <linux/fs.h>
#include <linux/mman.h>

#include "file_watch.h"
#include "mapping_change.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_map.h"

/* The file offset of a field of the ELF header, or of a program header. */
#define EH(field)	offsetof(struct elf64_hdr, field)
#define PH(nr, field)	(64 + 56 * IMAGE_PH_##nr + offsetof(struct elf64_phdr, field))

struct elf_case {
	const char	*name;
	u32		at;
	u8		len;
	u64		value;
	const char	*want;
	const char	*counted;
};

#define SEGMENT	"1-3 none", "defect.segment scan.runs"

static const struct elf_case elf_cases[] = {
	{ "as it is", EH(e_ident), 1, 0x7f, SAME },
	{ "first byte of the magic", EH(e_ident), 1, 0, PLAIN },
	{ "last byte of the magic", EH(e_ident) + 3, 1, 'f', PLAIN },
	{ "class none", EH(e_ident) + EI_CLASS, 1, 0, PLAIN },
	{ "class 32 bits", EH(e_ident) + EI_CLASS, 1, ELFCLASS32, PLAIN },
	{ "class 3", EH(e_ident) + EI_CLASS, 1, 3, PLAIN },
	/* The section's own header names its machine. */
	{ "machine", EH(e_machine), 2, 0xffff, SAME },
	{ "type", EH(e_type), 2, 0xffff, SAME },
	{ "e_phentsize 0", EH(e_phentsize), 2, 0, PLAIN },
	{ "e_phentsize 32, of 32 bits", EH(e_phentsize), 2, 32, PLAIN },
	{ "e_phentsize 55", EH(e_phentsize), 2, 55, PLAIN },
	{ "e_phentsize 57", EH(e_phentsize), 2, 57, PLAIN },
	{ "e_phentsize 65535", EH(e_phentsize), 2, 0xffff, PLAIN },
	{ "e_phnum 0", EH(e_phnum), 2, 0, PLAIN },
	{ "e_phnum 1", EH(e_phnum), 2, 1, PLAIN },
	{ "e_phnum 3", EH(e_phnum), 2, 3, PLAIN },
	{ "e_phnum 5, with an empty one", EH(e_phnum), 2, 5, SAME },
	{ "e_phnum 128", EH(e_phnum), 2, 128, SAME },
	{ "e_phnum 129", EH(e_phnum), 2, 129, PLAIN },
	{ "e_phnum 65535", EH(e_phnum), 2, 0xffff, PLAIN },
	{ "e_phoff 0", EH(e_phoff), 8, 0, PLAIN },
	{ "e_phoff 63", EH(e_phoff), 8, 63, PLAIN },
	{ "e_phoff 65", EH(e_phoff), 8, 65, PLAIN },
	{ "e_phoff to the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 224, PLAIN },
	{ "e_phoff beyond the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 223, PLAIN },
	{ "e_phoff after the file", EH(e_phoff), 8, 6 * PAGE_SIZE, PLAIN },
	{ "e_phoff 2^63-1", EH(e_phoff), 8, S64_MAX, PLAIN },
	{ "e_phoff 2^63", EH(e_phoff), 8, S64_MIN, PLAIN },
	{ "e_phoff 2^64-224", EH(e_phoff), 8, -224, PLAIN },
	{ "e_phoff 2^64-1", EH(e_phoff), 8, -1, PLAIN },

	{ "code: no segment to load", PH(CODE, p_type), 4, PT_NOTE, PLAIN },
	{ "code: not executable", PH(CODE, p_flags), 4, PF_R, PLAIN },
	{ "code: p_offset 0", PH(CODE, p_offset), 8, 0, PLAIN, "defect.empty scan.runs" },
	{ "code: p_offset after the code", PH(CODE, p_offset), 8, 2 * PAGE_SIZE, PLAIN },
	{ "code: p_offset 2^64-1", PH(CODE, p_offset), 8, -1, PLAIN },
	{ "code: p_offset in page", PH(CODE, p_offset), 8, PAGE_SIZE + 1,
	  PLAIN, "defect.magic scan.runs" },
	{ "code: p_vaddr 0", PH(CODE, p_vaddr), 8, 0, PLAIN, "defect.empty scan.runs" },
	{ "code: p_vaddr a page on", PH(CODE, p_vaddr), 8, 2 * PAGE_SIZE,
	  PLAIN, "defect.empty scan.runs" },
	{ "code: p_vaddr 2^62", PH(CODE, p_vaddr), 8, BIT_ULL(62), SEGMENT },
	{ "code: p_vaddr 2^63", PH(CODE, p_vaddr), 8, BIT_ULL(63), SEGMENT },
	{ "code: p_filesz 0", PH(CODE, p_filesz), 8, 0, PLAIN },
	{ "code: p_filesz 1", PH(CODE, p_filesz), 8, 1, SAME },
	{ "code: p_filesz 2^64-1", PH(CODE, p_filesz), 8, -1, SAME },
	{ "code: p_memsz 0", PH(CODE, p_memsz), 8, 0, SAME },
	{ "code: p_memsz 2^64-1", PH(CODE, p_memsz), 8, -1, SAME },
	{ "code: p_align 2^64-1", PH(CODE, p_align), 8, -1, SAME },

	{ "data: no segment to load", PH(DATA, p_type), 4, PT_NOTE, SEGMENT },
	{ "data: not readable", PH(DATA, p_flags), 4, PF_W, SEGMENT },
	{ "data: p_vaddr 0", PH(DATA, p_vaddr), 8, 0, SEGMENT },
	{ "data: p_vaddr after the section", PH(DATA, p_vaddr), 8, 3 * PAGE_SIZE + 1, SEGMENT },
	{ "data: p_vaddr 2^64-1", PH(DATA, p_vaddr), 8, -1, SEGMENT },
	{ "data: p_memsz 0", PH(DATA, p_memsz), 8, 0, SEGMENT },
	{ "data: p_memsz 59", PH(DATA, p_memsz), 8, 59, SEGMENT },
	{ "data: p_memsz 60", PH(DATA, p_memsz), 8, 60, SAME },
	{ "data: p_memsz 2^64-1", PH(DATA, p_memsz), 8, -1, SAME },

	{ "section: no segment", PH(SFRAME, p_type), 4, PT_NULL, PLAIN },
	{ "section: another first", PH(HEADERS, p_type), 4, 0x6474e554, SEGMENT },
	{ "section: p_flags 0", PH(SFRAME, p_flags), 4, 0, SAME },
	{ "section: p_offset 2^64-1", PH(SFRAME, p_offset), 8, -1, SAME },
	{ "section: p_memsz 0", PH(SFRAME, p_memsz), 8, 0, SAME },
	{ "section: p_vaddr of the headers", PH(SFRAME, p_vaddr), 8, 0,
	  PLAIN, "defect.magic scan.runs" },
	{ "section: p_vaddr of the code", PH(SFRAME, p_vaddr), 8, PAGE_SIZE,
	  PLAIN, "defect.empty scan.runs" },
	{ "section: p_vaddr to the end", PH(SFRAME, p_vaddr), 8, 5 * PAGE_SIZE - 60,
	  PLAIN, "defect.empty scan.runs" },
	{ "section: p_vaddr beyond the end", PH(SFRAME, p_vaddr), 8, 5 * PAGE_SIZE - 59, SEGMENT },
	{ "section: p_vaddr 2^63", PH(SFRAME, p_vaddr), 8, BIT_ULL(63), SEGMENT },
	{ "section: p_vaddr 2^64-60", PH(SFRAME, p_vaddr), 8, -60, SEGMENT },
	{ "section: p_vaddr 2^64-1", PH(SFRAME, p_vaddr), 8, -1, SEGMENT },
	{ "section: p_filesz 0", PH(SFRAME, p_filesz), 8, 0, PLAIN, "defect.short scan.runs" },
	{ "section: p_filesz 27", PH(SFRAME, p_filesz), 8, 27, PLAIN, "defect.short scan.runs" },
	{ "section: p_filesz 28", PH(SFRAME, p_filesz), 8, 28, PLAIN, "defect.freoff scan.runs" },
	{ "section: p_filesz 44", PH(SFRAME, p_filesz), 8, 44, PLAIN, "defect.fre-len scan.runs" },
	{ "section: p_filesz less one", PH(SFRAME, p_filesz), 8, 52,
	  PLAIN, "defect.fre-len scan.runs" },
	{ "section: p_filesz all there is", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE, SAME },
	{ "section: p_filesz and one more", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE + 1, SEGMENT },
	{ "section: p_filesz 2^64-1", PH(SFRAME, p_filesz), 8, -1, SEGMENT },
	{ "section: p_filesz wraps", PH(SFRAME, p_filesz), 8, -3 * PAGE_SIZE, SEGMENT },
};

NAMED_CASES(elf);

/* One field of the headers is changed; the mappings are not. */
static void scan_elf(struct kunit *test)
{
	const struct elf_case *c = test->param_value;

	map_image(test);
	patch_file(test, c->at, c->value, c->len);
	expect_scanned(test, c->want, c->counted ?: "scan.runs");
}

/* Several fields are changed together. */
static void scan_elf_wraps(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct elf64_phdr *ph = scene->image.phdrs;

	ph[IMAGE_PH_DATA].p_vaddr = 0;
	ph[IMAGE_PH_DATA].p_memsz = -1;
	ph[IMAGE_PH_SFRAME].p_filesz = -4 * PAGE_SIZE;
	map_image(test);
	expect_scanned(test, SEGMENT);
	patch_file(test, PH(SFRAME, p_vaddr), -61, 8);
	patch_file(test, PH(SFRAME, p_filesz), 60, 8);
	map_code_again(test);
	expect_scanned(test, SEGMENT);
}

/* The section's program header is the last one that a scan reads, or comes after it. */
static void scan_phdrs(struct kunit *test, unsigned int nr, const char *want)
{
	struct scan_scene *scene = test->priv;
	struct image *image = &scene->image;

	image->phdrs[nr - 1] = image->phdrs[IMAGE_PH_SFRAME];
	image->phdrs[IMAGE_PH_SFRAME].p_type = PT_NULL;
	image->ehdr.e_phnum = nr;
	image->ehdr.e_phoff = 5 * PAGE_SIZE;
	image->phdrs_at = 5 * PAGE_SIZE;
	map_image(test);
	expect_scanned(test, want, "scan.runs");
}

static void scan_128_phdrs(struct kunit *test)
{
	scan_phdrs(test, 128, SAME);
}

static void scan_129_phdrs(struct kunit *test)
{
	scan_phdrs(test, 129, PLAIN);
}

/* The program headers are at the end of the file, which is cut at each of their bytes. */
static void scan_truncated(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int len;

	scene->image.ehdr.e_phoff = 5 * PAGE_SIZE;
	scene->image.phdrs_at = 5 * PAGE_SIZE;
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	for (len = 224; len-- > 0;) {
		KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&scene->image.file->f_path,
						      5 * PAGE_SIZE + len));
		map_code_again(test);
		expect_scanned(test, PLAIN, "scan.runs");
	}
}

static void scan_truncated_ehdr(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int len;

	map_image(test);
	for (len = 64 + 224; len-- > 0;) {
		KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&scene->image.file->f_path, len));
		map_code_again(test);
		expect_scanned(test, PLAIN, "scan.runs");
	}
}

/* With any bit flipped a scan finds the right section or none. */
static void scan_bit_flipped(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	u8 headers[64 + 4 * 56];
	char got[MAP_TEXT];
	unsigned int bit;

	map_image(test);
	memcpy(headers, &scene->image.ehdr, 64);
	memcpy(headers + 64, scene->image.phdrs, 4 * 56);
	for (bit = 0; bit < 8 * sizeof(headers); bit++) {
		patch_file(test, bit / 8, headers[bit / 8] ^ 1 << bit % 8, 1);
		map_code_again(test);
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		map_text(test, got);
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(got, SAME) || !strcmp(got, PLAIN),
				      "bit %u: %s", bit, got);
		patch_file(test, bit / 8, headers[bit / 8], 1);
	}
}

/* The read of the ELF header fails, then that of the program headers. */
static void scan_unreadable(struct kunit *test)
{
	map_image(test);
	watch_image(test, NULL);
	watch.fail_at = 1;
	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_EQ(test, 1, watch.reads);
	map_code_again(test);
	watch.reads = 0;
	watch.fail_at = 2;
	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_EQ(test, 2, watch.reads);
	map_code_again(test);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, 4, watch.reads);
}

/* A scan does not read a file for which kernel_read() would warn. */
static void scan_not_for_kernel_read(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_image(test);
	watch_image(test, NULL);
	set_reads(watch.original, watch.fops, false, false);
	expect_scanned(test, PLAIN, "scan.runs");

	set_reads(watch.original, watch.fops, true, true);
	map_code_again(test);
	expect_scanned(test, PLAIN, "scan.runs");

	set_reads(watch.original, watch.fops, true, false);
	map_code_again(test);
	scene->image.file->f_mode &= ~FMODE_READ;
	expect_scanned(test, PLAIN, "scan.runs");
	scene->image.file->f_mode |= FMODE_READ;
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
	map_code_again(test);
	expect_scanned(test, SAME, "scan.runs");
}

/* A page of code is removed in the first attempt, restored in the next, and so on. */
static void unsettle_code(struct kunit *test)
{
	if (watch.reads % 2)
		protect_at(test, 2, 1, watch.reads % 4 == 1 ? PROT_READ :
							   PROT_READ | PROT_EXEC);
}

static void map_code_of_another(struct kunit *test)
{
	struct image *image = another_image(test);

	image_write(test, image);
	user_map_file(test, image->file, page(test, 1), 2, PROT_READ | PROT_EXEC,
		      IMAGE_CODE);
}

struct race_case {
	const char	*name;
	void (*act)(struct kunit *test);
	int		err;
	const char	*want;
	const char	*counted;
};

/* The action runs twice in each attempt. A scan makes at most three. */
static const struct race_case race_cases[] = {
	{ "nothing", NULL, 0, SAME, "scan.runs" },
	{ "unmap headers", unmap_headers, 0, SAME, "scan.runs" },
	{ "unmap code", unmap_code, 0, "nothing", "scan.runs=2" },
	{ "unmap last of code", unmap_code_last, 0, "1-2 ready by 3", "scan.runs=2" },
	{ "unmap section", unmap_section, 0, PLAIN, "defect.segment scan.runs" },
	{ "map over code", map_over_code, 0, PLAIN, "scan.runs=2" },
	{ "map code again", map_code_again, 0, SAME, "scan.runs" },
	{ "map code of another", map_code_of_another, 0, PLAIN,
	  "defect.segment scan.runs=2" },
	{ "code not executable", no_exec, 0, "nothing", "scan.runs=2" },
	{ "last of code not executable", no_exec_last, 0, "1-2 ready by 3", "scan.runs=2" },
	{ "all the time", unsettle_code, -EAGAIN, GONE, "scan.runs=3" },
};

NAMED_CASES(race);

#define SECOND	"9-11 ready by 11"

static const struct race_case first_cases[] = {
	{ "nothing", NULL, 0, "1-3 ready by 3, " SECOND, "scan.runs" },
	{ "unmap code", unmap_code, 0, SECOND, "scan.runs=2" },
	{ "unmap section", unmap_section, 0, "1-3 none, " SECOND, "defect.segment scan.runs=2" },
	{ "unmap first of section", unmap_first_byte, 0, "1-3 none, " SECOND,
	  "defect.segment scan.runs=2" },
	{ "map over section", map_over_section, 0, "1-3 none, " SECOND,
	  "defect.segment scan.runs=2" },
	{ "map over code", map_over_code, 0, "1-3 none, " SECOND, "scan.runs=2" },
	{ "forbid section", forbid_section, 0, "1-3 ready by 3, " SECOND, "scan.runs" },
};

KUNIT_ARRAY_PARAM(first, first_cases, race_desc);

/* The process changes its mappings while its files are read. */
static void scan_during(struct kunit *test)
{
	const struct race_case *c = test->param_value;

	map_image(test);
	watch_image(test, c->act);
	KUNIT_EXPECT_EQ(test, c->err, scan_now(test));
	expect_map(test, c->want);
	expect_counted(test, c->counted);
}

/* The scan has already read the first image's file while it reads the second. */
static void scan_during_another(struct kunit *test)
{
	const struct race_case *c = test->param_value;
	struct image *first = another_image(test);
	struct scan_scene *scene = test->priv;

	image_write(test, first);
	image_map(test, first, page(test, 0));
	image_write(test, &scene->image);
	image_map(test, &scene->image, page(test, 8));
	watch_image(test, c->act);
	KUNIT_EXPECT_EQ(test, c->err, scan_now(test));
	expect_map(test, c->want);
	expect_counted(test, c->counted);
}

static struct kunit_case hostile_tests[] = {
	KUNIT_CASE_PARAM(scan_elf, elf_gen_params),
	KUNIT_CASE(scan_elf_wraps),
	KUNIT_CASE(scan_128_phdrs),
	KUNIT_CASE(scan_129_phdrs),
	KUNIT_CASE(scan_truncated),
	KUNIT_CASE(scan_truncated_ehdr),
	KUNIT_CASE_SLOW(scan_bit_flipped),
	KUNIT_CASE(scan_unreadable),
	KUNIT_CASE(scan_not_for_kernel_read),
	KUNIT_CASE_PARAM(scan_during, race_gen_params),
	KUNIT_CASE_PARAM(scan_during_another, first_gen_params),
	{}
};

SCAN_SUITE(sframe_scan_hostile, hostile_tests);
