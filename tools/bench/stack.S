/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * void descend_on(void *top, unsigned long depth): calls descend(depth) on
 * another stack. The return address of this frame is 0 meanwhile.
 */
	.text
	.globl	descend_on
	.type	descend_on, @function
descend_on:
	.cfi_startproc
	push	%rbp
	push	%rbx
	mov	%rsp, %rbx
	mov	%rdi, %rsp
	mov	%rsi, %rdi
	xor	%ebp, %ebp
	pushq	$0
	sub	$8, %rsp
	.cfi_def_cfa %rsp, 16
	call	descend
	mov	%rbx, %rsp
	pop	%rbx
	pop	%rbp
	ret
	.cfi_endproc
	.size	descend_on, . - descend_on

	.section .note.GNU-stack, "", @progbits
