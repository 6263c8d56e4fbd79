// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of resident tables: loaded for real files, found by scans of real mappings. The
 * image has no section of its own, unless a test says so; its table was linked at page 16.
 */
#include <linux/cred.h>
#include <linux/exportfs.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <uapi/sframe_unwind.h>

#include "map_builder.h"
#include "named_cases.h"
#include "scan_scene.h"
#include "sframe_arch.h"
#include "sframe_file.h"
#include "sframe_process.h"
#include "sframe_row_cache.h"
#include "sframe_scan.h"
#include "sframe_table.h"
#include "user_arch.h"

#define LINKED_AT	(16 * PAGE_SIZE)

#define TABLE		"1-3 ready by table at 0"

static void drop_tables(void *unused)
{
	sfu_table_memory = 0;
	sfu_table_drop_all();
}

/* As if the file had been written long ago. */
static void age(const struct image *image)
{
	inode_set_ctime(file_inode(image->file), -1000, 1);
}

static int table_scene_init(struct kunit *test)
{
	struct scan_scene *scene;
	int err = scan_scene_init(test);

	if (err)
		return err;
	scene = test->priv;
	scene->image.ehdr.e_phnum = 3;	/* no PT_GNU_SFRAME */
	image_write(test, &scene->image);
	image_map(test, &scene->image, scene->area);
	age(&scene->image);
	return kunit_add_action_or_reset(test, drop_tables, NULL);
}

static const struct sframe_segment code_segment = {
	.offset = PAGE_SIZE,
	.size = 2 * PAGE_SIZE,
	.addr = PAGE_SIZE,
};

static struct sfu_file_id id_of(struct inode *inode)
{
	struct sfu_file_id id = {};

	WARN_ON(!sfu_file_identify(inode, &id));
	return id;
}

/* A table of @len bytes for the file of @image as it is now. */
static struct sfu_table_source source_of(struct kunit *test, const struct image *image,
					 const void *bytes, u32 len)
{
	struct sfu_table_source source = {
		.inode = file_inode(image->file),
		.id = id_of(file_inode(image->file)),
		.len = len,
		.addr = LINKED_AT,
		.segments = &code_segment,
		.nr_segments = 1,
	};

	if (bytes) {
		source.bytes = kvmalloc(len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, source.bytes);
		memcpy(source.bytes, bytes, len);
	}
	return source;
}

/* The section of the image, at the address of a table. */
static const struct build *good_table(struct kunit *test)
{
	struct image *image = another_image(test);

	image_section(image, SFRAME_VERSION_3, BOTH, LINKED_AT);
	return &image->section;
}

static struct sfu_table_source good_source(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	const struct build *b = good_table(test);

	return source_of(test, &scene->image, b->bytes, b->len);
}

/* Loads a table. Returns the error. The message is not empty exactly if there is one. */
static int load(struct kunit *test, struct sfu_table_source *source)
{
	int err = sfu_table_load(source);

	KUNIT_EXPECT_EQ_MSG(test, !err, !source->message[0], "error %d: %s", err, source->message);
	kvfree(source->bytes);
	source->bytes = NULL;
	return err;
}

static void load_good(struct kunit *test)
{
	struct sfu_table_source source = good_source(test);

	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
}

static void expect_resident_row(struct kunit *test, unsigned long addr, const char *want)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET };
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = sfu_map_find(map, addr);
	char got[SECTION_ROW_TEXT] = "uncovered";
	struct sframe_row row;
	int err;

	sfu_lookup_use_cache(&lookup, NULL);
	if (range) {
		err = sfu_section_find_row(&range->section, &lookup, addr, &row);
		if (err)
			scnprintf(got, sizeof(got), "error %d", err);
		else
			section_row_text(SFU_ARCH_ABI, &row, got);
	}
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%lx", addr);
	sfu_map_put(map);
}

static void expect_resident_rows(struct kunit *test, unsigned long image)
{
	expect_resident_row(test, image + PAGE_SIZE - 1, "uncovered");
	expect_resident_row(test, image + PAGE_SIZE, ROW);
	expect_resident_row(test, image + 3 * PAGE_SIZE - 1, ROW);
	expect_resident_row(test, image + 3 * PAGE_SIZE, "uncovered");
}

/* Of a mapping that may be of either segment, nobody knows where its code was linked. */
static void table_with_common_page(struct kunit *test)
{
	struct sframe_segment segments[] = {
		{ .offset = PAGE_SIZE, .size = PAGE_SIZE / 2, .addr = PAGE_SIZE },
		{ .offset = PAGE_SIZE + PAGE_SIZE / 2, .size = PAGE_SIZE,
		  .addr = 3 * PAGE_SIZE + PAGE_SIZE / 2 },
	};
	struct sfu_table_source source = good_source(test);

	source.segments = segments;
	source.nr_segments = ARRAY_SIZE(segments);
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	expect_scanned(test, PLAIN, "scan.runs");
	/* If they are linked at the same distance, it does not matter. */
	segments[1].addr = segments[1].offset;
	source = good_source(test);
	source.segments = segments;
	source.nr_segments = ARRAY_SIZE(segments);
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	expect_map(test, TABLE);
}

static int habit_at(struct kunit *test, unsigned long addr)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = sfu_map_find(map, addr);
	int habit = range ? range->habit : -ENOENT;

	sfu_map_put(map);
	return habit;
}

/* The next process does not read the code of a file again. */
static void table_remembers_habit(struct kunit *test)
{
	loff_t at = IMAGE_CODE * PAGE_SIZE;
	struct scan_scene *scene = test->priv;

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, SFRAME_HABIT_OTHER, habit_at(test, scene->area + PAGE_SIZE));
	patch_file(test, at + 8, CODE_NOPS, 8);
	patch_file(test, at + 16, CODE_WITH_RECORD, 8);
	age(&scene->image);
	image_map(test, &scene->image, page(test, 8));
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, SFRAME_HABIT_OTHER, habit_at(test, page(test, 9)));
	/* A file that has changed is read again. */
	inode_set_ctime(file_inode(scene->image.file), -1000, 2);
	image_map(test, &scene->image, page(test, 16));
	load_good(test);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, SFRAME_HABIT_FP, habit_at(test, page(test, 17)));
}

static bool has_facts(const struct image *image)
{
	struct sfu_code_id code = {
		.file = id_of(file_inode(image->file)),
		.offset = PAGE_SIZE,
		.size = 2 * PAGE_SIZE,
	};
	struct sfu_code_facts facts;

	return sfu_file_find(&code, &facts);
}

/*
 * A scan that no sample has requested reads the code of four ranges of two pages. Of the others it
 * does not read the headers of the files either.
 */
static void table_limits_headers(struct kunit *test)
{
	unsigned int i, nr = 0;
	struct image *images[8];

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	for (i = 0; i < ARRAY_SIZE(images); i++) {
		const struct build *b = good_table(test);
		struct sfu_table_source source;

		images[i] = another_image(test);
		images[i]->ehdr.e_phnum = 3;
		image_write(test, images[i]);
		image_map(test, images[i], page(test, 8 * (i + 1)));
		age(images[i]);
		source = source_of(test, images[i], b->bytes, b->len);
		KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	}
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < ARRAY_SIZE(images); i++)
		nr += has_facts(images[i]);
	KUNIT_EXPECT_EQ(test, 4, nr);
}

static void table_found(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	expect_resident_rows(test, scene->area);
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
}

/* Sixteen functions of unequal sizes; between them are gaps. The CFA tells them apart. */
static const u32 many_starts[] = {
	0, 3, 16, 100, 256, 257, 700, 1500, 1531, 3000, 4095, 4096, 5000, 8000, 8100, 8191,
};

#define NR_MANY		ARRAY_SIZE(many_starts)
#define MANY_GAP	2	/* bytes */

static void make_many(struct build *b)
{
	u32 i, end;

	build_start(b, SFRAME_VERSION_3, BOTH, SFU_ARCH_ABI);
	for (i = 0; i < NR_MANY; i++) {
		end = i + 1 < NR_MANY ? many_starts[i + 1] : 2 * PAGE_SIZE;
		build_fde(b, (s64)PAGE_SIZE + many_starts[i] - LINKED_AT,
			  end - many_starts[i] > MANY_GAP ? end - many_starts[i] - MANY_GAP : 1,
			  ADDR1, 0, 0);
		if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
			build_row(b, 0, 0x03, (s32)i * 4);
		else
			build_row(b, 0, 0x07, (s32)i * 4, -8, -16);
	}
	build_finish(b);
}

/* The function of an address, by trying each; NR_MANY: there is none. */
static u32 function_of(const struct build *b, u64 addr)
{
	u32 i;

	for (i = 0; i < NR_MANY; i++)
		if (addr - (LINKED_AT + b->fdes[i].start) < b->fdes[i].size)
			return i;
	return NR_MANY;
}

/* The row of an address in one word, as the fast path finds it. */
static u64 fast_row_at(const struct sfu_section *section, u64 addr)
{
	const struct sfu_compiled *compiled = section->compiled;

	return compiled->fast[sframe_compiled_find(&compiled->table, addr - section->bias)];
}

/* Each look-up has the same cost. */
static void expect_table_row(struct kunit *test, const struct sfu_section *section, u64 addr,
			     const struct sframe_row *row)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_TABLE_COST - 1 };
	struct scan_scene *scene = test->priv;

	sfu_lookup_use_cache(&lookup, NULL);
	KUNIT_ASSERT_EQ_MSG(test, fast_row_at(section, scene->area + addr),
			    row ? sfu_fast_row(row) : SFU_ROW_NONE, "at 0x%llx", addr);
	KUNIT_ASSERT_EQ(test, -E2BIG, sfu_section_find_row((struct sfu_section *)section, &lookup,
							   scene->area + addr,
							   &(struct sframe_row){}));
}

/* Looks up each address of the code, and some before and after it. */
static void expect_many(struct kunit *test, const struct build *b, struct sfu_section *section)
{
	struct sfu_lookup lookup = {};
	struct scan_scene *scene = test->priv;
	struct sframe_row row;
	u64 addr;
	u32 nr;
	int err;

	sfu_lookup_use_cache(&lookup, NULL);
	for (addr = PAGE_SIZE - 300; addr < 3 * PAGE_SIZE + 300; addr++) {
		nr = function_of(b, addr);
		lookup.rd.budget = SFU_BUDGET;
		err = sfu_section_find_row(section, &lookup, scene->area + addr, &row);
		KUNIT_ASSERT_EQ_MSG(test, nr < NR_MANY ? 0 : -ENOENT, err, "at 0x%llx", addr);
		if (!err) {
			KUNIT_ASSERT_EQ_MSG(test, 4 * nr, row.cfa.off, "at 0x%llx", addr);
			KUNIT_ASSERT_EQ_MSG(test, scene->area + LINKED_AT + b->fdes[nr].start,
					    sfu_section_find_function(section, &lookup,
								      scene->area + addr),
					    "at 0x%llx", addr);
		}
		expect_table_row(test, section, addr, err ? NULL : &row);
	}
}

static void table_of_many_functions(struct kunit *test)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct scan_scene *scene = test->priv;
	struct sfu_table_source source;
	struct sfu_range *range;
	struct sfu_map *map;

	KUNIT_ASSERT_NOT_NULL(test, b);
	make_many(b);
	source = source_of(test, &scene->image, b->bytes, b->len);
	KUNIT_ASSERT_EQ_MSG(test, 0, load(test, &source), "%s", source.message);
	expect_scanned(test, TABLE, "scan.runs");
	map = map_of(current->mm);
	range = sfu_map_find(map, scene->area + PAGE_SIZE);
	KUNIT_EXPECT_NOT_NULL(test, range);
	if (range)
		expect_many(test, b, &range->section);
	sfu_map_put(map);
}

/* A section whose one function has this size, in blocks of so many bytes if that is not 0. */
static void make_sized(struct build *b, u32 size, u8 block)
{
	build_start(b, SFRAME_VERSION_3, BOTH, SFU_ARCH_ABI);
	build_fde(b, (s64)PAGE_SIZE - LINKED_AT, size, ADDR1 | (block ? PCMASK : 0), 0, block);
	if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
		build_row(b, 0, 0x05, 16, -16);
	else
		build_row(b, 0, 0x07, 16, -8, -16);
	build_finish(b);
}

static int load_built(struct kunit *test, const struct image *image, const struct build *b)
{
	struct sfu_table_source source = source_of(test, image, b->bytes, b->len);

	return load(test, &source);
}

/* Few bytes may describe much code: what the table takes is known before any of it is made. */
static void table_size_bounded(struct kunit *test)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct scan_scene *scene = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, b);
	sfu_table_memory = 1;
	/* A slot and an entry for each KiB of the largest function. */
	make_sized(b, U32_MAX, 0);
	KUNIT_EXPECT_EQ(test, -ENOSPC, load_built(test, &scene->image, b));
	/* An entry for each block. */
	make_sized(b, SZ_1M, 1);
	KUNIT_EXPECT_EQ(test, -ENOSPC, load_built(test, &scene->image, b));
	sfu_table_memory = 64;
	KUNIT_EXPECT_EQ(test, 0, load_built(test, &scene->image, b));
	make_sized(b, U32_MAX, 1);
	KUNIT_EXPECT_EQ(test, -EBADMSG, load_built(test, &scene->image, b));
	/* A slot for each KiB between two functions. */
	make_sized(b, PAGE_SIZE, 0);
	build_fde(b, 5LL * SZ_1G, PAGE_SIZE, ADDR1, 0, 0);
	build_row(b, 0, 0x03, 16);
	build_finish(b);
	sfu_table_memory = 1;
	KUNIT_EXPECT_EQ(test, -ENOSPC, load_built(test, &scene->image, b));
}

static void table_at_every_page(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int i;

	load_good(test);
	for (i = 0; i <= AREA_PAGES - IMAGE_PAGES; i++) {
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(scene->area, AREA_PAGES * PAGE_SIZE));
		image_map(test, &scene->image, page(test, i));
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		expect_resident_rows(test, page(test, i));
	}
}

/* The address of a segment is not its place in the file. */
static void table_linked_elsewhere(struct kunit *test)
{
	const u64 bias = SZ_4M;
	struct sframe_segment segment = code_segment;
	struct sfu_table_source source = good_source(test);
	struct scan_scene *scene = test->priv;

	segment.addr += bias;
	source.addr += bias;
	source.segments = &segment;
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	expect_scanned(test, "1-3 ready by table at -1024", "scan.runs");
	expect_resident_rows(test, scene->area);
}

/* A part of the code is mapped: from its second page on. */
static void table_of_part(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	load_good(test);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page(test, 1), PAGE_SIZE));
	expect_scanned(test, "2-3 ready by table at 0", "scan.runs");
	expect_resident_row(test, scene->area + 2 * PAGE_SIZE, ROW);
}

static void table_outside_of_segments(struct kunit *test)
{
	struct sframe_segment segment = code_segment;
	struct sfu_table_source source = good_source(test);

	segment.offset += 4 * PAGE_SIZE;
	source.segments = &segment;
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	expect_scanned(test, PLAIN, "scan.runs");
}

static void table_before_own_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	scene->image.ehdr.e_phnum = IMAGE_PHDRS;
	image_write(test, &scene->image);
	age(&scene->image);
	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	expect_resident_rows(test, scene->area);
	/* Without its table it is as it was. */
	sfu_table_drop_all();
	expect_scanned(test, SAME, "scan.runs");
}

static void table_loaded_later(struct kunit *test)
{
	struct sfu_map *map;

	expect_scanned(test, PLAIN, "scan.runs");
	map = map_of(current->mm);
	KUNIT_EXPECT_FALSE(test, sfu_map_lacks_tables(map));
	load_good(test);
	KUNIT_EXPECT_TRUE(test, sfu_map_lacks_tables(map));
	sfu_map_put(map);
	expect_scanned(test, TABLE, "scan.runs");
}

static unsigned long valid_until(void)
{
	struct sfu_map *map = map_of(current->mm);
	unsigned long until = map->valid_until;

	sfu_map_put(map);
	return until;
}

/* A file may change: its processes are scanned again after a second. Others are not. */
static void table_valid_for_a_second(struct kunit *test)
{
	unsigned long before;

	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after(valid_until(), jiffies + 1000 * HZ));
	load_good(test);
	before = jiffies;
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after_eq(valid_until(), before + HZ));
	KUNIT_EXPECT_TRUE(test, time_before_eq(valid_until(), jiffies + HZ));
}

/* The first map of a new program is valid as long, though it follows one without code. */
static void table_valid_in_new_program(struct kunit *test)
{
	unsigned long before = jiffies;
	struct sfu_process *process;

	load_good(test);
	sfu_process_end(current->mm);
	rcu_read_lock();
	process = sfu_process_add(current->mm, sfu_map_get_empty());
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, process);
	KUNIT_ASSERT_EQ(test, 0, sfu_scan(process, SFU_SCAN_NEW_CODE));
	expect_map(test, TABLE);
	expect_counted(test, "scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after_eq(valid_until(), before + HZ));
}

/* A range keeps its table until the next scan. */
static void table_dropped(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(scene->image.file->f_inode));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(scene->image.file->f_inode));
	expect_resident_rows(test, scene->area);
	expect_scanned(test, PLAIN, "scan.runs");
}

static bool holds_no_table(void)
{
	return !atomic_long_read(&sfu_held.tables);
}

static void table_freed(struct kunit *test)
{
	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	sfu_table_drop_all();
	KUNIT_EXPECT_FALSE(test, holds_no_table());
	sfu_process_end(current->mm);
	KUNIT_EXPECT_TRUE(test, comes_true(holds_no_table));
}

/* ---- files that change ---- */

struct change_case {
	const char	*name;
	bool		size;
	s64		seconds;
	u32		ns;
};

static const struct change_case change_cases[] = {
	{ "nothing", false, -1000, 1 },
	{ "a later second", false, -999, 1 },
	{ "an earlier second", false, -1001, 1 },
	{ "a nanosecond", false, -1000, 2 },
	{ "the size", true, -1000, 1 },
};

NAMED_CASES(change);

/* Returns whether the change is one. */
static bool change_file(struct kunit *test)
{
	const struct change_case *c = test->param_value;
	struct scan_scene *scene = test->priv;
	struct inode *inode = file_inode(scene->image.file);

	if (c->size)
		i_size_write(inode, i_size_read(inode) + 1);
	inode_set_ctime(inode, c->seconds, c->ns);
	return c != &change_cases[0];
}

static void table_of_changed_file(struct kunit *test)
{
	bool has_changed;

	load_good(test);
	has_changed = change_file(test);
	expect_scanned(test, has_changed ? PLAIN : TABLE, "scan.runs");
}

static void table_changed_after_scan(struct kunit *test)
{
	bool has_changed;

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	has_changed = change_file(test);
	expect_scanned(test, has_changed ? PLAIN : TABLE, "scan.runs");
}

/* The new table takes the place of the one of the file as it was. */
static void table_changed_between_loads(struct kunit *test)
{
	struct sframe_file entry = {};
	long held;

	load_good(test);
	held = atomic_long_read(&sfu_held.tables);
	change_file(test);
	load_good(test);
	KUNIT_EXPECT_EQ(test, held, atomic_long_read(&sfu_held.tables));
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, sfu_table_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.nr_files, 1);
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_list(&entry));
}

static u32 subvolume;

static int encode_subvolume(struct inode *inode, __u32 *fh, int *max_len, struct inode *parent)
{
	fh[0] = subvolume;
	*max_len = 1;
	return FILEID_INO32_GEN;
}

/* In another subvolume of btrfs, another file has the same number, size and time. */
static void table_of_same_number(struct kunit *test)
{
	static const struct export_operations ops = { .encode_fh = encode_subvolume };
	struct scan_scene *scene = test->priv;
	struct inode *inode = file_inode(scene->image.file);

	inode->i_sb->s_export_op = &ops;
	subvolume = 5;
	load_good(test);
	subvolume = 6;
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(inode));
	expect_scanned(test, PLAIN, "scan.runs");
	load_good(test);
	subvolume = 5;
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(inode));
}

/* What an older content leaves in use is found again if the time of change is set back. */
static void table_of_older_content(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct inode *inode = file_inode(scene->image.file);
	struct sfu_section section = {};
	struct sframe_file entry = {};

	load_good(test);
	expect_scanned(test, TABLE, "scan.runs");
	inode_set_ctime(inode, -500, 0);
	load_good(test);
	KUNIT_EXPECT_EQ(test, 0, sfu_table_find(scene->image.file, page(test, 1), PAGE_SIZE,
						&section));
	sfu_table_put(&section);
	inode_set_ctime(inode, -1000, 1);
	section = (struct sfu_section){};
	KUNIT_EXPECT_EQ(test, 0, sfu_table_find(scene->image.file, page(test, 1), PAGE_SIZE,
						&section));
	sfu_table_put(&section);
	KUNIT_EXPECT_EQ(test, 0, sfu_table_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.nr_files, 2);
	KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(inode));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(inode));
}

static struct page *vdso_pages[1];
static const struct vm_special_mapping vdso_mapping = { .name = "[vdso]", .pages = vdso_pages };

/* Such code has no section of its own. */
static void map_vdso(struct kunit *test)
{
	const unsigned long vdso = page(test, 8);
	struct vm_area_struct *vma;

	KUNIT_ASSERT_EQ(test, 0, vm_munmap(vdso, PAGE_SIZE));
	mmap_write_lock(current->mm);
	vma = _install_special_mapping(current->mm, vdso, PAGE_SIZE, VM_READ | VM_EXEC,
				       (struct vm_special_mapping *)&vdso_mapping);
	mmap_write_unlock(current->mm);
	KUNIT_ASSERT_FALSE(test, IS_ERR(vma));
}

static int load_vdso(struct kunit *test)
{
	const struct sframe_segment segment = { .size = PAGE_SIZE, .addr = PAGE_SIZE };
	struct sfu_table_source source = good_source(test);

	source.inode = NULL;
	source.segments = &segment;
	return load(test, &source);
}

static void table_of_vdso_dropped(struct kunit *test)
{
	map_vdso(test);
	KUNIT_EXPECT_EQ(test, 0, load_vdso(test));
	expect_scanned(test, PLAIN ", 8-9 ready by table at 7", "scan.runs");
	sfu_table_drop_all();
	expect_scanned(test, PLAIN ", 8-9 none", "scan.runs");
}

static void table_changed_before_load(struct kunit *test)
{
	struct sfu_table_source source = good_source(test);
	bool has_changed = change_file(test);

	KUNIT_EXPECT_EQ(test, has_changed ? -ESTALE : 0, load(test, &source));
}

/* A later change in the same moment could not be told from this one. */
static void table_of_file_written_now(struct kunit *test)
{
	struct sfu_table_source source;
	struct scan_scene *scene = test->priv;

	inode_set_ctime(file_inode(scene->image.file), ktime_get_real_seconds() + 1, 0);
	source = good_source(test);
	KUNIT_EXPECT_EQ(test, -EAGAIN, load(test, &source));
}

/* Another file has the same bytes, and not the same identity. */
static void table_of_another_file(struct kunit *test)
{
	struct image *image = another_image(test);

	load_good(test);
	image->ehdr.e_phnum = 3;
	image_write(test, image);
	age(image);
	image_map(test, image, page(test, 8));
	expect_scanned(test, TABLE ", 9-11 none", "scan.runs");
}

/* ---- what is refused ---- */

static void table_refused(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct sframe_segment segment = code_segment;
	struct sfu_table_source source = good_source(test);

	source.nr_segments = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, load(test, &source));
	source = good_source(test);
	segment.addr = TASK_SIZE_MAX;
	source.segments = &segment;
	KUNIT_EXPECT_EQ(test, -EINVAL, load(test, &source));
	source = good_source(test);
	source.addr = TASK_SIZE_MAX;
	KUNIT_EXPECT_EQ(test, -EINVAL, load(test, &source));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(file_inode(scene->image.file)));
	expect_scanned(test, PLAIN, "scan.runs");
}

/* Sections that a converter never writes: they are sound, and refused all the same. */
static const char *const odd_sections[] = {
	"ok-v3-far-start",	/* a function in kernel memory */
	"ok-v3-rows-at-size",	/* a row after the end of its function */
	"ok-v3-same-start",	/* an empty function */
};

static bool is_odd(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(odd_sections); i++)
		if (!strcmp(name, odd_sections[i]))
			return true;
	return false;
}

/* Is it a sorted section of this machine? */
static bool is_native(const struct build *b)
{
	return b->raw.flags & SORTED && b->raw.abi_arch == SFU_ARCH_ABI;
}

/*
 * All sections that the decoder is tested with: what has a defect is not loaded, and what
 * is loaded has none.
 */
static void expect_case(struct kunit *test, const char *name, const struct build *b, bool want)
{
	struct scan_scene *scene = test->priv;
	struct sfu_table_source source = source_of(test, &scene->image, b->bytes, b->len);

	want &= !is_odd(name);
	KUNIT_EXPECT_EQ_MSG(test, want, !load(test, &source), "%s: %s", name, source.message);
}

static void table_section_cases(struct kunit *test)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	for (i = 0; i < NR_SECTION_CASES; i++) {
		const struct section_case *c = &section_cases[i];

		make_section_case_for(b, c, SFU_ARCH_ABI);
		expect_case(test, c->name, b, !strchr(c->expect, '!') && is_native(b));
	}
}

/* Cut at each byte, the table is refused. */
static void table_cut(struct kunit *test)
{
	const struct build *b = good_table(test);
	struct scan_scene *scene = test->priv;
	u32 len, needed = 53;	/* there the one row ends; zero bytes follow */

	if (SFU_ARCH_ABI != SFRAME_ABI_AMD64_LE)
		needed++;
	for (len = 1; len <= b->len; len++) {
		struct sfu_table_source source = source_of(test, &scene->image, b->bytes, len);

		KUNIT_EXPECT_EQ_MSG(test, len < needed, !!load(test, &source), "%u bytes", len);
	}
}

/* ---- many ---- */

static void table_shared(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct image *image = another_image(test);
	struct sfu_table_source source;
	struct sframe_file entry = {};
	long one;

	load_good(test);
	one = atomic_long_read(&sfu_held.tables);
	image_write(test, image);
	age(image);
	source = source_of(test, image, good_table(test)->bytes, good_table(test)->len);
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	/* Each file takes its identity and its segments. */
	KUNIT_EXPECT_LT(test, atomic_long_read(&sfu_held.tables), 2 * one);
	expect_scanned(test, TABLE, "scan.runs");

	KUNIT_EXPECT_EQ(test, 0, sfu_table_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.ino, file_inode(scene->image.file)->i_ino);
	KUNIT_EXPECT_EQ(test, entry.nr_functions, 1);
	KUNIT_EXPECT_EQ(test, entry.nr_files, 2);
	KUNIT_EXPECT_EQ(test, entry.nr_users, 1);
	KUNIT_EXPECT_GT(test, entry.table_size, 0);
	KUNIT_EXPECT_LE(test, entry.table_size, atomic_long_read(&sfu_held.tables));
	KUNIT_EXPECT_EQ(test, 0, sfu_table_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.ino, file_inode(image->file)->i_ino);
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_list(&entry));
}

/* The file is known to have none: nobody is asked, and its own section is used. */
static void table_none(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct sfu_table_source source = source_of(test, &scene->image, NULL, 0);
	struct sfu_section section = {};

	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_find(scene->image.file, 0, 0, &section));
	source.nr_segments = 0;
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
	KUNIT_EXPECT_EQ(test, -ENODATA, sfu_table_find(scene->image.file, 0, 0, &section));
	expect_scanned(test, PLAIN, "scan.runs");
}

/* A table of so many bytes, for a function that has a slot and an entry for each KiB. */
static struct sfu_table_source large_source(struct kunit *test, const struct image *image,
					    u32 len, u8 last)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	make_sized(b, len / (2 * sizeof(u32)) * SFRAME_SLOT_SIZE, 0);
	b->bytes[b->len++] = last;
	return source_of(test, image, b->bytes, b->len);
}

static int load_large(struct kunit *test, const struct image *image, u32 len, u8 last)
{
	struct sfu_table_source source = large_source(test, image, len, last);

	return load(test, &source);
}

/* Another image, whose file has changed long ago. */
static struct image *old_image(struct kunit *test)
{
	struct image *image = another_image(test);

	image_write(test, image);
	age(image);
	return image;
}

/* Is the file known to have no table? */
static bool has_none(struct image *image)
{
	struct sfu_section section;

	return sfu_table_find(image->file, 0, 0, &section) == -ENODATA;
}

static void table_limit(struct kunit *test)
{
	struct image *image = old_image(test), *without = old_image(test);
	struct scan_scene *scene = test->priv;
	struct sfu_table_source none;

	sfu_table_memory = 1;
	none = source_of(test, without, NULL, 0);
	KUNIT_EXPECT_EQ(test, 0, load(test, &none));
	KUNIT_EXPECT_EQ(test, -ENOSPC, load_large(test, image, SZ_1M + 1, 1));
	/* Two do not fit: the first one has no users and is forgotten. */
	KUNIT_EXPECT_EQ(test, 0, load_large(test, image, SZ_512K, 1));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_512K, 2));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(file_inode(image->file)));
	/* The other one has a user, and stays. */
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, -ENOSPC, load_large(test, image, SZ_512K, 1));
	expect_resident_rows(test, scene->area);
	/* Another file may have the same table. */
	KUNIT_EXPECT_EQ(test, 0, load_large(test, image, SZ_512K, 2));
	/* The module still knows which file has no table. */
	KUNIT_EXPECT_TRUE(test, has_none(without));
	sfu_table_memory = 2;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, image, SZ_512K, 1));
}

/* Looks for the table of an image as a process of this user does. */
static int find_as(struct kunit *test, unsigned int uid, const struct image *image,
		   struct sfu_section *section)
{
	struct cred *cred = prepare_creds();
	const struct cred *before;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->uid = KUIDT_INIT(uid);
	before = override_creds(cred);
	err = sfu_table_find(image->file, page(test, 1), PAGE_SIZE, section);
	revert_creds(before);
	put_cred(cred);
	return err;
}

/* Users leave half of the room to root, whoever owns the files that they map. */
static void table_limit_of_users(struct kunit *test)
{
	struct sfu_section first = {}, again = {}, copy, found = {};
	struct scan_scene *scene = test->priv;
	struct image *second = old_image(test);

	sfu_table_memory = 2;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_512K, 1));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, second, SZ_512K, 2));
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 1000, &scene->image, &first));
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1000, second, &found));
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1001, second, &found));
	/* Another range takes no other memory. */
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 1001, &scene->image, &again));
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 0, second, &found));
	sfu_table_put(&found);
	/* The bytes count as long as any range uses them. */
	copy = first;
	sfu_table_get(&copy);
	sfu_table_put(&first);
	sfu_table_put(&again);
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1000, second, &found));
	sfu_table_put(&copy);
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 1000, second, &found));
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1000, &scene->image, &first));
	sfu_table_put(&found);
}

/*
 * What users have no room for, they do not ask for again when it is forgotten: it would be made and
 * loaded, and forgotten again.
 */
static void table_forgotten_and_refused(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct image *second = old_image(test);
	struct sfu_section first = {}, found = {};
	unsigned int i;

	sfu_table_memory = 2;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_512K, 1));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, second, SZ_512K, 2));
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 1000, &scene->image, &first));
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1001, second, &found));
	for (i = 3; i < 6; i++)
		KUNIT_EXPECT_EQ(test, 0, load_large(test, old_image(test), SZ_512K, i));
	KUNIT_EXPECT_EQ(test, -ENOSPC, find_as(test, 1001, second, &found));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_as(test, 0, second, &found));
	/* Now there is room. */
	sfu_table_put(&first);
	KUNIT_EXPECT_EQ(test, -ENOENT, find_as(test, 1001, second, &found));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, second, SZ_512K, 2));
	KUNIT_ASSERT_EQ(test, 0, find_as(test, 1001, second, &found));
	sfu_table_put(&found);
}

static bool is_map_incomplete(void)
{
	struct sfu_map *map = map_of(current->mm);
	bool is_incomplete = map->is_incomplete;

	sfu_map_put(map);
	return is_incomplete;
}

/* A process of a user gets the table when there is room: until then its samples request scans. */
static void table_of_user_later(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct image *second = old_image(test);
	struct cred *cred = prepare_creds();
	struct sfu_section found = {};
	const struct cred *before;

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->uid = KUIDT_INIT(1001);
	sfu_table_memory = 2;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_512K, 1));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, second, SZ_512K, 2));
	KUNIT_EXPECT_EQ(test, 0, find_as(test, 1000, second, &found));
	before = override_creds(cred);
	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_TRUE(test, is_map_incomplete());
	/* A scan for new code does not look for the table. */
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	KUNIT_EXPECT_TRUE(test, is_map_incomplete());
	sfu_table_put(&found);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	expect_map(test, TABLE);
	KUNIT_EXPECT_FALSE(test, is_map_incomplete());
	revert_creds(before);
	put_cred(cred);
}

/* Memory is short: a file without a table stays, for it gives nothing back. */
static void table_shrinks(struct kunit *test)
{
	struct image *image = old_image(test), *without = old_image(test);
	struct sfu_table_source none = source_of(test, without, NULL, 0);
	struct scan_scene *scene = test->priv;

	KUNIT_EXPECT_EQ(test, 0, load(test, &none));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_64K, 1));
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, load_large(test, image, SZ_64K, 2));
	KUNIT_EXPECT_EQ(test, 1, sfu_table_shrink(1));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(file_inode(image->file)));
	KUNIT_EXPECT_EQ(test, 0, sfu_table_shrink(ULONG_MAX));
	KUNIT_EXPECT_TRUE(test, has_none(without));
	KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(file_inode(scene->image.file)));
}

/* A table that is refused takes no other one its place. */
static void table_refused_takes_no_room(struct kunit *test)
{
	struct image *image = old_image(test);
	struct scan_scene *scene = test->priv;
	struct sfu_table_source source;

	sfu_table_memory = 1;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, image, SZ_512K, 1));
	source = large_source(test, &scene->image, SZ_512K, 2);
	*(u8 *)source.bytes ^= 1;
	KUNIT_EXPECT_EQ(test, -EBADMSG, load(test, &source));
	KUNIT_EXPECT_EQ(test, 0, sfu_table_drop(file_inode(image->file)));
}

/* A file that is only an inode with this number. */
struct bare_file {
	struct inode	inode;
	struct file	file;
};

static struct bare_file *bare_file(struct kunit *test)
{
	struct bare_file *bare = kunit_kzalloc(test, sizeof(*bare), GFP_KERNEL);
	struct scan_scene *scene = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, bare);
	bare->inode.i_sb = file_inode(scene->image.file)->i_sb;
	inode_set_ctime(&bare->inode, -1000, 1);
	bare->file.f_inode = &bare->inode;
	return bare;
}

static bool bare_has_none(struct bare_file *bare, unsigned int nr)
{
	struct sfu_section section;

	bare->inode.i_ino = nr;
	return sfu_table_find(&bare->file, 0, 0, &section) == -ENODATA;
}

/* Says of so many files that they have no table. */
static void load_nones(struct kunit *test, struct bare_file *bare, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i <= nr; i++) {
		struct sfu_table_source none = { .inode = &bare->inode };

		bare->inode.i_ino = i;
		none.id = id_of(&bare->inode);
		KUNIT_ASSERT_EQ(test, 0, sfu_table_load(&none));
	}
}

/* A user may make file after file that has no table: the oldest are forgotten. */
static void table_none_of_many(struct kunit *test)
{
	struct bare_file *bare = bare_file(test);

	load_nones(test, bare, SFU_TABLE_MAX_WITHOUT + 1);
	KUNIT_EXPECT_FALSE(test, bare_has_none(bare, 1));
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, 2));
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, SFU_TABLE_MAX_WITHOUT + 1));
	sfu_table_drop_tableless();
	KUNIT_EXPECT_FALSE(test, bare_has_none(bare, 2));
}

/* Such files take no table the room. */
static void table_none_makes_room(struct kunit *test)
{
	struct bare_file *bare = bare_file(test);
	struct scan_scene *scene = test->priv;
	long held = atomic_long_read(&sfu_held.tables);

	sfu_table_memory = 1;
	load_nones(test, bare, SZ_1M / 64);
	KUNIT_EXPECT_LE(test, atomic_long_read(&sfu_held.tables), held + SZ_1M + PAGE_SIZE);
	KUNIT_EXPECT_GT(test, atomic_long_read(&sfu_held.tables), SZ_512K);
	KUNIT_EXPECT_EQ(test, 0, load_large(test, &scene->image, SZ_512K, 1));
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, SZ_1M / 64));
}

/* No process asks for the table of the vDSO. So it stays when another table needs room. */
static void table_of_vdso_stays(struct kunit *test)
{
	struct image *first = old_image(test), *second = old_image(test);

	KUNIT_EXPECT_EQ(test, 0, load_vdso(test));
	sfu_table_memory = 1;
	KUNIT_EXPECT_EQ(test, 0, load_large(test, first, SZ_512K, 1));
	KUNIT_EXPECT_EQ(test, 0, load_large(test, second, SZ_512K, 2));
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_table_drop(file_inode(first->file)));
	map_vdso(test);
	expect_scanned(test, PLAIN ", 8-9 ready by table at 7", "scan.runs");
}

/* The section of the code at a page. The map of the process holds it until the next scan. */
static struct sfu_section *section_at(struct kunit *test, unsigned int nr)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = sfu_map_find(map, page(test, nr));

	sfu_map_put(map);
	KUNIT_ASSERT_NOT_NULL(test, range);
	return &range->section;
}

/* What a walk has found by one mapping of a table, it knows by others, in all processes. */
static void table_has_number(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	const struct sfu_section *first, *second;
	u64 number;

	load_good(test);
	image_map(test, &scene->image, page(test, 8));
	expect_scanned(test, "1-3 ready by table at 0, 9-11 ready by table at 8", "scan.runs");
	first = section_at(test, 1);
	second = section_at(test, 9);
	number = first->number;
	KUNIT_EXPECT_EQ(test, number, second->number);
	KUNIT_EXPECT_EQ(test, first->key_base + page(test, 1), second->key_base + page(test, 9));
	KUNIT_EXPECT_FALSE(test, fast_row_at(first, page(test, 1)) & SFU_ROW_IS_OTHER);
	KUNIT_EXPECT_EQ(test, fast_row_at(first, page(test, 1)),
			fast_row_at(second, page(test, 9)));
	expect_scanned(test, "1-3 ready by table at 0, 9-11 ready by table at 8", "scan.runs");
	KUNIT_EXPECT_EQ(test, number, section_at(test, 1)->number);
	/* The same table, loaded again, is another one. */
	sfu_table_drop_all();
	expect_scanned(test, "1-3 none, 9-11 none", "scan.runs");
	load_good(test);
	expect_scanned(test, "1-3 ready by table at 0, 9-11 ready by table at 8", "scan.runs");
	KUNIT_EXPECT_GT(test, section_at(test, 1)->number, number);
}

static struct kunit_case table_tests[] = {
	KUNIT_CASE(table_found),
	KUNIT_CASE(table_remembers_habit),
	KUNIT_CASE(table_limits_headers),
	KUNIT_CASE(table_with_common_page),
	KUNIT_CASE(table_of_many_functions),
	KUNIT_CASE(table_size_bounded),
	KUNIT_CASE(table_at_every_page),
	KUNIT_CASE(table_linked_elsewhere),
	KUNIT_CASE(table_of_part),
	KUNIT_CASE(table_outside_of_segments),
	KUNIT_CASE(table_before_own_section),
	KUNIT_CASE(table_loaded_later),
	KUNIT_CASE(table_valid_for_a_second),
	KUNIT_CASE(table_valid_in_new_program),
	KUNIT_CASE(table_dropped),
	KUNIT_CASE(table_freed),
	KUNIT_CASE_PARAM(table_of_changed_file, change_gen_params),
	KUNIT_CASE_PARAM(table_changed_after_scan, change_gen_params),
	KUNIT_CASE_PARAM(table_changed_between_loads, change_gen_params),
	KUNIT_CASE(table_of_same_number),
	KUNIT_CASE(table_of_older_content),
	KUNIT_CASE(table_of_vdso_dropped),
	KUNIT_CASE(table_of_vdso_stays),
	KUNIT_CASE_PARAM(table_changed_before_load, change_gen_params),
	KUNIT_CASE(table_of_file_written_now),
	KUNIT_CASE(table_of_another_file),
	KUNIT_CASE(table_refused),
	KUNIT_CASE(table_section_cases),
	KUNIT_CASE(table_cut),
	KUNIT_CASE(table_shared),
	KUNIT_CASE(table_none),
	KUNIT_CASE(table_none_of_many),
	KUNIT_CASE(table_none_makes_room),
	KUNIT_CASE(table_limit),
	KUNIT_CASE(table_limit_of_users),
	KUNIT_CASE(table_forgotten_and_refused),
	KUNIT_CASE(table_of_user_later),
	KUNIT_CASE(table_shrinks),
	KUNIT_CASE(table_refused_takes_no_room),
	KUNIT_CASE(table_has_number),
	{}
};

static struct kunit_suite table_suite = {
	.name = "sframe_table",
	.init = table_scene_init,
	.test_cases = table_tests,
};

kunit_test_suite(table_suite);
