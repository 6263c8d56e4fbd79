// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of the index, and of the directory, of a section that is mapped. */
#include <linux/mm.h>
#include <linux/mman.h>

#include "mapping_change.h"
#include "scan_scene.h"
#include "sframe_arch.h"
#include "sframe_index.h"
#include "sframe_map.h"
#include "sframe_process.h"
#include "sframe_scan.h"
#include "sframe_user_index.h"

#define NR		16	/* functions; the fewest that have an index */
#define SIZE		(2 * PAGE_SIZE / NR)

/* The fields of an entry of V3, at its place in the section. */
#define ENTRY(nr)	(28 + 16 * (nr))

/* Maps an image with @NR functions. Unless @flip is 0, they are not sorted, as the section says. */
static void map_functions(struct kunit *test, unsigned int flip)
{
	struct scan_scene *scene = test->priv;
	struct image *image = &scene->image;
	struct build *b = &image->section;
	unsigned int i;

	build_start(b, SFRAME_VERSION_3, SORTED, SFU_ARCH_ABI);
	for (i = 0; i < NR; i++) {
		build_fde(b, (IMAGE_CODE - IMAGE_SECTION) * (s64)PAGE_SIZE + (i ^ flip) * SIZE,
			  SIZE, ADDR1, 0, 0);
		if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
			build_row(b, 0, 0x05, 16, -16);
		else
			build_row(b, 0, 0x07, 16, -8, -16);
	}
	build_finish(b);
	image->phdrs[IMAGE_PH_SFRAME].p_filesz = b->len;
	image->phdrs[IMAGE_PH_SFRAME].p_memsz = b->len;
	map_image(test);
}

/* The section of the image. The map of the process holds it until the next scan. */
static struct sfu_section *section_of(struct kunit *test)
{
	struct sfu_map *map = map_of(current->mm);
	struct sfu_range *range = map ? sfu_map_find(map, page(test, IMAGE_CODE)) : NULL;

	sfu_map_put(map);
	KUNIT_ASSERT_NOT_NULL(test, range);
	return &range->section;
}

/* Looks the function of an address up; returns where it starts, from the first on, or an error. */
static long find_function(struct kunit *test, struct sfu_section *section, unsigned long off)
{
	struct sfu_lookup lookup = { .rd.budget = SFU_BUDGET };
	struct sframe_row row;
	int err;

	err = sfu_section_find_row(section, &lookup, page(test, IMAGE_CODE) + off, &row);
	return err ?: row.func - page(test, IMAGE_CODE);
}

static void expect_functions(struct kunit *test, struct sfu_section *section)
{
	unsigned long off;

	for (off = 0; off < NR * SIZE; off += SIZE / 4)
		KUNIT_EXPECT_EQ(test, (long)rounddown(off, SIZE),
				find_function(test, section, off));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, off));
}

static void index_of_section(struct kunit *test)
{
	struct sfu_section *section;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->index);
	KUNIT_EXPECT_EQ(test, NR / SFRAME_INDEX_FUNCTIONS, section->index->nr);
	KUNIT_EXPECT_GT(test, sfu_user_index_size(section), 0);
	expect_functions(test, section);
}

static void index_of_few_functions(struct kunit *test)
{
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_NULL(test, section_of(test)->index);
	KUNIT_EXPECT_EQ(test, 0, sfu_user_index_size(section_of(test)));
}

/* The next map takes the index over, and it remains when the first map is freed. */
static void index_of_next_map(struct kunit *test)
{
	const struct sframe_index *index;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	index = section_of(test)->index;
	KUNIT_ASSERT_NOT_NULL(test, index);
	expect_scanned(test, SAME, "scan.runs");
	rcu_barrier();
	KUNIT_EXPECT_PTR_EQ(test, index, section_of(test)->index);
	expect_functions(test, section_of(test));
}

/* The first function is not at the lowest address. */
static void index_of_unsorted_section(struct kunit *test)
{
	map_functions(test, NR - 1);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_NULL(test, section_of(test)->index);
}

/* To find out that functions are out of order takes long. It is not tried again. */
static void index_of_unordered_section(struct kunit *test)
{
	map_functions(test, 2);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_NULL(test, section_of(test)->index);
	KUNIT_EXPECT_TRUE(test, section_of(test)->is_unordered);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_TRUE(test, section_of(test)->is_unordered);
	/* The next section at these addresses may be better. */
	unmap_at(test, 0, IMAGE_PAGES);
	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_NOT_NULL(test, section_of(test)->index);
}

/* Indices at higher addresses than the new one count, too. */
static void index_of_lower_section(struct kunit *test)
{
	const size_t memory = sfu_index_memory;
	struct sfu_map *map;
	size_t size;

	map_functions(test, 0);
	unmap_at(test, 0, IMAGE_PAGES);
	map_image_at(test, 50);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	map = map_of(current->mm);
	size = sfu_user_index_size(&map->ranges[0].section);
	sfu_map_put(map);
	KUNIT_EXPECT_GT(test, size, 0);
	sfu_index_memory = size + size / 2;
	map_image_at(test, 0);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_NULL(test, section_of(test)->index);
	/* The index of the unmapped section leaves room for this one. */
	unmap_at(test, 50, IMAGE_PAGES);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_EXPECT_NOT_NULL(test, section_of(test)->index);
	sfu_index_memory = memory;
}

/* The index says that a function starts which does not any more. */
static void index_of_changed_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct sfu_section *section;
	s64 start = -2 * (s64)PAGE_SIZE + 5 * SIZE + SIZE / 2;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->index);
	patch_file(test, scene->image.section_at + ENTRY(5), start, sizeof(start));
	KUNIT_EXPECT_EQ(test, (long)(4 * SIZE), find_function(test, section, 4 * SIZE + 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, 5 * SIZE + 1));
	KUNIT_EXPECT_EQ(test, (long)(5 * SIZE + SIZE / 2),
			find_function(test, section, 5 * SIZE + SIZE / 2));
}

/* Moves all functions by a number of functions, in the file and so in its mapping. */
static void move_functions(struct kunit *test, int by)
{
	struct scan_scene *scene = test->priv;
	int i;

	for (i = 0; i < NR; i++)
		patch_file(test, scene->image.section_at + ENTRY(i),
			   (i + by) * (s64)SIZE - 2 * (s64)PAGE_SIZE, sizeof(s64));
}

/* All functions have moved: each answer of the index is wrong. */
static void index_of_moved_functions(struct kunit *test)
{
	struct sfu_section *section;
	unsigned int i;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->index);
	move_functions(test, 8);
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, 7 * SIZE));
	for (i = 8; i < NR; i++)
		KUNIT_EXPECT_EQ(test, (long)(i * SIZE), find_function(test, section, i * SIZE + 1));
	move_functions(test, -8);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, (long)(i * SIZE), find_function(test, section, i * SIZE + 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, 8 * SIZE));
}

/* Less memory makes an index coarser, and its answers are the same. */
static void index_too_large(struct kunit *test)
{
	const struct sframe_index *fine;
	struct sfu_section copy;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	copy = *section_of(test);
	fine = copy.index;
	KUNIT_ASSERT_NOT_NULL(test, fine);
	copy.index = NULL;
	KUNIT_EXPECT_EQ(test, -E2BIG, sfu_user_index_add(&copy, 2 * sizeof(u32)));
	KUNIT_EXPECT_NULL(test, copy.index);
	KUNIT_EXPECT_EQ(test, 0,
			sfu_user_index_add(&copy, sfu_user_index_size(section_of(test)) - 1));
	KUNIT_ASSERT_NOT_NULL(test, copy.index);
	KUNIT_EXPECT_GT(test, copy.index->shift, fine->shift);
	expect_functions(test, &copy);
	sfu_user_index_put(&copy);
}

/* The memory that all processes may have is used up: stacks are whole all the same. */
static void index_without_room(struct kunit *test)
{
	long most = totalram_pages() << PAGE_SHIFT;
	struct sfu_section *section;

	map_functions(test, 0);
	sfu_hold(most);
	expect_scanned(test, SAME, "scan.runs");
	sfu_hold(-most);
	section = section_of(test);
	KUNIT_EXPECT_NULL(test, section->index);
	KUNIT_EXPECT_NULL(test, process_of(current->mm)->cache);
	expect_functions(test, section);
	/* Later there is room. The maps of others do not count. */
	atomic_long_add(most, &sfu_held.bytes);
	expect_scanned(test, SAME, "scan.runs");
	atomic_long_sub(most, &sfu_held.bytes);
	KUNIT_EXPECT_NOT_NULL(test, section_of(test)->index);
	KUNIT_EXPECT_NOT_NULL(test, process_of(current->mm)->cache);
}

static void index_of_absent_section(struct kunit *test)
{
	struct sfu_section copy;

	map_functions(test, 0);
	expect_scanned(test, SAME, "scan.runs");
	copy = *section_of(test);
	copy.index = NULL;
	copy.hdr.fde_addr = page(test, IMAGE_PAGES + 1);
	KUNIT_EXPECT_EQ(test, -EFAULT, sfu_user_index_add(&copy, SZ_4K));
	KUNIT_EXPECT_NULL(test, copy.index);
}

#define PARTS		4	/* that have functions */
#define OF_PART		(NR / PARTS)

/* Adds the part @nr to the section. Part 0 has no function, the last has the first functions. */
static void build_part(struct kunit *test, struct build *all, u32 nr)
{
	struct build *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	s64 code = (IMAGE_CODE - IMAGE_SECTION) * (s64)PAGE_SIZE - all->len;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	build_start(b, SFRAME_VERSION_3, PCREL, SFU_ARCH_ABI);
	for (i = 0; nr && i < OF_PART; i++) {
		build_fde(b, code + ((PARTS - nr) * OF_PART + (i ^ 1)) * SIZE, SIZE, ADDR1, 0, 0);
		if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
			build_row(b, 0, 0x05, 16, -16);
		else
			build_row(b, 0, 0x07, 16, -8, -16);
	}
	build_finish(b);
	memcpy(all->bytes + all->len, b->bytes, b->len);
	all->len = round_up(all->len + b->len, 8);
}

/* Builds an image whose section has several parts, as lld leaves them. */
static struct image *build_parts(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct image *image = &scene->image;
	u32 nr;

	memset(image->section.bytes, 0, sizeof(image->section.bytes));
	image->section.len = 0;
	for (nr = 0; nr <= PARTS; nr++)
		build_part(test, &image->section, nr);
	image->phdrs[IMAGE_PH_SFRAME].p_filesz = image->section.len;
	image->phdrs[IMAGE_PH_SFRAME].p_memsz = image->section.len;
	return image;
}

static void directory_of_parts(struct kunit *test)
{
	struct sfu_section *section;

	build_parts(test);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->directory);
	KUNIT_EXPECT_EQ(test, 1 + PARTS, section->directory->nr_parts);
	KUNIT_EXPECT_EQ(test, NR, section->directory->nr_functions);
	KUNIT_EXPECT_GT(test, sfu_user_index_size(section), NR * sizeof(struct sframe_mark));
	expect_functions(test, section);
	/* The next map takes it over. */
	expect_scanned(test, SAME, "scan.runs");
	rcu_barrier();
	KUNIT_EXPECT_PTR_EQ(test, section->directory, section_of(test)->directory);
	expect_functions(test, section_of(test));
}

static void directory_of_unsorted_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	map_functions(test, 5);
	patch_file(test, scene->image.section_at + 3, 0, 1);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_ASSERT_NOT_NULL(test, section_of(test)->directory);
	KUNIT_EXPECT_NULL(test, section_of(test)->index);
	KUNIT_EXPECT_EQ(test, 1, section_of(test)->directory->nr_parts);
	expect_functions(test, section_of(test));
}

/* The linker has written no program header for the section. */
static void directory_without_segment(struct kunit *test)
{
	image_hide_segment(build_parts(test), SZ_2K);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_ASSERT_NOT_NULL(test, section_of(test)->directory);
	expect_functions(test, section_of(test));
}

/* The page with the section headers is not in memory, and nobody reads it from a memory file. */
static void directory_of_absent_headers(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	image_hide_segment(build_parts(test), SZ_2K);
	map_image(test);
	scene->image.ehdr.e_shoff = (IMAGE_PAGES + 1) * PAGE_SIZE;
	patch_file(test, offsetof(struct elf64_hdr, e_shoff), scene->image.ehdr.e_shoff, 8);
	image_fill(test, &scene->image, IMAGE_PAGES + 2, 1);
	expect_scanned(test, "1-3 none", "scan.runs");
	KUNIT_EXPECT_NULL(test, section_of(test)->directory);
	/* The next scan for a sample looks again. */
	patch_file(test, offsetof(struct elf64_hdr, e_shoff), SZ_2K, 8);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_NOT_NULL(test, section_of(test)->directory);
}

/* An entry of the second part has moved since the directory was made, and then the part is gone. */
static void directory_of_changed_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	const unsigned int nr = (PARTS - 1) * OF_PART + 1, part = 32;
	struct sfu_section *section;

	build_parts(test);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->directory);
	KUNIT_EXPECT_EQ(test, (long)(nr * SIZE), find_function(test, section, nr * SIZE));
	patch_file(test, scene->image.section_at + part + ENTRY(0), 0, sizeof(s64));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, nr * SIZE + 1));
	KUNIT_EXPECT_EQ(test, (long)((nr - 1) * SIZE),
			find_function(test, section, (nr - 1) * SIZE));
	patch_file(test, scene->image.section_at + part, 0, sizeof(u32));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section, (nr - 1) * SIZE + 1));
	KUNIT_EXPECT_EQ(test, 0, find_function(test, section, 0));
}

/* Functions without bytes share their start with one that has some. */
static void directory_of_same_starts(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int i;

	map_functions(test, 5);
	patch_file(test, scene->image.section_at + 3, 0, 1);
	for (i = 0; i < NR; i++) {
		if (i == 7)
			continue;
		patch_file(test, scene->image.section_at + ENTRY(i),
			   (7 ^ 5) * (s64)SIZE - 2 * (s64)PAGE_SIZE, sizeof(s64));
		patch_file(test, scene->image.section_at + ENTRY(i) + 8, 0, sizeof(u32));
	}
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_ASSERT_NOT_NULL(test, section_of(test)->directory);
	KUNIT_EXPECT_EQ(test, (long)((7 ^ 5) * SIZE),
			find_function(test, section_of(test), (7 ^ 5) * SIZE + 1));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section_of(test), SIZE));
	KUNIT_EXPECT_EQ(test, -ENOENT, find_function(test, section_of(test), ((7 ^ 5) + 1) * SIZE));
}

/*
 * mold keeps the entries of functions that it has discarded, at address 0. Such a function is
 * outside of the code, though it may reach into it; or it runs into the next one.
 */
static void directory_of_stale_entries(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int at = scene->image.section_at, i;
	struct sfu_section *section;

	map_functions(test, 5);
	patch_file(test, at + 3, 0, 1);
	/* The function at 0 is at the start of the file now, and the one at 3 is too large. */
	patch_file(test, at + ENTRY(0 ^ 5), -IMAGE_SECTION * (s64)PAGE_SIZE, sizeof(s64));
	patch_file(test, at + ENTRY(0 ^ 5) + 8, NR * SIZE + PAGE_SIZE, sizeof(u32));
	patch_file(test, at + ENTRY(3 ^ 5) + 8, SIZE + 1, sizeof(u32));
	expect_scanned(test, SAME, "scan.runs");
	section = section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, section->directory);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, i && i != 3 ? (long)(i * SIZE) : -ENOENT,
				find_function(test, section, i * SIZE + 1));
}

/* Two maps have a directory. It remains when the first is freed. */
static void directory_of_two_maps(struct kunit *test)
{
	struct sfu_section copy;
	size_t held, size;

	build_parts(test);
	map_image(test);
	expect_scanned(test, SAME, "scan.runs");
	copy = *section_of(test);
	KUNIT_ASSERT_NOT_NULL(test, copy.directory);
	size = sfu_user_index_size(&copy);
	sfu_user_index_get(&copy);
	unmap_at(test, 0, IMAGE_PAGES);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, NR, copy.directory->nr_functions);
	held = atomic_long_read(&sfu_held.bytes);
	sfu_user_index_put(&copy);
	KUNIT_EXPECT_EQ(test, held - size, atomic_long_read(&sfu_held.bytes));
}

/* Where there is no room for a directory, nothing is found in some of the parts: in none, then. */
static void directory_too_large(struct kunit *test)
{
	const size_t memory = sfu_index_memory;
	struct sfu_section copy;

	build_parts(test);
	map_image(test);
	sfu_index_memory = 64;
	expect_scanned(test, "1-3 none", "scan.runs");
	sfu_index_memory = memory;
	copy = *section_of(test);
	KUNIT_EXPECT_TRUE(test, sfu_section_is(&copy, SFU_SECTION_NONE));
	/* Later there is room. */
	expect_scanned(test, "1-3 ready by 3", "scan.runs");
	KUNIT_EXPECT_NOT_NULL(test, section_of(test)->directory);
	KUNIT_EXPECT_NULL(test, copy.directory);
	KUNIT_EXPECT_EQ(test, -E2BIG, sfu_user_index_list(&copy, NR * sizeof(struct sframe_mark)));
	KUNIT_EXPECT_NULL(test, copy.directory);
	copy.end = copy.start + sizeof(struct sframe_raw_header);
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_user_index_list(&copy, SZ_4K));
	copy.end = copy.start + BIT_ULL(32);
	KUNIT_EXPECT_EQ(test, -E2BIG, sfu_user_index_list(&copy, SZ_4K));
	copy.start = page(test, IMAGE_PAGES + 1);
	copy.end = copy.start + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EFAULT, sfu_user_index_list(&copy, SZ_4K));
}

static struct kunit_case index_tests[] = {
	KUNIT_CASE(index_of_section),
	KUNIT_CASE(index_of_few_functions),
	KUNIT_CASE(index_of_next_map),
	KUNIT_CASE(index_of_unsorted_section),
	KUNIT_CASE(index_of_unordered_section),
	KUNIT_CASE(index_of_lower_section),
	KUNIT_CASE(index_of_changed_section),
	KUNIT_CASE(index_of_moved_functions),
	KUNIT_CASE(index_too_large),
	KUNIT_CASE(index_without_room),
	KUNIT_CASE(index_of_absent_section),
	KUNIT_CASE(directory_of_parts),
	KUNIT_CASE(directory_of_unsorted_section),
	KUNIT_CASE(directory_without_segment),
	KUNIT_CASE(directory_of_absent_headers),
	KUNIT_CASE(directory_of_changed_section),
	KUNIT_CASE(directory_of_same_starts),
	KUNIT_CASE(directory_of_stale_entries),
	KUNIT_CASE(directory_of_two_maps),
	KUNIT_CASE(directory_too_large),
	{}
};

SCAN_SUITE(sframe_user_index, index_tests);
