// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: sections in mappings of a process, a part of which is not there. */
#include <linux/mm.h>

#include "section_builder.h"
#include "walk/user.h"
#include "common.h"

#define ROW_0	"sp+8 u (c-8)"
#define ROW_1	"sp+16 (c-16) (c-8)"
#define ROW_4	"fp+16 (c-16) (c-8)"

/*
 * The section has 28 bytes of header, 16 of entry, 5 of attribute, and rows of 3, 4 and 4 bytes. A
 * look-up also reads the first two bytes of the next row, because the row ends where that begins.
 */
#define FOR_HEADER	28
#define FOR_NONE	44
#define FOR_ROW_0	54
#define FOR_ROW_1	58
#define FOR_ALL		60

static int user_memory_init(struct kunit *test)
{
	struct build *b = test_alloc(test, sizeof(*b));

	build_start(b, 3, BOTH, AMD64);
	build_text(b, "0x1000 64: 0 3 8, 1 5 16 -16, 4 4 16 -16");
	build_finish(b);
	test->priv = b;
	return 0;
}

/* Writes the first @len bytes of the section to user memory. */
static void store_built(struct kunit *test, unsigned long addr, u32 len)
{
	const struct build *b = test->priv;

	user_store(test, addr, b->bytes, len);
}

/* The process does this once the header has been read. */
struct change {
	unsigned long	hole;		/* a page that is unmapped */
	unsigned long	byte;		/* address of a byte that becomes 0xff */
};

static void user_text(const struct change *change, unsigned long addr, u64 pc, char *text)
{
	struct sframe_reader rd = { .budget = U32_MAX };
	struct sframe_raw_header raw;
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	err = sfu_user_read_now(&raw, addr, sizeof(raw));
	if (!err && change->hole)
		vm_munmap(change->hole, PAGE_SIZE);
	if (!err && change->byte)
		err = put_user(0xff, (u8 __user *)change->byte);
	err = err ?: sframe_header_check(&hdr, &rd, &raw, addr, FOR_ALL) ?:
		     find_user_row_now(&hdr, &rd, pc, &row);
	if (err)
		section_error_text(&rd, err, text);
	else
		section_row_text(hdr.abi, &row, text);
}

static void expect_user(struct kunit *test, unsigned long addr, u64 off, const char *want)
{
	char got[SECTION_ROW_TEXT];

	user_text(&(struct change){}, addr, addr + off, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "section at 0x%lx, 0x%llx", addr, off);
}

/* Only the first @present bytes can be read. */
static void expect_present(struct kunit *test, unsigned long addr, u32 present)
{
	expect_user(test, addr, 0xfff, present >= FOR_NONE ? "none" : "unreadable");
	expect_user(test, addr, 0x1000, present >= FOR_ROW_0 ? ROW_0 : "unreadable");
	expect_user(test, addr, 0x1001, present >= FOR_ROW_1 ? ROW_1 : "unreadable");
	expect_user(test, addr, 0x1003, present >= FOR_ROW_1 ? ROW_1 : "unreadable");
	expect_user(test, addr, 0x1004, present >= FOR_ALL ? ROW_4 : "unreadable");
	expect_user(test, addr, 0x103f, present >= FOR_ALL ? ROW_4 : "unreadable");
	expect_user(test, addr, 0x1040, present >= FOR_NONE ? "none" : "unreadable");
}

/* Each byte of the section is once the first on a page, which is there, forbidden or absent. */
static void find_row_user_on_two_pages(struct kunit *test)
{
	unsigned long page = user_map(test, 2) + PAGE_SIZE;
	u32 i;

	for (i = 0; i < FOR_ALL; i++) {
		store_built(test, page - i, FOR_ALL);
		expect_present(test, page - i, FOR_ALL);
		user_forbid(test, page);
		expect_present(test, page - i, i);
		user_allow(test, page);
	}
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page, PAGE_SIZE));
	for (i = 1; i <= FOR_ALL; i++) {
		store_built(test, page - i, i);
		expect_present(test, page - i, i);
	}
}

/* A section in the kernel or at the end of all addresses is not read. */
static void find_row_user_not_users(struct kunit *test)
{
	const struct build *b = test->priv;

	expect_user(test, (unsigned long)b->bytes, 0x1000, "unreadable");
	expect_user(test, -28UL, 0x1000, "unreadable");
	expect_user(test, 0, 0x1000, "unreadable");
}

/* The page is mapped, but not touched yet. */
static void find_row_user_not_present(struct kunit *test)
{
	unsigned long addr = user_map(test, 1);
	u8 byte;

	expect_user(test, addr, 0x1000, "unreadable");
	KUNIT_ASSERT_EQ(test, 0, copy_from_user(&byte, (void __user *)addr, 1));
	expect_user(test, addr, 0x1000, "none");
}

/* The header was checked: its bounds hold even if the bytes change later, or go away. */
static void find_row_user_changes(struct kunit *test)
{
	unsigned long page = user_map(test, 2) + PAGE_SIZE, addr = page - FOR_ALL;
	char got[SECTION_ROW_TEXT];
	u32 i;

	for (i = 0; i < FOR_ALL; i++) {
		store_built(test, addr, FOR_ALL);
		user_text(&(struct change){ .byte = addr + i }, addr, addr + 0x1000, got);
		KUNIT_EXPECT_STRNEQ_MSG(test, got, "unreadable", "byte %u", i);
		/* The header is not read again. The last row is not read. */
		if (i < FOR_HEADER || i == FOR_ALL - 1)
			KUNIT_EXPECT_STREQ_MSG(test, got, ROW_0, "byte %u", i);
	}
	store_built(test, page - FOR_HEADER, FOR_ALL);
	addr = page - FOR_HEADER;
	user_text(&(struct change){ .hole = page }, addr, addr + 0x1000, got);
	KUNIT_EXPECT_STREQ(test, got, "unreadable");
}

static struct kunit_case user_memory_tests[] = {
	KUNIT_CASE(find_row_user_on_two_pages),
	KUNIT_CASE(find_row_user_not_users),
	KUNIT_CASE(find_row_user_not_present),
	KUNIT_CASE(find_row_user_changes),
	{}
};

static struct kunit_suite user_memory_suite = {
	.name = "sframe_user_memory", .init = user_memory_init, .test_cases = user_memory_tests,
};

kunit_test_suite(user_memory_suite);
