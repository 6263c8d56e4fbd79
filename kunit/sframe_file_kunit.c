// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of what is remembered about files, and of scans that use it. */
#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/exportfs.h>

#include "scan_scene.h"
#include "table/file_id.h"
#include "map/keeps_fp.h"

static void set_changed(struct kunit *test, time64_t at)
{
	inode_set_ctime(file_inode(scene_of(test)->image.file), at, 0);
}

static bool identify(struct kunit *test, struct sfu_file_id *id)
{
	struct scan_scene *scene = test->priv;

	return !sfu_file_id_get(file_inode(scene->image.file), id) && sfu_file_id_has_settled(id);
}

static const struct age_case {
	const char	*name;
	time64_t	ago;
	bool		has_id;
} age_cases[] = {
	{ "of tomorrow", -86400, false },
	{ "of this moment", 0, false },
	{ "of two seconds ago", 2, false },
	{ "of four seconds ago", 4, true },
	{ "of yesterday", 86400, true },
};

NAMED_CASES(age);

/* Some file systems count the time of a change in steps of two seconds. */
static void file_identify_aged(struct kunit *test)
{
	const struct age_case *c = test->param_value;
	struct sfu_file_id id;
	time64_t now;
	bool has_id;

	map_image(test);
	/* The file must not become older meanwhile. */
	do {
		now = ktime_get_real_seconds();
		set_changed(test, now - c->ago);
		has_id = identify(test, &id);
	} while (ktime_get_real_seconds() != now);
	KUNIT_EXPECT_EQ(test, has_id, c->has_id);
}

/* An inode of a file system that is not mounted. */
struct bare_file {
	struct file_system_type	type;
	struct block_device	bdev;
	struct gendisk		disk;
	struct super_block	sb;
	struct inode		inode;
};

static struct bare_file *bare_file(struct kunit *test, unsigned long magic, bool has_disk)
{
	struct bare_file *bare = test_alloc(test, sizeof(*bare));

	bare->type.fs_flags = magic == TMPFS_MAGIC ? 0 : FS_REQUIRES_DEV;
	bare->bdev.bd_disk = &bare->disk;
	bare->sb.s_type = &bare->type;
	bare->sb.s_magic = magic;
	bare->sb.s_bdi = &noop_backing_dev_info;
	bare->sb.s_bdev = has_disk ? &bare->bdev : NULL;
	bare->inode.i_sb = &bare->sb;
	bare->inode.i_mapping = &bare->inode.i_data;
	return bare;
}

/* The magic numbers are those of statfs(2). */
static const struct type_case {
	const char	*name;
	unsigned long	magic;
	bool		has_disk;
	bool		has_id;
} type_cases[] = {
	{ "btrfs", 0x9123683e, false, true },
	{ "erofs", 0xe0f5e1e2, true, true },
	{ "erofs in a file", 0xe0f5e1e2, false, false },
	{ "ext4", 0xef53, true, true },
	{ "squashfs", 0x73717368, true, true },
	{ "squashfs in flash memory", 0x73717368, false, false },
	{ "tmpfs", 0x01021994, false, true },
	{ "xfs", 0x58465342, true, true },
	{ "9p", 0x01021997, false, false },
	{ "cifs", 0xff534d42, false, false },
	{ "exfat", 0x2011bab0, true, false },
	{ "fuse", 0x65735546, false, false },
	{ "fuseblk", 0x65735546, true, false },
	{ "hugetlbfs", 0x958458f6, false, false },
	{ "nfs", 0x6969, false, false },
	{ "vfat", 0x4d44, true, false },
	{ "zero", 0, true, false },
};

NAMED_CASES(type);

/* Only where the time of change tells each change of the content. */
static void file_identify_type(struct kunit *test)
{
	const struct type_case *c = test->param_value;
	struct sfu_file_id id;

	KUNIT_EXPECT_EQ(test, c->has_id,
			!sfu_file_id_get(&bare_file(test, c->magic, c->has_disk)->inode, &id));
}

/* A store to a page that is written already changes no time. */
static void file_identify_writable(struct kunit *test)
{
	struct bare_file *bare = bare_file(test, 0xef53, true);
	struct sfu_file_id id;

	KUNIT_ASSERT_EQ(test, 0, mapping_map_writable(bare->inode.i_mapping));
	KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_file_id_get(&bare->inode, &id));
	mapping_unmap_writable(bare->inode.i_mapping);
	KUNIT_EXPECT_EQ(test, 0, sfu_file_id_get(&bare->inode, &id));
}

static void expect_agrees(struct kunit *test, struct bare_file *bare,
			  const struct sfu_file_id *other, bool agrees)
{
	struct sfu_file_id id;

	KUNIT_ASSERT_FALSE(test, sfu_file_id_get(&bare->inode, &id));
	KUNIT_EXPECT_EQ(test, agrees,
			!memcmp(&id, other, agrees ? sizeof(id) : SFU_FILE_INODE_SIZE));
}

/* Two images may agree in all numbers and times. On the same loop device they are two disks. */
static void file_identify_medium(struct kunit *test)
{
	struct bare_file *bare = bare_file(test, XFS_SUPER_MAGIC, true);
	struct sfu_file_id first;

	bare->disk.diskseq = 1;
	KUNIT_ASSERT_FALSE(test, sfu_file_id_get(&bare->inode, &first));
	bare->disk.diskseq = 2;
	expect_agrees(test, bare, &first, false);
	bare->disk.diskseq = 1;
	expect_agrees(test, bare, &first, true);
}

/* The handle has so many words, of which the last is a number of its own in each subvolume. */
static int handle_words;
static u32 subvolume;

static int encode_subvolume(struct inode *inode, __u32 *fh, int *max_len, struct inode *parent)
{
	if (*max_len < handle_words)
		return FILEID_INVALID;
	memset(fh, 0xaa, handle_words * sizeof(*fh));
	fh[handle_words - 1] = subvolume;
	*max_len = handle_words;
	return FILEID_BTRFS_WITHOUT_PARENT;
}

/* In two subvolumes of btrfs, two files may agree in all that their inodes say. */
static void file_identify_subvolume(struct kunit *test)
{
	static const struct export_operations ops = { .encode_fh = encode_subvolume };
	struct bare_file *bare = bare_file(test, BTRFS_SUPER_MAGIC, false);
	struct sfu_file_id first;

	bare->sb.s_export_op = &ops;
	for (handle_words = 1; handle_words <= SFU_HANDLE_WORDS; handle_words++) {
		subvolume = 256;
		KUNIT_ASSERT_FALSE(test, sfu_file_id_get(&bare->inode, &first));
		subvolume = 257;
		expect_agrees(test, bare, &first, false);
		subvolume = 256;
		expect_agrees(test, bare, &first, true);
	}
	/* A name that has no room is none. */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, sfu_file_id_get(&bare->inode, &first));
}

static void file_identify_changed(struct kunit *test)
{
	time64_t before = ktime_get_real_seconds() - 1000;
	struct sfu_code_id code = { .size = PAGE_SIZE }, other;
	struct sfu_code_facts facts = { .section_off = 7 }, found;

	map_image(test);
	set_changed(test, before);
	KUNIT_ASSERT_TRUE(test, identify(test, &code.file));
	sfu_file_id_store_facts(&code, &facts);
	KUNIT_EXPECT_TRUE(test, sfu_file_id_find_facts(&code, &found));
	KUNIT_EXPECT_EQ(test, found.section_off, 7);

	other = code;
	other.offset = PAGE_SIZE;
	KUNIT_EXPECT_FALSE_MSG(test, sfu_file_id_find_facts(&other, &found), "offset");
	other = code;
	other.size = 2 * PAGE_SIZE;
	KUNIT_EXPECT_FALSE_MSG(test, sfu_file_id_find_facts(&other, &found), "size of the code");

	set_changed(test, before + 1);
	KUNIT_ASSERT_TRUE(test, identify(test, &code.file));
	KUNIT_EXPECT_FALSE_MSG(test, sfu_file_id_find_facts(&code, &found), "time of the change");
	image_fill(test, &scene_of(test)->image, IMAGE_PAGES, 1);
	set_changed(test, before);
	KUNIT_ASSERT_TRUE(test, identify(test, &code.file));
	KUNIT_EXPECT_FALSE_MSG(test, sfu_file_id_find_facts(&code, &found), "size of the file");
}

/* The table has a fixed size. It always has what was remembered last, for a piece of code, too. */
static void file_remember_many(struct kunit *test)
{
	struct sfu_code_id code = { .file.ino = 1 };
	struct sfu_code_facts found;
	unsigned int i, nr_found = 0;

	for (i = 0; i < 10000; i++) {
		struct sfu_code_facts facts = { .section_off = i }, old = { .section_off = i + 1 };

		code.offset = i * PAGE_SIZE;
		sfu_file_id_store_facts(&code, &old);
		sfu_file_id_store_facts(&code, &facts);
		KUNIT_EXPECT_TRUE_MSG(test, sfu_file_id_find_facts(&code, &found), "%u", i);
		KUNIT_EXPECT_EQ(test, found.section_off, i);
	}
	for (i = 0; i < 10000; i++) {
		code.offset = i * PAGE_SIZE;
		nr_found += sfu_file_id_find_facts(&code, &found) && found.section_off == i;
	}
	/* Each place has one of them. */
	KUNIT_EXPECT_LE(test, nr_found, 512);
	KUNIT_EXPECT_GE(test, nr_found, 400);
}

/* The time of a change is set back: the file seems to be the same. e_phnum is at byte 56. */
static const struct script_case script_cases[] = {
	/* A second process finds what the first one has remembered: no header is read again. */
	{ "in a second process",
	  "image 0; changed -1000 0; scan " SAME "; patch 56 2 0; changed -1000 0; process 1;"
	  SCANNED "rows 0; changed -999 0; unmap 0 5; image 0; scan " PLAIN },
	/* A section is checked in each process, and so is where it is mapped. */
	{ "section is checked",
	  "image 0; changed -1000 0; scan " SAME "; unmap 0 5; patch 0x3000 2 0xdead;"
	  "changed -1000 0; image 0; scan " BAD " | defect.magic scan.runs" },
	{ "mapping is checked",
	  "image 0; changed -1000 0; scan " SAME "; unmap 0 5; file 1 2 1 x; scan " LATE ";"
	  "anon 3 1 r; scan " LATE "; file 3 2 3 r; scan " SAME },
	{ "code is elsewhere",
	  "image 0; changed -1000 0; scan " SAME "; image 8; scan " SAME ", 9-11 ready by 11;"
	  "rows 8" },
	{ "no section",
	  "image 0; patch 56 2 3; changed -1000 0; scan " PLAIN "; patch 56 2 4; changed -1000 0;"
	  "unmap 0 5; image 0; scan " PLAIN "; changed -999 0; unmap 0 5; image 0; scan " SAME },
};

NAMED_CASES(script);

/* The section would begin below address 0. Others who map the same file do not suffer. */
static void scan_with_facts_of_low_code(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	struct elf64_phdr *ph = scene->image.phdrs;
	unsigned long low = SZ_1M;

	ph[IMAGE_PH_CODE].p_vaddr += SZ_1G;
	ph[IMAGE_PH_DATA].p_memsz = 2ULL * SZ_1G;
	ph[IMAGE_PH_SFRAME].p_filesz = SZ_1G - SZ_64K;
	image_write(test, &scene->image);
	run_steps(test, "changed -1000 0");
	user_map_file(test, scene->image.file, low, 2, PROT_EXEC, IMAGE_CODE);
	KUNIT_EXPECT_EQ(test, 0, scan_now(test));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(low, 2 * PAGE_SIZE));
	counters_read(&scene->since);
	user_map_file(test, scene->image.file, page(test, 1), 2, PROT_EXEC, IMAGE_CODE);
	expect_scanned(test, LATE, "scan.runs");
}

static struct kunit_case file_tests[] = {
	KUNIT_CASE_PARAM(file_identify_aged, age_gen_params),
	KUNIT_CASE(file_identify_changed),
	KUNIT_CASE(file_identify_medium),
	KUNIT_CASE(file_identify_subvolume),
	KUNIT_CASE_PARAM(file_identify_type, type_gen_params),
	KUNIT_CASE(file_identify_writable),
	KUNIT_CASE(file_remember_many),
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(scan_with_facts_of_low_code),
	{}
};

static struct kunit_suite file_suite = {
	.name = "sframe_file", .init = scan_scene_init, .test_cases = file_tests,
};

kunit_test_suite(file_suite);
