/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps a program of hostile.py: three pages, with code that can be called.
 */
#ifndef IMAGE_H
#define IMAGE_H

enum {
	PAGE		= 4096,
	CODE_AT		= PAGE,		/* in the file */
	SECTION_AT	= 2 * PAGE,
	LEAF_AT		= 0x40,		/* in the code */
	LEAF_SIZE	= 0x40,
};

typedef long code_fn(long x);

struct image {
	char *base;			/* ELF header */
	char *section;
	char *code;
};

/* Maps a page of a file privately at an address. Ends the program on failure. */
void place(int fd, char *at, int prot, long offset);

struct image map_image(int fd);
void unmap_image(const struct image *image);

/* Calls the code. Ends the program if the result is not the expected one. */
void call_image(const struct image *image, int turns);

#endif /* IMAGE_H */
