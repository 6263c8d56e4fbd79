/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scene in which the suites of the decoder run, sframe_core_*_kunit.c.
 *
 * Expected values are written out from the specification, never computed by the
 * code under test. Nearly all sections end at the end of a page, and the next page
 * is not mapped: a read after the end is an oops.
 *
 * An answer of the decoder is compared as a text: the row in the format of
 * section_text.h, or "none", "unreadable", "budget", "bad DEFECT" or "refused DEFECT".
 */
#ifndef CORE_SCENE_H
#define CORE_SCENE_H

#include <kunit/test.h>
#include <linux/bits.h>

#include "named_cases.h"
#include "section_builder.h"
#include "section_cases.h"
#include "section_text.h"

/* The address of the sections, as far as the decoder knows. */
#define ADDR		BIT_ULL(46)

/**
 * struct core_scene - the fixture of the decoder's tests
 * @rd: the reader; decode_row() counts the reads that it makes with it, and may let one fail
 * @data: the section, up to the end of @page
 * @len: bytes of the section
 * @calls: reads; the header is one
 * @fail_at: the read that fails; 1 is the first, 0 is none
 * @trusting: reads do not check addresses
 * @outside: true if a read was outside of the section
 * @page: the page after it is not mapped
 * @b: the builder
 * @text: the listing
 */
struct core_scene {
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

#define ROW_0	"sp+8 u (c-8)"
#define ROW_1	"sp+16 (c-16) (c-8)"
#define ROW_4	"fp+16 (c-16) (c-8)"

int core_scene_init(struct kunit *test);
void place_section(struct core_scene *scene, const void *bytes, u32 len);
void place_built(struct core_scene *scene);
void renew(struct core_scene *scene);
int read_scene_header(struct core_scene *scene, struct sframe_header *hdr, u32 len);
int decode_row(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
	       struct sframe_row *row);
void error_text(const struct sframe_reader *rd, int err, char *text);
void expect_at(struct kunit *test, u64 off, const char *want);
void expect_header(struct kunit *test, u32 len, const char *want);
void three_rows(struct build *b);
struct build *build_anew(struct kunit *test, u8 version, u8 flags, u8 abi);
void smallest_section(struct kunit *test, u8 version, u8 flags);

#define CORE_SUITE(which)						\
	static struct kunit_suite which##_suite = {			\
		.name = "sframe_" #which,				\
		.init = core_scene_init,				\
		.test_cases = which##_tests,				\
	};								\
	kunit_test_suite(which##_suite)

#endif /* CORE_SCENE_H */
