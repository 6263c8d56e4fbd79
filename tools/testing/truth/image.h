/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that a process has mapped, file by file. */
#ifndef TRUTH_IMAGE_H
#define TRUTH_IMAGE_H

#include "binary.h"
#include "memory.h"
#include "walker.h"

/**
 * struct image - the code of a process
 * @nr: pieces of code
 * @code: by address
 * @binaries: the file of each piece
 */
struct image {
	unsigned int		nr;
	struct walker_code	*code;
	struct binary		**binaries;
};

/* Where an address lies. @binary is NULL if it is no code. */
struct image_place {
	struct binary	*binary;
	u64		addr;
};

#ifdef TRUTH_ARM64
/* An emulator has the program in its own memory: where the vDSO of that is, and its first stack. */
extern u64 image_vdso, image_stack;
#endif

void image_scan(struct image *image, pid_t pid, struct memory *mem);
void image_free(struct image *image);
struct image_place image_find(const struct image *image, u64 addr);
bool image_is_stack(pid_t pid, u64 addr, u64 *start, u64 *end);
u64 image_start_stack(pid_t pid);

#endif /* TRUTH_IMAGE_H */
