// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the decoder, sframe_core.c: one suite per promise.
 *
 * What is expected is written out from the specification, never computed by
 * what is tested. Nearly all sections end where a page ends that nothing
 * follows, so that a byte read too many is an oops.
 *
 * An answer of the decoder is compared as a text: the row as section_text.h has
 * it, or "none", "unreadable", "budget", "bad FAULT" or "refused FAULT".
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "section_builder.h"
#include "section_cases.h"
#include "section_text.h"
#include "user_memory.h"

/* Where the sections are mapped, in the tests' imagination. */
#define ADDR		BIT_ULL(46)

/**
 * struct bench - what a test works with
 * @rd: a reader that watches how it is used, and fails when it is told to
 * @data: the section, up to the end of @page
 * @len: its bytes
 * @calls: of @rd
 * @fail_at: the call that fails; 1 is the first
 * @trusting: @rd relies on what the decoder has checked
 * @outside: @rd was asked for what is not there
 * @page: nothing is mapped behind it
 * @b: to build in
 * @text: to list in
 */
struct bench {
	struct sframe_reader	rd;
	const u8		*data;
	u32			len;
	u32			calls;
	u32			fail_at;
	bool			trusting;
	bool			outside;
	u8			*page;
	struct build		b;
	char			text[SECTION_TEXT];
};

static int bench_read(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct bench *bench = container_of(rd, struct bench, rd);
	u64 off = addr - ADDR;

	if (++bench->calls == bench->fail_at)
		return -EFAULT;
	if (!bench->trusting && (off > bench->len || len > bench->len - off)) {
		bench->outside = true;
		return -EFAULT;
	}
	memcpy(dst, bench->data + off, len);
	return 0;
}

static void free_page_of_bench(void *page)
{
	vfree(page);
}

static int bench_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->page = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, bench->page);
	bench->rd.read = bench_read;
	test->priv = bench;
	return kunit_add_action_or_reset(test, free_page_of_bench, bench->page);
}

static void place(struct bench *bench, const void *bytes, u32 len)
{
	bench->len = len;
	bench->data = bench->page + PAGE_SIZE - len;
	memcpy(bench->page + PAGE_SIZE - len, bytes, len);
}

/* What has been built is finished, and placed. */
static void place_built(struct bench *bench)
{
	build_finish(&bench->b);
	place(bench, bench->b.bytes, bench->b.len);
}

/* Whatever was asked before is forgotten. */
static void renew(struct bench *bench)
{
	bench->rd.budget = U32_MAX;
	bench->rd.fault = SFRAME_FAULT_NONE;
	bench->calls = 0;
	bench->fail_at = 0;
	bench->outside = false;
}

/* Header, then look-up, as a walk does it for the first time. */
static int find_row(struct bench *bench, u64 pc, struct sframe_section *sec,
		    struct sframe_row *row)
{
	int err = sframe_section_init(sec, &bench->rd, ADDR, bench->len);

	return err ?: sframe_find_row(sec, &bench->rd, pc, row);
}

static void error_text(const struct sframe_reader *rd, int err, char *text)
{
	const char *fault = sframe_fault_names[rd->fault];

	if (err == -EBADMSG)
		scnprintf(text, SECTION_ROW_TEXT, "bad %s", fault);
	else if (err == -EOPNOTSUPP)
		scnprintf(text, SECTION_ROW_TEXT, "refused %s", fault);
	else if (err == -ENOENT)
		strscpy(text, "none", SECTION_ROW_TEXT);
	else if (err == -EFAULT)
		strscpy(text, "unreadable", SECTION_ROW_TEXT);
	else if (err == -E2BIG)
		strscpy(text, "budget", SECTION_ROW_TEXT);
	else
		scnprintf(text, SECTION_ROW_TEXT, "error %d", err);
}

static void answer_text(struct bench *bench, u64 pc, char *text)
{
	struct sframe_section sec;
	struct sframe_row row;
	int err;

	renew(bench);
	err = find_row(bench, pc, &sec, &row);
	if (err)
		error_text(&bench->rd, err, text);
	else if (row.signal && row.cfa.how == SFRAME_RULE_SAME)
		strscpy(text, "signal", SECTION_ROW_TEXT);
	else
		section_row_text(sec.abi, &row, text);
}

static void expect_at(struct kunit *test, u64 off, const char *want)
{
	char got[SECTION_ROW_TEXT];

	answer_text(test->priv, ADDR + off, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%llx", off);
}

static void expect_header(struct kunit *test, u32 len, const char *want)
{
	char got[SECTION_ROW_TEXT] = "sound";
	struct bench *bench = test->priv;
	struct sframe_section sec;
	int err;

	renew(bench);
	err = sframe_section_init(&sec, &bench->rd, ADDR, len);
	if (err)
		error_text(&bench->rd, err, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	KUNIT_EXPECT_FALSE(test, bench->outside);
}

static void three_rows(struct build *b)
{
	build_row(b, 0, 0x03, 8);
	build_row(b, 1, 0x05, 16, -16);
	build_row(b, 4, 0x04, 16, -16);
}

#define ROW_0	"sp+8 u (c-8)"
#define ROW_1	"sp+16 (c-16) (c-8)"
#define ROW_4	"fp+16 (c-16) (c-8)"

static struct build *start(struct kunit *test, u8 version, u8 flags, u8 abi)
{
	struct bench *bench = test->priv;

	build_start(&bench->b, version, flags, abi);
	return &bench->b;
}

/* 56 (V1), 59 (V2) or 60 bytes (V3) */
static void smallest_section(struct kunit *test, u8 version, u8 flags)
{
	struct build *b = start(test, version, flags, AMD64);

	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	place_built(test->priv);
}

/* ---- sframe_header: each field of the header, at its limits ---- */

struct header_case {
	const char	*name;
	u32		off;
	u32		len;
	u64		value;
	const char	*want;
};

/* One FDE (16 bytes), FRE sub-section 16 bytes, 60 bytes in all. */
static const struct header_case header_cases[] = {
	{ "magic 0", 0, 2, 0, "none" },
	{ "magic 1", 0, 2, 1, "bad magic" },
	{ "magic one less", 0, 2, 0xdee1, "bad magic" },
	{ "magic one more", 0, 2, 0xdee3, "bad magic" },
	{ "magic swapped", 0, 2, 0xe2de, "bad abi" },
	{ "magic limit", 0, 2, 0xffff, "bad magic" },
	{ "version 0", 2, 1, 0, "bad version" },
	{ "version 1 with a flag of V3", 2, 1, 1, "bad flags" },
	{ "version 2 with the table of V3", 2, 1, 2, "bad num-fdes" },
	{ "version 4", 2, 1, 4, "bad version" },
	{ "version limit", 2, 1, 255, "bad version" },
	{ "abi 0", 4, 1, 0, "bad abi" },
	{ "abi of big-endian AArch64", 4, 1, 1, "bad abi" },
	{ "abi of AArch64, fixed RA", 4, 1, 2, "bad fixed-offsets" },
	{ "abi of s390x", 4, 1, 4, "bad abi" },
	{ "abi 5", 4, 1, 5, "bad abi" },
	{ "abi limit", 4, 1, 255, "bad abi" },
	{ "fixed FP 1", 5, 1, 1, "bad fixed-offsets" },
	{ "fixed FP 127", 5, 1, 0x7f, "bad fixed-offsets" },
	{ "fixed FP -128", 5, 1, 0x80, "bad fixed-offsets" },
	{ "fixed FP -16", 5, 1, 0xf0, "bad fixed-offsets" },
	{ "fixed RA 0", 6, 1, 0, "bad fixed-offsets" },
	{ "fixed RA 1", 6, 1, 1, "bad fixed-offsets" },
	{ "fixed RA 8", 6, 1, 8, "bad fixed-offsets" },
	{ "fixed RA -128", 6, 1, 0x80, "bad fixed-offsets" },
	{ "auxhdr_len 1", 7, 1, 1, "bad fre-len" },
	{ "auxhdr_len all there is", 7, 1, 16, "bad fre-len" },
	{ "auxhdr_len more than there is", 7, 1, 17, "bad freoff" },
	{ "auxhdr_len limit", 7, 1, 255, "bad freoff" },
	{ "num_fdes 0", 8, 4, 0, "sound" },
	{ "num_fdes 2", 8, 4, 2, "bad num-fdes" },
	{ "num_fdes times 16 wraps to 0", 8, 4, 0x10000000, "bad num-fdes" },
	{ "num_fdes times 16 wraps to 16", 8, 4, 0x10000001, "bad num-fdes" },
	{ "num_fdes limit", 8, 4, 0xffffffff, "bad num-fdes" },
	{ "num_fres 0", 12, 4, 0, "sound" },
	{ "num_fres 1", 12, 4, 1, "sound" },
	{ "num_fres limit", 12, 4, 0xffffffff, "sound" },
	{ "fre_len 0", 16, 4, 0, "sound" },
	{ "fre_len 1", 16, 4, 1, "sound" },
	{ "fre_len one more", 16, 4, 17, "bad fre-len" },
	{ "fre_len sum wraps", 16, 4, 0xffffffe4, "bad fre-len" },
	{ "fre_len limit", 16, 4, 0xffffffff, "bad fre-len" },
	{ "fdeoff 1 cuts the table", 20, 4, 1, "bad num-fdes" },
	{ "fdeoff at freoff", 20, 4, 16, "bad num-fdes" },
	{ "fdeoff beyond freoff", 20, 4, 17, "bad fdeoff" },
	{ "fdeoff limit", 20, 4, 0xffffffff, "bad fdeoff" },
	{ "freoff 0", 24, 4, 0, "bad num-fdes" },
	{ "freoff 1", 24, 4, 1, "bad num-fdes" },
	{ "freoff one more", 24, 4, 17, "bad fre-len" },
	{ "freoff at the end", 24, 4, 32, "bad fre-len" },
	{ "freoff beyond the end", 24, 4, 33, "bad freoff" },
	{ "freoff sum wraps", 24, 4, 0xffffffe4, "bad freoff" },
	{ "freoff limit", 24, 4, 0xffffffff, "bad freoff" },
};

static void header_case_desc(const struct header_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(header, header_cases, header_case_desc);

static void section_init_field(struct kunit *test)
{
	const struct header_case *c = test->param_value;
	struct bench *bench = test->priv;

	smallest_section(test, 3, SORTED | PCREL);
	build_patch(&bench->b, c->off, c->value, c->len);
	place(bench, bench->b.bytes, bench->b.len);
	expect_header(test, bench->len, c->want);
}

struct version_case {
	u8	version;
	u8	known_flags;
	u32	len;
};

static const struct version_case version_cases[] = {
	{ 1, 0x03, 56 },
	{ 2, 0x07, 59 },
	{ 3, 0x05, 60 },
};

static void version_desc(const struct version_case *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "V%u", c->version);
}

KUNIT_ARRAY_PARAM(version, version_cases, version_desc);

static void section_init_all_flags(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	struct bench *bench = test->priv;
	unsigned int flags;

	for (flags = 0; flags < 256; flags++) {
		smallest_section(test, c->version, 0);
		build_patch(&bench->b, 3, flags, 1);
		place(bench, bench->b.bytes, bench->b.len);
		expect_header(test, bench->len, flags & ~c->known_flags ?
			      "bad flags" : "sound");
	}
}

static void section_init_all_lengths(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	struct bench *bench = test->priv;
	u32 len;

	smallest_section(test, c->version, SORTED);
	KUNIT_ASSERT_EQ(test, bench->len, c->len);
	for (len = 0; len < 28; len++)
		expect_header(test, len, "bad short");
	for (; len < c->len; len++)
		expect_header(test, len, len < c->len - (c->version == 3 ? 16 : 11) ?
			      "bad freoff" : "bad fre-len");
	expect_header(test, len, "sound");
	expect_header(test, U32_MAX, "sound");
}

static void section_size_leaves_padding(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);
	struct bench *bench = test->priv;
	struct sframe_section sec;

	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	b->tail = 90;
	place_built(bench);
	renew(bench);
	KUNIT_ASSERT_EQ(test, 0, sframe_section_init(&sec, &bench->rd, ADDR,
						     bench->len));
	KUNIT_EXPECT_EQ(test, bench->len, c->len + 90);
	KUNIT_EXPECT_EQ(test, sframe_section_size(&sec), c->len);
}

static struct kunit_case header_tests[] = {
	KUNIT_CASE_PARAM(section_init_field, header_gen_params),
	KUNIT_CASE_PARAM(section_init_all_flags, version_gen_params),
	KUNIT_CASE_PARAM(section_init_all_lengths, version_gen_params),
	KUNIT_CASE_PARAM(section_size_leaves_padding, version_gen_params),
	{}
};

/* ---- sframe_layout: the bytes of each version, as the specification has them ---- */

struct layout_case {
	const char	*name;
	u8		bytes[64];
	u32		len;
	const char	*at_0, *at_1, *at_63;
};

/* A function of 64 bytes, 0x1000 bytes behind the start of the section. */
static const struct layout_case layout_cases[] = {
	{ "V1", {
		0xe2, 0xde, 1, 0x01, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		11, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0,
		0x00, 0x10, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x00,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 56, ROW_0, ROW_1, ROW_4 },
	{ "V2", {
		0xe2, 0xde, 2, 0x01, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		11, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
		0x00, 0x10, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x00,
		0, 0, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 59, ROW_0, ROW_1, ROW_4 },
	{ "V2 relative to the field", {
		0xe2, 0xde, 2, 0x05, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		11, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x00,
		0, 0, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 59, ROW_0, ROW_1, ROW_4 },
	{ "V3", {
		0xe2, 0xde, 3, 0x01, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,
		3, 0, 0x00, 0x00, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 60, ROW_0, ROW_1, ROW_4 },
	{ "V3 relative to the field", {
		0xe2, 0xde, 3, 0x05, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,
		3, 0, 0x00, 0x00, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 60, ROW_0, ROW_1, ROW_4 },
	{ "V3 flexible", {
		0xe2, 0xde, 3, 0x05, 3, 0, 0xf8, 0, 1, 0, 0, 0, 2, 0, 0, 0,
		16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0,
		2, 0, 0x00, 0x01, 0,
		0x00, 0x04, 0x39, 0x08,
		0x01, 0x0a, 0x39, 0x20, 0x00, 0x02, 0xf0
	  }, 60, ROW_0, "sp+32 (c-16) (c-8)", "sp+32 (c-16) (c-8)" },
	{ "V2 of big-endian AArch64", {
		0xde, 0xe2, 2, 0x01, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2,
		0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 20,
		0, 0, 0x10, 0x00, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 2, 0x00,
		0, 0, 0,
		0x00, 0x03, 0x00, 0x01, 0x87, 0x20, 0xe8, 0xe0
	  }, 56, "sp+0 u u", "sp+32 (c-32) (c-24) [s]", "sp+32 (c-32) (c-24) [s]" },
	{ "V3 of big-endian AArch64", {
		0xde, 0xe2, 3, 0x05, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
		0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 16,
		0, 0, 0, 0, 0, 0, 0x0f, 0xe4, 0, 0, 0, 64, 0, 0, 0, 0,
		0, 1, 0x00, 0x00, 0,
		0x00, 0x25, 0x02, 0x00, 0xff, 0xf8
	  }, 55, "sp+512 u (c-8)", "sp+512 u (c-8)", "sp+512 u (c-8)" },
};

static void layout_desc(const struct layout_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(layout, layout_cases, layout_desc);

static void find_row_in_bytes(struct kunit *test)
{
	const struct layout_case *c = test->param_value;

	place(test->priv, c->bytes, c->len);
	expect_at(test, 0xfff, "none");
	expect_at(test, 0x1000, c->at_0);
	expect_at(test, 0x1001, c->at_1);
	expect_at(test, 0x103f, c->at_63);
	expect_at(test, 0x1040, "none");
}

/* The bytes that the builder makes are those of the table above. */
static void builder_makes_these_bytes(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	static const u8 index[] = { 0, 0, 1, 3 };
	const struct layout_case *layout = &layout_cases[index[c->version]];
	struct bench *bench = test->priv;

	smallest_section(test, c->version, SORTED);
	KUNIT_ASSERT_EQ(test, bench->len, layout->len);
	KUNIT_EXPECT_MEMEQ(test, bench->data, layout->bytes, layout->len);
}

static struct kunit_case layout_tests[] = {
	KUNIT_CASE_PARAM(find_row_in_bytes, layout_gen_params),
	KUNIT_CASE_PARAM(builder_makes_these_bytes, version_gen_params),
	{}
};

/* ---- sframe_fde_search: the function that covers an address, and no other ---- */

struct search_case {
	u8	version;
	u8	flags;
};

static const struct search_case search_cases[] = {
	{ 1, SORTED }, { 1, 0 },
	{ 2, SORTED }, { 2, 0 }, { 2, SORTED | PCREL }, { 2, PCREL },
	{ 3, SORTED }, { 3, 0 }, { 3, SORTED | PCREL }, { 3, PCREL },
};

static void search_desc(const struct search_case *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "V%u %s, relative to the %s",
		  c->version, c->flags & SORTED ? "sorted" : "unsorted",
		  c->flags & PCREL ? "field" : "section");
}

KUNIT_ARRAY_PARAM(search, search_cases, search_desc);

/* Function i: 16 bytes at 0x1000 + 0x20 * i, CFA = SP + 8 * (i + 1). */
static void expect_function(struct kunit *test, u32 nr, u32 off)
{
	char want[SECTION_ROW_TEXT] = "none";
	u32 i = (off - 0x1000) / 0x20;

	if (off >= 0x1000 && i < nr && off % 0x20 < 16)
		scnprintf(want, sizeof(want), "sp+%u u (c-8)", 8 * (i + 1));
	expect_at(test, off, want);
}

/* As many functions as there are, each address of each, and the gaps between. */
static void find_fde_every_address(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	u32 nr, i, off;

	for (nr = 0; nr <= 9; nr++) {
		struct build *b = start(test, c->version, c->flags, AMD64);

		for (i = 0; i < nr; i++) {
			u32 k = c->flags & SORTED ? i : nr - 1 - i;

			build_fde(b, 0x1000 + 0x20 * k, 16, ADDR1, 0, 0);
			build_row(b, 0, 0x03, 8 * (k + 1));
		}
		place_built(test->priv);
		for (off = 0xff0; off < 0x1010 + 0x20 * nr; off++)
			expect_function(test, nr, off);
	}
}

/* Size 0 covers nothing, wherever it stands among entries of the same start. */
static void find_fde_same_start(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	u32 real, i;

	for (real = 0; real < 4; real++) {
		struct build *b = start(test, c->version, c->flags, AMD64);

		for (i = 0; i < 4; i++) {
			build_fde(b, 0x1000, i == real ? 16 : 0, ADDR1, 0, 0);
			build_row(b, 0, 0x03, i == real ? 8 : 64);
		}
		place_built(test->priv);
		expect_at(test, 0xfff, "none");
		expect_at(test, 0x1000, ROW_0);
		expect_at(test, 0x100f, ROW_0);
		expect_at(test, 0x1010, "none");
	}
}

/* The sections of a process lie on either side of their code. */
static void find_fde_before_the_section(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	struct build *b = start(test, c->version, c->flags, AMD64);

	build_fde(b, -0x70000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x70000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, -0x70000001, "none");
	expect_at(test, -0x70000000, ROW_0);
	expect_at(test, -0x6ffffff1, ROW_0);
	expect_at(test, -0x6ffffff0, "none");
	expect_at(test, 0x6fffffff, "none");
	expect_at(test, 0x70000000, "sp+16 u (c-8)");
	expect_at(test, 0x7000000f, "sp+16 u (c-8)");
}

static void find_fde_largest(struct kunit *test)
{
	const struct search_case *c = test->param_value;
	struct build *b = start(test, c->version, c->flags, AMD64);

	build_fde(b, 0x1000, 0xffffffff, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	place_built(test->priv);
	expect_at(test, 0xfff, "none");
	expect_at(test, 0x1000, ROW_0);
	expect_at(test, 0x100000ffe, ROW_0);
	expect_at(test, 0x100000fff, "none");
}

static void find_fde_v3_far(struct kunit *test)
{
	struct build *b = start(test, 3, SORTED | PCREL, AMD64);

	build_fde(b, -0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, -0x200000000, ROW_0);
	expect_at(test, 0x20000000f, "sp+16 u (c-8)");
	expect_at(test, 0, "none");
}

static void find_fde_overlapping(struct kunit *test)
{
	struct build *b = start(test, 2, SORTED, AMD64);

	build_fde(b, 0x1000, 0x100, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x1010, 4, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, 0x100f, ROW_0);
	expect_at(test, 0x1010, "sp+16 u (c-8)");
	expect_at(test, 0x1013, "sp+16 u (c-8)");
	expect_at(test, 0x1014, "none");
}

static void find_fde_falsely_sorted(struct kunit *test)
{
	struct build *b = start(test, 2, SORTED, AMD64);

	build_fde(b, 0x2000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x1000, 0, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, 0x1000, "bad fde-order");
}

struct range_case {
	const char	*name;
	s64		start;		/* from the start of the section */
	u32		size;
	const char	*want;		/* at the start */
};

/* Functions live in the lower half of the address space, and end there. */
static const struct range_case range_cases[] = {
	{ "first of all addresses", -(1LL << 46), 16, ROW_0 },
	{ "one below", -(1LL << 46) - 1, 16, "bad fde-range" },
	{ "ends at the last", S64_MAX - (1LL << 46) - 16, 16, ROW_0 },
	{ "ends one behind", S64_MAX - (1LL << 46) - 15, 16,
	  "bad fde-range" },
	{ "largest size wraps", -(1LL << 46) - 16, 0xffffffff, "bad fde-range" },
	{ "start is the least number", -0x7fffffffffffffffLL - 1, 16, "bad fde-range" },
};

static void range_desc(const struct range_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(range, range_cases, range_desc);

static void find_fde_range(struct kunit *test)
{
	const struct range_case *c = test->param_value;
	struct build *b = start(test, 3, 0, AMD64);

	build_fde(b, c->start, c->size, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	place_built(test->priv);
	expect_at(test, c->start, c->want);
}

static struct kunit_case fde_search_tests[] = {
	KUNIT_CASE_PARAM(find_fde_every_address, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_same_start, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_before_the_section, search_gen_params),
	KUNIT_CASE_PARAM(find_fde_largest, search_gen_params),
	KUNIT_CASE(find_fde_v3_far),
	KUNIT_CASE(find_fde_overlapping),
	KUNIT_CASE(find_fde_falsely_sorted),
	KUNIT_CASE_PARAM(find_fde_range, range_gen_params),
	{}
};

/* ---- sframe_fre_walk: the row that holds, in rows of every size ---- */

struct walk_case {
	u8	version;
	u8	fre_type;
};

static const struct walk_case walk_cases[] = {
	{ 1, ADDR1 }, { 1, ADDR2 }, { 1, ADDR4 },
	{ 2, ADDR1 }, { 2, ADDR2 }, { 2, ADDR4 },
	{ 3, ADDR1 }, { 3, ADDR2 }, { 3, ADDR4 },
};

static void walk_desc(const struct walk_case *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "V%u, %u-byte starts", c->version,
		  1 << c->fre_type);
}

KUNIT_ARRAY_PARAM(walk, walk_cases, walk_desc);

static void find_row_every_address(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);
	u32 off;

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	three_rows(b);
	place_built(test->priv);
	expect_at(test, 0x1000, ROW_0);
	for (off = 0x1001; off < 0x1004; off++)
		expect_at(test, off, ROW_1);
	for (; off < 0x1040; off++)
		expect_at(test, off, ROW_4);
	expect_at(test, off, "none");
}

/* Words of 1, 2 and 4 bytes, at their limits. */
static void find_row_word_sizes(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	build_row(b, 0, 0x05, 127, -128);
	build_row(b, 1, 0x25, 32767, -32768);
	build_row(b, 2, 0x45, 0x7fffffff, -0x7fffffff - 1);
	build_row(b, 3, 0x44, -1, 0);
	place_built(test->priv);
	expect_at(test, 0x1000, "sp+127 (c-128) (c-8)");
	expect_at(test, 0x1001, "sp+32767 (c-32768) (c-8)");
	expect_at(test, 0x1002, "sp+2147483647 (c-2147483648) (c-8)");
	expect_at(test, 0x1003, "fp-1 (c+0) (c-8)");
}

/* No row holds ahead of the first; one at the end of a function never does. */
static void find_row_outside_of_rows(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 8, c->fre_type, 0, 0);
	build_row(b, 2, 0x03, 8);
	build_row(b, 8, 0x03, 16);
	build_row(b, 255, 0x03, 24);
	place_built(test->priv);
	expect_at(test, 0x1000, "none");
	expect_at(test, 0x1001, "none");
	expect_at(test, 0x1002, ROW_0);
	expect_at(test, 0x1007, ROW_0);
	expect_at(test, 0x1008, "none");
}

static void find_row_must_ascend(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 4, 0x03, 16);
	build_row(b, 4, 0x03, 24);
	place_built(test->priv);
	expect_at(test, 0x1003, ROW_0);
	expect_at(test, 0x1004, "bad fre-order");
}

/* More rows are promised than there are bytes: only who looks there is told. */
static void find_row_cut(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	three_rows(b);
	if (c->version == 3)
		b->fres[0] = 4;
	else
		b->fdes[0].num_fres = 4;
	place_built(test->priv);
	expect_at(test, 0x1003, ROW_1);
	expect_at(test, 0x1004, "bad fre-cut");
}

/* Without words there is no caller (V2 erratum 2, V3). */
static void find_row_outermost(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	build_row(b, 0, 0x01);
	place_built(test->priv);
	expect_at(test, 0x1000, "- - undefined");
}

/* A window on the rows is refilled: 40 rows of 10 bytes, then of 6. */
static void find_row_many(struct kunit *test)
{
	char want[SECTION_ROW_TEXT];
	struct build *b;
	u32 i;

	b = start(test, 3, SORTED, AMD64);
	build_fde(b, 0x1000, 255, ADDR1, 0, 0);
	for (i = 0; i < 40; i++)
		build_row(b, 6 * i, 0x45, 8 * i, -8);
	place_built(test->priv);
	for (i = 0; i < 240; i++) {
		scnprintf(want, sizeof(want), "sp+%u (c-8) (c-8)", 8 * (i / 6));
		expect_at(test, 0x1000 + i, want);
	}
}

static void find_row_none_v3(struct kunit *test)
{
	struct build *b = start(test, 3, SORTED, AMD64);

	build_fde(b, 0x1000, 9, ADDR1, 0, 0);
	build_fde(b, 0x1010, 9, SIGNAL, 0, 0);
	place_built(test->priv);
	expect_at(test, 0x1008, "- - undefined");
	expect_at(test, 0x1009, "none");
	expect_at(test, 0x1010, "signal");
}

static void find_row_none_v1_v2(struct kunit *test)
{
	u8 version;

	for (version = 1; version <= 2; version++) {
		struct build *b = start(test, version, SORTED, AMD64);

		build_fde(b, 0x1000, 9, ADDR1, 0, 0);
		place_built(test->priv);
		expect_at(test, 0x1000, "none");
	}
}

static struct kunit_case fre_walk_tests[] = {
	KUNIT_CASE_PARAM(find_row_every_address, walk_gen_params),
	KUNIT_CASE_PARAM(find_row_word_sizes, walk_gen_params),
	KUNIT_CASE_PARAM(find_row_outside_of_rows, walk_gen_params),
	KUNIT_CASE_PARAM(find_row_must_ascend, walk_gen_params),
	KUNIT_CASE_PARAM(find_row_cut, walk_gen_params),
	KUNIT_CASE_PARAM(find_row_outermost, walk_gen_params),
	KUNIT_CASE(find_row_many),
	KUNIT_CASE(find_row_none_v3),
	KUNIT_CASE(find_row_none_v1_v2),
	{}
};

/* ---- single rows: words and what they mean ---- */

struct row_case {
	const char	*name;
	u8		version;
	u8		abi;
	u8		info;		/* of the FDE */
	u8		info2;
	u8		row_info;
	u8		nr;
	s32		words[15];
	const char	*want;
};

static void row_desc(const struct row_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

static void find_row_of_words(struct kunit *test)
{
	const struct row_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, c->abi);

	build_fde(b, 0x1000, 64, c->info, c->info2, 0);
	build_words(b, 0, c->row_info, c->words, c->nr);
	place_built(test->priv);
	expect_at(test, 0x1000, c->want);
}

/* Control words: 8 per register number, 2 = dereference, 1 = register. */
#define FLEX_ROW(name, info, nr, words, want) \
	{ name, 3, AMD64, ADDR1, FLEX, info, nr, words, want }
#define WORDS(...)	{ __VA_ARGS__ }

static const struct row_case flex_cases[] = {
	FLEX_ROW("no words: outermost", 0x01, 0, WORDS(0), "- - undefined"),
	FLEX_ROW("CFA on SP", 0x04, 2, WORDS(0x39, 8), "sp+8 u (c-8)"),
	FLEX_ROW("CFA on FP", 0x04, 2, WORDS(0x31, 16), "fp+16 u (c-8)"),
	FLEX_ROW("CFA on r0", 0x04, 2, WORDS(0x01, 8), "r0+8 u (c-8)"),
	FLEX_ROW("CFA on r10, as DRAP has it", 0x04, 2, WORDS(0x51, 0), "r10+0 u (c-8)"),
	FLEX_ROW("CFA on r15, the last", 0x04, 2, WORDS(0x79, -1), "r15-1 u (c-8)"),
	FLEX_ROW("CFA on r16, which 1 byte can say", 0x04, 2, WORDS(0x81, 0), "refused regnum"),
	FLEX_ROW("CFA on r31", 0x04, 2, WORDS(0xf9, 0), "refused regnum"),
	FLEX_ROW("CFA from memory at FP", 0x04, 2, WORDS(0x33, -8), "(fp-8) u (c-8)"),
	FLEX_ROW("CFA on CFA", 0x04, 2, WORDS(0x02, 8), "bad flex-cfa"),
	FLEX_ROW("CFA on CFA, unused bit", 0x04, 2, WORDS(0x04, 8), "bad flex-cfa"),
	FLEX_ROW("CFA padding", 0x04, 2, WORDS(0, 8), "bad flex-cfa"),
	FLEX_ROW("base bit of the row says nothing", 0x05, 2, WORDS(0x31, 16), "fp+16 u (c-8)"),
	FLEX_ROW("unused bit of the control word", 0x04, 2, WORDS(0x3d, 8), "sp+8 u (c-8)"),
	FLEX_ROW("RA in memory", 0x08, 4, WORDS(0x39, 8, 0x02, -24), "sp+8 u (c-24)"),
	FLEX_ROW("RA in a register", 0x08, 4, WORDS(0x39, 8, 0x01, 0), "sp+8 u r0+0"),
	FLEX_ROW("RA at a register", 0x08, 4, WORDS(0x39, 8, 0x33, 8), "sp+8 u (fp+8)"),
	FLEX_ROW("RA is an address", 0x08, 4, WORDS(0x39, 8, 0x04, 24), "sp+8 u c+24"),
	FLEX_ROW("RA on r16", 0x08, 4, WORDS(0x39, 8, 0x81, 0), "refused regnum"),
	FLEX_ROW("RA by default, FP in memory", 0x0a, 5, WORDS(0x39, 32, 0, 0x02, -16),
		 "sp+32 (c-16) (c-8)"),
	FLEX_ROW("RA by default, FP at FP", 0x0a, 5, WORDS(0x33, -8, 0, 0x33, 0),
		 "(fp-8) (fp+0) (c-8)"),
	FLEX_ROW("RA and FP", 0x0c, 6, WORDS(0x39, 16, 0x02, -8, 0x02, -16), "sp+16 (c-16) (c-8)"),
	FLEX_ROW("FP in a register", 0x0c, 6, WORDS(0x39, 16, 0x02, -16, 0x61, 0),
		 "sp+16 r12+0 (c-16)"),
	FLEX_ROW("FP on r16", 0x0c, 6, WORDS(0x39, 16, 0x02, -16, 0x81, 0), "refused regnum"),
	FLEX_ROW("offset -128", 0x04, 2, WORDS(0x39, -128), "sp-128 u (c-8)"),
	FLEX_ROW("offset 127", 0x04, 2, WORDS(0x39, 127), "sp+127 u (c-8)"),
	FLEX_ROW("offset 32767", 0x24, 2, WORDS(0x39, 32767), "sp+32767 u (c-8)"),
	FLEX_ROW("offset -32768", 0x24, 2, WORDS(0x39, -32768), "sp-32768 u (c-8)"),
	FLEX_ROW("offset of 4 bytes", 0x44, 2, WORDS(0x39, 0x7fffffff), "sp+2147483647 u (c-8)"),
	FLEX_ROW("register of 2 bytes", 0x24, 2, WORDS(0xffff, 0), "refused regnum"),
	FLEX_ROW("register 0x1fffffff (E8)", 0x4c, 6, WORDS(0x39, 8, 0x02, -8, -5, 0),
		 "refused regnum"),
	FLEX_ROW("1 word", 0x02, 1, WORDS(0x39), "bad nr-words"),
	FLEX_ROW("3 words", 0x06, 3, WORDS(0x39, 8, 0), "bad nr-words"),
	FLEX_ROW("4 words, FP without offset", 0x08, 4, WORDS(0x39, 8, 0, 0x33), "bad nr-words"),
	FLEX_ROW("5 words, one left", 0x0a, 5, WORDS(0x39, 8, 0x02, -8, 0x02), "bad nr-words"),
	FLEX_ROW("6 words, one left", 0x0c, 6, WORDS(0x39, 8, 0, 0x02, -16, 0), "bad nr-words"),
	FLEX_ROW("7 words", 0x0e, 7, WORDS(0x39, 8, 0x02, -8, 0x02, -16, 0), "bad nr-words"),
	FLEX_ROW("15 words", 0x1e, 15, WORDS(0x39, 8, 0x02, -8, 0x02, -16), "bad nr-words"),
	FLEX_ROW("word size 3", 0x64, 2, WORDS(0x39, 8), "bad word-size"),
};

KUNIT_ARRAY_PARAM(flex, flex_cases, row_desc);

static struct kunit_case flex_tests[] = {
	KUNIT_CASE_PARAM(find_row_of_words, flex_gen_params),
	{}
};

/* CFA, RA, FP; the highest bit of a row's info: RA carries a PAC. */
static const struct row_case aarch64_cases[] = {
	{ "1 word: CFA", 2, AARCH64, ADDR1, 0, 0x03, 1, { 0 }, "sp+0 u u" },
	{ "1 word: CFA on FP", 2, AARCH64, ADDR1, 0, 0x02, 1, { 16 }, "fp+16 u u" },
	{ "2 words: CFA, RA", 2, AARCH64, ADDR1, 0, 0x05, 2, { 32, -24 }, "sp+32 u (c-24)" },
	{ "3 words: CFA, RA, FP", 2, AARCH64, ADDR1, 0, 0x07, 3, { 32, -24, -32 },
	  "sp+32 (c-32) (c-24)" },
	{ "3 words, V1", 1, AARCH64, ADDR1, 0, 0x07, 3, { 32, -24, -32 }, "sp+32 (c-32) (c-24)" },
	{ "3 words, V3", 3, AARCH64, ADDR1, 0, 0x07, 3, { 32, -24, -32 }, "sp+32 (c-32) (c-24)" },
	{ "3 words, big-endian", 2, AARCH64_BE, ADDR1, 0, 0x27, 3, { 512, -504, -512 },
	  "sp+512 (c-512) (c-504)" },
	{ "RA at CFA + 0", 2, AARCH64, ADDR1, 0, 0x05, 2, { 32, 0 }, "sp+32 u (c+0)" },
	{ "PAC, RA in its register", 2, AARCH64, ADDR1, 0, 0x83, 1, { 0 }, "sp+0 u u [s]" },
	{ "PAC, RA in memory", 2, AARCH64, ADDR1, 0, 0x87, 3, { 32, -24, -32 },
	  "sp+32 (c-32) (c-24) [s]" },
	{ "PAC, key B", 2, AARCH64, KEY_B, 0, 0x83, 1, { 0 }, "sp+0 u u [s]" },
	{ "PAC, V3", 3, AARCH64, KEY_B, 0, 0x85, 2, { 32, -24 }, "sp+32 u (c-24) [s]" },
	{ "PAC, outermost", 2, AARCH64, ADDR1, 0, 0x81, 0, { 0 }, "- - undefined [s]" },
	{ "key B says nothing of a row", 2, AARCH64, KEY_B, 0, 0x03, 1, { 0 }, "sp+0 u u" },
	{ "4 words", 2, AARCH64, ADDR1, 0, 0x09, 4, { 8, -8, -16, -24 }, "bad nr-words" },
	{ "15 words", 2, AARCH64, ADDR1, 0, 0x1f, 15, { 8 }, "bad nr-words" },
	{ "flexible, RA in its register", 3, AARCH64, ADDR1, FLEX, 0x24, 2, { 0xf9, 0 },
	  "sp+0 u u" },
	{ "flexible, r31 is the last", 3, AARCH64, ADDR1, FLEX, 0x24, 2, { 0x101, 0 },
	  "refused regnum" },
};

KUNIT_ARRAY_PARAM(aarch64, aarch64_cases, row_desc);

static struct kunit_case aarch64_tests[] = {
	KUNIT_CASE_PARAM(find_row_of_words, aarch64_gen_params),
	{}
};

/* RA is where the ABI says, so rows have a word for CFA and one for FP. */
static const struct row_case amd64_cases[] = {
	{ "1 word", 2, AMD64, ADDR1, 0, 0x03, 1, { 8 }, "sp+8 u (c-8)" },
	{ "2 words", 2, AMD64, ADDR1, 0, 0x05, 2, { 16, -16 }, "sp+16 (c-16) (c-8)" },
	{ "2 words on FP", 2, AMD64, ADDR1, 0, 0x04, 2, { 16, -16 }, "fp+16 (c-16) (c-8)" },
	{ "FP at CFA + 0", 2, AMD64, ADDR1, 0, 0x05, 2, { 16, 0 }, "sp+16 (c+0) (c-8)" },
	{ "CFA below SP", 2, AMD64, ADDR1, 0, 0x03, 1, { -8 }, "sp-8 u (c-8)" },
	{ "3 words", 2, AMD64, ADDR1, 0, 0x07, 3, { 8, -8, -16 }, "bad nr-words" },
	{ "15 words", 2, AMD64, ADDR1, 0, 0x1f, 15, { 8 }, "bad nr-words" },
	{ "word size 3", 2, AMD64, ADDR1, 0, 0x63, 1, { 8 }, "bad word-size" },
	{ "word size 3, no words", 2, AMD64, ADDR1, 0, 0x61, 0, { 0 }, "bad word-size" },
	{ "row type 3", 2, AMD64, 0x03, 0, 0x03, 1, { 8 }, "bad fre-type" },
	{ "row type 15", 2, AMD64, 0x0f, 0, 0x03, 1, { 8 }, "bad fre-type" },
	{ "FDE type 2", 3, AMD64, ADDR1, 2, 0x03, 1, { 8 }, "refused fde-type" },
	{ "FDE type 31", 3, AMD64, ADDR1, 31, 0x03, 1, { 8 }, "refused fde-type" },
	{ "unused bits of info2", 3, AMD64, ADDR1, 0xe0, 0x03, 1, { 8 }, "sp+8 u (c-8)" },
	{ "unused bit of info", 3, AMD64, 0x40, 0, 0x03, 1, { 8 }, "sp+8 u (c-8)" },
};

KUNIT_ARRAY_PARAM(amd64, amd64_cases, row_desc);

static struct kunit_case amd64_tests[] = {
	KUNIT_CASE_PARAM(find_row_of_words, amd64_gen_params),
	{}
};

/* ---- sframe_pcmask: repetitive code counts from the start of its function ---- */

struct pcmask_case {
	const char	*name;
	u8		version;
	u8		abi;
	u32		start;
	u8		rep_size;	/* as it is stored */
	u8		block;		/* as it is meant; 0: refused */
	u8		second;		/* start of the second row */
};

static const struct pcmask_case pcmask_cases[] = {
	{ "V1 knows of 16 only", 1, AMD64, 0x1000, 0, 16, 11 },
	{ "V2 .plt", 2, AMD64, 0x1000, 16, 16, 11 },
	{ "V3 .plt", 3, AMD64, 0x1000, 16, 16, 11 },
	{ "V3 .plt with IBT", 3, AMD64, 0x1000, 16, 16, 9 },
	{ "V3 not at a multiple", 3, AMD64, 0x1003, 7, 7, 5 },
	{ "V3 blocks of 2", 3, AMD64, 0x1001, 2, 2, 1 },
	{ "V3 largest block", 3, AMD64, 0x1001, 255, 255, 254 },
	{ "V1 of AArch64 has no size", 1, AARCH64, 0x1000, 0, 0, 11 },
	{ "V2 block of 0", 2, AMD64, 0x1000, 0, 0, 11 },
	{ "V3 block of 0", 3, AMD64, 0x1000, 0, 0, 11 },
};

static void pcmask_desc(const struct pcmask_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pcmask, pcmask_cases, pcmask_desc);

static void find_row_in_blocks(struct kunit *test)
{
	const struct pcmask_case *c = test->param_value;
	struct build *b = start(test, c->version, SORTED, c->abi);
	u32 block, off;

	build_fde(b, c->start, 3 * (c->block ?: 16), PCMASK, 0, c->rep_size);
	build_row(b, 0, 0x03, 8);
	build_row(b, c->second, 0x03, 16);
	place_built(test->priv);
	if (!c->block) {
		expect_at(test, c->start, "bad rep-size");
		return;
	}
	expect_at(test, c->start - 1, "none");
	for (block = 0; block < 3; block++) {
		for (off = 0; off < c->block; off++)
			expect_at(test, c->start + block * c->block + off,
				  off < c->second ? "sp+8 u (c-8)" :
						    "sp+16 u (c-8)");
	}
	expect_at(test, c->start + 3 * c->block, "none");
}

/* Erratum E6: the linker says 16; at the first byte of a slot it is 8. */
static void find_row_mends_plt_got(struct kunit *test)
{
	struct build *b = start(test, 3, SORTED, AMD64);

	build_fde(b, 0x1000, 16, PCMASK, 0, 8);
	build_row(b, 0, 0x03, 16);
	place_built(test->priv);
	expect_at(test, 0x1000, "sp+8 u (c-8)");
	expect_at(test, 0x1007, "sp+8 u (c-8)");
	expect_at(test, 0x1008, "sp+8 u (c-8)");
}

static struct kunit_case pcmask_tests[] = {
	KUNIT_CASE_PARAM(find_row_in_blocks, pcmask_gen_params),
	KUNIT_CASE(find_row_mends_plt_got),
	{}
};

/* ---- whole sections, those of the host's tests ---- */

static void section_case_desc(const struct section_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

static void section_patch_desc(const struct section_patch *c, char *desc)
{
	scnprintf(desc, KUNIT_PARAM_DESC_SIZE, "patched %s", c->name);
}

KUNIT_ARRAY_PARAM(section, section_cases, section_case_desc);
KUNIT_ARRAY_PARAM(patch, section_patches, section_patch_desc);

static struct bench *place_case(struct kunit *test)
{
	struct bench *bench = test->priv;

	make_section_case(&bench->b, test->param_value);
	place(bench, bench->b.bytes, bench->b.len);
	return bench;
}

static void expect_listing(struct kunit *test, const char *want)
{
	struct bench *bench = test->priv;

	renew(bench);
	section_text(&bench->rd, ADDR, bench->len, bench->text);
	KUNIT_EXPECT_STREQ(test, bench->text, want);
	KUNIT_EXPECT_FALSE(test, bench->outside);
}

static void list_section(struct kunit *test)
{
	const struct section_case *c = test->param_value;

	place_case(test);
	expect_listing(test, c->expect);
}

static void list_patched_section(struct kunit *test)
{
	const struct section_patch *c = test->param_value;
	struct bench *bench = test->priv;

	make_section_patch(&bench->b, c);
	place(bench, bench->b.bytes, bench->b.len);
	expect_listing(test, c->expect);
}

static struct kunit_case section_tests[] = {
	KUNIT_CASE_PARAM(list_section, section_gen_params),
	KUNIT_CASE_PARAM(list_patched_section, patch_gen_params),
	{}
};

/* ---- whatever happens to those sections ---- */

/* Addresses worth asking for: in the functions of most cases, and beside. */
static const u64 some_pcs[] = {
	ADDR + 0x1000, ADDR + 0x1004, ADDR + 0x1040, ADDR + 0x300000, 0, U64_MAX,
};

/* Is this an answer that the decoder may give for arbitrary bytes? */
static void expect_answers(struct kunit *test, u32 what)
{
	struct bench *bench = test->priv;
	struct sframe_section sec;
	struct sframe_row row;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(bench);
		err = find_row(bench, some_pcs[i], &sec, &row);
		if (bench->outside)
			KUNIT_FAIL(test, "%u: read outside", what);
		if (err && err != -ENOENT && err != -EBADMSG && err != -EOPNOTSUPP)
			KUNIT_FAIL(test, "%u: returned %d", what, err);
		if ((err == -EBADMSG || err == -EOPNOTSUPP) &&
		    bench->rd.fault == SFRAME_FAULT_NONE)
			KUNIT_FAIL(test, "%u: no fault named", what);
	}
}

/* The n-th read fails: so does the look-up, at once and with that word. */
static void find_row_read_fails(struct kunit *test)
{
	struct bench *bench = place_case(test);
	struct sframe_section sec;
	struct sframe_row row;
	u32 n, calls;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(bench);
		find_row(bench, some_pcs[i], &sec, &row);
		calls = bench->calls;
		for (n = 1; n <= calls; n++) {
			renew(bench);
			bench->fail_at = n;
			err = find_row(bench, some_pcs[i], &sec, &row);
			KUNIT_EXPECT_EQ_MSG(test, err, -EFAULT, "read %u", n);
			KUNIT_EXPECT_EQ(test, bench->calls, n);
			KUNIT_EXPECT_EQ_MSG(test, bench->rd.fault,
					    SFRAME_FAULT_NONE, "read %u", n);
		}
	}
}

static struct kunit_case reader_fault_tests[] = {
	KUNIT_CASE_PARAM(find_row_read_fails, section_gen_params),
	{}
};

/* A read costs its bytes and 32, a row 16. Too little by one is too little. */
static void find_row_budget(struct kunit *test)
{
	struct bench *bench = place_case(test);
	struct sframe_section sec;
	struct sframe_row row;
	u32 budget, cost;
	int err, want;

	renew(bench);
	want = find_row(bench, ADDR + 0x1004, &sec, &row);
	cost = U32_MAX - bench->rd.budget;
	for (budget = 0; budget <= cost; budget++) {
		renew(bench);
		bench->rd.budget = budget;
		err = find_row(bench, ADDR + 0x1004, &sec, &row);
		if (err != (budget < cost ? -E2BIG : want))
			KUNIT_FAIL(test, "budget %u of %u: %d", budget, cost, err);
		if (bench->calls * 32 > budget)
			KUNIT_FAIL(test, "%u reads for %u", bench->calls, budget);
		if (err == -E2BIG && bench->rd.fault)
			KUNIT_FAIL(test, "budget %u: blames the section", budget);
	}
}

/* The smallest V3 section: header 28, entry 16, attribute 5, rows 11, 4 reads, 2 rows. */
static void find_row_cost(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct sframe_section sec;
	struct sframe_row row;

	smallest_section(test, 3, SORTED);
	renew(bench);
	KUNIT_EXPECT_EQ(test, 0, find_row(bench, ADDR + 0x1000, &sec, &row));
	KUNIT_EXPECT_EQ(test, U32_MAX - bench->rd.budget, 28 + 16 + 5 + 11 + 4 * 32 + 2 * 16);
	KUNIT_EXPECT_EQ(test, bench->calls, 4);
}

/* @nr entries of the same start and size in a buffer of their own. */
static void find_among_many(struct kunit *test, u8 flags, u32 func_size, u64 off)
{
	const u32 nr = 200000, fde_size = sizeof(struct sframe_raw_fde_v2);
	struct sframe_raw_fde_v2 fde = { .start = 0x1000, .size = func_size };
	struct build *b = start(test, 2, flags, AMD64);
	struct bench *bench = test->priv;
	struct sframe_section sec;
	struct sframe_row row;
	u8 *bytes;
	u32 i;

	build_finish(b);
	build_patch(b, 8, nr, 4);
	build_patch(b, 24, nr * fde_size, 4);
	bytes = vzalloc(28 + nr * fde_size);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memcpy(bytes, b->bytes, 28);
	for (i = 0; i < nr; i++)
		memcpy(bytes + 28 + i * fde_size, &fde, fde_size);
	bench->data = bytes;
	bench->len = 28 + nr * fde_size;
	renew(bench);
	bench->rd.budget = 16384;
	KUNIT_EXPECT_EQ(test, -E2BIG, find_row(bench, ADDR + off, &sec, &row));
	KUNIT_EXPECT_LE(test, bench->calls, 16384 / (32 + fde_size) + 1);
	vfree(bytes);
}

static void find_fde_unsorted_is_bounded(struct kunit *test)
{
	find_among_many(test, 0, 16, 0x2000);
}

static void find_fde_same_starts_is_bounded(struct kunit *test)
{
	find_among_many(test, SORTED, 0, 0x1000);
}

static struct kunit_case budget_tests[] = {
	KUNIT_CASE_PARAM(find_row_budget, section_gen_params),
	KUNIT_CASE(find_row_cost),
	KUNIT_CASE(find_fde_unsorted_is_bounded),
	KUNIT_CASE(find_fde_same_starts_is_bounded),
	{}
};

/*
 * Here the reader trusts: if the decoder asked for a byte behind the section,
 * it would touch the page behind it.
 */
static void find_row_truncated(struct kunit *test)
{
	struct bench *bench = place_case(test);
	u32 len;

	bench->trusting = true;
	for (len = 0; len < bench->b.len; len++) {
		place(bench, bench->b.bytes, len);
		expect_answers(test, len);
	}
}

static struct kunit_case truncation_tests[] = {
	KUNIT_CASE_PARAM(find_row_truncated, section_gen_params),
	{}
};

static void find_row_bit_flipped(struct kunit *test)
{
	struct bench *bench = place_case(test);
	u32 bit;

	bench->trusting = true;
	for (bit = 0; bit < 8 * bench->len; bit++) {
		bench->b.bytes[bit / 8] ^= 1 << bit % 8;
		place(bench, bench->b.bytes, bench->len);
		expect_answers(test, bit);
		bench->b.bytes[bit / 8] ^= 1 << bit % 8;
	}
}

static struct kunit_case bit_flip_tests[] = {
	KUNIT_CASE_PARAM(find_row_bit_flipped, section_gen_params),
	{}
};

/* The listing reads all there is, up to the last byte ahead of the guard page. */
static void list_section_at_guard_page(struct kunit *test)
{
	const struct section_case *c = test->param_value;
	struct bench *bench = place_case(test);

	bench->trusting = true;
	expect_listing(test, c->expect);
}

static struct kunit_case guard_page_tests[] = {
	KUNIT_CASE_PARAM(list_section_at_guard_page, section_gen_params),
	{}
};

/* ---- sframe_user_memory: sections in mappings of a process ---- */

struct user_reader {
	struct sframe_reader	rd;
	unsigned long		hole;	/* unmapped after the first read */
	u64			change;	/* address of a byte that then becomes 0xff */
	bool			changed;
};

static int read_user(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

static int read_user_nofault(struct sframe_reader *rd, void *dst, u64 addr,
			     u32 len)
{
	return copy_from_user_nofault(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

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

struct user_case {
	const char	*name;
	int (*read)(struct sframe_reader *rd, void *dst, u64 addr, u32 len);
};

static const struct user_case user_cases[] = {
	{ "may fault", read_user },
	{ "must not fault", read_user_nofault },
};

static void user_desc(const struct user_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(user, user_cases, user_desc);

/* The section that has been built. */
static void store_built(struct kunit *test, unsigned long addr)
{
	struct bench *bench = test->priv;

	user_store(test, addr, bench->b.bytes, bench->b.len);
}

static void user_text(struct sframe_reader *rd, unsigned long addr, u32 len,
		      u64 pc, char *text)
{
	struct sframe_section sec;
	struct sframe_row row;
	int err;

	rd->budget = U32_MAX;
	rd->fault = SFRAME_FAULT_NONE;
	err = sframe_section_init(&sec, rd, addr, len);
	if (!err)
		err = sframe_find_row(&sec, rd, pc, &row);
	if (err)
		error_text(rd, err, text);
	else
		section_row_text(sec.abi, &row, text);
}

static void expect_user(struct kunit *test, unsigned long addr, u64 off,
			const char *want)
{
	const struct user_case *c = test->param_value;
	struct sframe_reader rd = { .read = c->read };
	struct bench *bench = test->priv;
	char got[SECTION_ROW_TEXT];

	user_text(&rd, addr, bench->b.len, addr + off, got);
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

/*
 * @present bytes, fewer than 60, are there: 28 of header, 16 of the entry, 5 of
 * the attribute, and rows of 3, 4 and 4. That a row holds, the next one tells.
 */
static void expect_half(struct kunit *test, unsigned long addr, u32 present)
{
	u32 off;

	expect_user(test, addr, 0xfff, present >= 44 ? "none" : "unreadable");
	expect_user(test, addr, 0x1000, present >= 56 ? ROW_0 : "unreadable");
	for (off = 0x1001; off < 0x1040; off++)
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
		struct bench *bench = test->priv;

		addr = user_map(test, 1) + PAGE_SIZE - i;
		user_store(test, addr, bench->b.bytes, i);
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

/* No user may have a section in the kernel, or at the end of all addresses. */
static void find_row_user_not_users(struct kunit *test)
{
	struct bench *bench = test->priv;

	user_map(test, 1);
	smallest_section(test, 3, SORTED | PCREL);
	expect_user(test, (unsigned long)bench->data, 0x1000, "unreadable");
	expect_user(test, -28UL, 0x1000, "unreadable");
	expect_user(test, 0, 0x1000, "unreadable");
}

/* Memory of a mapping that nobody has touched yet. */
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

/* The bounds of the header hold, whatever the bytes become later. */
static void find_row_user_changes(struct kunit *test)
{
	unsigned long addr = user_map(test, 1) + PAGE_SIZE - 60;
	struct user_reader user = { .rd.read = read_user_then_change };
	struct bench *bench = test->priv;
	char got[SECTION_ROW_TEXT];
	u32 i;

	smallest_section(test, 3, SORTED | PCREL);
	for (i = 0; i < 60; i++) {
		store_built(test, addr);
		user.change = addr + i;
		user.changed = false;
		user_text(&user.rd, addr, bench->b.len, addr + 0x1000, got);
		KUNIT_EXPECT_STRNEQ_MSG(test, got, "unreadable", "byte %u", i);
		/* What has been read is not read again. */
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
	struct bench *bench = test->priv;
	char got[SECTION_ROW_TEXT];

	smallest_section(test, 3, SORTED | PCREL);
	store_built(test, page - 28);
	user_text(&user.rd, page - 28, bench->b.len, page - 28 + 0x1000, got);
	KUNIT_EXPECT_STREQ(test, got, "unreadable");
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
	{}
};

#define SUITE(which)						\
	static struct kunit_suite which##_suite = {		\
		.name = "sframe_" #which,			\
		.init = bench_init,				\
		.test_cases = which##_tests,			\
	}

SUITE(header);
SUITE(layout);
SUITE(fde_search);
SUITE(fre_walk);
SUITE(amd64);
SUITE(aarch64);
SUITE(flex);
SUITE(pcmask);
SUITE(section);
SUITE(reader_fault);
SUITE(budget);
SUITE(truncation);
SUITE(bit_flip);
SUITE(guard_page);
SUITE(user_memory);

kunit_test_suites(&header_suite, &layout_suite, &fde_search_suite,
		  &fre_walk_suite, &amd64_suite, &aarch64_suite, &flex_suite,
		  &pcmask_suite, &section_suite, &reader_fault_suite,
		  &budget_suite, &truncation_suite, &bit_flip_suite,
		  &guard_page_suite, &user_memory_suite);

MODULE_DESCRIPTION("KUnit tests of the SFrame decoder");
MODULE_LICENSE("GPL");
