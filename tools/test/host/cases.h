/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections by hand: ok-*, bad-* and weird-*, each with what it decodes to. */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include "build.h"

/**
 * struct test_case - a section and its meaning
 * @name: ok-, bad- (refused, as a whole or in part) or weird-
 * @version: of the format
 * @flags: SFRAME_F_*
 * @abi: SFRAME_ABI_*
 * @make: adds what is in it, if anything is
 * @expect: its listing, see listing.h
 */
struct test_case {
	const char *name;
	u8 version;
	u8 flags;
	u8 abi;
	void (*make)(struct build *b);
	const char *expect;
};

extern const struct test_case test_cases[];
extern const unsigned int nr_test_cases;

/**
 * struct patch_case - one field of the smallest section, overwritten
 * @name: as above
 * @off: offset of the field in the section
 * @len: its bytes
 * @value: what is written
 * @expect: the listing
 */
struct patch_case {
	const char *name;
	u32 off;
	u32 len;
	u64 value;
	const char *expect;
};

extern const struct patch_case patch_cases[];
extern const unsigned int nr_patch_cases;

void make_test_case(struct build *b, const struct test_case *test);
void make_patch_case(struct build *b, const struct patch_case *patch);

#endif /* TEST_CASES_H */
