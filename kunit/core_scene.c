// SPDX-License-Identifier: GPL-2.0-or-later
/* The scene in which the suites of the decoder run. See core_scene.h. */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "core_scene.h"
#include "section_text.h"
#include "sframe_find.h"

static bool is_read(struct core_scene *scene, u64 off, u32 len)
{
	if (++scene->calls == scene->fail_at)
		return false;
	if (scene->trusting || (off <= scene->len && len <= scene->len - off))
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

int read_scene_header(struct core_scene *scene, struct sframe_header *hdr, u32 len)
{
	struct sframe_raw_header raw = {};

	if (len >= sizeof(raw)) {
		if (!is_read(scene, 0, sizeof(raw)))
			return -EFAULT;
		memcpy(&raw, scene->data, sizeof(raw));
	}
	return sframe_header_check(hdr, &scene->rd, &raw, ADDR, len);
}

static void free_page_of_scene(void *page)
{
	vfree(page);
}

int core_scene_init(struct kunit *test)
{
	struct core_scene *scene = kunit_kzalloc(test, sizeof(*scene), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, scene);
	scene->page = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, scene->page);
	test->priv = scene;
	return kunit_add_action_or_reset(test, free_page_of_scene, scene->page);
}

void place_section(struct core_scene *scene, const void *bytes, u32 len)
{
	scene->len = len;
	scene->data = scene->page + PAGE_SIZE - len;
	memcpy(scene->page + PAGE_SIZE - len, bytes, len);
}

/* Finishes the section of the builder, and places it. */
void place_built(struct core_scene *scene)
{
	build_finish(&scene->b);
	place_section(scene, scene->b.bytes, scene->b.len);
}

/* Resets the reader for another look-up. */
void renew(struct core_scene *scene)
{
	scene->rd.bytes = scene->data;
	scene->rd.addr = ADDR;
	scene->rd.len = scene->trusting ? U32_MAX : scene->len;
	scene->rd.budget = U32_MAX;
	scene->rd.defect = SFRAME_DEFECT_NONE;
	scene->calls = 0;
	scene->fail_at = 0;
	scene->outside = false;
}

/* The same by the decoder's own way to read memory. */
static int decode_memory(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
			 struct sframe_row *row)
{
	return sframe_header_read(hdr, &scene->rd, ADDR, scene->len) ?:
	       sframe_find_row(hdr, &scene->rd, pc, row);
}

/* Reads the header, then looks the row up. */
int decode_row(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
	       struct sframe_row *row)
{
	const struct sframe_reading from = { .hdr = hdr, .rd = &scene->rd, .get = scene_get };
	struct sframe_raw_row raw;

	return read_scene_header(scene, hdr, scene->len) ?:
	       sframe_find(&from, pc, &raw) ?:
	       sframe_decode_found(hdr, &scene->rd, &raw, row);
}

void error_text(const struct sframe_reader *rd, int err, char *text)
{
	const char *defect = sframe_defect_names[rd->defect];

	if (err == -EBADMSG)
		scnprintf(text, SECTION_ROW_TEXT, "bad %s", defect);
	else if (err == -EOPNOTSUPP)
		scnprintf(text, SECTION_ROW_TEXT, "refused %s", defect);
	else if (err == -ENOENT)
		strscpy(text, "none", SECTION_ROW_TEXT);
	else if (err == -EFAULT)
		strscpy(text, "unreadable", SECTION_ROW_TEXT);
	else if (err == -E2BIG)
		strscpy(text, "budget", SECTION_ROW_TEXT);
	else
		scnprintf(text, SECTION_ROW_TEXT, "error %d", err);
}

static void answer_text(struct core_scene *scene, u64 pc, bool is_memory, char *text)
{
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	renew(scene);
	err = is_memory ? decode_memory(scene, pc, &hdr, &row) :
			  decode_row(scene, pc, &hdr, &row);
	if (err)
		error_text(&scene->rd, err, text);
	else if (row.signal && row.cfa.how == SFRAME_RULE_SAME)
		strscpy(text, "signal", SECTION_ROW_TEXT);
	else
		section_row_text(hdr.abi, &row, text);
}

void expect_at(struct kunit *test, u64 off, const char *want)
{
	char got[SECTION_ROW_TEXT];

	answer_text(test->priv, ADDR + off, false, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%llx", off);
	answer_text(test->priv, ADDR + off, true, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "in memory, at 0x%llx", off);
}

void expect_header(struct kunit *test, u32 len, const char *want)
{
	char got[SECTION_ROW_TEXT] = "sound";
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	int err;

	renew(scene);
	err = read_scene_header(scene, &hdr, len);
	if (err)
		error_text(&scene->rd, err, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	KUNIT_EXPECT_FALSE(test, scene->outside);
}

void three_rows(struct build *b)
{
	build_row(b, 0, 0x03, 8);
	build_row(b, 1, 0x05, 16, -16);
	build_row(b, 4, 0x04, 16, -16);
}

struct build *build_anew(struct kunit *test, u8 version, u8 flags, u8 abi)
{
	struct core_scene *scene = test->priv;

	build_start(&scene->b, version, flags, abi);
	return &scene->b;
}

/* The section has 56 (V1), 59 (V2) or 60 bytes (V3). */
void smallest_section(struct kunit *test, u8 version, u8 flags)
{
	struct build *b = build_anew(test, version, flags, AMD64);

	build_fde(b, 0x1000, 64, ADDR1, 0, 0);
	three_rows(b);
	place_built(test->priv);
}

MODULE_DESCRIPTION("KUnit tests of the SFrame decoder");
MODULE_LICENSE("GPL");
