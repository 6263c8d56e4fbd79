// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of the process maps, sframe_map.c: learning real mappings of real
 * files by a process that changes them.
 *
 * A map is compared as a text, in pages of the area that the test maps in:
 * "1-3 covered by 3-60" is code on pages 1 and 2 with a section that begins 60
 * bytes ahead of page 3. What was counted is another text, see counters.h: what is not named
 * has not happened.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/sched/mm.h>
#include <linux/seq_buf.h>
#include <linux/task_work.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <asm/irq_regs.h>

#include "counters.h"
#include "section_text.h"
#include "sframe_arch.h"
#include "sframe_map.h"
#include "sframe_pages.h"
#include "user_arch.h"
#include "user_image.h"
#include "user_memory.h"

#define AREA_PAGES	128
#define MAP_TEXT	256

/* What the image's one row says, see user_image.h. */
#define ROW		"sp+16 (c-16) (c-8)"

/**
 * struct bench - what a test works with
 * @area: AREA_PAGES pages of the process to map in
 * @image: an image, not written or mapped yet
 * @since: the counters, as they were when they were last looked at
 */
struct bench {
	unsigned long		area;
	struct image		image;
	struct sfu_counters	since;
};

static unsigned long page(struct kunit *test, unsigned int nr)
{
	struct bench *bench = test->priv;

	return bench->area + nr * PAGE_SIZE;
}

/* ---- what is held, counted, and known ---- */

static void expect_counted(struct kunit *test, const char *want)
{
	struct bench *bench = test->priv;
	char got[COUNTERS_TEXT];

	counters_text(&bench->since, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	counters_read(&bench->since);
}

static unsigned long round_to_page(unsigned long addr)
{
	return (addr + PAGE_SIZE / 2) & PAGE_MASK;
}

static void region_text(struct kunit *test, const struct sfu_region *region,
			struct seq_buf *s)
{
	static const char *const states[] = {
		"plain", "awaited", "covered", "retired", "gone"
	};
	int state = atomic_read(&region->state);
	unsigned long border;

	seq_buf_printf(s, "%s%ld-%ld %s", s->len ? ", " : "",
		       (long)(region->start - page(test, 0)) / (long)PAGE_SIZE,
		       (long)(region->end - page(test, 0)) / (long)PAGE_SIZE,
		       states[state]);
	if (state != SFU_REGION_COVERED)
		return;
	border = round_to_page(region->sec.addr);
	seq_buf_printf(s, " by %lu", (border - page(test, 0)) / PAGE_SIZE);
	if (region->sec.addr != border)
		seq_buf_printf(s, "%+ld", (long)(region->sec.addr - border));
}

static void text_of(struct kunit *test, struct sfu_map *map, char *text)
{
	struct seq_buf s;
	unsigned int i;

	seq_buf_init(&s, text, MAP_TEXT);
	text[0] = '\0';
	if (!map)
		seq_buf_puts(&s, "unknown");
	/* Behind all addresses is what was counted, but gone before it was listed. */
	for (i = 0; map && i < map->nr_regions; i++)
		if (map->regions[i].start != ULONG_MAX)
			region_text(test, &map->regions[i], &s);
	if (!s.len)
		seq_buf_puts(&s, "nothing");
	seq_buf_str(&s);
}

static void map_text(struct kunit *test, char *text)
{
	struct sfu_map *map = sfu_map_get(current->mm);

	text_of(test, map, text);
	sfu_map_put(map);
}

/* The region that covers an address, found by looking at each. */
static struct sfu_region *find_slowly(struct sfu_map *map, unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++)
		if (map->regions[i].start <= addr && addr < map->regions[i].end &&
		    atomic_read(&map->regions[i].state) != SFU_REGION_GONE)
			return &map->regions[i];
	return NULL;
}

static void expect_found(struct kunit *test, struct sfu_map *map, unsigned long addr)
{
	KUNIT_EXPECT_PTR_EQ_MSG(test, sfu_map_find(map, addr),
				find_slowly(map, addr), "at 0x%lx", addr);
}

/* Regions ascend and are disjoint; each is found from its first to its last byte. */
static void expect_in_order(struct kunit *test, struct sfu_map *map)
{
	unsigned long end = 0;
	unsigned int i;

	for (i = 0; i < map->nr_regions; i++) {
		const struct sfu_region *region = &map->regions[i];

		KUNIT_EXPECT_LE(test, end, region->start);
		KUNIT_EXPECT_LT(test, region->start, region->end);
		end = region->end;
		expect_found(test, map, region->start - 1);
		expect_found(test, map, region->start);
		expect_found(test, map, region->end - 1);
		expect_found(test, map, region->end);
	}
	expect_found(test, map, 0);
	expect_found(test, map, ULONG_MAX);
}

static void expect_map(struct kunit *test, const char *want)
{
	struct sfu_map *map = sfu_map_get(current->mm);
	char got[MAP_TEXT];

	map_text(test, got);
	KUNIT_EXPECT_STREQ(test, got, want);
	if (map)
		expect_in_order(test, map);
	sfu_map_put(map);
}

/* Learns what is mapped now, as soon as that is allowed. */
static int learn(struct kunit *test)
{
	struct sfu_map *seen = sfu_map_get(current->mm), *now;
	unsigned long give_up = jiffies + 10 * HZ;
	int err;

	for (;;) {
		err = sfu_map_learn(current->mm, seen);
		now = sfu_map_get(current->mm);
		sfu_map_put(now);
		if (now != seen || time_after(jiffies, give_up))
			break;
		schedule_timeout_uninterruptible(1);
	}
	KUNIT_EXPECT_PTR_NE(test, now, seen);
	sfu_map_put(seen);
	return err;
}

static void expect_learned(struct kunit *test, const char *want, const char *counted)
{
	KUNIT_EXPECT_EQ(test, 0, learn(test));
	expect_map(test, want);
	expect_counted(test, counted);
}

static int read_user(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

/* As a walk finds a row; "uncovered" if nobody says that there is one. */
static void row_text(struct sframe_reader *rd, unsigned long addr, char *text)
{
	struct sfu_map *map = sfu_map_get(current->mm);
	struct sfu_region *region = map ? sfu_map_find(map, addr) : NULL;
	struct sframe_row row;
	int err;

	rd->budget = SZ_64K;
	if (!region || atomic_read(&region->state) != SFU_REGION_COVERED) {
		strscpy(text, "uncovered", SECTION_ROW_TEXT);
	} else {
		err = sframe_find_row(&region->sec, rd, addr, &row);
		if (err)
			scnprintf(text, SECTION_ROW_TEXT, "error %d", err);
		else
			section_row_text(region->sec.abi, &row, text);
	}
	sfu_map_put(map);
}

static void expect_row(struct kunit *test, unsigned long addr, const char *want)
{
	struct sframe_reader rd = { .read = read_user };
	char got[SECTION_ROW_TEXT];

	row_text(&rd, addr, got);
	KUNIT_EXPECT_STREQ_MSG(test, got, want, "at 0x%lx", addr);
}

/* Both pages of an image's code have rows, and nothing else has. */
static void expect_rows(struct kunit *test, unsigned long image)
{
	expect_row(test, image + PAGE_SIZE - 1, "uncovered");
	expect_row(test, image + PAGE_SIZE, ROW);
	expect_row(test, image + 3 * PAGE_SIZE - 1, ROW);
	expect_row(test, image + 3 * PAGE_SIZE, "uncovered");
}

static int bench_init(struct kunit *test)
{
	struct bench *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bench);
	/* The processes of all tests before have ended. */
	KUNIT_ASSERT_TRUE(test, comes_true(nothing_is_held));
	bench->area = user_area(test, AREA_PAGES);
	image_init(test, &bench->image);
	counters_read(&bench->since);
	test->priv = bench;
	return 0;
}

/* The bench's image, written and mapped at the beginning of the area. */
static void map_image(struct kunit *test)
{
	struct bench *bench = test->priv;

	image_write(test, &bench->image);
	image_map(test, &bench->image, bench->area);
}

static struct image *another_image(struct kunit *test)
{
	struct image *image = kunit_kzalloc(test, sizeof(*image), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, image);
	image_init(test, image);
	return image;
}

static void patch_file(struct kunit *test, loff_t at, u64 value, unsigned int len)
{
	struct bench *bench = test->priv;
	u8 bytes[8];
	unsigned int i;

	for (i = 0; i < len; i++)
		bytes[i] = value >> (8 * i);
	KUNIT_ASSERT_EQ(test, len, kernel_write(bench->image.file, bytes, len, &at));
}

/* A case for each entry of the table @type##s, under its name. */
#define PARAM(type)							\
	static void type##_desc(const struct type *c, char *desc)	\
	{								\
		strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);		\
	}								\
	KUNIT_ARRAY_PARAM(type, type##s, type##_desc)

/* ---- sframe_map_learn: what is known of mappings that stay ---- */

static void learn_nothing(struct kunit *test)
{
	expect_map(test, "unknown");
	expect_learned(test, "nothing", "learned");
}

struct version_case {
	const char	*name;
	u8		version;
	u8		flags;
};

static const struct version_case version_cases[] = {
	{ "V1", 1, SORTED },
	{ "V2", 2, SORTED },
	{ "V2 PCREL", 2, PCREL },
	{ "V2 BOTH", 2, BOTH },
	{ "V3", 3, BOTH },
};

PARAM(version_case);

static void learn_image(struct kunit *test)
{
	const struct version_case *c = test->param_value;
	struct bench *bench = test->priv;

	image_section(&bench->image, c->version, c->flags, 3 * PAGE_SIZE);
	map_image(test);
	expect_learned(test, "1-3 covered by 3", "learned");
	expect_rows(test, bench->area);
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
}

static void learn_images(struct kunit *test)
{
	struct image *second = another_image(test);
	struct image *third = another_image(test);

	map_image(test);
	second->ehdr.e_phnum = 3;	/* no PT_GNU_SFRAME */
	image_write(test, second);
	image_map(test, second, page(test, 8));
	image_section(third, SFRAME_VERSION_1, SORTED, 3 * PAGE_SIZE);
	image_write(test, third);
	image_map(test, third, page(test, 13));
	expect_learned(test, "1-3 covered by 3, 9-11 plain, 14-16 covered by 16",
		       "learned");
	expect_rows(test, page(test, 0));
	expect_rows(test, page(test, 13));
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.sections));
}

static void learn_image_mapped_twice(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	image_map(test, &bench->image, page(test, 7));
	expect_learned(test, "1-3 covered by 3, 8-10 covered by 10", "learned");
	expect_rows(test, page(test, 0));
	expect_rows(test, page(test, 7));
}

/* Every distance from the addresses that the file was linked for. */
static void learn_image_at_every_page(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned int i;

	image_write(test, &bench->image);
	for (i = 0; i <= AREA_PAGES - IMAGE_PAGES; i++) {
		image_map(test, &bench->image, page(test, i));
		KUNIT_EXPECT_EQ(test, 0, learn(test));
		expect_rows(test, page(test, i));
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(page(test, i),
						   IMAGE_PAGES * PAGE_SIZE));
	}
}

struct address_case {
	const char	*name;
	u64		vaddr;	/* of the file's first byte */
};

static const struct address_case address_cases[] = {
	{ "0", 0 },
	{ "4 MiB", SZ_4M },
	{ "above all users", BIT_ULL(56) },
	{ "2^63", BIT_ULL(63) },
	{ "wraps behind the headers", -PAGE_SIZE },
	{ "wraps behind the code", -3 * PAGE_SIZE },
};

PARAM(address_case);

static void learn_image_linked_for(struct kunit *test)
{
	const struct address_case *c = test->param_value;
	struct bench *bench = test->priv;
	unsigned int i;

	for (i = 0; i < IMAGE_PHDRS; i++)
		bench->image.phdrs[i].p_vaddr += c->vaddr;
	map_image(test);
	expect_learned(test, "1-3 covered by 3", "learned");
	expect_rows(test, bench->area);
}

struct vma_case {
	const char	*name;
	bool		anonymous;
	unsigned long	prot;
	unsigned long	flags;
	const char	*want;
};

/* One more mapping, beside the image's data: page 1 of the file, or none. */
static const struct vma_case vma_cases[] = {
	{ "read", false, PROT_READ, MAP_PRIVATE, "nothing" },
	{ "write", false, PROT_READ | PROT_WRITE, MAP_PRIVATE, "nothing" },
	{ "none", false, PROT_NONE, MAP_PRIVATE, "nothing" },
	{ "exec", false, PROT_EXEC, MAP_PRIVATE, "1-2 covered by 3" },
	{ "read exec", false, PROT_READ | PROT_EXEC, MAP_PRIVATE, "1-2 covered by 3" },
	{ "write exec", false, PROT_WRITE | PROT_EXEC, MAP_PRIVATE, "1-2 covered by 3" },
	{ "exec shared", false, PROT_EXEC, MAP_SHARED, "1-2 covered by 3" },
	{ "anonymous", true, PROT_READ | PROT_WRITE, MAP_PRIVATE, "nothing" },
	{ "anonymous exec", true, PROT_READ | PROT_EXEC, MAP_PRIVATE, "1-2 plain" },
	{ "anonymous exec shared", true, PROT_READ | PROT_EXEC, MAP_SHARED, "1-2 plain" },
};

PARAM(vma_case);

static void learn_vma(struct kunit *test)
{
	const struct vma_case *c = test->param_value;
	struct bench *bench = test->priv;
	struct file *file = c->anonymous ? NULL : bench->image.file;
	unsigned long flags = c->flags | MAP_FIXED | (c->anonymous ? MAP_ANONYMOUS : 0);

	image_write(test, &bench->image);
	user_map_file(test, bench->image.file, page(test, 3), 2, PROT_READ, 3);
	KUNIT_ASSERT_EQ(test, page(test, 1),
			vm_mmap(file, page(test, 1), PAGE_SIZE, c->prot, flags,
				c->anonymous ? 0 : PAGE_SIZE));
	expect_learned(test, c->want, "learned");
}

/* Two mappings of one segment, as mprotect() leaves them. */
static void learn_code_split(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	KUNIT_ASSERT_EQ(test, 0, user_mprotect(page(test, 2), PAGE_SIZE,
					       PROT_READ | PROT_WRITE | PROT_EXEC));
	expect_learned(test, "1-2 covered by 3, 2-3 covered by 3", "learned");
	expect_rows(test, bench->area);
}

/* Code that no executable segment of its file knows about. */
static void learn_code_of_no_segment(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	user_map_file(test, bench->image.file, page(test, 0), 1, PROT_EXEC, 0);
	user_map_file(test, bench->image.file, page(test, 8), 1, PROT_EXEC, 3);
	expect_learned(test, "0-1 plain, 1-3 covered by 3, 8-9 plain", "learned");
}

/* Linkers that do not separate code: one segment for all. */
static void learn_one_segment(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct elf64_phdr *ph = bench->image.phdrs;

	ph[IMAGE_PH_HEADERS].p_flags = PF_R | PF_X;
	ph[IMAGE_PH_HEADERS].p_filesz = IMAGE_PAGES * PAGE_SIZE;
	ph[IMAGE_PH_HEADERS].p_memsz = IMAGE_PAGES * PAGE_SIZE;
	ph[IMAGE_PH_CODE].p_type = PT_NULL;
	ph[IMAGE_PH_DATA].p_type = PT_NULL;
	image_write(test, &bench->image);
	user_map_file(test, bench->image.file, bench->area, IMAGE_PAGES,
		      PROT_READ | PROT_EXEC, 0);
	expect_learned(test, "0-5 covered by 3", "learned");
	expect_row(test, page(test, 1) - 1, "error -2");
	expect_row(test, page(test, 1), ROW);
}

/* Segments begin anywhere on their first page. */
static void learn_code_not_at_page_start(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct elf64_phdr *ph = &bench->image.phdrs[IMAGE_PH_CODE];

	ph->p_offset += 0x123;
	ph->p_vaddr += 0x123;
	ph->p_filesz -= 0x123;
	map_image(test);
	expect_learned(test, "1-3 covered by 3", "learned");
	expect_rows(test, bench->area);
}

struct place_case {
	const char	*name;
	unsigned long	at;
	const char	*want;
};

/* The section has 60 bytes; 28 are its header. */
static const struct place_case place_cases[] = {
	{ "unaligned", 3 * PAGE_SIZE + 1, "1-3 covered by 3+1" },
	{ "ends with a page", 4 * PAGE_SIZE - 60, "1-3 covered by 4-60" },
	{ "last byte on the next page", 4 * PAGE_SIZE - 59, "1-3 covered by 4-59" },
	{ "header ends with a page", 4 * PAGE_SIZE - 28, "1-3 covered by 4-28" },
	{ "header on two pages", 4 * PAGE_SIZE - 14, "1-3 covered by 4-14" },
	{ "first byte on the page before", 4 * PAGE_SIZE - 1, "1-3 covered by 4-1" },
	{ "last of all", 5 * PAGE_SIZE - 60, "1-3 covered by 5-60" },
	{ "ends with the code", 3 * PAGE_SIZE - 60, "1-3 covered by 3-60" },
	{ "ahead of the code", PAGE_SIZE - 60, "1-3 covered by 1-60" },
};

PARAM(place_case);

static void learn_section_at(struct kunit *test)
{
	const struct place_case *c = test->param_value;
	struct bench *bench = test->priv;

	image_section(&bench->image, SFRAME_VERSION_3, BOTH, c->at);
	map_image(test);
	expect_learned(test, c->want, "learned");
	expect_rows(test, bench->area);
}

/* ld sizes the segment ahead of merging: up to 90 bytes too long, and zero. */
static void learn_segment_longer_than_section(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->image.phdrs[IMAGE_PH_SFRAME].p_filesz += 90;
	map_image(test);
	expect_learned(test, "1-3 covered by 3", "learned");
	expect_rows(test, bench->area);
}

/* And leaves 28 zero bytes if there is nothing to merge. */
static void learn_segment_all_zero(struct kunit *test)
{
	struct bench *bench = test->priv;

	memset(bench->image.section.bytes, 0, 28);
	bench->image.section.len = 28;
	bench->image.phdrs[IMAGE_PH_SFRAME].p_filesz = 28;
	map_image(test);
	expect_learned(test, "1-3 plain", "fault.empty learned");
}

/* A header and no function is no fault, but of no use either. */
static void learn_section_without_functions(struct kunit *test)
{
	struct bench *bench = test->priv;

	build_start(&bench->image.section, SFRAME_VERSION_3, BOTH, SFU_ARCH_ABI);
	build_finish(&bench->image.section);
	map_image(test);
	expect_learned(test, "1-3 plain", "learned");
}

struct machine_case {
	const char	*name;
	u8		abi;
	const char	*counted;
};

static const struct machine_case machine_cases[] = {
	{ "other machine", SFU_ARCH_ABI == AMD64 ? AARCH64 : AMD64, "fault.foreign learned" },
	{ "other byte order", AARCH64_BE, "fault.endian learned" },
};

PARAM(machine_case);

static void learn_section_of(struct kunit *test)
{
	const struct machine_case *c = test->param_value;
	struct bench *bench = test->priv;

	build_start(&bench->image.section, SFRAME_VERSION_3, BOTH, c->abi);
	build_fde(&bench->image.section, -2 * PAGE_SIZE, 2 * PAGE_SIZE, ADDR1, 0, 0);
	build_row(&bench->image.section, 0, 0x03, 8);
	build_finish(&bench->image.section);
	map_image(test);
	expect_learned(test, "1-3 plain", c->counted);
}

static bool is_present(unsigned long addr)
{
	u8 byte;

	return !copy_from_user_nofault(&byte, (void __user *)addr, 1);
}

/* A sample may not wait for a page: all of the section is there from now on. */
#define LONG_PAGES	100

static void learn_brings_pages_in(struct kunit *test)
{
	unsigned long len = LONG_PAGES * PAGE_SIZE;
	struct bench *bench = test->priv;
	unsigned int i;

	bench->image.phdrs[IMAGE_PH_DATA].p_memsz = len;
	bench->image.phdrs[IMAGE_PH_SFRAME].p_filesz = len;
	image_write(test, &bench->image);
	/* 28 bytes of header and 16 of entry; the rest is rows. */
	patch_file(test, 3 * PAGE_SIZE + 16, len - 44, 4);
	KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&bench->image.file->f_path,
					      3 * PAGE_SIZE + len));
	image_map(test, &bench->image, bench->area);
	user_map_file(test, bench->image.file, page(test, 3), LONG_PAGES, PROT_READ, 3);
	KUNIT_EXPECT_FALSE(test, is_present(page(test, 3)));
	expect_learned(test, "1-3 covered by 3", "learned");
	for (i = 0; i < LONG_PAGES; i++)
		KUNIT_EXPECT_TRUE_MSG(test, is_present(page(test, 3 + i)), "page %u", i);
}

struct turn_case {
	const char	*name;
	unsigned int	pages;		/* that may be looked at */
	unsigned int	hurried;	/* of these, the last: not if it is late */
	bool		late;
	unsigned int	looked_at;	/* of ten */
};

static const struct turn_case turn_cases[] = {
	{ "enough", 16, 8, false, 10 },
	{ "too many", 4, 0, false, 4 },
	{ "late", 16, 10, true, 6 },
	{ "late, but enough", 16, 4, true, 10 },
	{ "late at once", 16, 16, true, 1 },
};

PARAM(turn_case);

/* What is not looked at is left to another turn. */
static void learn_in_turns(struct kunit *test)
{
	const struct turn_case *c = test->param_value;
	struct sfu_pages_turn turn = {
		.left = c->pages * PAGE_SIZE,
		.hurried = c->hurried * PAGE_SIZE,
		.deadline = c->late ? jiffies - 1 : jiffies + HZ * 100,
	};
	struct bench *bench = test->priv;

	image_write(test, &bench->image);
	KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&bench->image.file->f_path, 10 * PAGE_SIZE));
	user_map_file(test, bench->image.file, page(test, 3), 10, PROT_READ, 0);
	KUNIT_EXPECT_EQ(test, sfu_pages_map(current->mm, bench->image.file, page(test, 3),
					    page(test, 13), &turn),
			c->looked_at < 10 ? -EAGAIN : 0);
	KUNIT_EXPECT_EQ(test, turn.left, (c->pages - c->looked_at) * PAGE_SIZE);
}

/* More than anybody has: every other page is executable. */
#define MANY	8000

static void learn_many_mappings(struct kunit *test)
{
	unsigned long many = user_area(test, 2 * MANY);
	struct sfu_map *map;
	unsigned int i;

	map_image(test);
	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, 0, user_mprotect(many + 2 * i * PAGE_SIZE,
						       PAGE_SIZE, PROT_EXEC));
	KUNIT_EXPECT_EQ(test, 0, learn(test));
	map = sfu_map_get(current->mm);
	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_EXPECT_EQ(test, map->nr_regions, MANY + 1);
	KUNIT_EXPECT_EQ(test, map->nr_sections, 1);
	for (i = 0; i < 2 * MANY; i++) {
		unsigned long addr = many + i * PAGE_SIZE;
		struct sfu_region *region = sfu_map_find(map, addr);

		KUNIT_EXPECT_EQ_MSG(test, !region, i % 2, "page %u", i);
		if (region)
			KUNIT_EXPECT_EQ(test, region->start, addr);
	}
	sfu_map_put(map);
	expect_rows(test, page(test, 0));
}

static struct kunit_case learn_tests[] = {
	KUNIT_CASE(learn_nothing),
	KUNIT_CASE_PARAM(learn_image, version_case_gen_params),
	KUNIT_CASE(learn_images),
	KUNIT_CASE(learn_image_mapped_twice),
	KUNIT_CASE(learn_image_at_every_page),
	KUNIT_CASE_PARAM(learn_image_linked_for, address_case_gen_params),
	KUNIT_CASE_PARAM(learn_vma, vma_case_gen_params),
	KUNIT_CASE(learn_code_split),
	KUNIT_CASE(learn_code_of_no_segment),
	KUNIT_CASE(learn_one_segment),
	KUNIT_CASE(learn_code_not_at_page_start),
	KUNIT_CASE_PARAM(learn_section_at, place_case_gen_params),
	KUNIT_CASE(learn_segment_longer_than_section),
	KUNIT_CASE(learn_segment_all_zero),
	KUNIT_CASE(learn_section_without_functions),
	KUNIT_CASE_PARAM(learn_section_of, machine_case_gen_params),
	KUNIT_CASE(learn_brings_pages_in),
	KUNIT_CASE_PARAM(learn_in_turns, turn_case_gen_params),
	KUNIT_CASE_SLOW(learn_many_mappings),
	{}
};

/* ---- sframe_map_segment: sections that are not where the file says ---- */

static void unmap(struct kunit *test, unsigned int first, unsigned int nr)
{
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(page(test, first), nr * PAGE_SIZE));
}

static void protect(struct kunit *test, unsigned int first, unsigned int nr,
		    unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, 0, user_mprotect(page(test, first), nr * PAGE_SIZE, prot));
}

static void move(struct kunit *test, unsigned int from, unsigned int nr,
		 unsigned int to)
{
	KUNIT_ASSERT_EQ(test, page(test, to),
			user_mremap(page(test, from), nr * PAGE_SIZE, nr * PAGE_SIZE,
				    page(test, to)));
}

static void map_anonymous(struct kunit *test, unsigned int first, unsigned int nr,
			  unsigned long prot)
{
	KUNIT_ASSERT_EQ(test, page(test, first),
			vm_mmap(NULL, page(test, first), nr * PAGE_SIZE, prot,
				MAP_ANONYMOUS | MAP_PRIVATE | MAP_FIXED, 0));
}

static void unmap_section(struct kunit *test)
{
	unmap(test, 3, 2);
}

static void unmap_last_byte(struct kunit *test)
{
	unmap(test, 4, 1);
}

static void unmap_first_byte(struct kunit *test)
{
	unmap(test, 3, 1);
}

static void forbid_section(struct kunit *test)
{
	protect(test, 3, 2, PROT_NONE);
}

static void forbid_first_byte(struct kunit *test)
{
	protect(test, 3, 1, PROT_NONE);
}

/* The same bytes, but not of the file. */
static void copy_section(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_anonymous(test, 3, 2, PROT_READ | PROT_WRITE);
	user_store(test, bench->area + bench->image.section_at,
		   bench->image.section.bytes, bench->image.section.len);
}

static void map_section_of_another(struct kunit *test)
{
	struct image *image = another_image(test);

	image_write(test, image);
	user_map_file(test, image->file, page(test, 3), 2, PROT_READ, 3);
}

static void truncate_section(struct kunit *test)
{
	struct bench *bench = test->priv;

	KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&bench->image.file->f_path, 3 * PAGE_SIZE));
}

struct segment_case {
	const char	*name;
	unsigned long	at;
	void (*act)(struct kunit *test);
};

/* Ahead of learning. */
static const struct segment_case segment_cases[] = {
	{ "not mapped", 3 * PAGE_SIZE, unmap_section },
	{ "last byte not mapped", 4 * PAGE_SIZE - 59, unmap_last_byte },
	{ "rows not mapped", 4 * PAGE_SIZE - 28, unmap_last_byte },
	{ "half of the header not mapped", 4 * PAGE_SIZE - 14, unmap_last_byte },
	{ "first byte not mapped", 4 * PAGE_SIZE - 1, unmap_first_byte },
	{ "forbidden", 3 * PAGE_SIZE, forbid_section },
	{ "first byte forbidden", 4 * PAGE_SIZE - 1, forbid_first_byte },
	{ "in anonymous memory", 3 * PAGE_SIZE, copy_section },
	{ "of another file", 3 * PAGE_SIZE, map_section_of_another },
	{ "behind the file's end", 3 * PAGE_SIZE, truncate_section },
};

PARAM(segment_case);

/* The code is known all the same, and its fault is counted once. */
static void learn_segment(struct kunit *test)
{
	const struct segment_case *c = test->param_value;
	struct bench *bench = test->priv;

	image_section(&bench->image, SFRAME_VERSION_3, BOTH, c->at);
	map_image(test);
	c->act(test);
	expect_learned(test, "1-3 plain", "fault.segment learned");
}

/* Loaders reserve addresses first, and may map code ahead of its section. */
static void learn_section_that_comes_late(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned int i;

	image_write(test, &bench->image);
	user_map_file(test, bench->image.file, page(test, 1), 2, PROT_EXEC, IMAGE_CODE);
	for (i = 0; i < 3; i++)
		expect_learned(test, "1-3 plain", "fault.segment learned");
	user_map_file(test, bench->image.file, page(test, 3), 2, PROT_READ, IMAGE_SECTION);
	expect_map(test, "1-3 gone");
	expect_learned(test, "1-3 covered by 3", "learned");
	expect_rows(test, page(test, 0));
}

static struct kunit_case segment_tests[] = {
	KUNIT_CASE_PARAM(learn_segment, segment_case_gen_params),
	KUNIT_CASE(learn_section_that_comes_late),
	{}
};

/* ---- sframe_map_change: what is known of mappings that do not stay ---- */

static void unmap_code(struct kunit *test)
{
	unmap(test, 1, 2);
}

static void unmap_code_first(struct kunit *test)
{
	unmap(test, 1, 1);
}

static void unmap_code_last(struct kunit *test)
{
	unmap(test, 2, 1);
}

static void unmap_headers(struct kunit *test)
{
	unmap(test, 0, 1);
}

static void unmap_all(struct kunit *test)
{
	unmap(test, 0, AREA_PAGES);
}

static void map_over_code(struct kunit *test)
{
	map_anonymous(test, 1, 2, PROT_READ | PROT_EXEC);
}

static void map_over_section(struct kunit *test)
{
	map_anonymous(test, 3, 1, PROT_READ);
}

static void map_code_again(struct kunit *test)
{
	struct bench *bench = test->priv;

	user_map_file(test, bench->image.file, page(test, 1), 2,
		      PROT_READ | PROT_EXEC, IMAGE_CODE);
}

static void map_section_again(struct kunit *test)
{
	struct bench *bench = test->priv;

	user_map_file(test, bench->image.file, page(test, 3), 2, PROT_READ,
		      IMAGE_SECTION);
}

static void map_elsewhere(struct kunit *test)
{
	struct bench *bench = test->priv;

	image_map(test, &bench->image, page(test, 8));
}

static void move_code(struct kunit *test)
{
	move(test, 1, 2, 9);
}

static void move_section(struct kunit *test)
{
	move(test, 3, 2, 11);
}

static void move_image(struct kunit *test)
{
	move(test, 0, 1, 8);
	move(test, 1, 2, 9);
	move(test, 3, 2, 11);
}

static void move_over_code(struct kunit *test)
{
	map_anonymous(test, 8, 2, PROT_READ | PROT_EXEC);
	move(test, 8, 2, 1);
}

static void move_over_section(struct kunit *test)
{
	map_anonymous(test, 8, 1, PROT_READ);
	move(test, 8, 1, 3);
}

static void shrink_code(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, page(test, 1),
			user_mremap(page(test, 1), 2 * PAGE_SIZE, PAGE_SIZE, 0));
}

static void no_exec(struct kunit *test)
{
	protect(test, 1, 2, PROT_READ);
}

static void no_exec_last(struct kunit *test)
{
	protect(test, 2, 1, PROT_READ);
}

static void exec_data(struct kunit *test)
{
	protect(test, 3, 2, PROT_READ | PROT_EXEC);
}

static void drop_pages(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, user_madvise(page(test, 0), IMAGE_PAGES * PAGE_SIZE,
					      MADV_DONTNEED));
}

struct change_case {
	const char	*name;
	void (*act)(struct kunit *test);
	const char	*at_once;
	const char	*learned;
	const char	*counted;
};

#define SAME	"1-3 covered by 3"
#define PLAIN	"1-3 plain"
#define GONE	"1-3 gone"

/*
 * Code is gone where any page of it, or of its section, is unmapped. mprotect()
 * leaves the bytes as they are, and so what is known of them.
 */
static const struct change_case change_cases[] = {
	{ "unmap code", unmap_code, GONE, "nothing", "learned" },
	{ "unmap first of code", unmap_code_first, GONE, "2-3 covered by 3", "learned" },
	{ "unmap last of code", unmap_code_last, GONE, "1-2 covered by 3", "learned" },
	{ "unmap section", unmap_section, GONE, "1-3 plain", "fault.segment learned" },
	{ "unmap first of section", unmap_first_byte, GONE, "1-3 plain", "fault.segment learned" },
	{ "unmap behind section", unmap_last_byte, SAME, SAME, "learned" },
	{ "unmap headers", unmap_headers, SAME, SAME, "learned" },
	{ "unmap all", unmap_all, GONE, "nothing", "learned" },
	{ "map over code", map_over_code, GONE, "1-3 plain", "learned" },
	{ "map over section", map_over_section, GONE, "1-3 plain", "fault.segment learned" },
	{ "map code again", map_code_again, GONE, SAME, "learned" },
	{ "map section again", map_section_again, GONE, SAME, "learned" },
	{ "map elsewhere", map_elsewhere, SAME,
	  "1-3 covered by 3, 9-11 covered by 11", "learned" },
	{ "move code", move_code, GONE, "9-11 plain", "fault.segment learned" },
	{ "move section", move_section, GONE, "1-3 plain", "fault.segment learned" },
	{ "move image", move_image, GONE, "9-11 covered by 11", "learned" },
	{ "move over code", move_over_code, GONE, "1-3 plain", "learned" },
	{ "move over section", move_over_section, GONE, "1-3 plain", "fault.segment learned" },
	{ "shrink code", shrink_code, GONE, "1-2 covered by 3", "learned" },
	{ "forbid section", forbid_section, SAME, "1-3 plain", "fault.segment learned" },
	{ "code not executable", no_exec, SAME, "nothing", "learned" },
	{ "last of code not executable", no_exec_last, SAME, "1-2 covered by 3", "learned" },
	{ "data executable", exec_data, SAME, "1-5 covered by 3", "learned" },
	{ "drop pages", drop_pages, SAME, SAME, "learned" },
};

PARAM(change_case);

static void forget_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;

	map_image(test);
	expect_learned(test, SAME, "learned");
	c->act(test);
	expect_map(test, c->at_once);
	expect_counted(test, "");
	expect_learned(test, c->learned, c->counted);
}

/* As a walk does that finds a contradiction in the section of the image's code. */
static void retire(struct kunit *test, enum sframe_fault fault)
{
	struct sfu_map *map = sfu_map_get(current->mm);
	struct sfu_region *region = sfu_map_find(map, page(test, 1));

	KUNIT_EXPECT_NOT_NULL(test, region);
	if (region)
		sfu_region_retire(region, fault);
	sfu_map_put(map);
}

/* As above, of a section that was found to contradict itself. */
static void forget_retired_after(struct kunit *test)
{
	const struct change_case *c = test->param_value;
	bool stays = !strcmp(c->at_once, SAME);

	map_image(test);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FDE_ORDER);
	expect_counted(test, "fault.fde-order retired");
	c->act(test);
	expect_map(test, stays ? "1-3 retired" : GONE);
}

/* One image's end is not another's. */
static void forget_one_of_two(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	image_map(test, &bench->image, page(test, 8));
	expect_learned(test, "1-3 covered by 3, 9-11 covered by 11", "learned");
	unmap(test, 8, 5);
	expect_map(test, "1-3 covered by 3, 9-11 gone");
	expect_rows(test, page(test, 0));
	expect_row(test, page(test, 9), "uncovered");
	expect_learned(test, "1-3 covered by 3", "learned");
}

/* Whoever holds an old map learns of the end of what is in it no more. */
static void forget_while_held(struct kunit *test)
{
	struct sfu_map *old;

	map_image(test);
	expect_learned(test, SAME, "learned");
	old = sfu_map_get(current->mm);
	unmap(test, 3, 2);
	KUNIT_EXPECT_NULL(test, sfu_map_find(old, page(test, 1)));
	expect_learned(test, "1-3 plain", "fault.segment learned");
	KUNIT_EXPECT_NULL(test, sfu_map_find(old, page(test, 1)));
	sfu_map_put(old);
}

/* Whoever comes first says why, and nobody else. */
static void retire_once(struct kunit *test)
{
	map_image(test);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_map(test, "1-3 retired");
	expect_counted(test, "fault.fre-cut retired");
	retire(test, SFRAME_FAULT_REP_SIZE);
	expect_counted(test, "");
	expect_row(test, page(test, 1), "uncovered");
}

static void retire_plain(struct kunit *test)
{
	struct bench *bench = test->priv;

	bench->image.ehdr.e_phnum = 3;
	map_image(test);
	expect_learned(test, "1-3 plain", "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_map(test, "1-3 plain");
	expect_counted(test, "");
}

/* While it is mapped; and for other mappings it is not. */
static void retired_stays_so(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_counted(test, "fault.fre-cut retired");
	expect_learned(test, "1-3 retired", "learned");
	expect_learned(test, "1-3 retired", "learned");
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&sfu_held.sections));
	image_map(test, &bench->image, page(test, 8));
	expect_learned(test, "1-3 retired, 9-11 covered by 11", "learned");
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
}

static void retired_is_replaced(struct kunit *test)
{
	map_image(test);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_counted(test, "fault.fre-cut retired");
	map_code_again(test);
	expect_map(test, GONE);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_counted(test, "fault.fre-cut retired");
	map_section_again(test);
	expect_map(test, GONE);
	expect_learned(test, SAME, "learned");
	expect_rows(test, page(test, 0));
}

/* What cannot be read has nothing to be retired. */
static void retired_is_forbidden(struct kunit *test)
{
	map_image(test);
	expect_learned(test, SAME, "learned");
	retire(test, SFRAME_FAULT_FRE_CUT);
	expect_counted(test, "fault.fre-cut retired");
	forbid_section(test);
	expect_learned(test, PLAIN, "fault.segment learned");
	protect(test, 3, 2, PROT_READ);
	expect_learned(test, SAME, "learned");
}

/* 28 bytes of header, 16 of entry, 5 of attribute; a row's words are at 51. */
#define ROW_WORDS	51

/* The header is read once, all else when it is asked for. */
static void section_changes(struct kunit *test)
{
	map_image(test);
	expect_learned(test, SAME, "learned");
	patch_file(test, 3 * PAGE_SIZE + ROW_WORDS, 32, 1);
	expect_row(test, page(test, 1), "sp+32 (c-16) (c-8)");
	patch_file(test, 3 * PAGE_SIZE + ROW_WORDS, 16, 1);
	expect_row(test, page(test, 1), ROW);
	patch_file(test, 3 * PAGE_SIZE, 0xffff, 2);
	expect_row(test, page(test, 1), ROW);
	expect_map(test, SAME);
	expect_learned(test, "1-3 plain", "fault.magic learned");
	patch_file(test, 3 * PAGE_SIZE, 0xdee2, 2);
	expect_learned(test, SAME, "learned");
}

/* The n-th time in vain is not before 1 + 2 + ... + 2^(n-2) jiffies. */
static void learn_in_vain(struct kunit *test)
{
	unsigned long start;
	unsigned int n;

	map_image(test);
	expect_learned(test, SAME, "learned");
	start = jiffies;
	for (n = 1; n <= 7; n++) {
		KUNIT_EXPECT_EQ(test, 0, learn(test));
		KUNIT_EXPECT_GE_MSG(test, jiffies - start, BIT(n - 1) - 1, "time %u", n);
	}
	expect_counted(test, "learned=7");
	expect_map(test, SAME);
}

/* A second at most, however long it was in vain: without an end, the next would be four. */
static void learn_in_vain_long(struct kunit *test)
{
	unsigned long start = jiffies, last = jiffies;

	map_image(test);
	expect_learned(test, SAME, "learned");
	while (time_before(jiffies, start + 5 * HZ)) {
		last = jiffies;
		KUNIT_EXPECT_EQ(test, 0, learn(test));
		KUNIT_EXPECT_LE(test, jiffies - last, 3 * HZ);
	}
	KUNIT_EXPECT_GE(test, jiffies - last, HZ);
}

/* And what is new ends the wait. */
static void learn_after_news(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned int i;

	map_image(test);
	expect_learned(test, SAME, "learned");
	for (i = 0; i < 5; i++)
		expect_learned(test, SAME, "learned");
	image_map(test, &bench->image, page(test, 8));
	learn(test);
	unmap(test, 8, 5);
	expect_counted(test, "learned");
	/* From here on as from the beginning. */
	learn_in_vain(test);
}

/* Who learns for the sake of a map that is not the last one need not. */
static void learn_for_old_map(struct kunit *test)
{
	struct sfu_map *old;

	map_image(test);
	KUNIT_EXPECT_EQ(test, 0, sfu_map_learn(current->mm, NULL));
	expect_counted(test, "learned");
	KUNIT_EXPECT_EQ(test, 0, sfu_map_learn(current->mm, NULL));
	expect_counted(test, "");
	old = sfu_map_get(current->mm);
	learn(test);
	expect_counted(test, "learned");
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, sfu_map_learn(current->mm, old));
	expect_counted(test, "");
	sfu_map_put(old);
}

static struct mm_struct *new_process(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	mm->task_size = TASK_SIZE;
	arch_pick_mmap_layout(mm, &current->signal->rlim[RLIMIT_STACK]);
	return mm;
}

static void switch_process(struct mm_struct *mm)
{
	kthread_unuse_mm(current->mm);
	kthread_use_mm(mm);
}

/* Two processes have different things at the same addresses. */
static void learn_two_processes(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);

	map_image(test);
	expect_learned(test, SAME, "learned");
	switch_process(second);
	expect_map(test, "unknown");
	expect_learned(test, "nothing", "learned");
	map_anonymous(test, 2, 1, PROT_EXEC);
	expect_learned(test, "2-3 plain", "learned");
	switch_process(first);
	expect_map(test, SAME);
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
	mmput(second);
}

/* So many that some of them meet in the table. */
#define PROCESSES	300

static void learn_many_processes(struct kunit *test)
{
	struct mm_struct **mms = kunit_kcalloc(test, 2 * PROCESSES, sizeof(*mms), GFP_KERNEL);
	struct mm_struct *first = current->mm;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, mms);
	for (i = 0; i < 2 * PROCESSES; i++)
		mms[i] = new_process(test);
	for (i = 0; i < PROCESSES; i++) {
		switch_process(mms[i]);
		KUNIT_EXPECT_EQ(test, 0, sfu_map_learn(mms[i], NULL));
	}
	switch_process(first);
	KUNIT_EXPECT_EQ(test, PROCESSES, atomic_long_read(&sfu_held.processes));
	for (i = 0; i < 2 * PROCESSES; i++) {
		struct sfu_map *map = sfu_map_get(mms[i]);

		KUNIT_EXPECT_EQ_MSG(test, !map, i >= PROCESSES, "process %u", i);
		sfu_map_put(map);
		mmput(mms[i]);
	}
}

static bool one_is_held(void)
{
	return atomic_long_read(&sfu_held.processes) == 1;
}

/* A process that ends is forgotten, though its mm_struct be held. */
static void forget_process(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);
	long bytes;

	expect_learned(test, "nothing", "learned");
	bytes = atomic_long_read(&sfu_held.bytes);
	switch_process(second);
	map_image(test);
	expect_learned(test, SAME, "learned");
	KUNIT_EXPECT_EQ(test, 2, atomic_long_read(&sfu_held.processes));
	switch_process(first);
	mmgrab(second);
	mmput(second);
	KUNIT_EXPECT_NULL(test, sfu_map_get(second));
	KUNIT_EXPECT_TRUE(test, comes_true(one_is_held));
	KUNIT_EXPECT_EQ(test, bytes, atomic_long_read(&sfu_held.bytes));
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&sfu_held.sections));
	mmdrop(second);
	expect_map(test, "nothing");
}

/* A map outlives its process while somebody holds it. */
static void hold_map_of_ended_process(struct kunit *test)
{
	struct mm_struct *first = current->mm, *second = new_process(test);
	struct sfu_map *map;

	switch_process(second);
	map_image(test);
	expect_learned(test, SAME, "learned");
	map = sfu_map_get(second);
	switch_process(first);
	mmput(second);
	KUNIT_EXPECT_EQ(test, 1, map->nr_regions);
	sfu_map_put(map);
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
}

static struct kunit_case change_tests[] = {
	KUNIT_CASE_PARAM(forget_after, change_case_gen_params),
	KUNIT_CASE_PARAM(forget_retired_after, change_case_gen_params),
	KUNIT_CASE(forget_one_of_two),
	KUNIT_CASE(forget_while_held),
	KUNIT_CASE(retire_once),
	KUNIT_CASE(retire_plain),
	KUNIT_CASE(retired_stays_so),
	KUNIT_CASE(retired_is_replaced),
	KUNIT_CASE(retired_is_forbidden),
	KUNIT_CASE(section_changes),
	KUNIT_CASE(learn_in_vain),
	KUNIT_CASE_SLOW(learn_in_vain_long),
	KUNIT_CASE(learn_after_news),
	KUNIT_CASE(learn_for_old_map),
	KUNIT_CASE(learn_two_processes),
	KUNIT_CASE(learn_many_processes),
	KUNIT_CASE(forget_process),
	KUNIT_CASE(hold_map_of_ended_process),
	{}
};

/* ---- sframe_map_hostile: files that lie, are cut, or change while they are read ---- */

/* Where a field is, in the file: of the ELF header, or of a program header. */
#define EH(field)	offsetof(struct elf64_hdr, field)
#define PH(nr, field)	(64 + 56 * IMAGE_PH_##nr + offsetof(struct elf64_phdr, field))

struct elf_case {
	const char	*name;
	u32		at;
	u8		len;
	u64		value;
	const char	*want;
	const char	*counted;
};

#define SEGMENT	"1-3 plain", "fault.segment learned"

static const struct elf_case elf_cases[] = {
	{ "as it is", EH(e_ident), 1, 0x7f, SAME },
	{ "first byte of the magic", EH(e_ident), 1, 0, PLAIN },
	{ "last byte of the magic", EH(e_ident) + 3, 1, 'f', PLAIN },
	{ "class none", EH(e_ident) + EI_CLASS, 1, 0, PLAIN },
	{ "class 32 bits", EH(e_ident) + EI_CLASS, 1, ELFCLASS32, PLAIN },
	{ "class 3", EH(e_ident) + EI_CLASS, 1, 3, PLAIN },
	/* Whose data it is, the section says itself. */
	{ "machine", EH(e_machine), 2, 0xffff, SAME },
	{ "type", EH(e_type), 2, 0xffff, SAME },
	{ "e_phentsize 0", EH(e_phentsize), 2, 0, PLAIN },
	{ "e_phentsize 32, of 32 bits", EH(e_phentsize), 2, 32, PLAIN },
	{ "e_phentsize 55", EH(e_phentsize), 2, 55, PLAIN },
	{ "e_phentsize 57", EH(e_phentsize), 2, 57, PLAIN },
	{ "e_phentsize 65535", EH(e_phentsize), 2, 0xffff, PLAIN },
	{ "e_phnum 0", EH(e_phnum), 2, 0, PLAIN },
	{ "e_phnum 1", EH(e_phnum), 2, 1, PLAIN },
	{ "e_phnum 3", EH(e_phnum), 2, 3, PLAIN },
	{ "e_phnum 5, with an empty one", EH(e_phnum), 2, 5, SAME },
	{ "e_phnum 128", EH(e_phnum), 2, 128, SAME },
	{ "e_phnum 129", EH(e_phnum), 2, 129, PLAIN },
	{ "e_phnum 65535", EH(e_phnum), 2, 0xffff, PLAIN },
	{ "e_phoff 0", EH(e_phoff), 8, 0, PLAIN },
	{ "e_phoff 63", EH(e_phoff), 8, 63, PLAIN },
	{ "e_phoff 65", EH(e_phoff), 8, 65, PLAIN },
	{ "e_phoff to the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 224, PLAIN },
	{ "e_phoff beyond the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 223, PLAIN },
	{ "e_phoff behind the file", EH(e_phoff), 8, 6 * PAGE_SIZE, PLAIN },
	{ "e_phoff 2^63-1", EH(e_phoff), 8, S64_MAX, PLAIN },
	{ "e_phoff 2^63", EH(e_phoff), 8, S64_MIN, PLAIN },
	{ "e_phoff 2^64-224", EH(e_phoff), 8, -224, PLAIN },
	{ "e_phoff 2^64-1", EH(e_phoff), 8, -1, PLAIN },

	{ "code: no segment to load", PH(CODE, p_type), 4, PT_NOTE, PLAIN },
	{ "code: not executable", PH(CODE, p_flags), 4, PF_R, PLAIN },
	{ "code: p_offset 0", PH(CODE, p_offset), 8, 0, PLAIN, "fault.empty learned" },
	{ "code: p_offset behind the code", PH(CODE, p_offset), 8, 2 * PAGE_SIZE, PLAIN },
	{ "code: p_offset 2^64-1", PH(CODE, p_offset), 8, -1, PLAIN },
	{ "code: p_offset in page", PH(CODE, p_offset), 8, PAGE_SIZE + 1,
	  PLAIN, "fault.magic learned" },
	{ "code: p_vaddr 0", PH(CODE, p_vaddr), 8, 0, PLAIN, "fault.empty learned" },
	{ "code: p_vaddr a page on", PH(CODE, p_vaddr), 8, 2 * PAGE_SIZE,
	  PLAIN, "fault.empty learned" },
	{ "code: p_vaddr 2^62", PH(CODE, p_vaddr), 8, BIT_ULL(62), SEGMENT },
	{ "code: p_vaddr 2^63", PH(CODE, p_vaddr), 8, BIT_ULL(63), SEGMENT },
	{ "code: p_filesz 0", PH(CODE, p_filesz), 8, 0, PLAIN },
	{ "code: p_filesz 1", PH(CODE, p_filesz), 8, 1, SAME },
	{ "code: p_filesz 2^64-1", PH(CODE, p_filesz), 8, -1, SAME },
	{ "code: p_memsz 0", PH(CODE, p_memsz), 8, 0, SAME },
	{ "code: p_memsz 2^64-1", PH(CODE, p_memsz), 8, -1, SAME },
	{ "code: p_align 2^64-1", PH(CODE, p_align), 8, -1, SAME },

	{ "data: no segment to load", PH(DATA, p_type), 4, PT_NOTE, SEGMENT },
	{ "data: not readable", PH(DATA, p_flags), 4, PF_W, SEGMENT },
	{ "data: p_vaddr 0", PH(DATA, p_vaddr), 8, 0, SEGMENT },
	{ "data: p_vaddr behind the section", PH(DATA, p_vaddr), 8, 3 * PAGE_SIZE + 1, SEGMENT },
	{ "data: p_vaddr 2^64-1", PH(DATA, p_vaddr), 8, -1, SEGMENT },
	{ "data: p_memsz 0", PH(DATA, p_memsz), 8, 0, SEGMENT },
	{ "data: p_memsz 59", PH(DATA, p_memsz), 8, 59, SEGMENT },
	{ "data: p_memsz 60", PH(DATA, p_memsz), 8, 60, SAME },
	{ "data: p_memsz 2^64-1", PH(DATA, p_memsz), 8, -1, SAME },

	{ "section: no segment", PH(SFRAME, p_type), 4, PT_NULL, PLAIN },
	{ "section: another first", PH(HEADERS, p_type), 4, 0x6474e554, SEGMENT },
	{ "section: p_flags 0", PH(SFRAME, p_flags), 4, 0, SAME },
	{ "section: p_offset 2^64-1", PH(SFRAME, p_offset), 8, -1, SAME },
	{ "section: p_memsz 0", PH(SFRAME, p_memsz), 8, 0, SAME },
	{ "section: p_vaddr of the headers", PH(SFRAME, p_vaddr), 8, 0,
	  PLAIN, "fault.magic learned" },
	{ "section: p_vaddr of the code", PH(SFRAME, p_vaddr), 8, PAGE_SIZE,
	  PLAIN, "fault.empty learned" },
	{ "section: p_vaddr to the end", PH(SFRAME, p_vaddr), 8, 5 * PAGE_SIZE - 60,
	  PLAIN, "fault.empty learned" },
	{ "section: p_vaddr beyond the end", PH(SFRAME, p_vaddr), 8, 5 * PAGE_SIZE - 59, SEGMENT },
	{ "section: p_vaddr 2^63", PH(SFRAME, p_vaddr), 8, BIT_ULL(63), SEGMENT },
	{ "section: p_vaddr 2^64-60", PH(SFRAME, p_vaddr), 8, -60, SEGMENT },
	{ "section: p_vaddr 2^64-1", PH(SFRAME, p_vaddr), 8, -1, SEGMENT },
	{ "section: p_filesz 0", PH(SFRAME, p_filesz), 8, 0, PLAIN, "fault.short learned" },
	{ "section: p_filesz 27", PH(SFRAME, p_filesz), 8, 27, PLAIN, "fault.short learned" },
	{ "section: p_filesz 28", PH(SFRAME, p_filesz), 8, 28, PLAIN, "fault.freoff learned" },
	{ "section: p_filesz 44", PH(SFRAME, p_filesz), 8, 44, PLAIN, "fault.fre-len learned" },
	{ "section: p_filesz less one", PH(SFRAME, p_filesz), 8, 52,
	  PLAIN, "fault.fre-len learned" },
	{ "section: p_filesz all there is", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE, SAME },
	{ "section: p_filesz and one more", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE + 1, SEGMENT },
	{ "section: p_filesz 2^64-1", PH(SFRAME, p_filesz), 8, -1, SEGMENT },
	{ "section: p_filesz wraps", PH(SFRAME, p_filesz), 8, -3 * PAGE_SIZE, SEGMENT },
};

PARAM(elf_case);

/* One field of the headers is another; the mappings are as they should be. */
static void learn_elf(struct kunit *test)
{
	const struct elf_case *c = test->param_value;

	map_image(test);
	patch_file(test, c->at, c->value, c->len);
	expect_learned(test, c->want, c->counted ?: "learned");
}

/* Where all of them lie together. */
static void learn_elf_wraps(struct kunit *test)
{
	struct bench *bench = test->priv;
	struct elf64_phdr *ph = bench->image.phdrs;

	ph[IMAGE_PH_DATA].p_vaddr = 0;
	ph[IMAGE_PH_DATA].p_memsz = -1;
	ph[IMAGE_PH_SFRAME].p_filesz = -4 * PAGE_SIZE;
	map_image(test);
	expect_learned(test, SEGMENT);
	patch_file(test, PH(SFRAME, p_vaddr), -61, 8);
	patch_file(test, PH(SFRAME, p_filesz), 60, 8);
	map_code_again(test);
	expect_learned(test, SEGMENT);
}

/* As many program headers as are looked at, and one more; the last one counts. */
static void learn_phdrs(struct kunit *test, unsigned int nr, const char *want)
{
	struct bench *bench = test->priv;
	struct image *image = &bench->image;

	image->phdrs[nr - 1] = image->phdrs[IMAGE_PH_SFRAME];
	image->phdrs[IMAGE_PH_SFRAME].p_type = PT_NULL;
	image->ehdr.e_phnum = nr;
	image->ehdr.e_phoff = 5 * PAGE_SIZE;
	image->phdrs_at = 5 * PAGE_SIZE;
	map_image(test);
	expect_learned(test, want, "learned");
}

static void learn_128_phdrs(struct kunit *test)
{
	learn_phdrs(test, 128, SAME);
}

static void learn_129_phdrs(struct kunit *test)
{
	learn_phdrs(test, 129, PLAIN);
}

/* The file ends at every byte of its headers, which are its last part. */
static void learn_truncated(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned int len;

	bench->image.ehdr.e_phoff = 5 * PAGE_SIZE;
	bench->image.phdrs_at = 5 * PAGE_SIZE;
	map_image(test);
	expect_learned(test, SAME, "learned");
	for (len = 224; len-- > 0;) {
		KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&bench->image.file->f_path,
						      5 * PAGE_SIZE + len));
		map_code_again(test);
		expect_learned(test, PLAIN, "learned");
	}
}

static void learn_truncated_ehdr(struct kunit *test)
{
	struct bench *bench = test->priv;
	unsigned int len;

	map_image(test);
	for (len = 64 + 224; len-- > 0;) {
		KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&bench->image.file->f_path, len));
		map_code_again(test);
		expect_learned(test, PLAIN, "learned");
	}
}

/* Whatever the bit, the section is the right one, or none is. */
static void learn_bit_flipped(struct kunit *test)
{
	struct bench *bench = test->priv;
	u8 headers[64 + 4 * 56];
	char got[MAP_TEXT];
	unsigned int bit;

	map_image(test);
	memcpy(headers, &bench->image.ehdr, 64);
	memcpy(headers + 64, bench->image.phdrs, 4 * 56);
	for (bit = 0; bit < 8 * sizeof(headers); bit++) {
		patch_file(test, bit / 8, headers[bit / 8] ^ 1 << bit % 8, 1);
		map_code_again(test);
		KUNIT_EXPECT_EQ(test, 0, learn(test));
		map_text(test, got);
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(got, SAME) || !strcmp(got, PLAIN),
				      "bit %u: %s", bit, got);
		patch_file(test, bit / 8, headers[bit / 8], 1);
	}
}

/*
 * The file of the bench's image, with eyes on it: @act runs ahead of each read
 * of it, which is when a learner has listed the mappings and published nothing.
 */
static struct watch {
	const struct file_operations	*original;
	void				*fops;		/* in its place */
	struct kunit			*test;
	void (*act)(struct kunit *test);
	unsigned int			reads;
	unsigned int			fail_at;
	unsigned int			nap;		/* in us */
} watch;

static ssize_t watched_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	if (++watch.reads == watch.fail_at)
		return -EIO;
	if (watch.act)
		watch.act(watch.test);
	if (watch.nap)
		usleep_range(watch.nap, 2 * watch.nap);
	return watch.original->read_iter(iocb, to);
}

static void set_reads(const struct file_operations *original, struct file_operations *fops,
		      bool read_iter, bool read)
{
	*fops = *original;
	fops->read_iter = read_iter ? watched_read_iter : NULL;
	fops->read = read ? (void *)watched_read_iter : NULL;
}

static void unwatch(void *file)
{
	((struct file *)file)->f_op = watch.original;
}

static void watch_image(struct kunit *test, void (*act)(struct kunit *test))
{
	struct bench *bench = test->priv;
	struct file *file = bench->image.file;

	watch = (struct watch){
		.original = file->f_op,
		.fops = kunit_kmalloc(test, sizeof(*file->f_op), GFP_KERNEL),
		.test = test,
		.act = act,
	};
	KUNIT_ASSERT_NOT_NULL(test, watch.fops);
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}

/* Each read fails once: of the ELF header, and of the program headers. */
static void learn_unreadable(struct kunit *test)
{
	map_image(test);
	watch_image(test, NULL);
	watch.fail_at = 1;
	expect_learned(test, PLAIN, "learned");
	KUNIT_EXPECT_EQ(test, 1, watch.reads);
	map_code_again(test);
	watch.reads = 0;
	watch.fail_at = 2;
	expect_learned(test, PLAIN, "learned");
	KUNIT_EXPECT_EQ(test, 2, watch.reads);
	map_code_again(test);
	expect_learned(test, SAME, "learned");
	KUNIT_EXPECT_EQ(test, 4, watch.reads);
}

/* What kernel_read() would complain of is not read. */
static void learn_not_for_kernel_read(struct kunit *test)
{
	struct bench *bench = test->priv;

	map_image(test);
	watch_image(test, NULL);
	set_reads(watch.original, watch.fops, false, false);
	expect_learned(test, PLAIN, "learned");

	set_reads(watch.original, watch.fops, true, true);
	map_code_again(test);
	expect_learned(test, PLAIN, "learned");

	set_reads(watch.original, watch.fops, true, false);
	map_code_again(test);
	bench->image.file->f_mode &= ~FMODE_READ;
	expect_learned(test, PLAIN, "learned");
	bench->image.file->f_mode |= FMODE_READ;
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
	map_code_again(test);
	expect_learned(test, SAME, "learned");
}

/* A page of code leaves with the first attempt, comes with the next, and so on. */
static void unsettle_code(struct kunit *test)
{
	if (watch.reads % 2)
		protect(test, 2, 1, watch.reads % 4 == 1 ? PROT_READ :
							   PROT_READ | PROT_EXEC);
}

static void map_code_of_another(struct kunit *test)
{
	struct image *image = another_image(test);

	image_write(test, image);
	user_map_file(test, image->file, page(test, 1), 2, PROT_READ | PROT_EXEC,
		      IMAGE_CODE);
}

struct race_case {
	const char	*name;
	void (*act)(struct kunit *test);
	int		err;
	const char	*want;
	const char	*counted;
};

/* Twice in each attempt; the third is the last one. */
static const struct race_case race_cases[] = {
	{ "nothing", NULL, 0, SAME, "learned" },
	{ "unmap headers", unmap_headers, 0, SAME, "learned" },
	{ "unmap code", unmap_code, 0, "nothing", "learned=2" },
	{ "unmap last of code", unmap_code_last, 0, "1-2 covered by 3", "learned=2" },
	{ "unmap section", unmap_section, 0, PLAIN, "fault.segment learned" },
	{ "map over code", map_over_code, 0, PLAIN, "learned=2" },
	{ "map code again", map_code_again, 0, SAME, "learned" },
	{ "map code of another", map_code_of_another, 0, PLAIN,
	  "fault.segment learned=2" },
	{ "code not executable", no_exec, 0, "nothing", "learned=2" },
	{ "last of code not executable", no_exec_last, 0, "1-2 covered by 3", "learned=2" },
	{ "all the time", unsettle_code, -EAGAIN, GONE, "learned=3" },
};

PARAM(race_case);

#define SECOND	"9-11 covered by 11"

static const struct race_case first_cases[] = {
	{ "nothing", NULL, 0, "1-3 covered by 3, " SECOND, "learned" },
	{ "unmap code", unmap_code, 0, SECOND, "learned=2" },
	{ "unmap section", unmap_section, 0, "1-3 plain, " SECOND, "fault.segment learned=2" },
	{ "unmap first of section", unmap_first_byte, 0, "1-3 plain, " SECOND,
	  "fault.segment learned=2" },
	{ "map over section", map_over_section, 0, "1-3 plain, " SECOND,
	  "fault.segment learned=2" },
	{ "map over code", map_over_code, 0, "1-3 plain, " SECOND, "learned=2" },
	{ "forbid section", forbid_section, 0, "1-3 covered by 3, " SECOND, "learned" },
};

KUNIT_ARRAY_PARAM(first_case, first_cases, race_case_desc);

/* The process changes its mappings while its files are read. */
static void learn_during(struct kunit *test)
{
	const struct race_case *c = test->param_value;

	map_image(test);
	watch_image(test, c->act);
	KUNIT_EXPECT_EQ(test, c->err, learn(test));
	expect_map(test, c->want);
	expect_counted(test, c->counted);
}

/* While the second image's file is read, the first is learned already. */
static void learn_during_another(struct kunit *test)
{
	const struct race_case *c = test->param_value;
	struct image *first = another_image(test);
	struct bench *bench = test->priv;

	image_write(test, first);
	image_map(test, first, page(test, 0));
	image_write(test, &bench->image);
	image_map(test, &bench->image, page(test, 8));
	watch_image(test, c->act);
	KUNIT_EXPECT_EQ(test, c->err, learn(test));
	expect_map(test, c->want);
	expect_counted(test, c->counted);
}

static struct kunit_case hostile_tests[] = {
	KUNIT_CASE_PARAM(learn_elf, elf_case_gen_params),
	KUNIT_CASE(learn_elf_wraps),
	KUNIT_CASE(learn_128_phdrs),
	KUNIT_CASE(learn_129_phdrs),
	KUNIT_CASE(learn_truncated),
	KUNIT_CASE(learn_truncated_ehdr),
	KUNIT_CASE_SLOW(learn_bit_flipped),
	KUNIT_CASE(learn_unreadable),
	KUNIT_CASE(learn_not_for_kernel_read),
	KUNIT_CASE_PARAM(learn_during, race_case_gen_params),
	KUNIT_CASE_PARAM(learn_during_another, first_case_gen_params),
	{}
};

/* ---- sframe_map_storm: a thread that changes the process while another learns ---- */

/**
 * struct storm - one thread's work
 * @bench: the test's
 * @mm: the process
 * @other: an image without a section
 * @act: what it does, and undoes in the round after that
 * @round: counted
 * @failed: mappings that were not made
 * @stale: times that what is not mapped any more was still known
 * @in_turns: it acts only when it is told to, and is waited for
 * @turn: it may act
 * @done: it has acted
 */
struct storm {
	struct bench		*bench;
	struct mm_struct	*mm;
	struct image		*other;
	void (*act)(struct storm *storm);
	unsigned int		round;
	unsigned int		failed;
	unsigned int		stale;
	bool			in_turns;
	struct completion	turn;
	struct completion	done;
};

static unsigned long storm_page(struct storm *storm, unsigned int nr)
{
	return storm->bench->area + nr * PAGE_SIZE;
}

static void storm_map(struct storm *storm, struct file *file, unsigned int first,
		      unsigned long prot)
{
	unsigned long addr = storm_page(storm, first);

	storm->failed += vm_mmap(file, addr, 2 * PAGE_SIZE, prot, MAP_PRIVATE |
				 MAP_FIXED, first * PAGE_SIZE) != addr;
}

static void storm_unmap(struct storm *storm, unsigned int first)
{
	storm->failed += !!vm_munmap(storm_page(storm, first), 2 * PAGE_SIZE);
}

/* From the end of what ended it to the beginning of what brings it back. */
static void expect_forgotten(struct storm *storm)
{
	struct sfu_region *region;
	struct sfu_map *map;

	map = sfu_map_get(storm->mm);
	region = map ? sfu_map_find(map, storm_page(storm, 1)) : NULL;
	storm->stale += region && atomic_read(&region->state) != SFU_REGION_PLAIN;
	sfu_map_put(map);
}

static void flip_row(struct storm *storm)
{
	storm->failed += !!put_user(storm->round % 2 ? 16 : 32,
				    (u8 __user *)storm_page(storm, 3) + ROW_WORDS);
}

static void flip_magic(struct storm *storm)
{
	storm->failed += !!put_user(storm->round % 2 ? 0xe2 : 0,
				    (u8 __user *)storm_page(storm, 3));
}

static void toggle_code(struct storm *storm)
{
	if (storm->round % 2 == 0)
		storm_unmap(storm, 1);
	expect_forgotten(storm);
	if (storm->round % 2)
		storm_map(storm, storm->bench->image.file, 1, PROT_EXEC);
}

static void replace_code(struct storm *storm)
{
	if (storm->round % 2 == 0)
		storm_map(storm, storm->other->file, 1, PROT_EXEC);
	expect_forgotten(storm);
	if (storm->round % 2)
		storm_map(storm, storm->bench->image.file, 1, PROT_EXEC);
}

static void toggle_section(struct storm *storm)
{
	if (storm->round % 2 == 0)
		storm_unmap(storm, 3);
	expect_forgotten(storm);
	if (storm->round % 2)
		storm_map(storm, storm->bench->image.file, 3, PROT_READ);
}

static void toggle_access(struct storm *storm)
{
	storm->failed += !!user_mprotect(storm_page(storm, 3), 2 * PAGE_SIZE,
					 storm->round % 2 ? PROT_READ : PROT_NONE);
}

static int storm_thread(void *data)
{
	struct storm *storm = data;

	kthread_use_mm(storm->mm);
	while (!kthread_should_stop()) {
		if (storm->in_turns)
			wait_for_completion(&storm->turn);
		storm->act(storm);
		storm->round++;
		complete(&storm->done);
		cond_resched();
	}
	kthread_unuse_mm(storm->mm);
	return 0;
}

/* The storm that is on, if any. */
static struct storm *storm_now;

static void give_turn(struct kunit *test)
{
	if (!storm_now->in_turns)
		return;
	complete(&storm_now->turn);
	wait_for_completion(&storm_now->done);
}

/* A section is read bit by bit, and may change in between. */
static int read_user_in_turns(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	give_turn(NULL);
	return read_user(rd, dst, addr, len);
}

static int read_user_nofault(struct sframe_reader *rd, void *dst, u64 addr, u32 len)
{
	return copy_from_user_nofault(dst, (void __user *)addr, len) ? -EFAULT : 0;
}

struct storm_case {
	const char	*name;
	void (*act)(struct storm *storm);
	const char	*maps[4];	/* all that may be known */
	const char	*rows[4];	/* and be found */
};

#define ROW_32		"sp+32 (c-16) (c-8)"
#define NO_ROW		"uncovered"
#define FAULT		"error -14"

static const struct storm_case storm_cases[] = {
	{ "row", flip_row, { SAME }, { ROW, ROW_32 } },
	{ "magic", flip_magic, { SAME, PLAIN }, { ROW, NO_ROW } },
	{ "code unmapped", toggle_code, { SAME, GONE, "nothing" }, { ROW, NO_ROW } },
	{ "code replaced", replace_code, { SAME, GONE, PLAIN }, { ROW, NO_ROW } },
	{ "section unmapped", toggle_section, { SAME, GONE, PLAIN }, { ROW, NO_ROW, FAULT } },
	{ "section forbidden", toggle_access, { SAME, PLAIN }, { ROW, NO_ROW, FAULT } },
};

PARAM(storm_case);

static void expect_one_of(struct kunit *test, const char *const *wants, const char *got)
{
	unsigned int i;

	for (i = 0; i < 4 && wants[i]; i++)
		if (!strcmp(got, wants[i]))
			return;
	KUNIT_EXPECT_STREQ(test, got, wants[0]);
}

static void expect_one_round(struct kunit *test)
{
	int (*const reads[])(struct sframe_reader *, void *, u64, u32) = {
		read_user, read_user_in_turns, read_user_nofault
	};
	const struct storm_case *c = test->param_value;
	struct sfu_map *seen = sfu_map_get(current->mm);
	char map[MAP_TEXT], row[SECTION_ROW_TEXT];
	unsigned int i;

	/* What one finds is not what the next one finds. */
	if (storm_now->round % 3)
		give_turn(test);
	sfu_map_learn(current->mm, seen);
	sfu_map_put(seen);
	map_text(test, map);
	expect_one_of(test, c->maps, map);
	for (i = 0; i < ARRAY_SIZE(reads); i++) {
		struct sframe_reader rd = { .read = reads[i] };

		row_text(&rd, page(test, 1), row);
		expect_one_of(test, c->rows, row);
		give_turn(test);
	}
}

static void stop_storm(struct storm *storm, struct task_struct *thread)
{
	storm->in_turns = false;
	complete(&storm->turn);
	kthread_stop(thread);
}

/* In turns the process changes wherever a learner lets others run; else anywhere. */
static void learn_in_storm(struct kunit *test, bool in_turns)
{
	const struct storm_case *c = test->param_value;
	struct bench *bench = test->priv;
	struct storm storm = {
		.bench = bench,
		.mm = current->mm,
		.act = c->act,
		.other = another_image(test),
		.in_turns = in_turns,
	};
	unsigned long end = jiffies + 2 * HZ;
	struct task_struct *thread;
	struct sfu_counters now;

	init_completion(&storm.turn);
	init_completion(&storm.done);
	storm.other->ehdr.e_phnum = 3;
	image_write(test, storm.other);
	map_image(test);
	user_map_file(test, bench->image.file, page(test, 3), 2,
		      PROT_READ | PROT_WRITE, IMAGE_SECTION);
	expect_learned(test, SAME, "learned");
	storm_now = &storm;
	watch_image(test, give_turn);

	thread = kthread_run(storm_thread, &storm, "sframe_storm");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	while (storm.round < 4000 || time_before(jiffies, end)) {
		expect_one_round(test);
		cond_resched();
	}
	stop_storm(&storm, thread);
	watch.act = NULL;

	KUNIT_EXPECT_EQ(test, 0, storm.failed);
	KUNIT_EXPECT_EQ(test, 0, storm.stale);
	counters_read(&now);
	kunit_info(test, "%u changes, %lu times learned\n", storm.round,
		   now.learned - bench->since.learned);
	map_code_again(test);
	map_section_again(test);
	KUNIT_EXPECT_EQ(test, 0, learn(test));
	expect_map(test, SAME);
	expect_rows(test, bench->area);
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.processes));
	KUNIT_EXPECT_EQ(test, 1, atomic_long_read(&sfu_held.sections));
}

static void learn_in_storm_in_turns(struct kunit *test)
{
	learn_in_storm(test, true);
}

static void learn_in_storm_at_any_time(struct kunit *test)
{
	learn_in_storm(test, false);
}

static int learning_thread(void *data)
{
	struct mm_struct *mm = data;
	int err;

	kthread_use_mm(mm);
	err = sfu_map_learn(mm, NULL);
	kthread_unuse_mm(mm);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return err;
}

/* Many find nothing known at the same time, and one of them learns. */
static void learn_in_many_threads(struct kunit *test)
{
	struct task_struct *threads[8];
	unsigned int i;

	map_image(test);
	watch_image(test, NULL);
	watch.nap = 20000;
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		threads[i] = kthread_run(learning_thread, current->mm, "sframe_learn/%u", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(threads[i]));
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		KUNIT_EXPECT_EQ(test, 0, kthread_stop(threads[i]));
	expect_map(test, SAME);
	expect_counted(test, "learned");
}

static struct kunit_case storm_tests[] = {
	KUNIT_CASE_PARAM_ATTR(learn_in_storm_in_turns, storm_case_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM_ATTR(learn_in_storm_at_any_time, storm_case_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(learn_in_many_threads),
	{}
};

/* ---- sframe_map_ask: who is asked to learn, and when ---- */

static bool is_known(void)
{
	struct sfu_map *map = sfu_map_get(current->mm);

	sfu_map_put(map);
	return map;
}

/* Outside of interrupts nobody knows when the task will be in user mode. */
static void ask_worker(struct kunit *test)
{
	map_image(test);
	sfu_map_ask(current->mm, NULL);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_map(test, SAME);
	expect_counted(test, "learned asked");
}

static void ask_in_interrupt(struct pt_regs *interrupted)
{
	struct pt_regs *old;

	local_irq_disable();
	__irq_enter_raw();
	old = set_irq_regs(interrupted);
	sfu_map_ask(current->mm, NULL);
	set_irq_regs(old);
	__irq_exit_raw();
	local_irq_enable();
}

/* An interrupt of user mode: the task learns on its way back. */
static void ask_task(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	ask_in_interrupt(&regs);
	expect_map(test, "unknown");
	expect_counted(test, "asked");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "learned");
}

/* An interrupt of the kernel: it may sleep first. */
static void ask_interrupted_kernel(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	user_regs_make_kernel(&regs);
	ask_in_interrupt(&regs);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "learned asked");
}

/* The task's last work is done without its memory. */
static void ask_task_that_exits(struct kunit *test)
{
	struct mm_struct *first = current->mm;
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	ask_in_interrupt(&regs);
	kthread_unuse_mm(first);
	task_work_run();
	kthread_use_mm(first);
	expect_map(test, "unknown");
	expect_counted(test, "asked");
}

/* Once is enough, and the task is better than a worker. */
static void ask_twice(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	local_irq_disable();
	sfu_map_ask(current->mm, NULL);
	sfu_map_ask(current->mm, NULL);
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "learned asked");
}

static void ask_task_twice(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	ask_in_interrupt(&regs);
	ask_in_interrupt(&regs);
	sfu_map_ask(current->mm, NULL);
	expect_counted(test, "asked");
	task_work_run();
	expect_counted(test, "learned");
}

static void ask_worker_then_task(struct kunit *test)
{
	struct pt_regs regs;

	map_image(test);
	user_regs(&regs, page(test, 1), 0, 0);
	watch_image(test, NULL);
	watch.nap = 20000;
	sfu_map_ask(current->mm, NULL);
	ask_in_interrupt(&regs);
	expect_counted(test, "asked=2");
	task_work_run();
	expect_map(test, SAME);
	expect_counted(test, "learned");
}

#define REQUESTS	64

static bool all_have_learned(void)
{
	return atomic_long_read(&sfu_held.processes) == REQUESTS;
}

/* So many at a time, of as many processes; who comes later asks again. */
static void ask_too_much(struct kunit *test)
{
	struct mm_struct **mms = kunit_kcalloc(test, REQUESTS + 8, sizeof(*mms), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, mms);
	for (i = 0; i < REQUESTS + 8; i++)
		mms[i] = new_process(test);
	local_irq_disable();
	for (i = 0; i < REQUESTS + 8; i++)
		sfu_map_ask(mms[i], NULL);
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, comes_true(all_have_learned));
	msleep(20);
	expect_counted(test, "learned=64 asked=64");
	for (i = 0; i < REQUESTS + 8; i++)
		mmput(mms[i]);
	KUNIT_EXPECT_TRUE(test, comes_true(nothing_is_held));
	sfu_map_ask(current->mm, NULL);
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	expect_counted(test, "learned asked");
}

static struct mm_struct *ended[REQUESTS];

/* Nobody has them but the test. */
static bool all_are_over(void)
{
	unsigned int i;

	for (i = 0; i < REQUESTS; i++)
		if (atomic_read(&ended[i]->mm_count) > 1)
			return false;
	return true;
}

/* Whoever ends before he is learned of is not; his request is over, too. */
static void ask_for_ended_process(struct kunit *test)
{
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < REQUESTS; i++) {
			ended[i] = new_process(test);
			mmgrab(ended[i]);
			mmput(ended[i]);
			sfu_map_ask(ended[i], NULL);
		}
		KUNIT_EXPECT_TRUE(test, comes_true(all_are_over));
		for (i = 0; i < REQUESTS; i++)
			mmdrop(ended[i]);
	}
	expect_counted(test, "asked=128");
	KUNIT_EXPECT_TRUE(test, nothing_is_held());
}

static struct kunit_case ask_tests[] = {
	KUNIT_CASE(ask_worker),
	KUNIT_CASE(ask_task),
	KUNIT_CASE(ask_interrupted_kernel),
	KUNIT_CASE(ask_task_that_exits),
	KUNIT_CASE(ask_twice),
	KUNIT_CASE(ask_task_twice),
	KUNIT_CASE(ask_worker_then_task),
	KUNIT_CASE(ask_too_much),
	KUNIT_CASE(ask_for_ended_process),
	{}
};

/* ---- sframe_map_birth: new code, and new processes, of which the kernel tells ---- */

/* It tells in a task of the process, not in a thread that has borrowed its memory. */
static void tell_mmap(struct kunit *test, unsigned int nr)
{
	mmap_read_lock(current->mm);
	preempt_disable();
	current->flags &= ~PF_KTHREAD;
	sfu_map_on_mmap(find_vma(current->mm, page(test, nr)));
	current->flags |= PF_KTHREAD;
	preempt_enable();
	mmap_read_unlock(current->mm);
}

static void return_to_user(void)
{
	current->flags &= ~PF_KTHREAD;
	task_work_run();
	current->flags |= PF_KTHREAD;
}

static void birth_of_code(struct kunit *test)
{
	map_image(test);
	tell_mmap(test, 1);
	expect_map(test, "unknown");
	return_to_user();
	expect_map(test, SAME);
	expect_counted(test, "learned");
	/* Of what is known already nothing is learned. */
	tell_mmap(test, 1);
	return_to_user();
	expect_counted(test, "");
}

static void birth_of_no_code(struct kunit *test)
{
	map_image(test);
	map_anonymous(test, 8, 1, PROT_EXEC);
	tell_mmap(test, 3);
	tell_mmap(test, 8);
	return_to_user();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

/* As when a library is loaded: what remains of its first mapping is code yet. */
static void birth_beside_what_remains(struct kunit *test)
{
	map_image(test);
	expect_learned(test, SAME, "learned");
	tell_mmap(test, 3);
	return_to_user();
	expect_counted(test, "");
	unmap_code_first(test);
	expect_map(test, GONE);
	tell_mmap(test, 3);
	return_to_user();
	expect_map(test, "2-3 covered by 3");
	expect_counted(test, "learned");
	tell_mmap(test, 3);
	return_to_user();
	expect_counted(test, "");
}

/* A tracer may keep the task from returning. */
static void birth_traced(struct kunit *test)
{
	map_image(test);
	current->ptrace = PT_PTRACED;
	tell_mmap(test, 1);
	current->ptrace = 0;
	KUNIT_EXPECT_TRUE(test, comes_true(is_known));
	return_to_user();
	expect_map(test, SAME);
	expect_counted(test, "learned");
}

static void keep_all(struct kunit *test)
{
}

/**
 * struct fork_case - a child, other threads of whose parent change mappings
 * @name: of the case
 * @change: what they do before the child has its copy
 * @inherited: what is known of the child before it runs
 * @learned: and when it does
 * @counted: with that
 */
struct fork_case {
	const char	*name;
	void (*change)(struct kunit *test);
	const char	*inherited;
	const char	*learned;
	const char	*counted;
};

static const struct fork_case fork_cases[] = {
	{ "nothing changed", keep_all, SAME, SAME, "learned" },
	{ "code unmapped", unmap_code, GONE, "nothing", "learned" },
	{ "code cut", unmap_code_last, GONE, "1-2 covered by 3", "learned" },
	{ "code replaced", map_over_code, GONE, PLAIN, "learned" },
	{ "section unmapped", unmap_section, GONE, PLAIN, "fault.segment learned" },
	{ "parent unknown", NULL, "unknown", SAME, "learned" },
};

PARAM(fork_case);

static struct mm_struct *born;
static struct sfu_map *born_with;

static bool child_is_learned(void)
{
	struct sfu_map *map = sfu_map_get(born);

	sfu_map_put(map);
	return map != born_with;
}

/* The child is traced, so that a worker learns it: it is no task that runs. */
static void birth_by_fork(struct kunit *test)
{
	struct task_struct *child = kunit_kzalloc(test, sizeof(*child), GFP_KERNEL);
	const struct fork_case *c = test->param_value;
	struct mm_struct *parent = current->mm;
	struct bench *bench = test->priv;
	char inherited[MAP_TEXT];

	KUNIT_ASSERT_NOT_NULL(test, child);
	map_image(test);
	if (c->change)
		expect_learned(test, SAME, "learned");
	born = new_process(test);
	switch_process(born);
	image_map(test, &bench->image, bench->area);
	if (c->change)
		c->change(test);
	switch_process(parent);
	child->mm = born;
	child->ptrace = PT_PTRACED;

	preempt_disable();
	sfu_map_on_fork(child);
	born_with = sfu_map_get(born);
	preempt_enable();
	text_of(test, born_with, inherited);
	KUNIT_EXPECT_STREQ(test, inherited, c->inherited);
	KUNIT_EXPECT_TRUE(test, comes_true(child_is_learned));
	sfu_map_put(born_with);
	switch_process(born);
	expect_map(test, c->learned);
	switch_process(parent);
	expect_counted(test, c->counted);
	mmput(born);
}

/* Threads have one memory. */
static void birth_of_thread(struct kunit *test)
{
	struct task_struct *thread = kunit_kzalloc(test, sizeof(*thread), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, thread);
	map_image(test);
	thread->mm = current->mm;
	preempt_disable();
	sfu_map_on_fork(thread);
	preempt_enable();
	return_to_user();
	expect_map(test, "unknown");
	expect_counted(test, "");
}

static struct kunit_case birth_tests[] = {
	KUNIT_CASE(birth_of_code),
	KUNIT_CASE(birth_of_no_code),
	KUNIT_CASE(birth_beside_what_remains),
	KUNIT_CASE(birth_traced),
	KUNIT_CASE_PARAM(birth_by_fork, fork_case_gen_params),
	KUNIT_CASE(birth_of_thread),
	{}
};

#define SUITE(which)						\
	static struct kunit_suite which##_suite = {		\
		.name = "sframe_map_" #which,			\
		.init = bench_init,				\
		.test_cases = which##_tests,			\
	}

SUITE(learn);
SUITE(segment);
SUITE(change);
SUITE(hostile);
SUITE(storm);
SUITE(ask);
SUITE(birth);

kunit_test_suites(&learn_suite, &segment_suite, &change_suite, &hostile_suite,
		  &storm_suite, &ask_suite, &birth_suite);
