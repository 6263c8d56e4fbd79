// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs for SECONDS in code that ends each stack, for `sframectl why`:
 *
 * asm:   assembly without unwind data, in a program with .eh_frame
 * jit:   the same code, copied to memory without a file
 * lib:   the same code, in a library that was built without .eh_frame
 * plain: code that a table describes
 *
 * Nothing tells where the frame of the caller of this code is: it keeps no frame pointer.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ends.h"

SPIN(spin_asm);

/* The code of SPIN() is shorter. */
#define COPIED	64

static void *copy(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		err(1, "mmap");
	memcpy(code, spin_asm, COPIED);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		err(1, "mprotect");
	__builtin___clear_cache(code, (char *)code + COPIED);
	return code;
}

static void spin_plain(long n)
{
	volatile long left = n;

	while (left)
		left--;
}

int main(int argc, char *argv[])
{
	time_t until = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	void (*spin)(long n) = spin_plain;

	if (argc < 3)
		errx(2, "usage: ends asm|jit|lib|plain SECONDS");
	if (!strcmp(argv[1], "asm"))
		spin = spin_asm;
	else if (!strcmp(argv[1], "jit"))
		spin = copy();
	else if (!strcmp(argv[1], "lib"))
		spin = spin_lib;
	while (time(NULL) < until)
		spin(1000000);
	return 0;
}
