/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CHAIN_FUNCTIONS functions, CHAIN_SIZE bytes each, that call one another in
 * turn: as many as are asked for, and the last makes a system call. They are
 * compiled by two rules: with frame pointers, or without.
 */
#include "chain.h"

#ifdef FRAME_POINTERS
	.macro prologue
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	.endm
#else
	.macro prologue
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	.endm
#endif

	.text
	.p2align 5
	.globl	chain
chain:
	.rept	CHAIN_FUNCTIONS
	.p2align 5
1:
	.cfi_startproc
	prologue
	dec	%rdi
	jz	2f
	call	1f
2:
	mov	$39, %eax		/* SYS_getpid */
	syscall
	jmp	leave_chain
	.cfi_endproc
	.endr
	.p2align 5
1:
	jmp	chain

/*
 * void enter_chain(void *top, unsigned long depth, void *first): calls the
 * functions from the first one on, on another stack. There the first has a
 * return address of 0, and a frame pointer of 0: every way to unwind finds the
 * same frames. So nobody returns: the last one leaves them all.
 */
	.globl	enter_chain
	.type	enter_chain, @function
enter_chain:
	push	%rbp
	push	%rbx
	mov	%rsp, %rbx
	mov	%rdi, %rsp
	mov	%rsi, %rdi
	xor	%ebp, %ebp
	pushq	$0
	jmp	*%rdx
leave_chain:
	mov	%rbx, %rsp
	pop	%rbx
	pop	%rbp
	ret
	.size	enter_chain, . - enter_chain

	.section .note.GNU-stack, "", @progbits
