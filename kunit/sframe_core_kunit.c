// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the decoder. Expected rows are taken from the specification, and written out.
 *
 * All sections end at the end of a page, and the next page is not mapped: a read after their end is
 * an oops. An answer of the decoder is compared as a text: the row's (section_builder.h), or
 * "none", "signal", "unreadable", "budget", "bad DEFECT" or "refused DEFECT".
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "common.h"
#include "section_builder.h"
#include "sframe_find.h"
#include "walk/user.h"

/* The address of the sections, as far as the decoder knows. */
#define ADDR		(BIT_ULL(46))

struct core_scene {
	/* the reader; decode_row() counts the reads that it makes with it, and may let one fail */
	struct sframe_reader	rd;
	const u8		*data;	/* the section, up to the end of @page */
	u32			len;	/* bytes of the section */
	u32			calls;	/* reads; the header is one */
	u32			fail_at;	/* the read that fails; 1 is the first, 0 is none */
	bool			outside;	/* true if a read was outside of the section */
	u8			*page;	/* the page after it is not mapped */
	struct build		b;
};

/* The function of most tests, its rows as they are stored, and as they are decoded. */
#define ONE	"0x1000 64: 0 3 8, 1 5 16 -16, 4 4 16 -16"
#define ROW_0	"sp+8 u (c-8)"
#define ROW_1	"sp+16 (c-16) (c-8)"
#define ROW_4	"fp+16 (c-16) (c-8)"

static bool is_read(struct core_scene *scene, u64 off, u32 len)
{
	if (++scene->calls == scene->fail_at)
		return false;
	if (off <= scene->len && len <= scene->len - off)
		return true;
	scene->outside = true;
	return false;
}

static __always_inline bool scene_get(const struct sframe_header *hdr, struct sframe_reader *rd,
				      u64 addr, u32 size, u64 *val)
{
	struct core_scene *scene = container_of(rd, struct core_scene, rd);

	if (!is_read(scene, addr - ADDR, size))
		return false;
	*val = 0;
	memcpy(val, scene->data + (addr - ADDR), size);
	if (hdr->swapped)
		*val = swab64(*val) >> (64 - 8 * size);
	return true;
}

static int check_header(struct core_scene *scene, struct sframe_header *hdr, u32 len)
{
	struct sframe_raw_header raw = {};

	if (len >= sizeof(raw)) {
		if (!is_read(scene, 0, sizeof(raw)))
			return -EFAULT;
		memcpy(&raw, scene->data, sizeof(raw));
	}
	return sframe_header_check(hdr, &scene->rd, &raw, ADDR, len);
}

static int decode_row(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
		      struct sframe_row *row)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = &scene->rd, .get = scene_get };
	struct sframe_raw_row raw;

	return check_header(scene, hdr, scene->len) ?:
	       sframe_find(&from, pc, &raw) ?:
	       sframe_decode_found(hdr, &scene->rd, &raw, row);
}

/* As decode_row(), by the decoder's own way to read memory. */
static int decode_memory(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
			 struct sframe_row *row)
{
	return sframe_header_read(hdr, &scene->rd, ADDR, scene->len) ?:
	       sframe_find_row(hdr, &scene->rd, pc, row);
}

static int decode_user(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
		       struct sframe_row *row)
{
	return read_user_header(hdr, &scene->rd, ADDR, scene->len) ?:
	       find_user_row_now(hdr, &scene->rd, pc, row);
}

KUNIT_DEFINE_ACTION_WRAPPER(free_page_of_scene, vfree, void *);

static int core_scene_init(struct kunit *test)
{
	struct core_scene *scene = test_alloc(test, sizeof(*scene));

	scene->page = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, scene->page);
	test->priv = scene;
	user_map(test, 1);
	user_remap(test, ADDR, PROT_READ | PROT_WRITE);
	return kunit_add_action_or_reset(test, free_page_of_scene, scene->page);
}

static void place_section(struct core_scene *scene, const void *bytes, u32 len)
{
	scene->len = len;
	scene->data = scene->page + PAGE_SIZE - len;
	memcpy(scene->page + PAGE_SIZE - len, bytes, len);
}

/* @type: ADDR*, of all functions */
static void place_text(struct core_scene *scene, u8 version, u8 flags, u8 abi, u8 type,
		       const char *text, const char *patch)
{
	build_start(&scene->b, version, flags, abi);
	scene->b.fre_type = type;
	build_text(&scene->b, text);
	build_finish(&scene->b);
	build_patches(&scene->b, patch);
	place_section(scene, scene->b.bytes, scene->b.len);
}

static void renew(struct core_scene *scene)
{
	scene->rd = (struct sframe_reader){
		.bytes = scene->data,
		.addr = ADDR,
		.len = scene->len,
		.budget = U32_MAX,
	};
	scene->calls = 0;
	scene->fail_at = 0;
	scene->outside = false;
}

typedef int (*decode_t)(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
			struct sframe_row *row);

static void answer_text(struct core_scene *scene, u64 pc, decode_t decode, char *text)
{
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	renew(scene);
	err = decode(scene, pc, &hdr, &row);
	if (err)
		section_error_text(&scene->rd, err, text);
	else if (row.signal && row.cfa.how == SFRAME_RULE_SAME)
		strscpy(text, "signal", SECTION_ROW_TEXT);
	else
		section_row_text(hdr.abi, &row, text);
}

/* A process has no sections of the other byte order. */
static void expect_at(struct kunit *test, u64 off, const char *want)
{
	static const decode_t ways[] = { decode_row, decode_memory, decode_user };
	struct core_scene *scene = test->priv;
	char got[SECTION_ROW_TEXT];
	u32 i;

	user_store(test, ADDR, scene->data, scene->len);
	for (i = 0; i < ARRAY_SIZE(ways) - scene->b.big; i++) {
		answer_text(scene, ADDR + off, ways[i], got);
		KUNIT_EXPECT_STREQ_MSG(test, got, want, "0x%llx, V%u, flags %x, %u-byte starts, %u",
				       off, scene->b.raw.version, scene->b.raw.flags,
				       1 << scene->b.fre_type, i);
	}
}

/* Takes a number or a range, and what is expected, from @text: "0x1000-0x100f sp+8 u (c-8)". */
static bool take_answer(const char **text, s64 *first, s64 *last, char *want)
{
	const char *at = *text + (**text == ';');

	if (!section_number(&at, first))
		return false;
	*last = *first;
	if (*at++ == '-') {
		section_number(&at, last);
		at++;
	}
	strscpy(want, at, min(SECTION_ROW_TEXT, strcspn(at, ";") + 1));
	*text = at + strlen(want);
	return true;
}

static void expect_answers_of(struct kunit *test, const char *text)
{
	char want[SECTION_ROW_TEXT];
	s64 first, last;

	while (take_answer(&text, &first, &last, want))
		for (; first <= last; first++)
			expect_at(test, first, want);
}

static void expect_header(struct kunit *test, u32 len, u64 value, const char *want)
{
	char got[SECTION_ROW_TEXT] = "sound";
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	int err;

	renew(scene);
	err = check_header(scene, &hdr, len);
	if (err)
		section_error_text(&scene->rd, err, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "%u bytes, V%u, value 0x%llx", len,
			       scene->b.raw.version, value);
	KUNIT_EXPECT_FALSE(test, scene->outside);
}

/* One FDE (16 bytes), FRE sub-section 16 bytes, 60 bytes in all. */
static const struct header_case {
	const char	*name;
	u8		at, len;	/* the field */
	const char	*want;		/* its values, and what they make of the header */
} header_cases[] = {
	{ "magic", 0, 2, "0 none; 1 bad magic; 0xdee1 bad magic; 0xdee3 bad magic;"
	  "0xe2de bad abi" },
	/* V1 has no such flag, and V2 other entries. */
	{ "version", 2, 1, "0 bad version; 1 bad flags; 2 bad num-fdes; 4-255 bad version" },
	{ "abi", 4, 1, "0-1 bad abi; 2 bad fixed-offsets; 4-255 bad abi" },
	{ "fixed FP", 5, 1, "1-255 bad fixed-offsets" },
	{ "fixed RA", 6, 1, "0-0xf7 bad fixed-offsets; 0xf9-0xff bad fixed-offsets" },
	{ "auxhdr_len", 7, 1, "1-16 bad fre-len; 17-255 bad freoff" },
	/* Sums and products of the following fields wrap. */
	{ "num_fdes", 8, 4, "0 sound; 2 bad num-fdes; 0x10000000-0x10000001 bad num-fdes;"
	  "0xffffffff bad num-fdes" },
	{ "num_fres", 12, 4, "0 sound; 0xffffffff sound" },
	{ "fre_len", 16, 4, "0 sound; 17-40 bad fre-len; 0xffffffe4-0xffffffff bad fre-len" },
	{ "fdeoff", 20, 4, "1-16 bad num-fdes; 17 bad fdeoff; 0xffffffff bad fdeoff" },
	{ "freoff", 24, 4, "0 bad num-fdes; 17-32 bad fre-len; 33 bad freoff;"
	  "0xffffffe4-0xffffffff bad freoff" },
};

NAMED_CASES(header);

static void header_field(struct kunit *test)
{
	const struct header_case *c = test->param_value;
	struct core_scene *scene = test->priv;
	char want[SECTION_ROW_TEXT];
	const char *text = c->want;
	s64 first, last;

	place_text(scene, 3, BOTH, AMD64, ADDR1, ONE, NULL);
	while (take_answer(&text, &first, &last, want)) {
		for (; first <= last; first++) {
			build_patch(&scene->b, c->at, first, c->len);
			place_section(scene, scene->b.bytes, 60);
			expect_header(test, 60, first, want);
		}
	}
}

static void header_flags_and_length(struct kunit *test)
{
	static const u8 known_flags[] = { 0, 0x03, 0x07, 0x05 };
	static const u8 lens[] = { 0, 56, 59, 60 }, fre_lens[] = { 0, 11, 11, 16 };
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	u32 version, i;

	for (version = 1; version <= 3; version++) {
		for (i = 0; i < 256; i++) {
			place_text(scene, version, 0, AMD64, ADDR1, ONE, NULL);
			scene->page[PAGE_SIZE - scene->len + 3] = i;
			expect_header(test, scene->len, i,
				      i & ~known_flags[version] ? "bad flags" : "sound");
		}
		place_text(scene, version, SORTED, AMD64, ADDR1, ONE, NULL);
		KUNIT_ASSERT_EQ(test, scene->len, lens[version]);
		for (i = 0; i < lens[version]; i++)
			expect_header(test, i, 0, i < 28 ? "bad short" :
				      i < lens[version] - fre_lens[version] ? "bad freoff" :
				      "bad fre-len");
		expect_header(test, lens[version], 0, "sound");
		expect_header(test, U32_MAX, 0, "sound");
		/* Padding after the section is none of it. */
		renew(scene);
		KUNIT_EXPECT_EQ(test, 0, check_header(scene, &hdr, lens[version] + 90));
		KUNIT_EXPECT_EQ(test, sframe_header_span(&hdr), lens[version]);
	}
}

#define TWO_ROWS	"0x1000 64: 0 3 0, 1 0x87 32 -24 -32"

struct layout_case {
	const char	*name;
	u8		version, flags, abi;
	const char	*text;
	u8		bytes[60];
	u32		len;
	const char	*want;		/* as in struct lookup_case */
};

#define ONE_ROWS							\
	"0xfff none; 0x1000 " ROW_0 "; 0x1001-0x1003 " ROW_1 ";"		\
	"0x1004-0x103f " ROW_4 "; 0x1040 none"

/* The bytes of each version, as the specification lays them out. */
static const struct layout_case layout_cases[] = {
	{ "V1", 1, SORTED, AMD64, ONE, {
		0xe2, 0xde, 1, 0x01, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		11, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0,
		0x00, 0x10, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x00,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 56, ONE_ROWS },
	{ "V2 relative to the field", 2, BOTH, AMD64, ONE, {
		0xe2, 0xde, 2, 0x05, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		11, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0x00, 0, 0, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 59, ONE_ROWS },
	{ "V3", 3, SORTED, AMD64, ONE, {
		0xe2, 0xde, 3, 0x01, 3, 0, 0xf8, 0, 1, 0, 0, 0, 3, 0, 0, 0,
		16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0x00, 0x00, 0,
		0x00, 0x03, 0x08, 0x01, 0x05, 0x10, 0xf0, 0x04, 0x04, 0x10, 0xf0
	  }, 60, ONE_ROWS },
	{ "V3 flexible", 3, BOTH, AMD64, "0x1000 64 0 1: 0 4 0x39 8, 1 10 0x39 32 0 2 -16", {
		0xe2, 0xde, 3, 0x05, 3, 0, 0xf8, 0, 1, 0, 0, 0, 2, 0, 0, 0,
		16, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
		0xe4, 0x0f, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0x00, 0x01, 0,
		0x00, 0x04, 0x39, 0x08, 0x01, 0x0a, 0x39, 0x20, 0x00, 0x02, 0xf0
	  }, 60, "0x1000 " ROW_0 "; 0x1001-0x103f sp+32 (c-16) (c-8); 0x1040 none" },
	{ "V2 of big-endian AArch64", 2, SORTED, AARCH64_BE, TWO_ROWS, {
		0xde, 0xe2, 2, 0x01, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2,
		0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 20,
		0, 0, 0x10, 0x00, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 2, 0x00, 0, 0, 0,
		0x00, 0x03, 0x00, 0x01, 0x87, 0x20, 0xe8, 0xe0
	  }, 56, "0x1000 sp+0 u u; 0x1001-0x103f sp+32 (c-32) (c-24) [s]; 0x1040 none" },
	{ "V3 of big-endian AArch64", 3, BOTH, AARCH64_BE, "0x1000 64: 0 0x25 512 -8", {
		0xde, 0xe2, 3, 0x05, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
		0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 16,
		0, 0, 0, 0, 0, 0, 0x0f, 0xe4, 0, 0, 0, 64, 0, 0, 0, 0, 0, 1, 0x00, 0x00, 0,
		0x00, 0x25, 0x02, 0x00, 0xff, 0xf8
	  }, 55, "0xfff none; 0x1000-0x103f sp+512 u (c-8); 0x1040 none" },
};

NAMED_CASES(layout);

/* The decoder finds the rows in these bytes, and the builder makes the same bytes of the text. */
static void find_row_in_bytes(struct kunit *test)
{
	const struct layout_case *c = test->param_value;
	struct core_scene *scene = test->priv;

	place_text(scene, c->version, c->flags, c->abi, ADDR1, c->text, NULL);
	KUNIT_ASSERT_EQ(test, scene->len, c->len);
	KUNIT_EXPECT_MEMEQ(test, scene->data, c->bytes, c->len);
	place_section(scene, c->bytes, c->len);
	expect_answers_of(test, c->want);
}

#define V1		2
#define V2		4
#define V3		8
#define ALL		(V1 | V2 | V3)

struct lookup_case {
	const char	*name;
	u8		versions;
	u8		abi;
	const char	*text;		/* the section */
	const char	*want;		/* addresses, from the start of the section, and answers */
	const char	*patch;
	bool		is_sorted;	/* unsorted, the section would have other answers */
};

/* @row: the info byte and the words of the only row of a function. @want: its answer. */
#define ROW_CASE(name, versions, abi, row, want)			\
	{ name, versions, abi, "0x1000 64: 0 " row, "0x1000 " want }
#define PLT_1	"sp+16 u (c-8)"
#define FLEX_CASE(name, row, want)					\
	{ name, V3, AMD64, "0x1000 64 0 1: 0 " row, "0x1000 " want }

/* The function at 0x1000 is found beside empty ones. */
#define EMPTY	"; 0x1000 0: 0 3 64"
#define FOUND	"0xfff none; 0x1000-0x100f " ROW_0 "; 0x1010 none"

static const struct lookup_case lookup_cases[] = {
	{ "same start, first", ALL, AMD64, "0x1000 16: 0 3 8" EMPTY EMPTY, FOUND },
	{ "same start, middle", ALL, AMD64, "0x1000 0: 0 3 64; 0x1000 16: 0 3 8" EMPTY, FOUND },
	{ "same start, last", ALL, AMD64, "0x1000 0: 0 3 64" EMPTY "; 0x1000 16: 0 3 8", FOUND },
	{ "before and after the section", ALL, AMD64,
	  "-0x70000000 16: 0 3 8; 0x70000000 16: 0 3 16",
	  "-0x70000001 none; -0x70000000 " ROW_0 "; -0x6ffffff1 " ROW_0 "; -0x6ffffff0 none;"
	  "0x6fffffff none; 0x70000000-0x7000000f sp+16 u (c-8); 0x70000010 none" },
	{ "farther than 32 bits", V3, AMD64, "-0x200000000 16: 0 3 8; 0x200000000 16: 0 3 16",
	  "-0x200000000 " ROW_0 "; 0x20000000f sp+16 u (c-8); 0 none" },
	{ "largest function", ALL, AMD64, "0x1000 0xffffffff: 0 3 8",
	  "0xfff none; 0x1000 " ROW_0 "; 0x100000ffe " ROW_0 "; 0x100000fff none" },
	{ "overlapping", ALL, AMD64, "0x1000 0x100: 0 3 8; 0x1010 4: 0 3 16",
	  "0x100f " ROW_0 "; 0x1010-0x1013 sp+16 u (c-8); 0x1014 none", .is_sorted = true },
	{ "falsely sorted", ALL, AMD64, "0x2000 16: 0 3 8; 0x1000 0: 0 3 16",
	  "0x1000 bad fde-order", .is_sorted = true },
	/* Functions live in the lower half of the address space, and end there. */
	{ "at the first of all addresses", V3, AMD64, "-0x400000000000 16: 0 3 8",
	  "-0x400000000000 " ROW_0 },
	{ "one below", V3, AMD64, "-0x400000000001 16: 0 3 8", "-0x400000000001 bad fde-range" },
	{ "ends at the last", V3, AMD64, "0x7fffbfffffffffef 16: 0 3 8",
	  "0x7fffbfffffffffef " ROW_0 },
	{ "ends one after", V3, AMD64, "0x7fffbffffffffff0 16: 0 3 8",
	  "0x7fffbffffffffff0 bad fde-range" },
	{ "size wraps", V3, AMD64, "-0x400000000010 0xffffffff: 0 3 8",
	  "-0x400000000010 bad fde-range" },
	{ "start is the least number", V3, AMD64, "-0x8000000000000000 16: 0 3 8",
	  "-0x8000000000000000 bad fde-range" },
	{ "a search meets a start of the kernel", V3, AMD64,
	  "0x1000 16: 0 3 8; -0x7000000000000000 16: 0 3 8; 0x2000 16: 0 3 8",
	  "0x1000 bad fde-range", .is_sorted = true },
	{ "row type 3", ALL, AMD64, "0x1000 64 3: 0 3 8", "0x1000 bad fre-type" },
	{ "row type 15", ALL, AMD64, "0x1000 64 15: 0 3 8", "0x1000 bad fre-type" },
	{ "FDE type 2", V3, AMD64, "0x1000 64 0 2: 0 3 8", "0x1000 refused fde-type" },
	{ "FDE type 31", V3, AMD64, "0x1000 64 0 31: 0 3 8", "0x1000 refused fde-type" },
	{ "unused bits", V3, AMD64, "0x1000 64 0x40 0xe0: 0 3 8", "0x1000 " ROW_0 },

	{ "three rows", ALL, AMD64, ONE, ONE_ROWS },
	{ "rows after the start and the end", ALL, AMD64, "0x1000 8: 2 3 8, 8 3 16, 255 3 24",
	  "0x1000-0x1001 none; 0x1002-0x1007 " ROW_0 "; 0x1008 none" },
	{ "rows do not ascend", ALL, AMD64, "0x1000 64: 0 3 8, 4 3 16, 4 3 24",
	  "0x1003 " ROW_0 "; 0x1004 bad fre-order" },
	/* The function promises more rows than there are. Only look-ups that reach the end fail. */
	{ "rows end early", V1 | V2, AMD64, ONE, "0x1003 " ROW_1 "; 0x1004 bad fre-cut", "40 4 4" },
	{ "rows end early, V3", V3, AMD64, ONE, "0x1003 " ROW_1 "; 0x1004 bad fre-cut", "44 2 4" },
	{ "last row is cut", ALL, AMD64, "0x1000 64: 0 3 8, 4 5 8",
	  "0x1003 bad fre-cut; 0x1004 bad fre-cut" },
	{ "no rows", V3, AMD64, "0x1000 9; 0x1010 9 0x80",
	  "0x1000-0x1008 - - undefined; 0x1009 none; 0x1010-0x1018 signal" },
	{ "no rows, undefined", V1 | V2, AMD64, "0x1000 9", "0x1000 none" },

	/* Words. The ABI of AMD64 fixes RA, so rows have a word for CFA, and one for FP. */
	ROW_CASE("outermost", ALL, AMD64, "1", "- - undefined"),
	ROW_CASE("1-byte limits", ALL, AMD64, "5 127 -128", "sp+127 (c-128) (c-8)"),
	ROW_CASE("2-byte limits", ALL, AMD64, "0x25 32767 -32768", "sp+32767 (c-32768) (c-8)"),
	ROW_CASE("4-byte limits", ALL, AMD64, "0x45 0x7fffffff -0x80000000",
		 "sp+2147483647 (c-2147483648) (c-8)"),
	ROW_CASE("FP at CFA + 0, CFA below FP", ALL, AMD64, "0x44 -1 0", "fp-1 (c+0) (c-8)"),
	ROW_CASE("15 words", ALL, AMD64, "0x1f 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "bad nr-words"),
	ROW_CASE("word size 3, no words", ALL, AMD64, "0x61", "bad word-size"),

	/* CFA, RA, FP; the highest bit of a row's info: RA carries a PAC. */
	ROW_CASE("CFA", ALL, AARCH64, "3 0", "sp+0 u u"),
	ROW_CASE("CFA on FP", ALL, AARCH64, "2 16", "fp+16 u u"),
	ROW_CASE("CFA, RA", ALL, AARCH64, "5 32 -24", "sp+32 u (c-24)"),
	ROW_CASE("CFA, RA, FP", ALL, AARCH64, "7 32 -24 -32", "sp+32 (c-32) (c-24)"),
	ROW_CASE("big-endian", V2 | V3, AARCH64_BE, "0x27 512 -504 -512", "sp+512 (c-512) (c-504)"),
	ROW_CASE("RA at CFA + 0", ALL, AARCH64, "5 32 0", "sp+32 u (c+0)"),
	ROW_CASE("PAC, RA in its register", ALL, AARCH64, "0x83 0", "sp+0 u u [s]"),
	ROW_CASE("PAC, RA in memory", ALL, AARCH64, "0x87 32 -24 -32", "sp+32 (c-32) (c-24) [s]"),
	ROW_CASE("PAC, outermost", ALL, AARCH64, "0x81", "- - undefined [s]"),
	{ "key B says nothing of a row", ALL, AARCH64, "0x1000 64 0x20: 0 3 0, 4 0x83 0",
	  "0x1000 sp+0 u u; 0x1004 sp+0 u u [s]" },
	{ "flexible, RA in its register", V3, AARCH64, "0x1000 64 0 1: 0 0x24 0xf9 0",
	  "0x1000 sp+0 u u" },
	{ "flexible, r31 is the last", V3, AARCH64, "0x1000 64 0 1: 0 0x24 0x101 0",
	  "0x1000 refused regnum" },

	FLEX_CASE("CFA on r0", "4 1 8", "r0+8 u (c-8)"),
	FLEX_CASE("CFA on r10, as DRAP has it", "4 0x51 0", "r10+0 u (c-8)"),
	FLEX_CASE("CFA on r15, the last", "4 0x79 -1", "r15-1 u (c-8)"),
	FLEX_CASE("CFA on r16, which 1 byte can say", "4 0x81 0", "refused regnum"),
	FLEX_CASE("CFA on r31", "4 0xf9 0", "refused regnum"),
	FLEX_CASE("CFA from memory at FP", "4 0x33 -8", "(fp-8) u (c-8)"),
	FLEX_CASE("CFA on CFA, unused bit", "4 4 8", "bad flex-cfa"),
	FLEX_CASE("base bit of the row says nothing", "5 0x31 16", "fp+16 u (c-8)"),
	FLEX_CASE("unused bit of the control word", "4 0x3d 8", ROW_0),
	FLEX_CASE("RA in memory", "8 0x39 8 2 -24", "sp+8 u (c-24)"),
	FLEX_CASE("RA in a register", "8 0x39 8 1 0", "sp+8 u r0+0"),
	FLEX_CASE("RA at a register", "8 0x39 8 0x33 8", "sp+8 u (fp+8)"),
	FLEX_CASE("RA is an address", "8 0x39 8 4 24", "sp+8 u c+24"),
	FLEX_CASE("RA on r16", "8 0x39 8 0x81 0", "refused regnum"),
	FLEX_CASE("RA by default, FP at FP", "10 0x33 -8 0 0x33 0", "(fp-8) (fp+0) (c-8)"),
	FLEX_CASE("RA and FP", "12 0x39 16 2 -8 2 -16", ROW_1),
	FLEX_CASE("RA, FP by default", "10 0x39 112 2 -32 0", "sp+112 u (c-32)"),
	FLEX_CASE("FP in a register", "12 0x39 16 2 -16 0x61 0", "sp+16 r12+0 (c-16)"),
	FLEX_CASE("FP on r16", "12 0x39 16 2 -16 0x81 0", "refused regnum"),
	FLEX_CASE("offset of 2 bytes", "0x24 0x39 -32768", "sp-32768 u (c-8)"),
	FLEX_CASE("offset of 4 bytes", "0x44 0x39 0x7fffffff", "sp+2147483647 u (c-8)"),
	FLEX_CASE("register of 2 bytes", "0x24 0xffff 0", "refused regnum"),

	/* Repetitive code. V1 has no field for the size of a block, which is 16 on AMD64. */
	{ ".plt", ALL, AMD64, "0x1000 48 0x10 0 16: 0 3 8, 11 3 16",
	  "0xfff none; 0x1000-0x100a " ROW_0 "; 0x100b-0x100f " PLT_1 "; 0x1010-0x101a " ROW_0 ";"
	  "0x101b-0x101f " PLT_1 "; 0x1020-0x102a " ROW_0 "; 0x102b-0x102f " PLT_1 ";"
	  "0x1030 none" },
	{ "blocks of 7, not at a multiple", V2 | V3, AMD64, "0x1003 14 0x10 0 7: 0 3 8, 5 3 16",
	  "0x1002 none; 0x1003-0x1007 " ROW_0 "; 0x1008-0x1009 " PLT_1 ";"
	  "0x100a-0x100e " ROW_0 "; 0x100f-0x1010 " PLT_1 "; 0x1011 none" },
	{ "blocks of 2", V2 | V3, AMD64, "0x1001 6 0x10 0 2: 0 3 8, 1 3 16",
	  "0x1000 none; 0x1001 " ROW_0 "; 0x1002 " PLT_1 "; 0x1003 " ROW_0 "; 0x1004 " PLT_1 ";"
	  "0x1005 " ROW_0 "; 0x1006 " PLT_1 "; 0x1007 none" },
	{ "largest block", V2 | V3, AMD64, "0x1000 510 0x10 0 255: 0 3 8, 254 3 16",
	  "0x1000-0x10fd " ROW_0 "; 0x10fe " PLT_1 "; 0x10ff-0x11fc " ROW_0 "; 0x11fd " PLT_1 },
	{ "block of 0", V2 | V3, AMD64, "0x1000 48 0x10: 0 3 8", "0x1000 bad rep-size" },
	{ "no default size on AArch64", V1, AARCH64, "0x1000 48 0x10: 0 3 8",
	  "0x1000 bad rep-size" },
	/* Erratum E6: the linker writes CFA offset 16; at the first byte of a slot 8 is correct. */
	{ ".plt.got", V2 | V3, AMD64, "0x1000 16 0x10 0 8: 0 3 16", "0x1000-0x100f " ROW_0 },
};

NAMED_CASES(lookup);

/* In all versions, sorted or not, with both anchors, and starts of rows of all sizes. */
static void find_row(struct kunit *test)
{
	const struct lookup_case *c = test->param_value;
	struct core_scene *scene = test->priv;
	u32 version, flags, type;

	for (version = 1; version <= 3; version++)
		for (flags = 0; flags <= BOTH; flags++)
			for (type = ADDR1; type <= ADDR4; type++) {
				if (!(c->versions & 1 << version) || flags & ~BOTH ||
				    (version == 1 && flags & PCREL) ||
				    (c->is_sorted && !(flags & SORTED)))
					continue;
				place_text(scene, version, flags, c->abi, type, c->text, c->patch);
				expect_answers_of(test, c->want);
			}
}

/* Each address of 0 to 9 functions of 16 bytes, and of the gaps between them. */
static void find_row_among_functions(struct kunit *test)
{
	static const u8 flags[] = { SORTED, 0, BOTH, PCREL };
	struct core_scene *scene = test->priv;
	char want[SECTION_ROW_TEXT];
	u32 f, nr, i, k, off;

	for (f = 0; f < ARRAY_SIZE(flags); f++) {
		for (nr = 0; nr <= 9; nr++) {
			build_start(&scene->b, 3, flags[f], AMD64);
			for (i = 0; i < nr; i++) {
				k = flags[f] & SORTED ? i : nr - 1 - i;
				build_fde(&scene->b, 0x1000 + 0x20 * k, 16, 0, 0, 0);
				build_row(&scene->b, 0, 0x03, 8 * k);
			}
			build_finish(&scene->b);
			place_section(scene, scene->b.bytes, scene->b.len);
			for (off = 0xff0; off < 0x1010 + 0x20 * nr; off++) {
				i = (off - 0x1000) / 0x20;
				scnprintf(want, sizeof(want), "sp+%u u (c-8)", 8 * i);
				expect_at(test, off, off >= 0x1000 && i < nr && off % 0x20 < 16 ?
					  want : "none");
			}
		}
	}
}

/* A function that is not in the code of the section, or only in part, does not count. */
static void find_row_outside_of_code(struct kunit *test)
{
	/* The first one has all of the function. */
	static const u64 bounds[][2] = {
		{ 0x1000, 0x1040 }, { 0x1001, 0x1040 }, { 0x1000, 0x103f }, { 0, 0x1000 },
		{ 0x1040, 0x2000 }, { 0x1008, 0x1008 },
	};
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;
	u32 i, flags;

	for (flags = 0; flags <= SORTED; flags++) {
		place_text(scene, 2, flags, AMD64, ADDR1, ONE, NULL);
		for (i = 0; i < ARRAY_SIZE(bounds); i++) {
			renew(scene);
			KUNIT_ASSERT_EQ(test, 0, sframe_header_read(&hdr, &scene->rd, ADDR,
								    scene->len));
			hdr.code_start = ADDR + bounds[i][0];
			hdr.code_end = ADDR + bounds[i][1];
			KUNIT_EXPECT_EQ(test, i ? -ENOENT : 0,
					sframe_find_row(&hdr, &scene->rd, ADDR + 0x1008, &row));
		}
	}
}

NAMED_CASES(section);

static struct core_scene *place_case(struct kunit *test)
{
	struct core_scene *scene = test->priv;

	make_section_case(&scene->b, test->param_value);
	place_section(scene, scene->b.bytes, scene->b.len);
	return scene;
}

/* Addresses in the functions of most cases, and outside of them. */
static const u64 some_pcs[] = {
	ADDR + 0x1000, ADDR + 0x1004, ADDR + 0x1040, ADDR + 0x300000, 0, U64_MAX,
};

/* The decoder may give these answers for arbitrary bytes, and no others. */
static void expect_answers(struct kunit *test, u32 what)
{
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(scene);
		err = decode_row(scene, some_pcs[i], &hdr, &row);
		if (scene->outside)
			KUNIT_FAIL(test, "%u: read outside", what);
		if (err && err != -ENOENT && err != -EBADMSG && err != -EOPNOTSUPP)
			KUNIT_FAIL(test, "%u: returned %d", what, err);
		if ((err == -EBADMSG || err == -EOPNOTSUPP) && !scene->rd.defect)
			KUNIT_FAIL(test, "%u: no defect named", what);
	}
}

/* The n-th read fails. The look-up fails at once, and counts no defect. */
static void find_row_read_fails(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	struct sframe_header hdr;
	struct sframe_row row;
	u32 n, calls;
	int i;

	for (i = 0; i < ARRAY_SIZE(some_pcs); i++) {
		renew(scene);
		decode_row(scene, some_pcs[i], &hdr, &row);
		calls = scene->calls;
		if (scene->len >= sizeof(struct sframe_raw_header))
			KUNIT_EXPECT_GT(test, calls, 0);
		for (n = 1; n <= calls; n++) {
			renew(scene);
			scene->fail_at = n;
			KUNIT_EXPECT_EQ_MSG(test, decode_row(scene, some_pcs[i], &hdr, &row),
					    -EFAULT, "read %u", n);
			KUNIT_EXPECT_EQ(test, scene->calls, n);
			KUNIT_EXPECT_EQ_MSG(test, scene->rd.defect, 0, "read %u", n);
		}
	}
}

/* A look-up costs 768, a row 21, another entry 40. A budget that is too small by one fails. */
static void find_row_budget(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	struct sframe_header hdr;
	struct sframe_row row;
	u32 budget, cost;
	int err, want;

	renew(scene);
	want = decode_row(scene, ADDR + 0x1004, &hdr, &row);
	cost = U32_MAX - scene->rd.budget;
	for (budget = 0; budget <= cost; budget++) {
		renew(scene);
		scene->rd.budget = budget;
		err = decode_row(scene, ADDR + 0x1004, &hdr, &row);
		if (err != (budget < cost ? -E2BIG : want))
			KUNIT_FAIL(test, "budget %u of %u: %d", budget, cost, err);
		/* Without budget only the header is read. A row has 2 numbers, some words. */
		if (scene->calls > 1 + (budget < 768 ? 0 : 32 + 11 * (2 + budget / 21)))
			KUNIT_FAIL(test, "%u reads for %u", scene->calls, budget);
		if (err == -E2BIG && scene->rd.defect)
			KUNIT_FAIL(test, "budget %u: blames the section", budget);
	}
}

/*
 * The smallest V3 section. The look-up reads the header, the 3 numbers of the entry, 4 of the
 * attribute, 2 of each of 2 rows, and a word.
 */
static void find_row_cost(struct kunit *test)
{
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	struct sframe_row row;

	place_text(scene, 3, SORTED, AMD64, ADDR1, ONE, NULL);
	renew(scene);
	KUNIT_EXPECT_EQ(test, 0, decode_row(scene, ADDR + 0x1000, &hdr, &row));
	KUNIT_EXPECT_EQ(test, U32_MAX - scene->rd.budget, 768 + 2 * 24);
	KUNIT_EXPECT_EQ(test, scene->calls, 13);
}

/* The section has many entries of the same start and size, in a buffer of its own. */
static void find_among_many(struct kunit *test, u8 flags, u32 func_size, u64 off)
{
	const u32 nr = 200000, fde_size = sizeof(struct sframe_raw_fde_v2);
	struct sframe_raw_fde_v2 fde = { .start = 0x1000, .size = func_size };
	struct core_scene *scene = test->priv;
	struct build *b = &scene->b;
	struct sframe_header hdr;
	struct sframe_row row;
	u8 *bytes;
	u32 i;

	place_text(scene, 2, flags, AMD64, ADDR1, "", NULL);
	build_patch(b, 8, nr, 4);
	build_patch(b, 24, nr * fde_size, 4);
	bytes = vzalloc(28 + nr * fde_size);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	memcpy(bytes, b->bytes, 28);
	for (i = 0; i < nr; i++)
		memcpy(bytes + 28 + i * fde_size, &fde, fde_size);
	scene->data = bytes;
	scene->len = 28 + nr * fde_size;
	renew(scene);
	scene->rd.budget = 16384;
	KUNIT_EXPECT_EQ(test, -E2BIG, decode_row(scene, ADDR + off, &hdr, &row));
	/* 3 reads of each entry that is paid for, and of one more. A search of 2^18 takes 18. */
	expect_within(test, "reads", scene->calls, (16384 - 768) / 40,
		      1 + 18 + 3 * ((16384 - 768) / 40 + 2));
	vfree(bytes);
}

static void find_row_is_bounded(struct kunit *test)
{
	find_among_many(test, 0, 16, 0x2000);
	find_among_many(test, SORTED, 0, 0x1000);
}

static void find_row_damaged(struct kunit *test)
{
	struct core_scene *scene = place_case(test);
	u32 i;

	for (i = 0; i <= scene->b.len; i++) {
		place_section(scene, scene->b.bytes, i);
		expect_answers(test, i);
	}
	for (i = 0; i < 8 * scene->b.len; i++) {
		scene->b.bytes[i / 8] ^= 1 << i % 8;
		place_section(scene, scene->b.bytes, scene->b.len);
		expect_answers(test, i);
		scene->b.bytes[i / 8] ^= 1 << i % 8;
	}
}

/*
 * The section has 28 bytes of header, 16 of entry, 5 of attribute, and rows of 3, 4 and 4 bytes. A
 * look-up also reads the first two bytes of the next row, because the row ends where that begins.
 */
#define FOR_HEADER	28
#define FOR_NONE	44
#define FOR_ROW_0	54
#define FOR_ROW_1	58
#define FOR_ALL		60

static void store_built(struct kunit *test, unsigned long addr, u32 len)
{
	struct core_scene *scene = test->priv;

	place_text(scene, 3, BOTH, AMD64, ADDR1, ONE, NULL);
	user_store(test, addr, scene->data, len);
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
		user_remap(test, page, PROT_NONE);
		expect_present(test, page - i, i);
		user_remap(test, page, PROT_READ | PROT_WRITE);
	}
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page, PAGE_SIZE));
	for (i = 1; i <= FOR_ALL; i++) {
		store_built(test, page - i, i);
		expect_present(test, page - i, i);
	}
}

/* In the kernel, at the end of all addresses, and on a page that is mapped but not touched yet. */
static void find_row_user_not_readable(struct kunit *test)
{
	unsigned long addr = user_map(test, 1);
	u8 byte;

	expect_user(test, (unsigned long)test->priv, 0x1000, "unreadable");
	expect_user(test, -28UL, 0x1000, "unreadable");
	expect_user(test, 0, 0x1000, "unreadable");
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

static struct kunit_case core_tests[] = {
	KUNIT_CASE_PARAM(header_field, header_gen_params),
	KUNIT_CASE(header_flags_and_length),
	KUNIT_CASE_PARAM(find_row_in_bytes, layout_gen_params),
	KUNIT_CASE_PARAM(find_row, lookup_gen_params),
	KUNIT_CASE(find_row_among_functions),
	KUNIT_CASE(find_row_outside_of_code),
	KUNIT_CASE_PARAM(find_row_read_fails, section_gen_params),
	KUNIT_CASE_PARAM(find_row_budget, section_gen_params),
	KUNIT_CASE(find_row_cost),
	KUNIT_CASE(find_row_is_bounded),
	KUNIT_CASE_PARAM(find_row_damaged, section_gen_params),
	KUNIT_CASE(find_row_user_on_two_pages),
	KUNIT_CASE(find_row_user_not_readable),
	KUNIT_CASE(find_row_user_changes),
	{}
};

static struct kunit_suite core_suite = {
	.name = "sframe_core", .init = core_scene_init, .test_cases = core_tests,
};

kunit_test_suite(core_suite);

MODULE_DESCRIPTION("KUnit tests of sframe_unwind");
MODULE_LICENSE("GPL");
