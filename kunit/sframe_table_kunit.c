// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KUnit tests of tables: loaded for real files, found by scans of real mappings. The image
 * has no section of its own, unless a test says so; its table was linked at page 16.
 *
 * A script has the steps of scan_scene.h, and these. A is the file of the image; B to I are others
 * without a section. All have changed long ago. An ERR is 0 or an errno.
 *
 *	load A			loads the good table of the file
 *	load-linked BIAS OFFSET SIZE ADDR OFFSET SIZE ADDR
 *				loads it for code of A that was linked at the addresses of these
 *				segments, with addresses that are BIAS higher; SIZE 0: one segment
 *	load A KIB LAST		a table of this size; tables with the same last byte are the same
 *	refuse A KIB LAST ERR	such a table is refused; EBADMSG (74): its first byte is wrong
 *	none A, is-none A	says of a file that it has no table; expects that this is known
 *	drop A ERR, drop-all	forgets tables
 *	find A UID ANSWER SLOT	a process of this user looks for the table, which stays in use
 *	copy SLOT SLOT, put SLOT	another range uses the same table; the range ends
 *	keep, load-kept ERR	makes a good table for A as it is now; loads that table
 *	now, grow BYTES		A is written at this moment; grows without a later time of change
 *	shrink N WANT		memory is short: so many tables are forgotten
 *	incomplete N		whether the map lacks a table because there was no room
 *	outdated N		whether tables were loaded that the map does not have
 *	files N			so many files have the first table
 *	map B P			maps B, or another one of these files
 *	own-section		the image has a section
 *	map-vdso, load-vdso	code without a file at page 8; loads a table for it
 */
#include <uapi/sframe_unwind.h>

#include "scan_scene.h"
#include "table/file_id.h"
#include "table/table.h"
#include "walk/row_cache.h"

#define LINKED_AT	(16 * PAGE_SIZE)

#define TABLE		"1-3 ready by table at 0"
#define PART		"2-3 ready by table at 0"

static void drop_tables(void *unused)
{
	sfu_table_memory = 0;
	sfu_files_drop_all();
}

static void age(const struct image *image)
{
	inode_set_ctime(file_inode(image->file), -1000, 1);
}

static const struct sframe_segment code_segment = {
	.offset = PAGE_SIZE, .size = 2 * PAGE_SIZE, .addr = PAGE_SIZE,
};

static struct sfu_file_id id_of(struct inode *inode)
{
	struct sfu_file_id id = {};

	WARN_ON(sfu_file_id_get(inode, &id));
	return id;
}

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

static struct sfu_table_source good_source(struct kunit *test, const struct image *image)
{
	struct image *linked = another_image(test);

	image_section(linked, SFRAME_VERSION_3, BOTH, LINKED_AT);
	return source_of(test, image, linked->section.bytes, linked->section.len);
}

/* Loads a table. Returns the error. The message is not empty exactly if there is one. */
static int load(struct kunit *test, struct sfu_table_source *source)
{
	int err = sfu_load_table(source);

	KUNIT_EXPECT_EQ_MSG(test, !err, !source->message[0], "error %d: %s", err, source->message);
	kvfree(source->bytes);
	source->bytes = NULL;
	return err;
}

static void make_sized(struct build *b, u32 size)
{
	build_start(b, SFRAME_VERSION_3, BOTH, SFU_ARCH_ABI);
	build_fde(b, (s64)PAGE_SIZE - LINKED_AT, size, ADDR1, 0, 0);
	build_image_row(b);
	build_finish(b);
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
	struct sfu_table_source source = good_source(test, &scene_of(test)->image);

	source.inode = NULL;
	source.segments = &segment;
	return load(test, &source);
}

/* The table is for a function that has a slot and an entry for each KiB. */
static int load_large(struct kunit *test, const struct image *image, u32 len, u8 last,
		      bool is_spoilt)
{
	struct build *b = test_alloc(test, sizeof(*b));
	struct sfu_table_source source;

	make_sized(b, len / (2 * sizeof(u32)) * SFRAME_SLOT_SIZE);
	b->bytes[b->len++] = last;
	b->bytes[0] ^= is_spoilt;
	source = source_of(test, image, b->bytes, b->len);
	return load(test, &source);
}

static struct {
	struct image		*others[8];
	struct sfu_section	used[5];
	struct sfu_table_source	kept;
} made;

static struct image *image_of(struct kunit *test, char letter)
{
	struct image **other = &made.others[letter - 'B'];

	if (letter == 'A')
		return &scene_of(test)->image;
	if (!*other) {
		*other = another_image(test);
		(*other)->ehdr.e_phnum = 3;
		image_write(test, *other);
		age(*other);
	}
	return *other;
}

static int load_none(struct kunit *test, const struct image *image)
{
	struct sfu_table_source none = source_of(test, image, NULL, 0);

	none.nr_segments = 0;
	return load(test, &none);
}

static enum sfu_files_answer find_as(struct kunit *test, unsigned int uid,
				     const struct image *image, struct sfu_section *section)
{
	enum sfu_files_answer answer;

	*section = (struct sfu_section){};
	become_user(test, uid);
	answer = sfu_files_find_table(image->file, page(test, 1), PAGE_SIZE, section);
	become_user(test, 0);
	return answer;
}

static const char *const answers[] = {
	[SFU_FILE_HAS_TABLE] = "found",
	[SFU_FILE_UNKNOWN] = "unknown",
	[SFU_FILE_TABLELESS] = "tableless",
	[SFU_FILE_NO_ROOM] = "no-room",
};

static void load_linked(struct kunit *test, u64 bias, const struct sframe_segment *segments)
{
	struct sfu_table_source source = good_source(test, &scene_of(test)->image);

	source.addr += bias;
	source.segments = segments;
	source.nr_segments = segments[1].size ? 2 : 1;
	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
}

static void load_good_of(struct kunit *test, const struct image *image)
{
	struct sfu_table_source source = good_source(test, image);

	KUNIT_EXPECT_EQ(test, 0, load(test, &source));
}

static void have_own_section(struct kunit *test)
{
	struct scan_scene *scene = test->priv;

	scene->image.ehdr.e_phnum = IMAGE_PHDRS;
	image_write(test, &scene->image);
	age(&scene->image);
}

static bool run_table_step(struct kunit *test, const char *step)
{
	struct inode *inode = file_inode(scene_of(test)->image.file);
	struct sframe_segment segments[2] = {};
	struct sframe_file entry = {};
	unsigned int n, k, slot;
	char letter, word[10];
	u64 bias;
	long nr;

	/* First: %c would match the hyphen. */
	if (!strcmp(step, "load-vdso"))
		KUNIT_EXPECT_EQ(test, 0, load_vdso(test));
	else if (sscanf(step, "load-linked %lli %lli %lli %lli %lli %lli %lli", &bias,
			&segments[0].offset, &segments[0].size, &segments[0].addr,
			&segments[1].offset, &segments[1].size, &segments[1].addr) == 7)
		load_linked(test, bias, segments);
	else if (sscanf(step, "load-kept %u", &n) == 1)
		KUNIT_EXPECT_EQ(test, -(int)n, load(test, &made.kept));
	else if (sscanf(step, "load %c %u %u", &letter, &n, &k) == 3)
		KUNIT_EXPECT_EQ(test, 0, load_large(test, image_of(test, letter), n * SZ_1K, k,
						    false));
	else if (sscanf(step, "load %c", &letter) == 1)
		load_good_of(test, image_of(test, letter));
	else if (sscanf(step, "refuse %c %u %u %ld", &letter, &n, &k, &nr) == 4)
		KUNIT_EXPECT_EQ(test, -nr, load_large(test, image_of(test, letter), n * SZ_1K, k,
						      nr == EBADMSG));
	else if (!strcmp(step, "keep"))
		made.kept = good_source(test, &scene_of(test)->image);
	else if (!strcmp(step, "now"))
		inode_set_ctime(inode, ktime_get_real_seconds() + 1, 0);
	else if (sscanf(step, "grow %ld", &nr) == 1)
		i_size_write(inode, i_size_read(inode) + nr);
	else if (sscanf(step, "none %c", &letter) == 1)
		KUNIT_EXPECT_EQ(test, 0, load_none(test, image_of(test, letter)));
	else if (sscanf(step, "is-none %c", &letter) == 1)
		KUNIT_EXPECT_EQ(test, SFU_FILE_TABLELESS,
				find_as(test, 0, image_of(test, letter), &made.used[4]));
	else if (sscanf(step, "drop %c %u", &letter, &n) == 2)
		KUNIT_EXPECT_EQ(test, -(int)n,
				sfu_files_drop(file_inode(image_of(test, letter)->file)));
	else if (!strcmp(step, "drop-all"))
		sfu_files_drop_all();
	else if (sscanf(step, "find %c %u %9s %u", &letter, &n, word, &slot) == 4)
		KUNIT_EXPECT_STREQ_MSG(test, word, answers[find_as(test, n, image_of(test, letter),
								   &made.used[slot])],
				       "%s", step);
	else if (sscanf(step, "copy %u %u", &n, &k) == 2)
		sfu_table_get(memcpy(&made.used[k], &made.used[n], sizeof(made.used[k])));
	else if (sscanf(step, "put %u", &n) == 1)
		sfu_table_put(&made.used[n]);
	else if (sscanf(step, "shrink %ld %u", &nr, &n) == 2)
		KUNIT_EXPECT_EQ(test, n ?: SHRINK_STOP,
				sfu_files_shrink(NULL, &(struct shrink_control){
					.nr_to_scan = nr }));
	else if (sscanf(step, "incomplete %u", &n) == 1)
		KUNIT_EXPECT_EQ(test, n, map_now()->is_incomplete);
	else if (sscanf(step, "outdated %u", &n) == 1)
		KUNIT_EXPECT_EQ(test, n, sfu_map_is_older_than_tables(map_now()));
	else if (sscanf(step, "files %u", &n) == 1)
		KUNIT_EXPECT_EQ(test, n, sfu_files_list(&entry) ?: entry.nr_files);
	else if (sscanf(step, "map %c %u", &letter, &n) == 2 && letter > 'A')
		image_map(test, image_of(test, letter), page(test, n));
	else if (!strcmp(step, "own-section"))
		have_own_section(test);
	else if (!strcmp(step, "map-vdso"))
		map_vdso(test);
	else
		return false;
	return true;
}

static int table_scene_init(struct kunit *test)
{
	memset(&made, 0, sizeof(made));
	scan_scene_begin(test, run_table_step);
	scene_of(test)->image.ehdr.e_phnum = 3;	/* no PT_GNU_SFRAME */
	map_image(test);
	age(&scene_of(test)->image);
	return kunit_add_action_or_reset(test, drop_tables, NULL);
}

/* Whatever changes, the table is not used, and is not loaded for the file as it was. */
#define CHANGED(change, back)						\
	"keep; load A; " change "; load-kept 116; load A; files 1; scan " TABLE "; " back	\
	"; scan " PLAIN

/* Then a part of the code is mapped: from its second page on. */
#define IS_LINKED(linked, scanned, part)				\
	"load-linked " linked "; scan " scanned "; rows 0; held 1 1; unmap 1 1; scan " part	\
	"; row 2 " ROW

static const struct script_case script_cases[] = {
	{ "at its own addresses", IS_LINKED("0 0x1000 0x2000 0x1000 0 0 0", TABLE, PART) },
	{ "linked elsewhere",
	  IS_LINKED("0x400000 0x1000 0x2000 0x401000 0 0 0", "1-3 ready by table at -1024",
		    "2-3 ready by table at -1024") },
	{ "of an earlier segment", "load-linked 0 0 0x1000 0 0 0 0; scan " PLAIN },
	{ "of a later segment", "load-linked 0 0x5000 0x2000 0x1000 0 0 0; scan " PLAIN },
	/* Of a mapping that may be of either segment, nobody knows where its code was linked. */
	{ "two in a page, linked at two distances",
	  "load-linked 0 0x1000 0x800 0x1000 0x1800 0x1000 0x3800; scan " PLAIN },
	{ "two in a page, linked at one distance",
	  IS_LINKED("0 0x1000 0x800 0x1000 0x1800 0x1000 0x1800", TABLE, PART) },
	{ "of an unchanged file",
	  "keep; load A; load-kept 0; load A; files 1; scan " TABLE "; scan " TABLE },
	{ "changed: a later second", CHANGED("changed -999 1", "changed -1000 1") },
	{ "changed: an earlier second", CHANGED("changed -1001 1", "changed -1000 1") },
	{ "changed: a nanosecond", CHANGED("changed -1000 2", "changed -1000 1") },
	{ "changed: the size", CHANGED("grow 1", "grow -1") },
	/* A later change in the same moment could not be told from this one. */
	{ "of a file written now", "now; keep; load-kept 11" },
	{ "loaded later", "scan " PLAIN "; outdated 0; load A; outdated 1; scan " TABLE },
	{ "before the section of the file",
	  "own-section; load A; scan " TABLE "; rows 0; drop-all; scan " SAME },
	/* A range keeps its table until the next scan. */
	{ "dropped", "load A; scan " TABLE "; drop A 0; drop A 2; rows 0; scan " PLAIN },
	/* What an older content leaves in use is found again if the time of change is set back. */
	{ "of an older content",
	  "load A; scan " TABLE "; changed -500 0; load A; find A 0 found 1; put 1;"
	  "changed -1000 1; find A 0 found 1; put 1; files 2; drop A 0; drop A 2" },
	{ "of the vDSO, dropped",
	  "map-vdso; load-vdso; scan " PLAIN ", 8-9 ready by table at 7; drop-all;"
	  "scan " PLAIN ", 8-9 none" },
	/* No process asks for it. So it stays when another table needs room. */
	{ "of the vDSO, stays",
	  "load-vdso; memory 1; load B 512 1; load C 512 2; drop B 2; map-vdso;"
	  "scan " PLAIN ", 8-9 ready by table at 7" },
	/* It has the same bytes, and not the same identity. */
	{ "of another file", "load A; map B 8; scan " TABLE ", 9-11 none" },
	/* The file is known to have none: it is not asked for. */
	{ "none", "find A 0 unknown 1; none A; is-none A; scan " PLAIN },
	/* B has no users and is forgotten, A stays; B may have the same table. C is still known. */
	{ "limit",
	  "memory 1; none C; refuse B 1025 1 28; load B 512 1; load A 512 2; drop B 2; scan " TABLE
	  "; refuse B 512 1 28; rows 0; load B 512 2; is-none C; memory 2; load B 512 1" },
	/*
	 * Users leave half of the room to root, whoever owns the files that they map. Another range
	 * takes no other memory. The bytes count as long as any range uses them.
	 */
	{ "limit of users",
	  "memory 2; load A 512 1; load B 512 2; find A 1000 found 1; find B 1000 no-room 2;"
	  "find B 1001 no-room 2; find A 1001 found 3; find B 0 found 2; put 2; copy 1 0; put 1;"
	  "put 3; find B 1000 no-room 2; put 0; find B 1000 found 2; find A 1000 no-room 1;"
	  "put 2" },
	/* Users do not ask again for what would only be forgotten again. At last there is room. */
	{ "forgotten and refused",
	  "memory 2; load A 512 1; load B 512 2; find A 1000 found 1; find B 1001 no-room 2;"
	  "load C 512 3; load D 512 4; load E 512 5; find B 1001 no-room 2; find B 0 unknown 2;"
	  "put 1; find B 1001 unknown 2; load B 512 2; find B 1001 found 2; put 2" },
	/* A process gets the table when there is room: a scan for new code does not look. */
	{ "of a user, later",
	  "memory 2; load A 512 1; load B 512 2; find B 1000 found 1; uid 1001; scan " PLAIN ";"
	  "incomplete 1; new " PLAIN "; incomplete 1; put 1; scan " TABLE "; incomplete 0; uid 0" },
	/* A file without a table stays, for it gives nothing back. */
	{ "memory is short",
	  "none C; load A 64 1; scan " TABLE "; load B 64 2; shrink 1 1; drop B 2; shrink -1 0;"
	  "is-none C; drop A 0" },
	{ "a table that is refused takes no other one its place",
	  "memory 1; load B 512 1; refuse A 512 2 74; drop B 0" },
};

NAMED_CASES(script);

static bool has_facts(const struct image *image)
{
	struct sfu_code_id code = {
		.file = id_of(file_inode(image->file)),
		.offset = PAGE_SIZE,
		.size = 2 * PAGE_SIZE,
	};
	struct sfu_code_facts facts;

	return sfu_file_id_find_facts(&code, &facts);
}

/* Without a request, a scan reads the code of four ranges of two pages, and only their headers. */
static void table_limits_headers(struct kunit *test)
{
	unsigned int i, nr = 0;

	run_steps(test, "load A; scan " TABLE "; map B 8; map C 16; map D 24; map E 32; map F 40;"
		  "map G 48; map H 56; map I 64; load B; load C; load D; load E; load F; load G;"
		  "load H; load I");
	KUNIT_EXPECT_EQ(test, 0, sfu_scan(process_of(current->mm), SFU_SCAN_NEW_CODE));
	for (i = 0; i < ARRAY_SIZE(made.others); i++)
		nr += has_facts(made.others[i]);
	KUNIT_EXPECT_EQ(test, 4, nr);
}

static struct sfu_section *section_at(struct kunit *test, unsigned int nr)
{
	return &range_at(test, nr)->section;
}

static u64 fast_row_at(const struct sfu_section *section, u64 addr)
{
	const struct sfu_table *table = section->table;

	return table->packed_rows[sframe_compiled_find(&table->compiled, addr - section->bias)];
}

/* Each look-up in a table has the same cost, and finds the function, too. */
static void table_look_up(struct kunit *test)
{
	const u64 code = scene_of(test)->area + PAGE_SIZE, last = code + 2 * PAGE_SIZE - 1;
	struct sfu_lookup lookup = { .rd.budget = SFU_TABLE_COST - 1 };
	struct sfu_section *section;
	struct sframe_row row;

	run_steps(test, "load A; scan " TABLE);
	section = section_at(test, 1);
	sfu_lookup_use_cache(&lookup, NULL);
	KUNIT_EXPECT_EQ(test, -E2BIG, sfu_section_find_row(section, &lookup, last, &row));
	lookup.rd.budget = SFU_TABLE_COST;
	KUNIT_ASSERT_EQ(test, 0, sfu_section_find_row(section, &lookup, last, &row));
	KUNIT_EXPECT_EQ(test, sfu_row_pack(&row), fast_row_at(section, last));
	KUNIT_EXPECT_EQ(test, SFU_ROW_NONE, fast_row_at(section, code - 1));
	lookup.rd.budget = SFU_BUDGET;
	KUNIT_EXPECT_EQ(test, code, sfu_section_find_function(section, &lookup, last));
}

/* A file may change: its processes are scanned again after a second. Others are not. */
static void table_valid_for_a_second(struct kunit *test)
{
	unsigned long before;

	expect_scanned(test, PLAIN, "scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after(map_now()->valid_until, jiffies + 1000 * HZ));
	run_steps(test, "load A");
	before = jiffies;
	expect_scanned(test, TABLE, "scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after_eq(map_now()->valid_until, before + HZ));
	KUNIT_EXPECT_TRUE(test, time_before_eq(map_now()->valid_until, jiffies + HZ));
}

/* The first map of a new program is valid as long, though it follows one without code. */
static void table_valid_in_new_program(struct kunit *test)
{
	unsigned long before = jiffies;

	run_steps(test, "load A");
	sfu_processes_end(current->mm);
	add_new_process(test);
	run_steps(test, "map " TABLE "; counted scan.runs");
	KUNIT_EXPECT_TRUE(test, time_after_eq(map_now()->valid_until, before + HZ));
}

/* The section of the table has a function and a row. @patch overwrites fields of it. */
static void expect_refused(struct kunit *test, int err, const char *patch, u64 segment_addr,
			   u64 addr)
{
	const struct sframe_segment segment = {
		.offset = PAGE_SIZE, .size = 2 * PAGE_SIZE, .addr = segment_addr,
	};
	struct build *b = test_alloc(test, sizeof(*b));
	struct sfu_table_source source;

	make_sized(b, PAGE_SIZE);
	build_patches(b, patch);
	source = source_of(test, &scene_of(test)->image, b->bytes, b->len);
	source.segments = &segment;
	source.nr_segments = !!segment_addr;
	source.addr = addr;
	KUNIT_EXPECT_EQ_MSG(test, err, load(test, &source), "%s", patch);
}

static void table_refused(struct kunit *test)
{
	sfu_table_memory = 1;
	/* No segment; a segment, or the table, in the kernel. */
	expect_refused(test, -EINVAL, "", 0, LINKED_AT);
	expect_refused(test, -EINVAL, "", TASK_SIZE_MAX, LINKED_AT);
	expect_refused(test, -EINVAL, "", PAGE_SIZE, TASK_SIZE_MAX);
	/* Not sorted; ABI and place of RA of another machine; no function; no second row. */
	expect_refused(test, -EBADMSG, "3 1 4", PAGE_SIZE, LINKED_AT);
	expect_refused(test, -EBADMSG, SFU_ARCH_ABI == AMD64 ? "4 1 2 6 1 0" : "4 1 3 6 1 0xf8",
		       PAGE_SIZE, LINKED_AT);
	expect_refused(test, -EBADMSG, "8 1 0", PAGE_SIZE, LINKED_AT);
	expect_refused(test, -EBADMSG, "44 1 2", PAGE_SIZE, LINKED_AT);
	/* The function has 4 GiB. */
	expect_refused(test, -ENOSPC, "36 4 0xffffffff", PAGE_SIZE, LINKED_AT);
	run_steps(test, "drop A 2; scan " PLAIN);
}

static void table_shared(struct kunit *test)
{
	struct sframe_file entry = {};
	long one;

	run_steps(test, "load A");
	one = atomic_long_read(&sfu_held.tables);
	run_steps(test, "load B");
	/* Each file takes its identity and its segments. */
	KUNIT_EXPECT_LT(test, atomic_long_read(&sfu_held.tables), 2 * one);
	run_steps(test, "scan " TABLE);

	KUNIT_EXPECT_EQ(test, 0, sfu_files_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.ino, file_inode(scene_of(test)->image.file)->i_ino);
	KUNIT_EXPECT_EQ(test, entry.nr_functions, 1);
	KUNIT_EXPECT_EQ(test, entry.nr_files, 2);
	KUNIT_EXPECT_EQ(test, entry.nr_users, 1);
	KUNIT_EXPECT_GT(test, entry.table_size, 0);
	KUNIT_EXPECT_LE(test, entry.table_size, atomic_long_read(&sfu_held.tables));
	KUNIT_EXPECT_EQ(test, 0, sfu_files_list(&entry));
	KUNIT_EXPECT_EQ(test, entry.ino, file_inode(image_of(test, 'B')->file)->i_ino);
	KUNIT_EXPECT_EQ(test, -ENOENT, sfu_files_list(&entry));
}

struct bare_file {
	struct inode	inode;
	struct file	file;
};

static struct bare_file *bare_file(struct kunit *test)
{
	struct bare_file *bare = test_alloc(test, sizeof(*bare));

	bare->inode.i_sb = file_inode(scene_of(test)->image.file)->i_sb;
	bare->inode.i_mapping = &bare->inode.i_data;
	inode_set_ctime(&bare->inode, -1000, 1);
	bare->file.f_inode = &bare->inode;
	return bare;
}

static bool bare_has_none(struct bare_file *bare, unsigned int nr)
{
	struct sfu_section section;

	bare->inode.i_ino = nr;
	return sfu_files_find_table(&bare->file, 0, 0, &section) == SFU_FILE_TABLELESS;
}

static void load_nones(struct kunit *test, struct bare_file *bare, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i <= nr; i++) {
		struct sfu_table_source none = { .inode = &bare->inode };

		bare->inode.i_ino = i;
		none.id = id_of(&bare->inode);
		KUNIT_ASSERT_EQ(test, 0, sfu_load_table(&none));
	}
}

/* A user may make file after file that has no table: the oldest are forgotten. */
static void table_none_of_many(struct kunit *test)
{
	struct bare_file *bare = bare_file(test);

	load_nones(test, bare, SFU_FILES_MAX_TABLELESS + 1);
	KUNIT_EXPECT_FALSE(test, bare_has_none(bare, 1));
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, 2));
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, SFU_FILES_MAX_TABLELESS + 1));
	sfu_files_drop_tableless();
	KUNIT_EXPECT_FALSE(test, bare_has_none(bare, 2));
}

/* Such files take no table the room. */
static void table_none_makes_room(struct kunit *test)
{
	struct bare_file *bare = bare_file(test);
	long held = atomic_long_read(&sfu_held.tables);

	sfu_table_memory = 1;
	load_nones(test, bare, SZ_1M / 64);
	KUNIT_EXPECT_LE(test, atomic_long_read(&sfu_held.tables), held + SZ_1M + PAGE_SIZE);
	KUNIT_EXPECT_GT(test, atomic_long_read(&sfu_held.tables), SZ_512K);
	run_steps(test, "load A 512 1");
	KUNIT_EXPECT_TRUE(test, bare_has_none(bare, SZ_1M / 64));
}

#define BOTH_FOUND	TABLE ", 9-11 ready by table at 8"

/* What a walk has found by one mapping of a table, it knows by others, in all processes. */
static void table_has_number(struct kunit *test)
{
	const struct sfu_section *first, *second;
	u64 number;

	run_steps(test, "load A; image 8; scan " BOTH_FOUND);
	first = section_at(test, 1);
	second = section_at(test, 9);
	number = first->number;
	KUNIT_EXPECT_EQ(test, number, second->number);
	KUNIT_EXPECT_EQ(test, first->key_base + page(test, 1), second->key_base + page(test, 9));
	KUNIT_EXPECT_FALSE(test, fast_row_at(first, page(test, 1)) & SFU_ROW_IS_OTHER);
	KUNIT_EXPECT_EQ(test, fast_row_at(first, page(test, 1)),
			fast_row_at(second, page(test, 9)));
	run_steps(test, "scan " BOTH_FOUND);
	KUNIT_EXPECT_EQ(test, number, section_at(test, 1)->number);
	/* The same table, loaded again, is another one. */
	run_steps(test, "drop-all; scan 1-3 none, 9-11 none; load A; scan " BOTH_FOUND);
	KUNIT_EXPECT_GT(test, section_at(test, 1)->number, number);
}

static struct kunit_case table_tests[] = {
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(table_look_up),
	KUNIT_CASE(table_limits_headers),
	KUNIT_CASE(table_valid_for_a_second),
	KUNIT_CASE(table_valid_in_new_program),
	KUNIT_CASE(table_refused),
	KUNIT_CASE(table_shared),
	KUNIT_CASE(table_none_of_many),
	KUNIT_CASE(table_none_makes_room),
	KUNIT_CASE(table_has_number),
	{}
};

static struct kunit_suite table_suite = {
	.name = "sframe_table", .init = table_scene_init, .test_cases = table_tests,
};

kunit_test_suite(table_suite);
