// SPDX-License-Identifier: GPL-2.0-or-later
#include <err.h>
#include <stddef.h>
#include <sys/mman.h>

#include "image.h"

void place(int fd, char *at, int prot, long offset)
{
	if (mmap(at, PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, offset) != at)
		err(1, "mmap");
}

struct image map_image(int fd)
{
	struct image image;

	image.base = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image.base == MAP_FAILED)
		err(1, "mmap");
	image.section = image.base + PAGE;
	image.code = image.base + 2 * PAGE;
	place(fd, image.base, PROT_READ, 0);
	place(fd, image.section, PROT_READ, SECTION_AT);
	place(fd, image.code, PROT_READ | PROT_EXEC, CODE_AT);
	return image;
}

void unmap_image(const struct image *image)
{
	munmap(image->base, 3 * PAGE);
}

void call_image(const struct image *image, int turns)
{
	code_fn *function = (code_fn *)image->code;
	code_fn *leaf = (code_fn *)(image->code + LEAF_AT);
	long first = function(7);

	while (turns--)
		if (function(7) != first || leaf(7) != 127)
			errx(1, "the code computed something else");
}
