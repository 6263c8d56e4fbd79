/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections by hand: ok-*, bad-* and weird-*, each with what it decodes to. */
#ifndef SECTION_CASES_H
#define SECTION_CASES_H

#include "section_builder.h"

/**
 * struct section_case - a section and its meaning
 * @name: ok-, bad- (refused, as a whole or in part) or weird-
 * @version: of the format
 * @flags: SFRAME_F_*
 * @abi: SFRAME_ABI_*
 * @make: adds what is in it, if anything is
 * @expect: its listing, see listing.h
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
 * @name: as above
 * @off: offset of the field in the section
 * @len: its bytes
 * @value: what is written
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
 * The same for @abi: an AMD64 section has the same defect, or none, when it is
 * built for AARCH64. A section that means this for its own ABI only is unchanged.
 */
void make_section_case_for(struct build *b, const struct section_case *test,
			   u8 abi);
void make_section_patch_for(struct build *b, const struct section_patch *patch,
			    u8 abi);

#endif /* SECTION_CASES_H */
