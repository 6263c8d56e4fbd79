// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the decoder: the row that holds at an address, and its words. */
#include "core_scene.h"

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
	struct build *b = build_anew(test, c->version, SORTED, AMD64);
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
	struct build *b = build_anew(test, c->version, SORTED, AMD64);

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

/* No row holds before the first row. A row at the end of its function never holds. */
static void find_row_outside_of_rows(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, SORTED, AMD64);

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
	struct build *b = build_anew(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 4, 0x03, 16);
	build_row(b, 4, 0x03, 24);
	place_built(test->priv);
	expect_at(test, 0x1003, ROW_0);
	expect_at(test, 0x1004, "bad fre-order");
}

/* The entry promises more rows than there are. Only a look-up that reaches the end fails. */
static void find_row_cut(struct kunit *test)
{
	const struct walk_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, SORTED, AMD64);

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
	struct build *b = build_anew(test, c->version, SORTED, AMD64);

	build_fde(b, 0x1000, 64, c->fre_type, 0, 0);
	build_row(b, 0, 0x01);
	place_built(test->priv);
	expect_at(test, 0x1000, "- - undefined");
}

/* The decoder's window on the rows is refilled: 40 rows of 10 bytes, then of 6. */
static void find_row_many(struct kunit *test)
{
	char want[SECTION_ROW_TEXT];
	struct build *b;
	u32 i;

	b = build_anew(test, 3, SORTED, AMD64);
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
	struct build *b = build_anew(test, 3, SORTED, AMD64);

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
		struct build *b = build_anew(test, version, SORTED, AMD64);

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
	struct build *b = build_anew(test, c->version, SORTED, c->abi);

	build_fde(b, 0x1000, 64, c->info, c->info2, 0);
	build_words(b, 0, c->row_info, c->words, c->nr);
	place_built(test->priv);
	expect_at(test, 0x1000, c->want);
}

/* A control word is a sum: 8 times the register number, 2 = dereference, 1 = register. */
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

/* The ABI fixes RA, so rows have one word for CFA and one for FP. */
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

struct pcmask_case {
	const char	*name;
	u8		version;
	u8		abi;
	u32		start;
	u8		rep_size;	/* block size as stored */
	u8		block;		/* block size as decoded; 0: refused */
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

NAMED_CASES(pcmask);

static void find_row_in_blocks(struct kunit *test)
{
	const struct pcmask_case *c = test->param_value;
	struct build *b = build_anew(test, c->version, SORTED, c->abi);
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

/* Erratum E6: the linker writes CFA offset 16; at the first byte of a slot 8 is correct. */
static void find_row_mends_plt_got(struct kunit *test)
{
	struct build *b = build_anew(test, 3, SORTED, AMD64);

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

CORE_SUITE(fre_walk);
CORE_SUITE(amd64);
CORE_SUITE(aarch64);
CORE_SUITE(flex);
CORE_SUITE(pcmask);
