// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: sections in mappings of a process. */
#include <linux/mm.h>

#include "core_scene.h"
#include "section_cases.h"
#include "sframe_quick.h"
#include "sframe_user.h"
#include "user_memory.h"

struct user_reader {
	struct sframe_reader	rd;
	unsigned long		hole;	/* unmapped after the first read */
	u64			change;	/* address of a byte that then becomes 0xff */
	bool			changed;
};

/* The process changes its section once the header has been read. */
static int read_user_then_change(struct sframe_reader *rd, void *dst, u64 addr,
				 u32 len)
{
	struct user_reader *user = container_of(rd, struct user_reader, rd);
	int err = read_user(rd, dst, addr, len);

	if (user->changed)
		return err;
	user->changed = true;
	if (user->hole)
		vm_munmap(user->hole, PAGE_SIZE);
	if (user->change && put_user(0xff, (u8 __user *)user->change))
		return -EIO;
	return err;
}

/*
 * The smallest section has 28 bytes of header, 16 of entry, 5 of attribute, and rows of 3, 4 and
 * 4. How many of these bytes each kind of look-up needs. A row ends at the start of the next
 * row, so a look-up reads the next row, too: the plain one all of it, the quick one two bytes.
 */
struct user_case {
	const char	*name;
	int (*read)(struct sframe_reader *rd, void *dst, u64 addr, u32 len);
	bool		is_quick;
	u32		for_none;
	u32		for_row_0;
	u32		for_row_1;
};

static const struct user_case user_cases[] = {
	{ "may fault", read_user, false, 44, 56, 60 },
	{ "must not fault", read_user_nofault, false, 44, 56, 60 },
	{ "quick", read_user_nofault, true, 36, 54, 58 },
};

NAMED_CASES(user);

/* Writes the section of the builder to user memory. */
static void store_built(struct kunit *test, unsigned long addr)
{
	struct core_scene *scene = test->priv;

	user_store(test, addr, scene->b.bytes, scene->b.len);
}

static int find_quick(const struct sframe_header *hdr, struct sframe_reader *rd, u64 pc,
		      struct sframe_row *row)
{
	struct sframe_plain_row plain;
	u32 rows = U32_MAX;

	return sfu_user_find(hdr, pc, &rows, &plain) ?:
	       sframe_decode_plain(hdr, rd, &plain, row);
}

static void user_text(struct sframe_reader *rd, unsigned long addr, u32 len,
		      u64 pc, bool is_quick, char *text)
{
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	rd->budget = U32_MAX;
	rd->defect = SFRAME_DEFECT_NONE;
	err = sframe_header_read(&hdr, rd, addr, len);
	if (!err)
		err = is_quick ? find_quick(&hdr, rd, pc, &row) :
				 sframe_find_row(&hdr, rd, pc, &row);
	if (err)
		error_text(rd, err, text);
	else
		section_row_text(hdr.abi, &row, text);
}

static void expect_user(struct kunit *test, unsigned long addr, u64 off,
			const char *want)
{
	const struct user_case *c = test->param_value;
	struct sframe_reader rd = { .read = c->read };
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];

	user_text(&rd, addr, scene->b.len, addr + off, c->is_quick, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "section at 0x%lx, 0x%llx",
			       addr, off);
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
	const struct user_case *c = test->param_value;
	u32 off;

	expect_user(test, addr, 0xfff, present >= c->for_none ? "none" : "unreadable");
	expect_user(test, addr, 0x1000, present >= c->for_row_0 ? ROW_0 : "unreadable");
	for (off = 0x1001; off < 0x1004; off++)
		expect_user(test, addr, off, present >= c->for_row_1 ? ROW_1 : "unreadable");
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
	const struct user_case *c = test->param_value;
	unsigned long addr = user_map(test, 1);
	u8 byte;

	smallest_section(test, 3, SORTED | PCREL);
	expect_user(test, addr, 0x1000, c->read == read_user ? "none" : "unreadable");
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&byte, (void __user *)addr, 1));
	expect_user(test, addr, 0x1000, "none");
}

/* The header was checked: its bounds hold even if the bytes change later. */
static void find_row_user_changes(struct kunit *test)
{
	unsigned long addr = user_map(test, 1) + PAGE_SIZE - 60;
	struct user_reader user = { .rd.read = read_user_then_change };
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 0; i < 60; i++) {
		store_built(test, addr);
		user.change = addr + i;
		user.changed = false;
		user_text(&user.rd, addr, scene->b.len, addr + 0x1000, false, got);
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
	struct user_reader user = {
		.rd.read = read_user_then_change,
		.hole = page,
	};
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, page - 28);
	user_text(&user.rd, page - 28, scene->b.len, page - 28 + 0x1000,
		  false, got);
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

/* The quick look-up leaves an address to the plain one, or finds the same. */
static bool expect_as_plain(struct kunit *test, const struct sframe_header *hdr, u64 pc,
			    const char *name)
{
	struct sframe_reader rd = { .read = read_user_nofault, .budget = U32_MAX };
	struct sframe_row plain = {}, quick = {};
	int quick_err = find_quick(hdr, &rd, pc, &quick);
	int err;

	if (quick_err == -EAGAIN)
		return false;
	err = sframe_find_row(hdr, &rd, pc, &plain);
	KUNIT_EXPECT_EQ_MSG(test, quick_err, err, "%s at 0x%llx", name, pc - hdr->addr);
	KUNIT_EXPECT_TRUE_MSG(test, err || is_same_row(&plain, &quick), "%s at 0x%llx", name,
			      pc - hdr->addr);
	return true;
}

/* In a table that is not sorted, though it says so, searches may miss a function. */
static bool is_sorted(const struct build *b)
{
	u32 i;

	for (i = 1; i < b->raw.num_fdes && i < BUILD_MAX_FDES; i++)
		if (b->fdes[i].start < b->fdes[i - 1].start)
			return false;
	return true;
}

/* Compares the addresses of each function, and those before and after. Returns their number. */
static u32 expect_case_as_plain(struct kunit *test, const struct build *b, unsigned long addr,
				const char *name)
{
	struct sframe_reader rd = { .read = read_user_nofault, .budget = U32_MAX };
	struct sframe_header hdr;
	u32 i, off, nr = 0;

	user_store(test, addr, b->bytes, b->len);
	if (sframe_header_read(&hdr, &rd, addr, b->len) || !sframe_quick_can_search(&hdr) ||
	    !is_sorted(b))
		return 0;
	for (i = 0; i < b->raw.num_fdes && i < BUILD_MAX_FDES; i++)
		for (off = 0; off < 260; off++)
			nr += expect_as_plain(test, &hdr, addr + b->fdes[i].start + off - 2, name);
	return nr;
}

static void quick_finds_as_plain(struct kunit *test)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned long addr = user_map(test, 2);
	u32 i, nr = 0;

	KUNIT_ASSERT_NOT_NULL(test, b);
	for (i = 0; i < NR_SECTION_CASES; i++) {
		make_section_case(b, &section_cases[i]);
		nr += expect_case_as_plain(test, b, addr, section_cases[i].name);
	}
	for (i = 0; i < NR_SECTION_PATCHES; i++) {
		make_section_patch(b, &section_patches[i]);
		nr += expect_case_as_plain(test, b, addr, section_patches[i].name);
	}
	/* Most of the cases have a defect. */
	KUNIT_EXPECT_GT(test, nr, 2000);
}

static struct kunit_case user_memory_tests[] = {
	KUNIT_CASE_PARAM(find_row_user_readable, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_ends_at_unmapped, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_crosses_pages, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_half_forbidden, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_half_unmapped, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_forbidden, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_not_users, user_gen_params),
	KUNIT_CASE_PARAM(find_row_user_not_present, user_gen_params),
	KUNIT_CASE(find_row_user_changes),
	KUNIT_CASE(find_row_user_goes_away),
	KUNIT_CASE(quick_finds_as_plain),
	{}
};

CORE_SUITE(user_memory);
