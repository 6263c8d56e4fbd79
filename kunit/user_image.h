/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file with an SFrame section, and mappings of it in the process of the test. The file, in
 * pages:
 *
 *	0	ELF header and program headers	readable
 *	1-2	code				executable
 *	3-4	the section			readable
 *
 * One FDE covers all of the code. Its one row is "sp+16 (c-16) (c-8)": a frame consists of the
 * frame pointer and the return address. Zero bytes follow, so that the section has 60 bytes in all
 * versions.
 */
#ifndef USER_IMAGE_H
#define USER_IMAGE_H

#include <linux/elf.h>
#include <linux/sizes.h>

#include "section_builder.h"

struct file;
struct kunit;

#define IMAGE_PAGES	5
#define IMAGE_CODE	1
#define IMAGE_SECTION	3
#define IMAGE_SECTION_LEN 60
#define IMAGE_MAX_PHDRS	129

/* The program headers, by index. */
enum { IMAGE_PH_HEADERS, IMAGE_PH_CODE, IMAGE_PH_DATA, IMAGE_PH_SFRAME, IMAGE_PHDRS };

/**
 * struct image - the file; a test may change all of it before image_write()
 * @file: the file, closed after the test
 * @ehdr: written at the beginning of the file
 * @phdrs: program headers, IMAGE_PHDRS of them unless @ehdr says more
 * @phdrs_at: file offset of @phdrs; independent of @ehdr
 * @section: the section
 * @section_at: file offset of @section; independent of its program header
 */
struct image {
	struct file		*file;
	struct elf64_hdr	ehdr;
	struct elf64_phdr	phdrs[IMAGE_MAX_PHDRS];
	unsigned long		phdrs_at;
	struct build		section;
	unsigned long		section_at;
};

void image_init(struct kunit *test, struct image *image);
void image_section(struct image *image, u8 version, u8 flags, unsigned long at);
void image_fill(struct kunit *test, const struct image *image, unsigned int first, unsigned int nr);
void image_write(struct kunit *test, const struct image *image);
void image_map(struct kunit *test, const struct image *image, unsigned long addr);

unsigned long user_area(struct kunit *test, unsigned int nr);
long user_madvise(unsigned long addr, unsigned long len, int advice);
long user_mprotect(unsigned long addr, unsigned long len, unsigned long prot);
long user_mremap(unsigned long addr, unsigned long len, unsigned long new_len, unsigned long to);
void user_map_file(struct kunit *test, struct file *file, unsigned long addr,
		   unsigned int nr, unsigned long prot, unsigned long page);

#endif /* USER_IMAGE_H */
