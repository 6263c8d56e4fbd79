// SPDX-License-Identifier: GPL-2.0-or-later
/* An ELF file with an SFrame section. See user_image.h. */
#include <kunit/test.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mount.h>

#include "sframe_arch.h"
#include "user_arch.h"
#include "user_image.h"

static void put_file(void *file)
{
	fput(file);
}

/* @at is the offset of the section in the file and in the image. */
void image_section(struct image *image, u8 version, u8 flags, unsigned long at)
{
	struct elf64_phdr *ph = &image->phdrs[IMAGE_PH_SFRAME];
	struct build *b = &image->section;

	build_start(b, version, flags, SFU_ARCH_ABI);
	build_fde(b, IMAGE_CODE * PAGE_SIZE - at, 2 * PAGE_SIZE, ADDR1, 0, 0);
	if (SFU_ARCH_ABI == SFRAME_ABI_AMD64_LE)
		build_row(b, 0, 0x05, 16, -16);
	else
		build_row(b, 0, 0x07, 16, -8, -16);
	build_finish(b);
	b->tail = IMAGE_SECTION_LEN - b->len;
	build_finish(b);

	image->section_at = at;
	*ph = (struct elf64_phdr){
		.p_type = SFRAME_PT_GNU_SFRAME,
		.p_flags = PF_R,
		.p_offset = at,
		.p_vaddr = at,
		.p_filesz = b->len,
		.p_memsz = b->len,
	};
}

static struct elf64_phdr load(u32 flags, unsigned int page, unsigned int nr)
{
	return (struct elf64_phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = page * PAGE_SIZE,
		.p_vaddr = page * PAGE_SIZE,
		.p_filesz = nr * PAGE_SIZE,
		.p_memsz = nr * PAGE_SIZE,
		.p_align = PAGE_SIZE,
	};
}

static void unmount(void *mnt)
{
	kern_unmount(mnt);
}

/* In a file system of its own: from 7.3 on, kernel threads have an empty root directory. */
void image_init(struct kunit *test, struct image *image)
{
	struct vfsmount *mnt = kern_mount(get_fs_type("ramfs"));
	struct path root;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, unmount, mnt));
	root = (struct path){ .mnt = mnt, .dentry = mnt->mnt_root };
	image->file = file_open_root(&root, "/", O_TMPFILE | O_RDWR | O_LARGEFILE, 0600);
	KUNIT_ASSERT_EQ(test, 0, PTR_ERR_OR_ZERO(image->file));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_file, image->file));

	image->ehdr = (struct elf64_hdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = ELF_ARCH,
		.e_version = EV_CURRENT,
		.e_phoff = 64,
		.e_ehsize = 64,
		.e_phentsize = 56,
		.e_phnum = IMAGE_PHDRS,
	};
	image->phdrs_at = 64;
	image->phdrs[IMAGE_PH_HEADERS] = load(PF_R, 0, 1);
	image->phdrs[IMAGE_PH_CODE] = load(PF_R | PF_X, IMAGE_CODE, 2);
	image->phdrs[IMAGE_PH_DATA] = load(PF_R, IMAGE_SECTION, 2);
	image_section(image, SFRAME_VERSION_3, BOTH, IMAGE_SECTION * PAGE_SIZE);
}

static void write_at(struct kunit *test, const struct image *image, loff_t pos,
		     const void *bytes, size_t len)
{
	KUNIT_ASSERT_EQ(test, len, kernel_write(image->file, bytes, len, &pos));
}

/* Writes zero bytes, so that the page cache has these pages of the file. */
void image_fill(struct kunit *test, const struct image *image, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		write_at(test, image, (i + 1) * PAGE_SIZE - 1, "", 1);
}

/* Writes IMAGE_PHDRS program headers, or more if @image->ehdr says so. */
void image_write(struct kunit *test, const struct image *image)
{
	size_t nr = max_t(size_t, IMAGE_PHDRS, image->ehdr.e_phnum);

	image_fill(test, image, 0, IMAGE_PAGES);
	write_at(test, image, 0, &image->ehdr, sizeof(image->ehdr));
	write_at(test, image, image->phdrs_at, image->phdrs,
		 min_t(size_t, nr, IMAGE_MAX_PHDRS) * sizeof(image->phdrs[0]));
	write_at(test, image, image->section_at, image->section.bytes, image->section.len);
}

/* Maps @nr pages of @file, from page @page on, at @addr. */
void user_map_file(struct kunit *test, struct file *file, unsigned long addr,
		   unsigned int nr, unsigned long prot, unsigned long page)
{
	KUNIT_ASSERT_EQ(test, addr, vm_mmap(file, addr, nr * PAGE_SIZE, prot,
					    MAP_PRIVATE | MAP_FIXED, page * PAGE_SIZE));
}

/* Maps the image of image_init() as a loader does. */
void image_map(struct kunit *test, const struct image *image, unsigned long addr)
{
	user_map_file(test, image->file, addr, 1, PROT_READ, 0);
	user_map_file(test, image->file, addr + IMAGE_CODE * PAGE_SIZE, 2,
		      PROT_READ | PROT_EXEC, IMAGE_CODE);
	user_map_file(test, image->file, addr + IMAGE_SECTION * PAGE_SIZE, 2,
		      PROT_READ, IMAGE_SECTION);
}

/* Return: the address of @nr pages, all PROT_NONE, in which the test may map. */
unsigned long user_area(struct kunit *test, unsigned int nr)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, nr * PAGE_SIZE, PROT_NONE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_LT(test, addr, (unsigned long)TASK_SIZE);
	return addr;
}

/* These functions make the system calls of a process. */
long user_madvise(unsigned long addr, unsigned long len, int advice)
{
	return USER_SYSCALL(madvise, addr, len, advice, 0, 0);
}

long user_mprotect(unsigned long addr, unsigned long len, unsigned long prot)
{
	return USER_SYSCALL(mprotect, addr, len, prot, 0, 0);
}

/* @to is 0 if the mapping may stay at its address. */
long user_mremap(unsigned long addr, unsigned long len, unsigned long new_len, unsigned long to)
{
	unsigned long flags = to ? MREMAP_MAYMOVE | MREMAP_FIXED : 0;

	return USER_SYSCALL(mremap, addr, len, new_len, flags, to);
}
