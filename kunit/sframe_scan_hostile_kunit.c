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
		.fops = kunit_kmalloc(test, sizeof(*file->f_op), GFP_KERNEL),
	};
	KUNIT_ASSERT_NOT_NULL(test, watch.fops);
	aops = kunit_kmalloc(test, sizeof(*watch.original_aops), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, aops);
	set_page_reads(watch.original_aops, aops);
	set_reads(watch.original, watch.fops, true, false);
	file->f_op = watch.fops;
	file->f_mapping->a_ops = aops;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unwatch, file));
}

/* Only files of a file system with a disk are read ahead. */
static void pretend_disk(struct kunit *test)
{
	file_inode(scene_of(test)->image.file)->i_sb->s_magic = BTRFS_SUPER_MAGIC;
}

/* The folio of a page of the file, which is in the page cache. */
static struct folio *get_folio(struct kunit *test, unsigned int nr)
{
	struct folio *folio = filemap_get_folio(scene_of(test)->image.file->f_mapping, nr);

	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(folio));
	return folio;
}

static void drop_from_cache(struct kunit *test, unsigned int first, unsigned int nr)
{
	truncate_inode_pages_range(scene_of(test)->image.file->f_mapping, first * PAGE_SIZE,
				   (first + nr) * PAGE_SIZE - 1);
}

static void load_again(struct kunit *test)
{
	image_write(test, &scene_of(test)->image);
}

/* Headers on page 0, section on page 3. */
static const struct cold_case {
	const char	*name;
	unsigned int	page;		/* that is not in the page cache */
	const char	*want;
} cold_cases[] = {
	{ "headers", 0, LATE },
	{ "code", 1, SAME },
	{ "section", 3, LATE },
};

NAMED_CASES(cold);

/* A file system without a disk may be served by a user: a scan asks it for nothing. */
static void scan_cold(struct kunit *test)
{
	const struct cold_case *c = test->param_value;

	map_image(test);
	watch_image(test);
	drop_from_cache(test, c->page, 1);
	expect_scanned(test, c->want, "scan.runs");
	expect_scanned(test, c->want, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
	load_again(test);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
}

/* What a disk has is read ahead, as the kernel would: locked against truncation. */
static void scan_reads_ahead(struct kunit *test)
{
	map_image(test);
	watch_image(test);
	pretend_disk(test);
	drop_from_cache(test, 3, 1);
	expect_scanned(test, LATE, "scan.runs");
	KUNIT_EXPECT_EQ(test, 1, watch.reads);
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, watch.bytes_ahead);
	KUNIT_EXPECT_EQ(test, 0, watch.unlocked_reads);
}

/* One scan asks for 8 MiB at most, however large the section says it is. */
static void scan_reads_ahead_bounded(struct kunit *test)
{
	struct file *file = scene_of(test)->image.file;
	struct sfu_prefault prefault = {};
	loff_t size = i_size_read(file_inode(file));
	unsigned int i;
	char byte;

	map_image(test);
	watch_image(test);
	pretend_disk(test);
	i_size_write(file_inode(file), SZ_1G);
	for (i = 1; i <= 4; i++)
		KUNIT_EXPECT_EQ(test, -EAGAIN, sfu_prefault_read(&prefault, file, &byte,
								 SZ_64M, i * (loff_t)SZ_128M));
	sfu_prefault_finish(&prefault);
	i_size_write(file_inode(file), size);
	KUNIT_EXPECT_EQ(test, SZ_8M, watch.bytes_ahead);
	KUNIT_EXPECT_EQ(test, 0, watch.unlocked_reads);
}

/* The read of a page is under way, or has failed. */
static void scan_not_uptodate(struct kunit *test)
{
	struct folio *folio;

	map_image(test);
	watch_image(test);
	folio = get_folio(test, 0);
	folio_clear_uptodate(folio);
	expect_scanned(test, LATE, "scan.runs");
	folio_mark_uptodate(folio);
	folio_put(folio);
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
}

/* Some kernels count the pages of hugetlbfs in another unit: no page of it is read. */
static void scan_of_huge_pages(struct kunit *test)
{
	struct super_block *sb = file_inode(scene_of(test)->image.file)->i_sb;
	unsigned long magic = sb->s_magic;

	map_image(test);
	sb->s_magic = HUGETLBFS_MAGIC;
	expect_scanned(test, PLAIN, "scan.runs");
	sb->s_magic = magic;
}

/* A page fault of such a page starts read-ahead. */
static void scan_marked_for_readahead(struct kunit *test)
{
	struct folio *folio;

	map_image(test);
	watch_image(test);
	folio = get_folio(test, 3);
	folio_set_readahead(folio);
	expect_scanned(test, SAME, "scan.runs");
	expect_rows(test, page(test, 0));
	KUNIT_EXPECT_FALSE(test, folio_test_readahead(folio));
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
	folio_put(folio);
}

/* A page whose lock is held by another: a scan does not wait for it. */
static void scan_locked_page(struct kunit *test)
{
	struct folio *folio;

	map_image(test);
	watch_image(test);
	folio = get_folio(test, 3);
	folio_lock(folio);
	expect_scanned(test, LATE, "scan.runs");
	folio_unlock(folio);
	folio_put(folio);
	expect_scanned(test, SAME, "scan.runs");
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
	expect_map(test, LATE);
	expect_counted(test, "scan.runs=5");
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

/* A scan does not read a file that cannot be read by system calls. */
static void scan_not_for_kernel_read(struct kunit *test)
{
	map_image(test);
	watch_image(test);
	set_reads(watch.original, watch.fops, false, false);
	expect_scanned(test, PLAIN, "scan.runs");

	set_reads(watch.original, watch.fops, true, true);
	run_steps(test, "file 1 2 1 rx; scan " PLAIN);

	set_reads(watch.original, watch.fops, true, false);
	run_steps(test, "file 1 2 1 rx");
	scene_of(test)->image.file->f_mode &= ~FMODE_READ;
	expect_scanned(test, PLAIN, "scan.runs");
	scene_of(test)->image.file->f_mode |= FMODE_READ;
	run_steps(test, "file 1 2 1 rx");
	expect_scanned(test, SAME, "scan.runs");
	KUNIT_EXPECT_EQ(test, 0, watch.reads);
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
	KUNIT_CASE_PARAM(scan_cold, cold_gen_params),
	KUNIT_CASE(scan_reads_ahead),
	KUNIT_CASE(scan_reads_ahead_bounded),
	KUNIT_CASE(scan_not_uptodate),
	KUNIT_CASE(scan_of_huge_pages),
	KUNIT_CASE(scan_marked_for_readahead),
	KUNIT_CASE(scan_locked_page),
	KUNIT_CASE(scan_forbidden_finds_nothing_new),
	KUNIT_CASE(scan_with_userfaultfd),
	KUNIT_CASE(scan_not_for_kernel_read),
	KUNIT_CASE(scan_sections_that_overlap),
	{}
};

static struct kunit_suite hostile_suite = {
	.name = "sframe_scan_hostile", .init = scan_scene_init, .test_cases = hostile_tests,
};

kunit_test_suite(hostile_suite);
