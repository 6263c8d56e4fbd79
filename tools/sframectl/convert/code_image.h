/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a file that nothing describes, and where functions may begin in it. */
#ifndef CODE_IMAGE_H
#define CODE_IMAGE_H

#include "cfi_functions.h"
#include "cfi_source.h"

/* How it is known that a function begins at a byte, and what else is known of the byte. */
#define CODE_SYMBOL	1	/* a symbol names a function */
#define CODE_CALLED	2	/* the target of a direct call */
#define CODE_HINTED	4	/* an address in code or data, or after padding */
#define CODE_ROOT	8	/* nothing calls it */
#define CODE_REACHED	16	/* an instruction of an analysed function */
#define CODE_FUNCTION	32	/* an analysed function with rows begins here */
#define CODE_INSIDE	64	/* a function that a symbol names begins before, and goes on here */
#define CODE_POINTER	128	/* data has this address, and no other one beside it */
#define CODE_RETURNS	256	/* an analysed function begins here, and returns */

/* A function surely begins here. */
#define CODE_IS_START	(CODE_SYMBOL | CODE_CALLED)

/**
 * struct code_image - the code of a file that nothing describes
 * @elf: the file
 * @machine: its architecture
 * @ranges: where the code is, merged, without the padding before it
 * @functions: the functions that are described
 * @all: the executable bytes of the file, merged
 * @size: bytes of @ranges
 * @bytes: the bytes of all ranges, one after the other
 * @flags: of each byte, CODE_*
 * @labels: addresses outside of @ranges that code computes, merged
 * @has_more_labels: these are not all
 */
struct code_image {
	const struct elf		*elf;
	const struct cfi_machine	*machine;
	struct ranges			ranges;
	const struct cfi_functions	*functions;
	struct ranges			all;
	u64				size;
	u8				*bytes;
	u16				*flags;
	struct ranges			labels;
	bool				has_more_labels;
};

bool code_image_open(struct code_image *image, const struct cfi_source *source,
		     const struct cfi_functions *functions);
void code_image_close(struct code_image *image);
s64 code_image_index(const struct code_image *image, u64 addr, u64 *left);
bool code_image_is_start(const struct code_image *image, u64 addr);
u64 code_image_label_after(const struct code_image *image, u64 addr);
bool code_image_read(const struct code_image *image, u64 addr, void *dst, u32 size);

#endif /* CODE_IMAGE_H */
