/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CHAIN_FUNCTIONS functions of CHAIN_SIZE bytes each. Each one calls the next,
 * until the requested depth is reached, and the last goes on in one of as many
 * leaves, which makes a system call. They are built twice: with frame pointers and
 * without.
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
	.macro after_prologue
	.cfi_def_cfa %rbp, 16
	.cfi_offset %rbp, -16
	.endm
#else
	.macro prologue
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	.endm
	.macro after_prologue
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
	jmp	*%rcx
	.cfi_endproc
	.endr
	.p2align 5
1:
	jmp	chain

	.p2align 5
	.globl	leaves
leaves:
	.rept	CHAIN_FUNCTIONS
	.p2align 5
	.cfi_startproc
	after_prologue
	mov	$39, %eax		/* SYS_getpid */
	syscall
	jmp	leave_chain
	.cfi_endproc
	.endr

/*
 * void enter_chain(void *top, unsigned long depth, void *first, void *leaf): calls
 * the functions on another stack, beginning with @first, and goes on in @leaf. The
 * return address and the frame pointer of @first are 0, so that every method of
 * unwinding finds the same frames. No function returns: the leaf jumps to
 * leave_chain.
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
