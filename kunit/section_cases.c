// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sections by hand. section_builder.h explains the text of a section; test_decoder.c of the host
 * tests explains the listing. Its rows are taken from the specification, never computed.
 */
#include "section_builder.h"

#define ONE		"0x1000 64: 0 3 8, 1 5 16 -16, 4 4 16 -16"
#define TWO		ONE "; 0x1040 32: 0 3 8"
#define SIZES								\
	"0x100000 131072: 0 3 127, 0x7f 5 -128 -128, 0x80 0x23 32767,"	\
	" 0xff 0x45 0x7fffffff -0x80000000;"				\
	"0x200000 131072 1: 0 3 127, 0xff 5 -128 -128, 0x100 0x23 32767,"	\
	" 0xffff 0x45 0x7fffffff -0x80000000;"				\
	"0x300000 131072 2: 0 3 127, 0xff 5 -128 -128, 0xffff 0x23 32767,"	\
	" 0x10000 0x45 0x7fffffff -0x80000000"
#define PCMASK_ROWS	"0x1000 48 0x10 0 16: 0 3 8, 11 3 16"
#define AARCH64_ROWS							\
	"0x1000 64 0x20: 0 3 0, 4 0x83 0, 8 0x87 32 -24 -32, 12 0x85 32 -24, 16 0x26 512 -504 -512"
#define S390X_ROWS							\
	"0x1000 64: 0 3 0, 6 7 0 -48 -72, 12 7 20 0 33, 18 6 20 35 33,"	\
	" 24 0x43 0x0fffffeb, 30 0x43 -0x10000014"
#define FLEX_ROW	"0x1000 64 0 1: 0 "

#define V2_BOTH		"blob 2 5\n"
#define V3		"blob 3 5\n"
#define FDE		"fde 0x1000 64\n"
#define FLEX_FDE	"fde 0x1000 64 flex\n"
#define SP_8		" sp+8 u (c-8)\n"
#define SP_16		" sp+16 u (c-8)\n"
#define L_ROWS		"  0" SP_8 "  1 sp+16 (c-16) (c-8)\n  4 fp+16 (c-16) (c-8)\n"
#define L_ONE		"fde 0x1000 64\n" L_ROWS
#define L_TWO		L_ONE "fde 0x1040 32\n  0" SP_8
#define L_SIZES								\
	"fde 0x100000 131072\n  0 sp+127 u (c-8)\n"			\
	"  7f sp-128 (c-128) (c-8)\n  80 sp+32767 u (c-8)\n"		\
	"  ff sp+2147483647 (c-2147483648) (c-8)\n"			\
	"fde 0x200000 131072\n  0 sp+127 u (c-8)\n"			\
	"  ff sp-128 (c-128) (c-8)\n  100 sp+32767 u (c-8)\n"		\
	"  ffff sp+2147483647 (c-2147483648) (c-8)\n"			\
	"fde 0x300000 131072\n  0 sp+127 u (c-8)\n"			\
	"  ff sp-128 (c-128) (c-8)\n  ffff sp+32767 u (c-8)\n"		\
	"  10000 sp+2147483647 (c-2147483648) (c-8)\n"
#define L_PCMASK	"fde 0x1000 48 mask16\n  0" SP_8 "  b" SP_16
#define L_AARCH64							\
	"fde 0x1000 64 key-b\n  0 sp+0 u u\n  4 sp+0 u u [s]\n  8 sp+32 (c-32) (c-24) [s]\n"	\
	"  c sp+32 u (c-24) [s]\n  10 fp+512 (c-512) (c-504)\n"
#define L_NR_WORDS	"! fde 0 row 0 nr-words\n"

/* Columns: name, version, flags, ABI, text, listing. */
const struct section_case section_cases[] = {
	{ "ok-v1-minimal", 1, SORTED, AMD64, TWO, "blob 1 1\n" L_TWO },
	{ "ok-v2-minimal", 2, SORTED, AMD64, TWO, "blob 2 1\n" L_TWO },
	{ "ok-v2-pcrel", 2, BOTH, AMD64, TWO, V2_BOTH L_TWO },
	{ "ok-v3-minimal", 3, BOTH, AMD64, TWO, V3 L_TWO },
	{ "ok-v3-nopcrel", 3, SORTED, AMD64, TWO, "blob 3 1\n" L_TWO },
	{ "ok-v1-frame-pointer", 1, SORTED | SFRAME_F_FRAME_POINTER, AMD64, TWO,
	  "blob 1 3\n" L_TWO },
	{ "ok-v3-auxhdr8", 3, BOTH, AMD64, TWO, V3 L_TWO, .auxhdr = 8 },
	{ "ok-v3-fdeoff-gap", 3, BOTH, AMD64, TWO, V3 L_TWO, .gap = 12 },
	{ "ok-v3-trailing-pad", 3, BOTH, AMD64, TWO, V3 L_TWO, .tail = 40 },
	{ "ok-v3-no-fdes", 3, PCREL, AMD64, "", "blob 3 4\n" },
	{ "ok-empty", 3, 0, AMD64, NULL, "" },
	{ "ok-v3-unsorted", 3, PCREL, AMD64, "0x3000 16: 0 3 24; " ONE "; 0x2000 16: 0 3 32",
	  "blob 3 4\nfde 0x3000 16\n  0 sp+24 u (c-8)\n" L_ONE
	  "fde 0x2000 16\n  0 sp+32 u (c-8)\n" },
	{ "ok-v2-negative-start", 2, SORTED, AMD64, "-0x2000 16: 0 3 8",
	  "blob 2 1\nfde -0x2000 16\n  0" SP_8 },
	{ "ok-v3-far-start", 3, BOTH, AMD64, "-0x200000000 16: 0 3 8; 0x200000000 16: 0 3 16",
	  V3 "fde -0x200000000 16\n  0" SP_8 "fde 0x200000000 16\n  0" SP_16 },

	{ "ok-v3-outermost-norows", 3, BOTH, AMD64, "0x1000 9", V3 "fde 0x1000 9\n" },
	{ "ok-v3-sig-norows", 3, BOTH, AMD64, "0x1000 9 0x80", V3 "fde 0x1000 9 signal\n" },
	{ "ok-v2-norows", 2, BOTH, AMD64, "0x1000 9", V2_BOTH "fde 0x1000 9\n" },
	{ "ok-v2-outermost", 2, SORTED, AMD64, "0x1000 9: 0 1",
	  "blob 2 1\nfde 0x1000 9\n  0 - - undefined\n" },
	{ "ok-v3-outermost", 3, SORTED, AMD64, "0x1000 9: 0 1",
	  "blob 3 1\nfde 0x1000 9\n  0 - - undefined\n" },
	{ "ok-v3-outermost-flex", 3, SORTED, AMD64, "0x1000 9 0 1: 0 1",
	  "blob 3 1\nfde 0x1000 9 flex\n  0 - - undefined\n" },
	{ "ok-v1-sizes", 1, SORTED, AMD64, SIZES, "blob 1 1\n" L_SIZES },
	{ "ok-v2-sizes", 2, SORTED, AMD64, SIZES, "blob 2 1\n" L_SIZES },
	{ "ok-v3-sizes", 3, SORTED, AMD64, SIZES, "blob 3 1\n" L_SIZES },
	{ "ok-v3-rows-at-size", 3, BOTH, AMD64, "0x1000 4: 0 3 8, 1 5 16 -16, 4 4 16 -16",
	  V3 "fde 0x1000 4\n" L_ROWS },
	{ "ok-v3-same-start", 3, BOTH, AMD64, ONE "; 0x1000 0: 0 3 8",
	  V3 L_ONE "fde 0x1000 0\n  0" SP_8 },
	/* The entry of size 0 comes first, and covers nothing. */
	{ "ok-v3-unsorted-same-start", 3, PCREL, AMD64, "0x1000 0: 0 3 24; " ONE,
	  "blob 3 4\nfde 0x1000 0\n  0 sp+24 u (c-8)\n" L_ONE },
	/* The rows are in another order than their functions: offsets and numbers are exchanged. */
	{ "ok-v2-crossed", 2, SORTED, AMD64, TWO,
	  "blob 2 1\n" FDE "  0" SP_8 "fde 0x1040 32\n" L_ROWS,
	  .patch = "36 4 11 40 4 1 56 4 0 60 4 3" },

	/* PLT. V1 has no field for the block size, which is 16. */
	{ "ok-v1-pcmask", 1, SORTED, AMD64, PCMASK_ROWS, "blob 1 1\n" L_PCMASK, .is_of_abi = true },
	{ "ok-v2-pcmask", 2, BOTH, AMD64, PCMASK_ROWS, V2_BOTH L_PCMASK },
	{ "ok-v3-pcmask", 3, BOTH, AMD64, PCMASK_ROWS, V3 L_PCMASK },
	/* Blocks begin at the start of the function, which need not be aligned. */
	{ "ok-v3-pcmask-odd", 3, BOTH, AMD64, "0x1003 50 0x10 0 7: 0 3 8, 5 3 16",
	  V3 "fde 0x1003 50 mask7\n  0" SP_8 "  5" SP_16 },
	/* Erratum E6: the file has 16, a look-up returns 8. */
	{ "ok-v3-plt-got", 3, BOTH, AMD64, "0x1000 16 0x10 0 8: 0 3 16",
	  V3 "fde 0x1000 16 mask8\n  0" SP_16 },

	{ "ok-v3-flex", 3, BOTH, AMD64, FLEX_ROW "4 0x39 8, 5 4 0x51 0, 9 10 0x33 -8 0 0x33 0",
	  V3 FLEX_FDE "  0" SP_8 "  5 r10+0 u (c-8)\n  9 (fp-8) (fp+0) (c-8)\n" },
	{ "ok-v3-flex-ra", 3, BOTH, AMD64, FLEX_ROW "8 0x39 8 1 0, 5 12 0x39 16 2 -16 0x61 0",
	  V3 FLEX_FDE "  0 sp+8 u r0+0\n  5 sp+16 r12+0 (c-16)\n" },
	/* Rules of the forms *(CFA + n) and CFA + n, and the highest register. */
	{ "ok-v3-flex-forms", 3, BOTH, AMD64,
	  FLEX_ROW "0x2c 0x79 300 2 -300 4 24, 5 0x4c 0x7b 70000 2 -70000 2 -16",
	  V3 FLEX_FDE "  0 r15+300 c+24 (c-300)\n  5 (r15+70000) (c-16) (c-70000)\n" },
	{ "ok-v3-flex-aarch64", 3, BOTH, AARCH64,
	  FLEX_ROW "0x24 0xf9 0, 4 0x2a 0xf9 16 0 2 -16, 8 0x2c 0xe9 16 2 -8 2 -16",
	  V3 FLEX_FDE "  0 sp+0 u u\n  4 sp+16 (c-16) u\n  8 fp+16 (c-16) (c-8)\n" },
	{ "ok-v1-aarch64", 1, SORTED, AARCH64, AARCH64_ROWS, "blob 1 1\n" L_AARCH64 },
	{ "ok-v2-aarch64-be", 2, BOTH, AARCH64_BE, AARCH64_ROWS, V2_BOTH L_AARCH64 },
	{ "ok-v3-aarch64-be", 3, BOTH, AARCH64_BE, AARCH64_ROWS, V3 L_AARCH64 },
	{ "ok-v2-aarch64-pcmask", 2, BOTH, AARCH64, "0x1000 48 0x10 0 16: 0 3 16",
	  V2_BOTH "fde 0x1000 48 mask16\n  0 sp+16 u u\n" },
	/* In V3 odd words are no registers. */
	{ "ok-v3-s390x", 3, BOTH, S390X, "0x1000 64: 0 7 0 -47 33",
	  V3 FDE "  0 sp+160 (c+33) (c-47)\n" },
	/*
	 * CFA offsets are scaled and biased; the last two are closest to 2^31 and -2^31. In V2 odd
	 * words are registers: f0 is 16.
	 */
	{ "ok-v2-s390x", 2, BOTH, S390X,
	  S390X_ROWS,
	  V2_BOTH FDE "  0 sp+160 u u\n  6 sp+160 (c-72) (c-48)\n  c sp+320 r16+0 u\n"
	  "  12 fp+320 r16+0 r17+0\n  18 sp+2147483640 u u\n  1e sp-2147483648 u u\n" },
	{ "ok-v3-s390x-flex", 3, BOTH, S390X, FLEX_ROW "0x24 0x79 0, 6 0x2c 0x59 20 0x71 0 0x81 0",
	  V3 FLEX_FDE "  0 sp+160 u u\n  6 fp+320 r16+0 r14+0\n" },

	{ "bad-short-header", 3, BOTH, AMD64, ONE, "! header short\n", .cut_to = 20 },
	{ "bad-unsorted-fdes", 3, BOTH, AMD64,
	  "0x1040 32: 0 3 8; " ONE, V3 "fde 0x1040 32\n  0" SP_8 FDE "! fde 1 fde-order\n" L_ROWS },
	{ "bad-unsorted-rows", 3, BOTH, AMD64, "0x1000 64: 0 3 8, 4 4 16 -16, 1 5 16 -16",
	  V3 FDE "  0" SP_8 "  4 fp+16 (c-16) (c-8)\n! fde 0 row 2 fre-order\n" },
	{ "bad-v2-equal-rows", 2, SORTED, AMD64, "0x1000 64: 0 3 8, 0 3 16",
	  "blob 2 1\n" FDE "  0" SP_8 "! fde 0 row 1 fre-order\n" },
	{ "bad-pcmask-rep0", 3, BOTH, AMD64, "0x1000 48 0x10: 0 3 8, 1 5 16 -16, 4 4 16 -16",
	  V3 "! fde 0 rep-size\n" },
	{ "bad-v2-pcmask-rep0", 2, BOTH, AMD64, "0x1000 48 0x10: 0 3 8",
	  V2_BOTH "! fde 0 rep-size\n" },
	/* V1 stores no block size, and only AMD64 has a default. */
	{ "bad-v1-aarch64-pcmask", 1, SORTED, AARCH64, "0x1000 48 0x10: 0 3 0",
	  "blob 1 1\n! fde 0 rep-size\n" },
	{ "bad-words-cut", 3, BOTH, AMD64, "0x1000 64: 0 3 8, 1 0x1f",
	  V3 FDE "  0" SP_8 "! fde 0 row 1 fre-cut\n" },
	{ "bad-wordsize3", 3, BOTH, AMD64, "0x1000 64: 0 3 8, 1 0x63, 2 1",
	  V3 FDE "  0" SP_8 "! fde 0 row 1 word-size\n" },
	{ "bad-default-3words", 3, BOTH, AMD64, "0x1000 64: 0 7 8 -8 -16", V3 FDE L_NR_WORDS,
	  .is_of_abi = true },
	{ "bad-default-4words", 3, BOTH, AMD64, "0x1000 64: 0 9 8 -8 -16 -24", V3 FDE L_NR_WORDS },
	{ "bad-v2-aarch64-4words", 2, BOTH, AARCH64, "0x1000 64: 0 9 8 -8 -16 -24",
	  V2_BOTH FDE L_NR_WORDS },
	{ "bad-flex-1word", 3, BOTH, AMD64, FLEX_ROW "2 0x39", V3 FLEX_FDE L_NR_WORDS },
	{ "bad-flex-3words", 3, BOTH, AMD64, FLEX_ROW "6 0x39 8 0", V3 FLEX_FDE L_NR_WORDS },
	/* RA is padding, so the fourth word is an FP control word without offset. */
	{ "bad-flex-half-rule", 3, BOTH, AMD64, FLEX_ROW "8 0x39 8 0 0x33",
	  V3 FLEX_FDE L_NR_WORDS },
	/* One word is left after the last rule. */
	{ "bad-flex-odd-word", 3, BOTH, AMD64, FLEX_ROW "12 0x39 8 0 2 -16 0",
	  V3 FLEX_FDE L_NR_WORDS },
	{ "bad-flex-trailing", 3, BOTH, AMD64, FLEX_ROW "14 0x39 8 2 -8 2 -16 0",
	  V3 FLEX_FDE L_NR_WORDS },
	{ "bad-flex-cfa-noreg", 3, BOTH, AMD64, FLEX_ROW "4 2 8",
	  V3 FLEX_FDE "! fde 0 row 0 flex-cfa\n" },
	{ "bad-flex-cfa-pad", 3, BOTH, AMD64, FLEX_ROW "4 0 8",
	  V3 FLEX_FDE "! fde 0 row 0 flex-cfa\n" },
	{ "bad-flex-regnum", 3, BOTH, AMD64, FLEX_ROW "0x4c 0x39 8 2 -8 -5 0",
	  V3 FLEX_FDE "! fde 0 row 0 regnum\n" },
	{ "bad-flex-cfa-reg16", 3, BOTH, AMD64, FLEX_ROW "0x24 0x81 8, 4 0x24 0x79 8",
	  V3 FLEX_FDE "! fde 0 row 0 regnum\n  4 r15+8 u (c-8)\n", .is_of_abi = true },
	{ "bad-v2-s390x-regnum", 2, BOTH, S390X,
	  "0x1000 64: 0 0x27 0 -48 65, 6 0x27 0 -48 513, 12 0x27 0 -1 -48",
	  V2_BOTH FDE "! fde 0 row 0 regnum\n! fde 0 row 1 regnum\n! fde 0 row 2 regnum\n" },
	/* Scaled, these CFA offsets need 33 bits or more. */
	{ "bad-v2-s390x-offset", 2, BOTH, S390X,
	  "0x1000 64: 0 0x43 0x0fffffec, 6 0x43 -0x10000015, 12 0x43 0x7fffffff",
	  V2_BOTH FDE "! fde 0 row 0 offset\n! fde 0 row 1 offset\n! fde 0 row 2 offset\n" },
	{ "bad-v2-fre_off", 2, SORTED, AMD64, ONE, "blob 2 1\n! fde 0 fre-off\n",
	  .patch = "36 4 11" },
	{ "bad-v1-num_fres-lie", 1, SORTED, AMD64, ONE,
	  "blob 1 1\n" L_ONE "! fde 0 row 3 fre-cut\n", .patch = "40 4 0xffffffff" },
	{ "bad-v1-pcrel", 1, BOTH, AMD64, ONE, "! header flags\n" },
	{ "bad-v3-frame-pointer", 3, BOTH | SFRAME_F_FRAME_POINTER, AMD64, ONE,
	  "! header flags\n" },
	{ "bad-le-s390x", 3, BOTH, AMD64, "", "! header abi\n", .patch = "4 1 4" },
	{ "bad-be-amd64", 3, BOTH, AMD64, ONE, "! header abi\n", .patch = "0 2 0xe2de" },

	/* Sections that no producer writes. */
	{ "weird-cfa-shrinks", 3, BOTH, AMD64, "0x1000 64: 0 3 -8", V3 FDE "  0 sp-8 u (c-8)\n" },
	{ "weird-fixed-fp", 3, BOTH, AMD64, ONE, "! header fixed-offsets\n", .patch = "5 1 0xf0" },
	{ "weird-amd64-fra0", 3, BOTH, AMD64, ONE, "! header fixed-offsets\n", .patch = "6 1 0",
	  .is_of_abi = true },

	/*
	 * The smallest section of V3, 60 bytes, with one field overwritten: header at 0, entry at
	 * 28 (start 28, size 36, fre_off 40), attribute at 44 (num_fres 44, info 46, info2 47,
	 * rep_size 48), rows at 49.
	 */
	{ "bad-magic", 3, BOTH, AMD64, ONE, "! header magic\n", .patch = "0 1 0xe3" },
	{ "bad-version4", 3, BOTH, AMD64, ONE, "! header version\n", .patch = "2 1 4" },
	{ "bad-fdeoff-gt-freoff", 3, BOTH, AMD64, ONE, "! header fdeoff\n", .patch = "20 4 17" },
	{ "bad-nfde-huge", 3, BOTH, AMD64, ONE, "! header num-fdes\n", .patch = "8 4 0xffffffff" },
	{ "bad-freoff-wrap", 3, BOTH, AMD64, ONE, "! header freoff\n", .patch = "24 4 0xfffffff0" },
	{ "bad-frelen", 3, BOTH, AMD64, ONE, "! header fre-len\n", .patch = "16 4 17" },
	{ "bad-fre_off", 3, BOTH, AMD64, ONE, V3 "! fde 0 fre-off\n", .patch = "40 4 0xfffffff0" },
	{ "bad-fre_off-wrap", 3, BOTH, AMD64, ONE, V3 "! fde 0 fre-off\n",
	  .patch = "40 4 0xfffffffb" },
	{ "bad-fre_off-attr-cut", 3, BOTH, AMD64, ONE, V3 "! fde 0 fre-off\n", .patch = "40 4 12" },
	{ "bad-num_fres-lie", 3, BOTH, AMD64, ONE, V3 L_ONE "! fde 0 row 3 fre-cut\n",
	  .patch = "44 2 0xffff" },
	{ "bad-fretype3", 3, BOTH, AMD64, ONE, V3 "! fde 0 fre-type\n", .patch = "46 1 3" },
	{ "bad-fdetype2", 3, BOTH, AMD64, ONE, V3 "! fde 0 fde-type\n", .patch = "47 1 2" },
	/* The section is at 2^46: this function ends at 2^64, and the next one begins at 2^63. */
	{ "bad-size-wrap", 3, BOTH, AMD64, ONE,
	  V3 "fde -0x400000000020 64\n! fde 0 fde-range\n" L_ROWS,
	  .patch = "28 8 -0x40000000003c" },
	{ "bad-start-min", 3, BOTH, AMD64, ONE,
	  V3 "fde -0x7fffffffffffffe4 64\n! fde 0 fde-range\n" L_ROWS,
	  .patch = "28 4 0 32 4 0x80000000" },
	{ "ok-unused-info2-bits", 3, BOTH, AMD64, ONE, V3 L_ONE, .patch = "47 1 0xe0" },
	{ "ok-unused-info-bit", 3, BOTH, AMD64, ONE, V3 L_ONE, .patch = "46 1 0x40" },
	{ "ok-num_fres-ignored", 3, BOTH, AMD64, ONE, V3 L_ONE, .patch = "12 4 0xffffffff" },
	{ "ok-pcinc-rep", 3, BOTH, AMD64, ONE, V3 L_ONE, .patch = "48 1 16" },
};

static_assert(ARRAY_SIZE(section_cases) == NR_SECTION_CASES);

void make_section_case_for(struct build *b, const struct section_case *c, u8 abi)
{
	build_start(b, c->version, c->flags, c->abi == AMD64 && !c->is_of_abi ? abi : c->abi);
	b->raw.auxhdr_len = c->auxhdr;
	b->gap = c->gap;
	b->tail = c->tail;
	b->cut_to = c->cut_to;
	if (c->text)
		build_text(b, c->text);
	else
		b->raw = (struct sframe_raw_header){ .version = c->version };
	build_finish(b);
	build_patches(b, c->patch);
}

void make_section_case(struct build *b, const struct section_case *c)
{
	make_section_case_for(b, c, c->abi);
}
