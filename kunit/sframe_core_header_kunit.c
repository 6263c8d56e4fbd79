// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: the header, and the bytes of each version. */
#include "core_scene.h"

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

NAMED_CASES(header);

static void section_init_field(struct kunit *test)
{
	const struct header_case *c = test->param_value;
	struct core_scene *scene = test->priv;

	smallest_section(test, 3, SORTED | PCREL);
	build_patch(&scene->b, c->off, c->value, c->len);
	place_section(scene, scene->b.bytes, scene->b.len);
	expect_header(test, scene->len, c->want);
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
	struct core_scene *scene = test->priv;
	unsigned int flags;

	for (flags = 0; flags < 256; flags++) {
		smallest_section(test, c->version, 0);
		build_patch(&scene->b, 3, flags, 1);
		place_section(scene, scene->b.bytes, scene->b.len);
		expect_header(test, scene->len, flags & ~c->known_flags ?
			      "bad flags" : "sound");
	}
}

static void section_init_all_lengths(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	struct core_scene *scene = test->priv;
	u32 len;

	smallest_section(test, c->version, SORTED);
	KUNIT_ASSERT_EQ(test, scene->len, c->len);
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
	struct build *b = build_anew(test, c->version, SORTED, AMD64);
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;

	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	b->tail = 90;
	place_built(scene);
	renew(scene);
	KUNIT_ASSERT_EQ(test, 0, sframe_header_read(&hdr, &scene->rd, ADDR,
						    scene->len));
	KUNIT_EXPECT_EQ(test, scene->len, c->len + 90);
	KUNIT_EXPECT_EQ(test, sframe_header_span(&hdr), c->len);
}

static struct kunit_case header_tests[] = {
	KUNIT_CASE_PARAM(section_init_field, header_gen_params),
	KUNIT_CASE_PARAM(section_init_all_flags, version_gen_params),
	KUNIT_CASE_PARAM(section_init_all_lengths, version_gen_params),
	KUNIT_CASE_PARAM(section_size_leaves_padding, version_gen_params),
	{}
};

struct layout_case {
	const char	*name;
	u8		bytes[64];
	u32		len;
	const char	*at_0, *at_1, *at_63;
};

/* A function of 64 bytes, 0x1000 bytes after the start of the section. */
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

NAMED_CASES(layout);

static void find_row_in_bytes(struct kunit *test)
{
	const struct layout_case *c = test->param_value;

	place_section(test->priv, c->bytes, c->len);
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
	struct core_scene *scene = test->priv;

	smallest_section(test, c->version, SORTED);
	KUNIT_ASSERT_EQ(test, scene->len, layout->len);
	KUNIT_EXPECT_MEMEQ(test, scene->data, layout->bytes, layout->len);
}

static struct kunit_case layout_tests[] = {
	KUNIT_CASE_PARAM(find_row_in_bytes, layout_gen_params),
	KUNIT_CASE_PARAM(builder_makes_these_bytes, version_gen_params),
	{}
};

CORE_SUITE(header);
CORE_SUITE(layout);
