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
 *
 * zero-leaf: code whose data is wrong: a word of its own frame, which is 0, counts as the return
 *            address
 * zero:      code that this code calls
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ends.h"

SPIN(spin_asm);

/*
 * Calls @fn, or spins without it. The frame has eight words. The function sets the one to 0 that
 * its rows take for the return address. The frame pointer is that of its caller.
 */
asm("	.text\n"
	"	.type	zero, %function\n"
	"zero:\n"
	"	.cfi_startproc\n"
#ifdef __x86_64__
	"	sub	$56, %rsp\n"
	"	movq	$0, 32(%rsp)\n"
	"	.cfi_def_cfa_offset 40\n"
	"	test	%rsi, %rsi\n"
	"	jz	1f\n"
	"	call	*%rsi\n"
	"	jmp	2f\n"
	"1:	dec	%rdi\n"
	"	jnz	1b\n"
	"2:	add	$56, %rsp\n"
	"	ret\n"
#else
	"	stp	x29, x30, [sp, #-64]!\n"
	"	str	xzr, [sp, #40]\n"
	"	.cfi_def_cfa_offset 64\n"
	"	.cfi_offset 29, -64\n"
	"	.cfi_offset 30, -24\n"
	"	cbz	x1, 1f\n"
	"	blr	x1\n"
	"	b	2f\n"
	"1:	subs	x0, x0, #1\n"
	"	b.ne	1b\n"
	"2:	ldp	x29, x30, [sp], #64\n"
	"	ret\n"
#endif
	"	.cfi_endproc\n"
	"	.size	zero, . - zero\n");

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

/* They keep a frame pointer, so that it is not 0. */
#define KEEPS	__attribute__((noinline, optimize("no-omit-frame-pointer")))

static KEEPS void spin_zero_leaf(long n)
{
	zero(n, NULL);
	asm volatile("");
}

static KEEPS void spin_zero(long n)
{
	zero(n, spin_plain);
	asm volatile("");
}

int main(int argc, char *argv[])
{
	time_t until = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	void (*spin)(long n) = spin_plain;

	if (argc < 3)
		errx(2, "usage: ends asm|jit|lib|plain|zero-leaf|zero SECONDS");
	if (!strcmp(argv[1], "asm"))
		spin = spin_asm;
	else if (!strcmp(argv[1], "jit"))
		spin = copy();
	else if (!strcmp(argv[1], "lib"))
		spin = spin_lib;
	else if (!strcmp(argv[1], "zero-leaf"))
		spin = spin_zero_leaf;
	else if (!strcmp(argv[1], "zero"))
		spin = spin_zero;
	while (time(NULL) < until)
		spin(1000000);
	return 0;
}
