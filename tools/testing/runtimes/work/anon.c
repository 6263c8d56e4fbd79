// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves its code to anonymous memory, as programs do that want it in huge pages. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define main work_main
#include "deep.c"
#undef main

extern char etext;

/* mremap() itself is in libc, which stays where it is, and this code is the same afterwards. */
static void move_code(void)
{
	uintptr_t start = (uintptr_t)work & ~4095ul, end = ((uintptr_t)&etext + 4095) & ~4095ul;
	size_t size = end - start;
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, (void *)start, size);
	mprotect(copy, size, PROT_READ | PROT_EXEC);
	mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
}

int main(void)
{
	move_code();
	return work_main();
}
