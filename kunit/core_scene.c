// SPDX-License-Identifier: GPL-2.0-or-later
/* The scene in which the suites of the decoder run. See core_scene.h. */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "core_scene.h"
#include "section_text.h"

static int scene_read(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	struct core_scene *scene = container_of(rd, struct core_scene, rd);
	u64 off = addr - ADDR;

	if (++scene->calls == scene->fail_at)
		return -EFAULT;
	if (!scene->trusting && (off > scene->len || len > scene->len - off)) {
		scene->outside = true;
		return -EFAULT;
	}
	memcpy(dst, scene->data + off, len);
	return 0;
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
	scene->rd.read = scene_read;
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
	scene->rd.budget = U32_MAX;
	scene->rd.defect = SFRAME_DEFECT_NONE;
	scene->calls = 0;
	scene->fail_at = 0;
	scene->outside = false;
}

/* Reads the header, then looks the row up. */
int decode_row(struct core_scene *scene, u64 pc, struct sframe_header *hdr,
	       struct sframe_row *row)
{
	int err = sframe_header_read(hdr, &scene->rd, ADDR, scene->len);

	return err ?: sframe_find_row(hdr, &scene->rd, pc, row);
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

static void answer_text(struct core_scene *scene, u64 pc, char *text)
{
	struct sframe_header hdr;
	struct sframe_row row;
	int err;

	renew(scene);
	err = decode_row(scene, pc, &hdr, &row);
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

	answer_text(test->priv, ADDR + off, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%llx", off);
}

void expect_header(struct kunit *test, u32 len, const char *want)
{
	char got[SECTION_ROW_TEXT] = "sound";
	struct core_scene *scene = test->priv;
	struct sframe_header hdr;
	int err;

	renew(scene);
	err = sframe_header_read(&hdr, &scene->rd, ADDR, len);
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
