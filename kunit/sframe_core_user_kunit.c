// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: sections in mappings of a process. */
#include <linux/mm.h>

#include "core_scene.h"
#include "section_cases.h"
#include "sframe_user.h"
#include "user_memory.h"

/*
 * The smallest section has 28 bytes of header, 16 of entry, 5 of attribute, and rows of 3, 4 and
 * 4. A row ends at the start of the next row, of which a look-up reads two bytes.
 */
#define FOR_NONE	44
#define FOR_ROW_0	54
#define FOR_ROW_1	58

/* Writes the section of the builder to user memory. */
static void store_built(struct kunit *test, unsigned long addr)
{
	struct core_scene *scene = test->priv;

	user_store(test, addr, scene->b.bytes, scene->b.len);
}

/* The process does this once the header has been read. */
struct change {
	unsigned long	hole;		/* a page that is unmapped */
	unsigned long	byte;		/* address of a byte that becomes 0xff */
};

static int read_header_then(const struct change *change, struct sframe_header *hdr,
			    struct sframe_reader *rd, unsigned long addr, u32 len)
{
	struct sframe_raw_header raw;

	if (sfu_user_read_now(&raw, addr, sizeof(raw)))
		return -EFAULT;
	if (change->hole)
		vm_munmap(change->hole, PAGE_SIZE);
	if (change->byte && put_user(0xff, (u8 __user *)change->byte))
		return -EIO;
	return sframe_header_check(hdr, rd, &raw, addr, len);
}

static void user_text(const struct change *change, unsigned long addr, u32 len, u64 pc, char *text)
{
	struct sframe_reader rd = { .budget = U32_MAX };
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	err = read_header_then(change, &hdr, &rd, addr, len) ?:
	      find_user_row_now(&hdr, &rd, pc, &row);
	if (err)
		error_text(&rd, err, text);
	else
		section_row_text(hdr.abi, &row, text);
}

static void expect_user(struct kunit *test, unsigned long addr, u64 off, const char *want)
{
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];

	user_text(&(struct change){}, addr, scene->b.len, addr + off, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "section at 0x%lx, 0x%llx", addr, off);
}

static void expect_three_rows(struct kunit *test, unsigned long addr)
{
	expect_user(test, addr, 0xfff, "none");
	expect_user(test, addr, 0x1000, ROW_0);
	expect_user(test, addr, 0x1001, ROW_1);
	expect_user(test, addr, 0x1004, ROW_4);
	expect_user(test, addr, 0x1040, "none");
}

static void find_row_user_readable(struct kunit *test)
{
	unsigned long addr = user_map(test, 1);

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, addr);
	expect_three_rows(test, addr);
}

static void find_row_user_ends_at_unmapped(struct kunit *test)
{
	unsigned long addr = user_map(test, 1) + PAGE_SIZE - 60;

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, addr);
	expect_three_rows(test, addr);
}

/* Each byte of the section is once the first on its page. */
static void find_row_user_crosses_pages(struct kunit *test)
{
	unsigned long page = user_map(test, 2) + PAGE_SIZE;
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 0; i < 60; i++) {
		store_built(test, page - i);
		expect_three_rows(test, page - i);
	}
}

/* Only the first @present bytes can be read, of 60. */
static void expect_half(struct kunit *test, unsigned long addr, u32 present)
{
	u32 off;

	expect_user(test, addr, 0xfff, present >= FOR_NONE ? "none" : "unreadable");
	expect_user(test, addr, 0x1000, present >= FOR_ROW_0 ? ROW_0 : "unreadable");
	for (off = 0x1001; off < 0x1004; off++)
		expect_user(test, addr, off, present >= FOR_ROW_1 ? ROW_1 : "unreadable");
	for (off = 0x1004; off < 0x1040; off++)
		expect_user(test, addr, off, "unreadable");
}

static void find_row_user_half_forbidden(struct kunit *test)
{
	unsigned long page = user_map(test, 2) + PAGE_SIZE;
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 0; i < 60; i++) {
		store_built(test, page - i);
		user_forbid(test, page);
		expect_half(test, page - i, i);
		user_allow(test, page);
	}
}

static void find_row_user_half_unmapped(struct kunit *test)
{
	unsigned long addr;
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 1; i < 60; i++) {
		struct core_scene *scene = test->priv;

		addr = user_map(test, 1) + PAGE_SIZE - i;
		user_store(test, addr, scene->b.bytes, i);
		expect_half(test, addr, i);
	}
}

static void find_row_user_forbidden(struct kunit *test)
{
	unsigned long addr = user_map(test, 1);

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, addr);
	user_forbid(test, addr);
	expect_user(test, addr, 0x1000, "unreadable");
}

/* A section in the kernel or at the end of all addresses is not read. */
static void find_row_user_not_users(struct kunit *test)
{
	struct core_scene *scene = test->priv;

	user_map(test, 1);
	smallest_section(test, 3, SORTED | PCREL);
	expect_user(test, (unsigned long)scene->data, 0x1000, "unreadable");
	expect_user(test, -28UL, 0x1000, "unreadable");
	expect_user(test, 0, 0x1000, "unreadable");
}

/* The page is mapped, but not touched yet. */
static void find_row_user_not_present(struct kunit *test)
{
	unsigned long addr = user_map(test, 1);
	u8 byte;

	smallest_section(test, 3, SORTED | PCREL);
	expect_user(test, addr, 0x1000, "unreadable");
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&byte, (void __user *)addr, 1));
	expect_user(test, addr, 0x1000, "none");
}

/* The header was checked: its bounds hold even if the bytes change later. */
static void find_row_user_changes(struct kunit *test)
{
	unsigned long addr = user_map(test, 1) + PAGE_SIZE - 60;
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 0; i < 60; i++) {
		store_built(test, addr);
		user_text(&(struct change){ .byte = addr + i }, addr, scene->b.len, addr + 0x1000,
			  got);
		KUNIT_EXPECT_STRNEQ_MSG(test, got, "unreadable", "byte %u", i);
		/* The header is not read again. */
		if (i < 28)
			KUNIT_EXPECT_STREQ_MSG(test, got, ROW_0, "byte %u", i);
	}
	KUNIT_EXPECT_STREQ(test, got, ROW_0);
}

static void find_row_user_goes_away(struct kunit *test)
{
	unsigned long page = user_map(test, 2) + PAGE_SIZE;
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, page - 28);
	user_text(&(struct change){ .hole = page }, page - 28, scene->b.len, page - 28 + 0x1000,
		  got);
	KUNIT_EXPECT_STREQ(test, got, "unreadable");
}

static bool is_same_row(const struct sframe_row *a, const struct sframe_row *b)
{
	char text_a[SECTION_ROW_TEXT], text_b[SECTION_ROW_TEXT];

	section_row_text(AMD64, a, text_a);
	section_row_text(AMD64, b, text_b);
	return !strcmp(text_a, text_b) && a->func == b->func && a->start == b->start &&
	       a->pcmask == b->pcmask;
}

/* User memory has the row or the defect that other memory has. */
static void expect_as_in_memory(struct kunit *test, const struct sframe_header *hdr,
				const struct build *b, u64 pc, const char *name)
{
	struct sframe_reader mem = {
		.bytes = b->bytes, .addr = hdr->addr, .len = b->len, .budget = U32_MAX,
	}, rd = { .budget = U32_MAX };
	struct sframe_row want = {}, row = {};
	int err = sframe_find_row(hdr, &mem, pc, &want);

	KUNIT_EXPECT_EQ_MSG(test, find_user_row_now(hdr, &rd, pc, &row), err, "%s at 0x%llx", name,
			    pc - hdr->addr);
	KUNIT_EXPECT_EQ_MSG(test, rd.defect, mem.defect, "%s at 0x%llx", name, pc - hdr->addr);
	KUNIT_EXPECT_TRUE_MSG(test, err || is_same_row(&want, &row), "%s at 0x%llx", name,
			      pc - hdr->addr);
}

/* Compares the addresses of each function, and those before and after. Returns their number. */
static u32 expect_case_as_in_memory(struct kunit *test, const struct build *b, unsigned long addr,
				    const char *name)
{
	struct sframe_reader rd = {};
	struct sframe_header hdr;
	u32 i, off, nr = 0;

	user_store(test, addr, b->bytes, b->len);
	if (read_user_header(&hdr, &rd, addr, b->len) || hdr.swapped)
		return 0;
	for (i = 0; i < b->raw.num_fdes && i < BUILD_MAX_FDES; i++)
		for (off = 0; off < 260; off++, nr++)
			expect_as_in_memory(test, &hdr, b, addr + b->fdes[i].start + off - 2, name);
	return nr;
}

static void find_row_user_as_in_memory(struct kunit *test)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned long addr = user_map(test, 2);
	u32 i, nr = 0;

	KUNIT_ASSERT_NOT_NULL(test, b);
	for (i = 0; i < NR_SECTION_CASES; i++) {
		make_section_case(b, &section_cases[i]);
		nr += expect_case_as_in_memory(test, b, addr, section_cases[i].name);
	}
	for (i = 0; i < NR_SECTION_PATCHES; i++) {
		make_section_patch(b, &section_patches[i]);
		nr += expect_case_as_in_memory(test, b, addr, section_patches[i].name);
	}
	KUNIT_EXPECT_GT(test, nr, 5000);
}

static struct kunit_case user_memory_tests[] = {
	KUNIT_CASE(find_row_user_readable),
	KUNIT_CASE(find_row_user_ends_at_unmapped),
	KUNIT_CASE(find_row_user_crosses_pages),
	KUNIT_CASE(find_row_user_half_forbidden),
	KUNIT_CASE(find_row_user_half_unmapped),
	KUNIT_CASE(find_row_user_forbidden),
	KUNIT_CASE(find_row_user_not_users),
	KUNIT_CASE(find_row_user_not_present),
	KUNIT_CASE(find_row_user_changes),
	KUNIT_CASE(find_row_user_goes_away),
	KUNIT_CASE(find_row_user_as_in_memory),
	{}
};

CORE_SUITE(user_memory);
