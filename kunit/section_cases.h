/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections by hand, ok-*, bad-* and weird-*, each with its listing. */
#ifndef SECTION_CASES_H
#define SECTION_CASES_H

#include "section_builder.h"

/**
 * struct section_case - a section and its listing
 * @name: begins with ok-, bad- (refused, as a whole or in part) or weird-
 * @version: version of the format
 * @flags: SFRAME_F_*
 * @abi: SFRAME_ABI_*
 * @make: adds FDEs and rows; NULL: there are none
 * @expect: the listing, see test_decoder.c of the host tests
 */
struct section_case {
	const char *name;
	u8 version;
	u8 flags;
	u8 abi;
	void (*make)(struct build *b);
	const char *expect;
};

#define NR_SECTION_CASES	76
extern const struct section_case section_cases[NR_SECTION_CASES];

/**
 * struct section_patch - one field of the smallest section, overwritten
 * @name: as in struct section_case
 * @off: offset of the field in the section
 * @len: bytes of the field
 * @value: the value to write
 * @expect: the listing
 */
struct section_patch {
	const char *name;
	u32 off;
	u32 len;
	u64 value;
	const char *expect;
};

#define NR_SECTION_PATCHES	27
extern const struct section_patch section_patches[NR_SECTION_PATCHES];

void make_section_case(struct build *b, const struct section_case *test);
void make_section_patch(struct build *b, const struct section_patch *patch);

/*
 * Builds the section for @abi. An AMD64 section has the same defect, or none, when it
 * is built for AARCH64. A few sections depend on their own ABI and are unchanged.
 */
void make_section_case_for(struct build *b, const struct section_case *test,
			   u8 abi);
void make_section_patch_for(struct build *b, const struct section_patch *patch,
			    u8 abi);

#endif /* SECTION_CASES_H */
