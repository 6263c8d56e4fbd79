// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sections by hand. The expected rows are taken from the specification and written
 * out, never computed.
 *
 * The info byte of a row is a sum, in hexadecimal: 1 = based on SP, else FP; 2 for
 * each word; 20 or 40 = words of 2 or 4 bytes; 80 = signed RA. So 3 is SP with one
 * word, 5 SP with two words, 4 FP with two words.
 *
 * The control word of a flexible rule is a sum: 8 times the register number, 2 =
 * dereference, 1 = based on the register, else on the CFA.
 */
#include "section_cases.h"

static void three_rows(struct build *b)
{
	build_row(b, 0, 0x03, 8);
	build_row(b, 1, 0x05, 16, -16);
	build_row(b, 4, 0x04, 16, -16);
}

static void one_function(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
}

static void two_functions(struct build *b)
{
	one_function(b);
	build_fde(b, 0x1040, 32, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
}

#define THREE_ROWS						\
	"  0 sp+8 u (c-8)\n"					\
	"  1 sp+16 (c-16) (c-8)\n"				\
	"  4 fp+16 (c-16) (c-8)\n"
#define ONE_FUNCTION						\
	"fde 0x1000 64\n" THREE_ROWS
#define TWO_FUNCTIONS						\
	ONE_FUNCTION						\
	"fde 0x1040 32\n"					\
	"  0 sp+8 u (c-8)\n"

/* Layout, header and anchors. */

static void auxhdr8(struct build *b)
{
	two_functions(b);
	b->raw.auxhdr_len = 8;
}

static void fdeoff_gap(struct build *b)
{
	two_functions(b);
	b->gap = 12;
}

static void trailing_pad(struct build *b)
{
	two_functions(b);
	b->tail = 40;
}

static void empty(struct build *b)
{
	b->raw = (struct sframe_raw_header){ .version = 3 };
}

static void unsorted(struct build *b)
{
	build_fde(b, 0x3000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 24);
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	build_fde(b, 0x2000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 32);
}

static void negative_start(struct build *b)
{
	build_fde(b, -0x2000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
}

static void far_start(struct build *b)
{
	build_fde(b, -0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x200000000, 16, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
}

/* Rows. */

static void outermost_norows(struct build *b)
{
	build_fde(b, 0x1000, 9, ADDR1, 0, 0);
}

static void sig_norows(struct build *b)
{
	build_fde(b, 0x1000, 9, SIGNAL, 0, 0);
}

static void outermost(struct build *b)
{
	build_fde(b, 0x1000, 9, ADDR1, 0, 0);
	build_row(b, 0, 0x01);
}

static void outermost_flex(struct build *b)
{
	build_fde(b, 0x1000, 9, ADDR1, FLEX, 0);
	build_row(b, 0, 0x01);
}

/* All address sizes with all word sizes, each at its limits. */
static void sizes(struct build *b)
{
	static const u32 starts[][4] = {
		[ADDR1] = { 0, 0x7f, 0x80, 0xff },
		[ADDR2] = { 0, 0xff, 0x100, 0xffff },
		[ADDR4] = { 0, 0xff, 0xffff, 0x10000 },
	};
	u8 type;

	for (type = ADDR1; type <= ADDR4; type++) {
		build_fde(b, 0x100000 * (type + 1), 0x20000, type, 0, 0);
		build_row(b, starts[type][0], 0x03, 127);
		build_row(b, starts[type][1], 0x05, -128, -128);
		build_row(b, starts[type][2], 0x23, 32767);
		build_row(b, starts[type][3], 0x45, 0x7fffffff, -0x7fffffff - 1);
	}
}

#define SIZES \
	"fde 0x100000 131072\n" \
	"  0 sp+127 u (c-8)\n" \
	"  7f sp-128 (c-128) (c-8)\n" \
	"  80 sp+32767 u (c-8)\n" \
	"  ff sp+2147483647 (c-2147483648) (c-8)\n" \
	"fde 0x200000 131072\n" \
	"  0 sp+127 u (c-8)\n" \
	"  ff sp-128 (c-128) (c-8)\n" \
	"  100 sp+32767 u (c-8)\n" \
	"  ffff sp+2147483647 (c-2147483648) (c-8)\n" \
	"fde 0x300000 131072\n" \
	"  0 sp+127 u (c-8)\n" \
	"  ff sp-128 (c-128) (c-8)\n" \
	"  ffff sp+32767 u (c-8)\n" \
	"  10000 sp+2147483647 (c-2147483648) (c-8)\n"

static void rows_at_size(struct build *b)
{
	build_fde(b, 0x1000, 4, ADDR1, 0, 0);
	three_rows(b);
}

static void same_start(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	build_fde(b, 0x1000, 0, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
}

/* The entry of size 0 comes first, and covers nothing. */
static void unsorted_same_start(struct build *b)
{
	build_fde(b, 0x1000, 0, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 24);
	one_function(b);
}

/* The rows are in another order than their functions. */
static void crossed(struct build *b)
{
	two_functions(b);
	b->fdes[0].num_fres = 1;
	b->fdes[0].fre_off = 11;
	b->fdes[1].num_fres = 3;
	b->fdes[1].fre_off = 0;
}

static void window(struct build *b)
{
	u32 i;

	build_fde(b, 0x1000, 255, ADDR1, 0, 0);
	for (i = 0; i < 40; i++)
		build_row(b, 6 * i, 0x45, 8 * i, -8);
}

/* PLT. */

/* The block size is 16, for which V1 has no field. */
static void pcmask(struct build *b)
{
	build_fde(b, 0x1000, 48, PCMASK, 0, 16);
	build_row(b, 0, 0x03, 8);
	build_row(b, 11, 0x03, 16);
}

/* Blocks begin at the start of the function, which need not be aligned. */
static void pcmask_odd(struct build *b)
{
	build_fde(b, 0x1003, 50, PCMASK, 0, 7);
	build_row(b, 0, 0x03, 8);
	build_row(b, 5, 0x03, 16);
}

/* Erratum E6: the file has 16, a look-up returns 8. */
static void plt_got(struct build *b)
{
	build_fde(b, 0x1000, 16, PCMASK, 0, 8);
	build_row(b, 0, 0x03, 16);
}

/* Flexible rows. */

static void flex_function(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, FLEX, 0);
}

static void flex(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x04, 7 << 3 | 1, 8);
	build_row(b, 5, 0x04, 10 << 3 | 1, 0);
	build_row(b, 9, 0x0a, 6 << 3 | 3, -8, 0, 6 << 3 | 3, 0);
}

static void flex_ra(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x08, 7 << 3 | 1, 8, 0 << 3 | 1, 0);
	build_row(b, 5, 0x0c, 7 << 3 | 1, 16, 2, -16, 12 << 3 | 1, 0);
}

/* Rules of the forms *(CFA + n) and CFA + n, and the highest register. */
static void flex_forms(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x2c, 15 << 3 | 1, 300, 2, -300, 1 << 2, 24);
	build_row(b, 5, 0x4c, 15 << 3 | 3, 70000, 2, -70000, 2, -16);
}

static void flex_aarch64(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x24, 31 << 3 | 1, 0);
	build_row(b, 4, 0x2a, 31 << 3 | 1, 16, 0, 2, -16);
	build_row(b, 8, 0x2c, 29 << 3 | 1, 16, 2, -8, 2, -16);
}

/* Other architectures. */

static void aarch64(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1 | KEY_B, 0, 0);
	build_row(b, 0, 0x03, 0);
	build_row(b, 4, 0x83, 0);
	build_row(b, 8, 0x87, 32, -24, -32);
	build_row(b, 12, 0x85, 32, -24);
	build_row(b, 16, 0x26, 512, -504, -512);
}

#define AARCH64_ROWS						\
	"fde 0x1000 64 key-b\n"					\
	"  0 sp+0 u u\n"					\
	"  4 sp+0 u u [s]\n"					\
	"  8 sp+32 (c-32) (c-24) [s]\n"				\
	"  c sp+32 u (c-24) [s]\n"				\
	"  10 fp+512 (c-512) (c-504)\n"

static void aarch64_pcmask(struct build *b)
{
	build_fde(b, 0x1000, 48, PCMASK, 0, 16);
	build_row(b, 0, 0x03, 16);
}

/* In V3 odd words are no registers. */
static void s390x_odd_words(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x07, 0, -47, 33);
}

/* CFA offsets are scaled and biased; odd words are registers: f0 is 16. */
static void s390x(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 0);
	build_row(b, 6, 0x07, 0, -48, -72);
	build_row(b, 12, 0x07, 20, 0, 16 << 1 | 1);
	build_row(b, 18, 0x06, 20, 17 << 1 | 1, 16 << 1 | 1);
	/* The offsets closest to 2^31 and -2^31. */
	build_row(b, 24, 0x43, 0x0fffffeb);
	build_row(b, 30, 0x43, -0x10000014);
}

static void s390x_flex(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x24, 15 << 3 | 1, 0);
	build_row(b, 6, 0x2c, 11 << 3 | 1, 20, 14 << 3 | 1, 0, 16 << 3 | 1, 0);
}

/* The decoder must refuse these. */

static void bad_short_header(struct build *b)
{
	one_function(b);
	b->cut_to = 20;
}

static void bad_unsorted_fdes(struct build *b)
{
	build_fde(b, 0x1040, 32, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
}

static void bad_unsorted_rows(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 4, 0x04, 16, -16);
	build_row(b, 1, 0x05, 16, -16);
}

static void bad_equal_rows(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 0, 0x03, 16);
}

static void bad_pcmask_rep0(struct build *b)
{
	build_fde(b, 0x1000, 48, PCMASK, 0, 0);
	three_rows(b);
}

/* V1 stores no block size, and only AMD64 has a default. */
static void bad_aarch64_pcmask(struct build *b)
{
	build_fde(b, 0x1000, 48, PCMASK, 0, 0);
	build_row(b, 0, 0x03, 0);
}

static void bad_words_cut(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 1, 0x1f);
}

static void bad_wordsize3(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 8);
	build_row(b, 1, 0x63);
	build_row(b, 2, 0x01);
}

static void bad_default_3words(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x07, 8, -8, -16);
}

static void bad_default_4words(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x09, 8, -8, -16, -24);
}

static void bad_flex_1word(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x02, 7 << 3 | 1);
}

static void bad_flex_3words(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x06, 7 << 3 | 1, 8, 0);
}

/* RA is padding, so the fourth word is an FP control word without offset. */
static void bad_flex_half_rule(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x08, 7 << 3 | 1, 8, 0, 6 << 3 | 3);
}

/* One word is left after the last rule. */
static void bad_flex_odd_word(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x0c, 7 << 3 | 1, 8, 0, 2, -16, 0);
}

static void bad_flex_cfa_noreg(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x04, 2, 8);
}

static void bad_flex_cfa_pad(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x04, 0, 8);
}

static void bad_flex_regnum(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x4c, 7 << 3 | 1, 8, 2, -8, -5, 0);
}

static void bad_flex_cfa_reg16(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x24, 16 << 3 | 1, 8);
	build_row(b, 4, 0x24, 15 << 3 | 1, 8);
}

static void bad_flex_trailing(struct build *b)
{
	flex_function(b);
	build_row(b, 0, 0x0e, 7 << 3 | 1, 8, 2, -8, 2, -16, 0);
}

static void bad_s390x_regnum(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x27, 0, -48, 32 << 1 | 1);
	build_row(b, 6, 0x27, 0, -48, 256 << 1 | 1);
	build_row(b, 12, 0x27, 0, -1, -48);
}

/* Scaled, these CFA offsets need 33 bits or more. */
static void bad_s390x_offset(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x43, 0x0fffffec);
	build_row(b, 6, 0x43, -0x10000015);
	build_row(b, 12, 0x43, 0x7fffffff);
}

static void bad_fre_off(struct build *b)
{
	one_function(b);
	b->fdes[0].fre_off = 11;
}

static void bad_num_fres(struct build *b)
{
	one_function(b);
	b->fdes[0].num_fres = 0xffffffff;
}

static void bad_le_s390x(struct build *b)
{
	b->big = false;
}

static void bad_be_amd64(struct build *b)
{
	one_function(b);
	b->big = true;
}

/* Well-formed sections that no producer writes. */

static void weird_cfa_shrinks(struct build *b)
{
	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	build_row(b, 0, 0x03, -8);
}

static void weird_fixed_fp(struct build *b)
{
	one_function(b);
	b->raw.cfa_fixed_fp_offset = -16;
}

static void weird_amd64_fra0(struct build *b)
{
	one_function(b);
	b->raw.cfa_fixed_ra_offset = 0;
}

#define V3	"blob 3 5\n"

const struct section_case section_cases[] = {
	{ "ok-v1-minimal", 1, SORTED, AMD64, two_functions,
	  "blob 1 1\n" TWO_FUNCTIONS },
	{ "ok-v2-minimal", 2, SORTED, AMD64, two_functions,
	  "blob 2 1\n" TWO_FUNCTIONS },
	{ "ok-v2-pcrel", 2, BOTH, AMD64, two_functions,
	  "blob 2 5\n" TWO_FUNCTIONS },
	{ "ok-v3-minimal", 3, BOTH, AMD64, two_functions, V3 TWO_FUNCTIONS },
	{ "ok-v3-nopcrel", 3, SORTED, AMD64, two_functions,
	  "blob 3 1\n" TWO_FUNCTIONS },
	{ "ok-v1-frame-pointer", 1, SORTED | SFRAME_F_FRAME_POINTER, AMD64, two_functions,
	  "blob 1 3\n" TWO_FUNCTIONS },
	{ "ok-v3-auxhdr8", 3, BOTH, AMD64, auxhdr8, V3 TWO_FUNCTIONS },
	{ "ok-v3-fdeoff-gap", 3, BOTH, AMD64, fdeoff_gap, V3 TWO_FUNCTIONS },
	{ "ok-v3-trailing-pad", 3, BOTH, AMD64, trailing_pad, V3 TWO_FUNCTIONS },
	{ "ok-v3-no-fdes", 3, PCREL, AMD64, NULL, "blob 3 4\n" },
	{ "ok-empty", 3, 0, AMD64, empty, "" },
	{ "ok-v3-unsorted", 3, PCREL, AMD64, unsorted,
	  "blob 3 4\n"
	  "fde 0x3000 16\n"
	  "  0 sp+24 u (c-8)\n"
	  ONE_FUNCTION
	  "fde 0x2000 16\n"
	  "  0 sp+32 u (c-8)\n" },
	{ "ok-v2-negative-start", 2, SORTED, AMD64, negative_start,
	  "blob 2 1\n"
	  "fde -0x2000 16\n"
	  "  0 sp+8 u (c-8)\n" },
	{ "ok-v3-far-start", 3, BOTH, AMD64, far_start,
	  V3
	  "fde -0x200000000 16\n"
	  "  0 sp+8 u (c-8)\n"
	  "fde 0x200000000 16\n"
	  "  0 sp+16 u (c-8)\n" },
	{ "ok-v3-outermost-norows", 3, BOTH, AMD64, outermost_norows,
	  V3 "fde 0x1000 9\n" },
	{ "ok-v3-sig-norows", 3, BOTH, AMD64, sig_norows,
	  V3 "fde 0x1000 9 signal\n" },
	{ "ok-v2-norows", 2, BOTH, AMD64, outermost_norows,
	  "blob 2 5\n"
	  "fde 0x1000 9\n" },
	{ "ok-v2-outermost", 2, SORTED, AMD64, outermost,
	  "blob 2 1\n"
	  "fde 0x1000 9\n"
	  "  0 - - undefined\n" },
	{ "ok-v3-outermost", 3, SORTED, AMD64, outermost,
	  "blob 3 1\n"
	  "fde 0x1000 9\n"
	  "  0 - - undefined\n" },
	{ "ok-v3-outermost-flex", 3, SORTED, AMD64, outermost_flex,
	  "blob 3 1\n"
	  "fde 0x1000 9 flex\n"
	  "  0 - - undefined\n" },
	{ "ok-v1-sizes", 1, SORTED, AMD64, sizes, "blob 1 1\n" SIZES },
	{ "ok-v2-sizes", 2, SORTED, AMD64, sizes, "blob 2 1\n" SIZES },
	{ "ok-v3-sizes", 3, SORTED, AMD64, sizes, "blob 3 1\n" SIZES },
	{ "ok-v3-rows-at-size", 3, BOTH, AMD64, rows_at_size,
	  V3 "fde 0x1000 4\n" THREE_ROWS },
	{ "ok-v3-same-start", 3, BOTH, AMD64, same_start,
	  V3 ONE_FUNCTION
	  "fde 0x1000 0\n"
	  "  0 sp+8 u (c-8)\n" },
	{ "ok-v3-unsorted-same-start", 3, PCREL, AMD64, unsorted_same_start,
	  "blob 3 4\n"
	  "fde 0x1000 0\n"
	  "  0 sp+24 u (c-8)\n"
	  ONE_FUNCTION },
	{ "ok-v2-crossed", 2, SORTED, AMD64, crossed,
	  "blob 2 1\n"
	  "fde 0x1000 64\n"
	  "  0 sp+8 u (c-8)\n"
	  "fde 0x1040 32\n" THREE_ROWS },
	{ "ok-v3-window", 3, BOTH, AMD64, window,
	  V3
	  "fde 0x1000 255\n"
	  "  0 sp+0 (c-8) (c-8)\n"
	  "  6 sp+8 (c-8) (c-8)\n"
	  "  c sp+16 (c-8) (c-8)\n"
	  "  12 sp+24 (c-8) (c-8)\n"
	  "  18 sp+32 (c-8) (c-8)\n"
	  "  1e sp+40 (c-8) (c-8)\n"
	  "  24 sp+48 (c-8) (c-8)\n"
	  "  2a sp+56 (c-8) (c-8)\n"
	  "  30 sp+64 (c-8) (c-8)\n"
	  "  36 sp+72 (c-8) (c-8)\n"
	  "  3c sp+80 (c-8) (c-8)\n"
	  "  42 sp+88 (c-8) (c-8)\n"
	  "  48 sp+96 (c-8) (c-8)\n"
	  "  4e sp+104 (c-8) (c-8)\n"
	  "  54 sp+112 (c-8) (c-8)\n"
	  "  5a sp+120 (c-8) (c-8)\n"
	  "  60 sp+128 (c-8) (c-8)\n"
	  "  66 sp+136 (c-8) (c-8)\n"
	  "  6c sp+144 (c-8) (c-8)\n"
	  "  72 sp+152 (c-8) (c-8)\n"
	  "  78 sp+160 (c-8) (c-8)\n"
	  "  7e sp+168 (c-8) (c-8)\n"
	  "  84 sp+176 (c-8) (c-8)\n"
	  "  8a sp+184 (c-8) (c-8)\n"
	  "  90 sp+192 (c-8) (c-8)\n"
	  "  96 sp+200 (c-8) (c-8)\n"
	  "  9c sp+208 (c-8) (c-8)\n"
	  "  a2 sp+216 (c-8) (c-8)\n"
	  "  a8 sp+224 (c-8) (c-8)\n"
	  "  ae sp+232 (c-8) (c-8)\n"
	  "  b4 sp+240 (c-8) (c-8)\n"
	  "  ba sp+248 (c-8) (c-8)\n"
	  "  c0 sp+256 (c-8) (c-8)\n"
	  "  c6 sp+264 (c-8) (c-8)\n"
	  "  cc sp+272 (c-8) (c-8)\n"
	  "  d2 sp+280 (c-8) (c-8)\n"
	  "  d8 sp+288 (c-8) (c-8)\n"
	  "  de sp+296 (c-8) (c-8)\n"
	  "  e4 sp+304 (c-8) (c-8)\n"
	  "  ea sp+312 (c-8) (c-8)\n" },
	{ "ok-v1-pcmask", 1, SORTED, AMD64, pcmask,
	  "blob 1 1\n"
	  "fde 0x1000 48 mask16\n"
	  "  0 sp+8 u (c-8)\n"
	  "  b sp+16 u (c-8)\n" },
	{ "ok-v2-pcmask", 2, BOTH, AMD64, pcmask,
	  "blob 2 5\n"
	  "fde 0x1000 48 mask16\n"
	  "  0 sp+8 u (c-8)\n"
	  "  b sp+16 u (c-8)\n" },
	{ "ok-v3-pcmask", 3, BOTH, AMD64, pcmask,
	  V3
	  "fde 0x1000 48 mask16\n"
	  "  0 sp+8 u (c-8)\n"
	  "  b sp+16 u (c-8)\n" },
	{ "ok-v3-pcmask-odd", 3, BOTH, AMD64, pcmask_odd,
	  V3
	  "fde 0x1003 50 mask7\n"
	  "  0 sp+8 u (c-8)\n"
	  "  5 sp+16 u (c-8)\n" },
	{ "ok-v3-plt-got", 3, BOTH, AMD64, plt_got,
	  V3
	  "fde 0x1000 16 mask8\n"
	  "  0 sp+16 u (c-8)\n" },
	{ "ok-v3-flex", 3, BOTH, AMD64, flex,
	  V3
	  "fde 0x1000 64 flex\n"
	  "  0 sp+8 u (c-8)\n"
	  "  5 r10+0 u (c-8)\n"
	  "  9 (fp-8) (fp+0) (c-8)\n" },
	{ "ok-v3-flex-ra", 3, BOTH, AMD64, flex_ra,
	  V3
	  "fde 0x1000 64 flex\n"
	  "  0 sp+8 u r0+0\n"
	  "  5 sp+16 r12+0 (c-16)\n" },
	{ "ok-v3-flex-forms", 3, BOTH, AMD64, flex_forms,
	  V3
	  "fde 0x1000 64 flex\n"
	  "  0 r15+300 c+24 (c-300)\n"
	  "  5 (r15+70000) (c-16) (c-70000)\n" },
	{ "ok-v3-flex-aarch64", 3, BOTH, AARCH64, flex_aarch64,
	  V3
	  "fde 0x1000 64 flex\n"
	  "  0 sp+0 u u\n"
	  "  4 sp+16 (c-16) u\n"
	  "  8 fp+16 (c-16) (c-8)\n" },
	{ "ok-v1-aarch64", 1, SORTED, AARCH64, aarch64,
	  "blob 1 1\n" AARCH64_ROWS },
	{ "ok-v2-aarch64-be", 2, BOTH, AARCH64_BE, aarch64,
	  "blob 2 5\n" AARCH64_ROWS },
	{ "ok-v3-aarch64-be", 3, BOTH, AARCH64_BE, aarch64, V3 AARCH64_ROWS },
	{ "ok-v2-aarch64-pcmask", 2, BOTH, AARCH64, aarch64_pcmask,
	  "blob 2 5\n"
	  "fde 0x1000 48 mask16\n"
	  "  0 sp+16 u u\n" },
	{ "ok-v3-s390x", 3, BOTH, S390X, s390x_odd_words,
	  V3
	  "fde 0x1000 64\n"
	  "  0 sp+160 (c+33) (c-47)\n" },
	{ "ok-v2-s390x", 2, BOTH, S390X, s390x,
	  "blob 2 5\n"
	  "fde 0x1000 64\n"
	  "  0 sp+160 u u\n"
	  "  6 sp+160 (c-72) (c-48)\n"
	  "  c sp+320 r16+0 u\n"
	  "  12 fp+320 r16+0 r17+0\n"
	  "  18 sp+2147483640 u u\n"
	  "  1e sp-2147483648 u u\n" },
	{ "ok-v3-s390x-flex", 3, BOTH, S390X, s390x_flex,
	  V3
	  "fde 0x1000 64 flex\n"
	  "  0 sp+160 u u\n"
	  "  6 fp+320 r16+0 r14+0\n" },

	{ "bad-short-header", 3, BOTH, AMD64, bad_short_header,
	  "! header short\n" },
	{ "bad-unsorted-fdes", 3, BOTH, AMD64, bad_unsorted_fdes,
	  V3
	  "fde 0x1040 32\n"
	  "  0 sp+8 u (c-8)\n"
	  "fde 0x1000 64\n"
	  "! fde 1 fde-order\n" THREE_ROWS },
	{ "bad-unsorted-rows", 3, BOTH, AMD64, bad_unsorted_rows,
	  V3
	  "fde 0x1000 64\n"
	  "  0 sp+8 u (c-8)\n"
	  "  4 fp+16 (c-16) (c-8)\n"
	  "! fde 0 row 2 fre-order\n" },
	{ "bad-v2-equal-rows", 2, SORTED, AMD64, bad_equal_rows,
	  "blob 2 1\n"
	  "fde 0x1000 64\n"
	  "  0 sp+8 u (c-8)\n"
	  "! fde 0 row 1 fre-order\n" },
	{ "bad-pcmask-rep0", 3, BOTH, AMD64, bad_pcmask_rep0,
	  V3 "! fde 0 rep-size\n" },
	{ "bad-v2-pcmask-rep0", 2, BOTH, AMD64, bad_pcmask_rep0,
	  "blob 2 5\n"
	  "! fde 0 rep-size\n" },
	{ "bad-v1-aarch64-pcmask", 1, SORTED, AARCH64, bad_aarch64_pcmask,
	  "blob 1 1\n"
	  "! fde 0 rep-size\n" },
	{ "bad-words-cut", 3, BOTH, AMD64, bad_words_cut,
	  V3
	  "fde 0x1000 64\n"
	  "  0 sp+8 u (c-8)\n"
	  "! fde 0 row 1 fre-cut\n" },
	{ "bad-wordsize3", 3, BOTH, AMD64, bad_wordsize3,
	  V3
	  "fde 0x1000 64\n"
	  "  0 sp+8 u (c-8)\n"
	  "! fde 0 row 1 word-size\n" },
	{ "bad-default-3words", 3, BOTH, AMD64, bad_default_3words,
	  V3
	  "fde 0x1000 64\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-default-4words", 3, BOTH, AMD64, bad_default_4words,
	  V3
	  "fde 0x1000 64\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-v2-aarch64-4words", 2, BOTH, AARCH64, bad_default_4words,
	  "blob 2 5\n"
	  "fde 0x1000 64\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-flex-1word", 3, BOTH, AMD64, bad_flex_1word,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-flex-3words", 3, BOTH, AMD64, bad_flex_3words,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-flex-half-rule", 3, BOTH, AMD64, bad_flex_half_rule,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-flex-odd-word", 3, BOTH, AMD64, bad_flex_odd_word,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-flex-cfa-noreg", 3, BOTH, AMD64, bad_flex_cfa_noreg,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 flex-cfa\n" },
	{ "bad-flex-cfa-pad", 3, BOTH, AMD64, bad_flex_cfa_pad,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 flex-cfa\n" },
	{ "bad-flex-regnum", 3, BOTH, AMD64, bad_flex_regnum,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 regnum\n" },
	{ "bad-flex-cfa-reg16", 3, BOTH, AMD64, bad_flex_cfa_reg16,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 regnum\n"
	  "  4 r15+8 u (c-8)\n" },
	{ "bad-flex-trailing", 3, BOTH, AMD64, bad_flex_trailing,
	  V3
	  "fde 0x1000 64 flex\n"
	  "! fde 0 row 0 nr-words\n" },
	{ "bad-v2-s390x-regnum", 2, BOTH, S390X, bad_s390x_regnum,
	  "blob 2 5\n"
	  "fde 0x1000 64\n"
	  "! fde 0 row 0 regnum\n"
	  "! fde 0 row 1 regnum\n"
	  "! fde 0 row 2 regnum\n" },
	{ "bad-v2-s390x-offset", 2, BOTH, S390X, bad_s390x_offset,
	  "blob 2 5\n"
	  "fde 0x1000 64\n"
	  "! fde 0 row 0 offset\n"
	  "! fde 0 row 1 offset\n"
	  "! fde 0 row 2 offset\n" },
	{ "bad-v2-fre_off", 2, SORTED, AMD64, bad_fre_off,
	  "blob 2 1\n"
	  "! fde 0 fre-off\n" },
	{ "bad-v1-num_fres-lie", 1, SORTED, AMD64, bad_num_fres,
	  "blob 1 1\n" ONE_FUNCTION
	  "! fde 0 row 3 fre-cut\n" },
	{ "bad-v1-pcrel", 1, BOTH, AMD64, one_function, "! header flags\n" },
	{ "bad-v3-frame-pointer", 3, BOTH | SFRAME_F_FRAME_POINTER, AMD64, one_function,
	  "! header flags\n" },
	{ "bad-le-s390x", 3, BOTH, S390X, bad_le_s390x, "! header abi\n" },
	{ "bad-be-amd64", 3, BOTH, AMD64, bad_be_amd64, "! header abi\n" },

	{ "weird-cfa-shrinks", 3, BOTH, AMD64, weird_cfa_shrinks,
	  V3
	  "fde 0x1000 64\n"
	  "  0 sp-8 u (c-8)\n" },
	{ "weird-fixed-fp", 3, BOTH, AMD64, weird_fixed_fp,
	  "! header fixed-offsets\n" },
	{ "weird-amd64-fra0", 3, BOTH, AMD64, weird_amd64_fra0,
	  "! header fixed-offsets\n" },
};

static_assert(ARRAY_SIZE(section_cases) == NR_SECTION_CASES);

/*
 * The smallest section, 60 bytes: header 0, index entry 28 (start 28, size 36,
 * fre_off 40), attribute 44 (num_fres 44, info 46, info2 47, rep_size 48),
 * rows 49.
 */
const struct section_patch section_patches[] = {
	{ "bad-magic", 0, 1, 0xe3, "! header magic\n" },
	{ "bad-version0", 2, 1, 0, "! header version\n" },
	{ "bad-version4", 2, 1, 4, "! header version\n" },
	{ "bad-flag8", 3, 1, 0x0d, "! header flags\n" },
	{ "bad-abi0", 4, 1, 0, "! header abi\n" },
	{ "bad-abi9", 4, 1, 9, "! header abi\n" },
	{ "bad-fixed-ra", 6, 1, 0xf0, "! header fixed-offsets\n" },
	{ "bad-aux255", 7, 1, 255, "! header freoff\n" },
	{ "bad-fdeoff-gt-freoff", 20, 4, 17, "! header fdeoff\n" },
	{ "bad-fdeoff-cuts-table", 20, 4, 1, "! header num-fdes\n" },
	{ "bad-nfde-mul-overflow", 8, 4, 0x10000001, "! header num-fdes\n" },
	{ "bad-nfde-huge", 8, 4, 0xffffffff, "! header num-fdes\n" },
	{ "bad-freoff-wrap", 24, 4, 0xfffffff0, "! header freoff\n" },
	{ "bad-frelen", 16, 4, 17, "! header fre-len\n" },
	{ "bad-frelen-wrap", 16, 4, 0xfffffff0, "! header fre-len\n" },
	{ "bad-fre_off", 40, 4, 0xfffffff0, V3 "! fde 0 fre-off\n" },
	{ "bad-fre_off-wrap", 40, 4, 0xfffffffb, V3 "! fde 0 fre-off\n" },
	{ "bad-fre_off-attr-cut", 40, 4, 12, V3 "! fde 0 fre-off\n" },
	{ "bad-num_fres-lie", 44, 2, 0xffff,
	  V3 ONE_FUNCTION
	  "! fde 0 row 3 fre-cut\n" },
	{ "bad-fretype3", 46, 1, 3, V3 "! fde 0 fre-type\n" },
	{ "bad-fdetype2", 47, 1, 2, V3 "! fde 0 fde-type\n" },
	{ "bad-size-wrap", 28, 8, -(1ull << 46) - 28 - 0x20,
	  V3
	  "fde -0x400000000020 64\n"
	  "! fde 0 fde-range\n" THREE_ROWS },
	{ "bad-start-min", 28, 8, 1ull << 63,
	  V3
	  "fde -0x7fffffffffffffe4 64\n"
	  "! fde 0 fde-range\n" THREE_ROWS },
	{ "ok-unused-info2-bits", 47, 1, 0xe0, V3 ONE_FUNCTION },
	{ "ok-unused-info-bit", 46, 1, 0x40, V3 ONE_FUNCTION },
	{ "ok-num_fres-ignored", 12, 4, 0xffffffff, V3 ONE_FUNCTION },
	{ "ok-pcinc-rep", 48, 1, 16, V3 ONE_FUNCTION },
};

static_assert(ARRAY_SIZE(section_patches) == NR_SECTION_PATCHES);

/* Built for AARCH64, these sections would have another defect, or none. */
static const char *const amd64_only[] = {
	"ok-v1-pcmask", "bad-default-3words", "bad-flex-cfa-reg16", "weird-amd64-fra0",
};

static bool is_for_any_abi(const struct section_case *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(amd64_only); i++)
		if (!strcmp(test->name, amd64_only[i]))
			return false;
	return test->abi == AMD64;
}

void make_section_case_for(struct build *b, const struct section_case *test,
			   u8 abi)
{
	if (!is_for_any_abi(test))
		abi = test->abi;
	build_start(b, test->version, test->flags, abi);
	if (test->make)
		test->make(b);
	build_finish(b);
}

void make_section_case(struct build *b, const struct section_case *test)
{
	make_section_case_for(b, test, test->abi);
}

void make_section_patch_for(struct build *b, const struct section_patch *patch,
			    u8 abi)
{
	build_start(b, 3, BOTH, abi);
	one_function(b);
	build_finish(b);
	build_patch(b, patch->off, patch->value, patch->len);
}

void make_section_patch(struct build *b, const struct section_patch *patch)
{
	make_section_patch_for(b, patch, AMD64);
}
