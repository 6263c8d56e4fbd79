// SPDX-License-Identifier: GPL-2.0-or-later
/* KUnit tests of a scan: files that have wrong headers, are cut, or cannot be read now. */
#include <linux/uio.h>

#include "scan_scene.h"
#include "map/scan.h"

/* The file offset of a field of the ELF header, or of a program header. */
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

/* The section cannot be where the file says. It is examined once. */
#define SEGMENT	BAD, "defect.segment scan.runs"

/* What sframe_elf.c makes of each field is the subject of sframe_elf_kunit.c. */
static const struct elf_case elf_cases[] = {
	{ "as it is", EH(e_ident), 1, 0x7f, SAME },
	{ "magic", EH(e_ident), 1, 0, PLAIN },
	/* The section's own header names its machine. */
	{ "machine", EH(e_machine), 2, 0xffff, SAME },
	{ "e_phnum 3", EH(e_phnum), 2, 3, PLAIN },
	{ "e_phnum 5, with an empty one", EH(e_phnum), 2, 5, SAME },
	{ "e_phnum 65535", EH(e_phnum), 2, 0xffff, PLAIN },
	{ "e_phoff 0", EH(e_phoff), 8, 0, PLAIN },
	{ "e_phoff 65", EH(e_phoff), 8, 65, PLAIN },
	{ "e_phoff to the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 224, PLAIN },
	{ "e_phoff beyond the file's end", EH(e_phoff), 8, 5 * PAGE_SIZE - 223, PLAIN },
	{ "e_phoff after the file", EH(e_phoff), 8, 6 * PAGE_SIZE, PLAIN },
	{ "e_phoff 2^63-1", EH(e_phoff), 8, S64_MAX, PLAIN },
	{ "e_phoff 2^63", EH(e_phoff), 8, S64_MIN, PLAIN },
	{ "e_phoff 2^64-224", EH(e_phoff), 8, -224, PLAIN },
	{ "e_phoff 2^64-1", EH(e_phoff), 8, -1, PLAIN },
	{ "code: p_vaddr a page on", PH(CODE, p_vaddr), 8, 2 * PAGE_SIZE,
	  BAD, "defect.empty scan.runs" },
	{ "code: p_vaddr 2^62", PH(CODE, p_vaddr), 8, BIT_ULL(62), SEGMENT },
	{ "code: p_vaddr 2^63", PH(CODE, p_vaddr), 8, BIT_ULL(63), SEGMENT },
	{ "data: not readable", PH(DATA, p_flags), 4, PF_W, SEGMENT },
	{ "section: p_vaddr of the headers", PH(SFRAME, p_vaddr), 8, 0,
	  BAD, "defect.magic scan.runs" },
	{ "section: p_filesz 0", PH(SFRAME, p_filesz), 8, 0, BAD, "defect.short scan.runs" },
	{ "section: p_filesz 28", PH(SFRAME, p_filesz), 8, 28, BAD, "defect.freoff scan.runs" },
	{ "section: p_filesz all there is", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE, SAME },
	{ "section: p_filesz and one more", PH(SFRAME, p_filesz), 8, 2 * PAGE_SIZE + 1, SEGMENT },
};

NAMED_CASES(elf);

/* One field of the headers is changed; the mappings are not. */
static void scan_elf(struct kunit *test)
{
	const struct elf_case *c = test->param_value;

	map_image(test);
	patch_file(test, c->at, c->value, c->len);
	expect_scanned(test, c->want, c->counted ?: "scan.runs");
}

/* Several fields are changed together. */
static void scan_elf_wraps(struct kunit *test)
{
	struct elf64_phdr *ph = scene_of(test)->image.phdrs;

	ph[IMAGE_PH_DATA].p_vaddr = 0;
	ph[IMAGE_PH_DATA].p_memsz = -1;
	ph[IMAGE_PH_SFRAME].p_filesz = -4 * PAGE_SIZE;
	map_image(test);
	expect_scanned(test, SEGMENT);
	patch_file(test, PH(SFRAME, p_vaddr), -61, 8);
	patch_file(test, PH(SFRAME, p_filesz), 60, 8);
	run_steps(test, "file 1 2 1 rx");
	/* These addresses are before the image: another mapping may come there. */
	expect_scanned(test, LATE, "scan.runs");
}

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

/* With any bit flipped a scan finds the right section or none. */
static void scan_bit_flipped(struct kunit *test)
{
	u8 headers[64 + 4 * 56];
	char got[MAP_TEXT];
	unsigned int bit;

	map_image(test);
	memcpy(headers, &scene_of(test)->image.ehdr, 64);
	memcpy(headers + 64, scene_of(test)->image.phdrs, 4 * 56);
	for (bit = 0; bit < 8 * sizeof(headers); bit++) {
		patch_file(test, bit / 8, headers[bit / 8] ^ 1 << bit % 8, 1);
		run_steps(test, "file 1 2 1 rx");
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		map_text(test, got);
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(got, SAME) || !strcmp(got, PLAIN) ||
				      !strcmp(got, BAD) || !strcmp(got, LATE),
				      "bit %u: %s", bit, got);
		patch_file(test, bit / 8, headers[bit / 8], 1);
	}
}

/* ---- a watch counts what is read of the file of the image, and lets it fail ---- */

/* The watch of one file. */
static struct file_watch {
	const struct file_operations		*original;	/* the file's own operations */
	const struct address_space_operations	*original_aops;	/* those of its page cache */
	void					*fops;	/* the operations that replace @original */
	unsigned long				original_magic;	/* what its file system is */
	unsigned int				reads;	/* number of reads so far */
	/* bytes of them that were read ahead */
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

/* The page cache can be written as before. */
static void set_page_reads(const struct address_space_operations *original, void *aops)
{
	const struct address_space_operations watched = {
		.read_folio = watched_read_folio,
		.readahead = watched_readahead,
		.write_begin = original->write_begin,
		.write_end = original->write_end,
		.dirty_folio = original->dirty_folio,
	};

	memcpy(aops, &watched, sizeof(watched));
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
	void *aops;

	watch = (struct file_watch){
		.original = file->f_op,
		.original_aops = file->f_mapping->a_ops,
		.original_magic = file_inode(file)->i_sb->s_magic,
		.fops = test_alloc(test, sizeof(*file->f_op)),
	};
	aops = test_alloc(test, sizeof(*watch.original_aops));
	set_page_reads(watch.original_aops, aops);
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	file->f_mapping->a_ops = aops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}

static struct inode *image_inode(struct kunit *test)
{
	return file_inode(scene_of(test)->image.file);
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
	unsigned int page, nr_ahead;
	char name[12];

	if (!strcmp(step, "watch"))
		watch_image(test);
	else if (!strcmp(step, "disk"))
		image_inode(test)->i_sb->s_magic = BTRFS_SUPER_MAGIC;
	else if (!strcmp(step, "hugetlbfs"))
		image_inode(test)->i_sb->s_magic = HUGETLBFS_MAGIC;
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
		truncate_inode_pages_range(image_inode(test)->i_mapping, page * PAGE_SIZE,
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
	scan_scene_init(test);
	scene_of(test)->run_own_step = run_file_step;
	return 0;
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

	map_image(test);
	run_steps(test, "protect 3 2 -; scan " LATE);
	process = process_of(current->mm);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, 0, scan_now(test));
		KUNIT_EXPECT_GT(test, process->quota.wait, wait);
		wait = process->quota.wait;
	}
	run_steps(test, "map " LATE "; counted scan.runs=5");
}

/* Whatever a userfaultfd may have to serve is left alone. */
static void scan_with_userfaultfd(struct kunit *test)
{
	struct vm_area_struct *vma;
	u8 byte;

	map_image(test);
	mmap_write_lock(current->mm);
	vma = find_vma(current->mm, page(test, 3));
	vm_flags_set(vma, VM_UFFD_MISSING);
	mmap_write_unlock(current->mm);
	expect_scanned(test, IS_ENABLED(CONFIG_USERFAULTFD) ? LATE : SAME, "scan.runs");
	if (IS_ENABLED(CONFIG_USERFAULTFD))
		KUNIT_EXPECT_NE(test, 0, sfu_user_read(&byte, page(test, 3), 1));
	mmap_write_lock(current->mm);
	vm_flags_clear(vma, VM_UFFD_MISSING);
	mmap_write_unlock(current->mm);
	expect_scanned(test, SAME, "scan.runs");
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
	KUNIT_CASE_PARAM(scan_elf, elf_gen_params),
	KUNIT_CASE(scan_elf_wraps),
	KUNIT_CASE(scan_many_phdrs),
	KUNIT_CASE(scan_truncated),
	KUNIT_CASE_SLOW(scan_bit_flipped),
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
