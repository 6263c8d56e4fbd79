/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that ends each stack: see ends.c. */
#ifndef ENDS_H
#define ENDS_H

/*
 * No .cfi directive describes the function. On arm64 the module would find what stp saves, and
 * take zero in x29 for the end of the stack. On x86_64 it would follow the code to a plain return.
 */
#ifdef __x86_64__
#define SPIN_CODE					\
	"	push	%rbp\n"				\
	"	push	%rbx\n"				\
	"	xor	%ebp, %ebp\n"			\
	"1:	dec	%rdi\n"				\
	"	jnz	1b\n"				\
	"	pop	%rbx\n"				\
	"	pop	%rbp\n"				\
	"	ret	$0\n"
#else
#define SPIN_CODE					\
	"	mov	x9, x29\n"			\
	"	mov	x10, x30\n"			\
	"	mov	x29, #1\n"			\
	"	mov	x30, #1\n"			\
	"1:	subs	x0, x0, #1\n"			\
	"	b.ne	1b\n"				\
	"	mov	x29, x9\n"			\
	"	mov	x30, x10\n"			\
	"	ret\n"
#endif

#define SPIN(name)					\
	asm("	.text\n"				\
	    "	.globl	" #name "\n"			\
	    "	.type	" #name ", %function\n"		\
	    #name ":\n"					\
	    SPIN_CODE					\
	    "	.size	" #name ", . - " #name "\n")

void spin_asm(long n);
void spin_lib(long n);
void zero(long n, void (*fn)(long n));	/* in ends.c */

#endif /* ENDS_H */
