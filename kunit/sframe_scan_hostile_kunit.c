// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: files that have wrong headers, are cut, or cannot be read now. */
#include <linux/uio.h>

#include "scan_scene.h"

#define WITH(field, value, scanned)	"patch " field value "; file 1 2 1 rx; scan " scanned ";"

/* Offset and size of fields in the file. */
#define E_MACHINE	"18 2 "
#define E_PHOFF		"32 8 "
#define E_PHNUM		"56 2 "
#define CODE_VADDR	"136 8 "
#define DATA_FLAGS	"180 4 "
#define DATA_VADDR	"192 8 "
#define DATA_MEMSZ	"216 8 "
#define SECTION_VADDR	"248 8 "
#define SECTION_FILESZ	"264 8 "

/* The section cannot be where the file says. It is examined once. */
#define SEGMENT	BAD " | defect.segment scan.runs"

/* The section's program header is the last one that a scan reads, or comes after it. */
static void scan_many_phdrs(struct kunit *test)
{
	struct image *image = &scene_of(test)->image;
	const struct elf64_phdr section = image->phdrs[IMAGE_PH_SFRAME];
	unsigned int nr;

	for (nr = 128; nr <= 129; nr++) {
		image->phdrs[nr - 1] = section;
		image->phdrs[nr == 128 ? IMAGE_PH_SFRAME : 127].p_type = PT_NULL;
		image->ehdr.e_phnum = nr;
		image->ehdr.e_phoff = 5 * PAGE_SIZE;
		image->phdrs_at = 5 * PAGE_SIZE;
		map_image(test);
		expect_scanned(test, nr == 128 ? SAME : PLAIN, "scan.runs");
	}
}

/* The file is cut at each byte of its program headers, which are at its end, or of all headers. */
static void scan_truncated(struct kunit *test)
{
	struct scan_scene *scene = test->priv;
	unsigned int at_end, len;

	for (at_end = 1; at_end < 2; at_end--) {
		scene->image.phdrs_at = at_end ? 5 * PAGE_SIZE : 64;
		scene->image.ehdr.e_phoff = scene->image.phdrs_at;
		map_image(test);
		expect_scanned(test, SAME, "scan.runs");
		for (len = scene->image.phdrs_at + 4 * 56; len-- > (at_end ? 5 * PAGE_SIZE : 0);) {
			KUNIT_ASSERT_EQ(test, 0, vfs_truncate(&scene->image.file->f_path, len));
			run_steps(test, "file 1 2 1 rx; scan " PLAIN);
		}
	}
}

/* ---- a watch counts what is read of the file of the image, and lets it fail ---- */

static struct file_watch {
	const struct file_operations		*original;	/* the file's own operations */
	const struct address_space_operations	*original_aops;	/* those of its page cache */
	void					*fops;	/* the operations that replace @original */
	unsigned long				original_magic;	/* what its file system is */
	unsigned int				reads;	/* number of reads so far */
	size_t					bytes_ahead;
	/* reads ahead during which the file could be truncated */
	unsigned int				unlocked_reads;
} watch;

static ssize_t watched_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	watch.reads++;
	return -EIO;
}

static int watched_read_folio(struct file *file, struct folio *folio)
{
	watch.reads++;
	folio_unlock(folio);
	return -EIO;
}

/* As a file system may: it has the lock that keeps the file from being truncated. */
static void watched_readahead(struct readahead_control *rac)
{
	watch.reads++;
	watch.bytes_ahead += readahead_length(rac);
	watch.unlocked_reads += !rwsem_is_locked(&rac->mapping->invalidate_lock);
}

/* Which ways to read the file has: only kernel_read() and a scan ask for these. */
static void set_reads(const struct file_operations *original, struct file_operations *fops,
		      bool read_iter, bool read)
{
	*fops = *original;
	fops->read_iter = read_iter ? watched_read_iter : NULL;
	fops->read = read ? (void *)watched_read_iter : NULL;
}

static void unwatch(void *data)
{
	struct file *file = data;

	file_inode(file)->i_sb->s_magic = watch.original_magic;
	file->f_op = watch.original;
	file->f_mapping->a_ops = watch.original_aops;
}

static void watch_image(struct kunit *test)
{
	struct file *file = scene_of(test)->image.file;
	const struct address_space_operations *aops, *old = file->f_mapping->a_ops;
	/* The page cache can be written as before. */
	const struct address_space_operations watched = {
		.read_folio = watched_read_folio, .readahead = watched_readahead,
		.write_begin = old->write_begin, .write_end = old->write_end,
		.dirty_folio = old->dirty_folio,
	};

	watch = (struct file_watch){
		.original = file->f_op,
		.original_aops = old,
		.original_magic = file_inode(file)->i_sb->s_magic,
		.fops = test_alloc(test, sizeof(*file->f_op)),
	};
	aops = memcpy(test_alloc(test, sizeof(watched)), &watched, sizeof(watched));
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	file->f_mapping->a_ops = aops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}

static void expect_reads(struct kunit *test, unsigned int nr, unsigned int nr_ahead)
{
	KUNIT_EXPECT_EQ(test, nr, watch.reads);
	KUNIT_EXPECT_EQ(test, nr_ahead * PAGE_SIZE, watch.bytes_ahead);
	KUNIT_EXPECT_EQ(test, 0, watch.unlocked_reads);
}

static bool run_file_step(struct kunit *test, const char *step)
{
	struct image *image = &scene_of(test)->image;
	struct inode *inode = file_inode(image->file);
	unsigned int page, nr_ahead;
	char name[12];

	if (!strcmp(step, "watch"))
		watch_image(test);
	else if (!strcmp(step, "disk"))
		inode->i_sb->s_magic = BTRFS_SUPER_MAGIC;
	else if (!strcmp(step, "hugetlbfs"))
		inode->i_sb->s_magic = HUGETLBFS_MAGIC;
	else if (!strcmp(step, "write"))
		image_write(test, image);
	else if (!strcmp(step, "unreadable"))
		image->file->f_mode &= ~FMODE_READ;
	else if (!strcmp(step, "readable"))
		image->file->f_mode |= FMODE_READ;
	else if (sscanf(step, "ways %11s", name) == 1)
		set_reads(watch.original, watch.fops, *name != 'n', *name == 'b');
	else if (sscanf(step, "reads %u %u", &page, &nr_ahead) == 2)
		expect_reads(test, page, nr_ahead);
	else if (sscanf(step, "page %u %11s", &page, name) != 2)
		return false;
	else if (!strcmp(name, "gone"))
		truncate_inode_pages_range(inode->i_mapping, page * PAGE_SIZE,
					   (page + 1) * PAGE_SIZE - 1);
	else if (!strcmp(name, "stale"))
		folio_clear_uptodate(folio_at(test, page));
	else if (!strcmp(name, "fresh"))
		folio_mark_uptodate(folio_at(test, page));
	else if (!strcmp(name, "locked"))
		folio_lock(folio_at(test, page));
	else if (!strcmp(name, "unlocked"))
		folio_unlock(folio_at(test, page));
	else if (!strcmp(name, "marked"))
		folio_set_readahead(folio_at(test, page));
	else
		KUNIT_EXPECT_FALSE(test, folio_test_readahead(folio_at(test, page)));
	return true;
}

static int file_scene_init(struct kunit *test)
{
	return scan_scene_begin(test, run_file_step);
}

/* Page 0 has the headers, page 3 the section. What is not in the page cache comes later. */
#define WRITTEN		"reads 0 0; write; scan " SAME "; reads 0 0"

/*
 * These are steps of a script, besides those of scan_scene.h:
 *
 *	watch			from now on reads of the file are counted, and fail
 *	reads N PAGES		compares their number, and how many pages were read ahead
 *	ways none|iter|both	system calls can read the file in none of two ways, in one, in both
 *	disk, hugetlbfs		the file is on btrfs, or on hugetlbfs
 *	write			writes the image again
 *	unreadable, readable	the file was not opened for reading
 *	page N STATE		"gone" from the page cache; "stale": its read is under way, or has
 *				failed; "fresh"; "locked", "unlocked"; "marked" for read-ahead;
 *				"plain": expects that it is not marked
 */
static const struct script_case script_cases[] = {
	/* What sframe_elf.c makes of each field is the subject of sframe_elf_kunit.c. */
	{ "magic", "image 0; scan " SAME ";" WITH("0 1 ", "0", PLAIN) },
	/* The section's own header names its machine. */
	{ "machine", "image 0; " WITH(E_MACHINE, "0xffff", SAME) },
	{ "number of program headers, the fifth of which is empty",
	  "image 0; " WITH(E_PHNUM, "3", PLAIN) WITH(E_PHNUM, "5", SAME)
	  WITH(E_PHNUM, "0xffff", PLAIN) },
	/* The file has 0x5000 bytes, and 224 of program headers. */
	{ "place of the program headers",
	  "image 0; " WITH(E_PHOFF, "0", PLAIN) WITH(E_PHOFF, "65", PLAIN)
	  WITH(E_PHOFF, "0x4f20", PLAIN) WITH(E_PHOFF, "0x4f21", PLAIN)
	  WITH(E_PHOFF, "0x6000", PLAIN) WITH(E_PHOFF, "0x7fffffffffffffff", PLAIN)
	  WITH(E_PHOFF, "0x8000000000000000", PLAIN) WITH(E_PHOFF, "-224", PLAIN)
	  WITH(E_PHOFF, "-1", PLAIN) },
	{ "address of the code",
	  "image 0; " WITH(CODE_VADDR, "0x2000", BAD " | defect.empty scan.runs")
	  WITH(CODE_VADDR, "0x4000000000000000", SEGMENT)
	  WITH(CODE_VADDR, "0x8000000000000000", SEGMENT) },
	{ "data that is only writable", "image 0; " WITH(DATA_FLAGS, "2", SEGMENT) },
	{ "section at the headers",
	  "image 0; " WITH(SECTION_VADDR, "0", BAD " | defect.magic scan.runs") },
	/* Nothing; its header; all there is, and one more. */
	{ "size of the section",
	  "image 0; " WITH(SECTION_FILESZ, "0", BAD " | defect.short scan.runs")
	  WITH(SECTION_FILESZ, "28", BAD " | defect.freoff scan.runs")
	  WITH(SECTION_FILESZ, "0x2000", SAME) WITH(SECTION_FILESZ, "0x2001", SEGMENT) },
	/* In the end these addresses are before the image: another mapping may come there. */
	{ "addresses that wrap",
	  "image 0; patch " DATA_VADDR "0; patch " DATA_MEMSZ "-1;" WITH(SECTION_FILESZ, "-0x4000",
	  SEGMENT) "patch " SECTION_VADDR "-61;" WITH(SECTION_FILESZ, "60", LATE) },
	/* A file system without a disk may be served by a user: a scan asks it for nothing. */
	{ "headers are not in memory",
	  "image 0; watch; page 0 gone; scan " LATE "; scan " LATE "; " WRITTEN },
	{ "code is not in memory", "image 0; watch; page 1 gone; scan " SAME "; " WRITTEN },
	{ "section is not in memory",
	  "image 0; watch; page 3 gone; scan " LATE "; scan " LATE "; " WRITTEN },
	/* What a disk has is read ahead, as the kernel would: locked against truncation. */
	{ "read ahead", "image 0; watch; disk; page 3 gone; scan " LATE "; reads 1 1" },
	{ "a read is under way",
	  "image 0; watch; page 0 stale; scan " LATE "; page 0 fresh; scan " SAME "; reads 0 0" },
	/* Some kernels count the pages of hugetlbfs in another unit: no page of it is read. */
	{ "huge pages", "image 0; watch; hugetlbfs; scan " PLAIN },
	/* A page fault of such a page starts read-ahead. */
	{ "marked for read-ahead",
	  "image 0; watch; page 3 marked; scan " SAME "; rows 0; page 3 plain; reads 0 0" },
	/* A scan does not wait for the lock of a page. */
	{ "locked page",
	  "image 0; watch; page 3 locked; scan " LATE "; page 3 unlocked; scan " SAME },
	/* A scan does not read a file that cannot be read by system calls. */
	{ "not for kernel_read()",
	  "image 0; watch; ways none; scan " PLAIN "; ways both; file 1 2 1 rx; scan " PLAIN ";"
	  "ways iter; file 1 2 1 rx; unreadable; scan " PLAIN "; readable; file 1 2 1 rx;"
	  "scan " SAME "; reads 0 0" },
};

NAMED_CASES(script);

/* One scan asks for 8 MiB at most, however large the section says it is. */
static void scan_reads_ahead_bounded(struct kunit *test)
{
	struct file *file = scene_of(test)->image.file;
	struct sfu_prefault prefault = {};
	loff_t size = i_size_read(file_inode(file));
	unsigned int i;
	char byte;

	run_steps(test, "image 0; watch; disk");
	i_size_write(file_inode(file), SZ_1G);
	for (i = 1; i <= 4; i++)
		KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_prefault_read(&prefault, file, &byte,
								 SZ_64M, i * (loff_t)SZ_128M));
	sfu_prefault_finish(&prefault);
	i_size_write(file_inode(file), size);
	KUNIT_EXPECT_EQ(test, SZ_8M, watch.bytes_ahead);
	KUNIT_EXPECT_EQ(test, 0, watch.unlocked_reads);
}

/* A page that cannot be mapped is nothing new: the waits grow, whatever the process forbids. */
static void scan_forbidden_finds_nothing_new(struct kunit *test)
{
	struct sfu_process *process;
	s64 wait = 0;
	int i;

	run_steps(test, "image 0; protect 3 2 -; scan " LATE);
	process = process_of(current->mm);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		KUNIT_EXPECT_GT(test, process->quota.wait, wait);
		wait = process->quota.wait;
	}
	run_steps(test, "map " LATE "; counted scan.runs=5");
}

static void set_userfaultfd(struct kunit *test, vm_flags_t set, vm_flags_t clear)
{
	mmap_write_lock(current->mm);
	vm_flags_mod(find_vma(current->mm, page(test, 3)), set, clear);
	mmap_write_unlock(current->mm);
}

/* Whatever a userfaultfd may have to serve is left alone. */
static void scan_with_userfaultfd(struct kunit *test)
{
	u8 byte;

	map_image(test);
	set_userfaultfd(test, VM_UFFD_MISSING, 0);
	run_steps(test, IS_ENABLED(CONFIG_USERFAULTFD) ? "scan " LATE : "scan " SAME);
	if (IS_ENABLED(CONFIG_USERFAULTFD))
		KUNIT_EXPECT_NE(test, 0, sfu_user_read(&byte, page(test, 3), 1));
	set_userfaultfd(test, 0, VM_UFFD_MISSING);
	run_steps(test, "scan " SAME);
}

/* Two files claim places for their sections that overlap: the second is refused. */
static void scan_sections_that_overlap(struct kunit *test)
{
	struct image *other = another_image(test);

	/* The first page of the other's section is the last one of the image's. */
	scene_of(test)->image.phdrs[IMAGE_PH_SFRAME].p_filesz = 2 * PAGE_SIZE;
	other->phdrs[IMAGE_PH_SFRAME].p_filesz = 2 * PAGE_SIZE;
	map_image(test);
	image_write(test, other);
	image_map(test, other, page(test, 8));
	user_map_file(test, other->file, page(test, 2), 1, PROT_READ | PROT_EXEC, IMAGE_CODE);
	expect_scanned(test, "1-2 ready by 3, 2-3 bad, 9-11 ready by 11",
		       "defect.segment scan.runs section.bad");
	/* It has no place any more: nothing that happens there is of its business. */
	run_steps(test, "unmap 4 1; map 1-2 unmapped, 2-3 bad, 9-11 ready by 11");
}

static struct kunit_case hostile_tests[] = {
	KUNIT_CASE(scan_many_phdrs),
	KUNIT_CASE(scan_truncated),
	KUNIT_CASE_PARAM(run_script, script_gen_params),
	KUNIT_CASE(scan_reads_ahead_bounded),
	KUNIT_CASE(scan_forbidden_finds_nothing_new),
	KUNIT_CASE(scan_with_userfaultfd),
	KUNIT_CASE(scan_sections_that_overlap),
	{}
};

static struct kunit_suite hostile_suite = {
	.name = "sframe_scan_hostile", .init = file_scene_init, .test_cases = hostile_tests,
};

kunit_test_suite(hostile_suite);
