/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * long catches(void (*fn)(long), long x): call fn, which does not return
 * void leaves(void): return from the last catches() instead
 *
 * Like __builtin_setjmp() and __builtin_longjmp(), but with correct call frame information at
 * every instruction.
 *
 * From 7.2 on, the kernel replaces the first instruction by a call if a uprobe is there. It must
 * not cross a page.
 */
	.text
	.p2align 4
	.globl	catches
	.type	catches, @function
catches:
	.cfi_startproc
	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0	/* nop */
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push	%rbx
	.cfi_adjust_cfa_offset 8
	push	%r12
	.cfi_adjust_cfa_offset 8
	push	%r13
	.cfi_adjust_cfa_offset 8
	push	%r14
	.cfi_adjust_cfa_offset 8
	push	%r15
	.cfi_adjust_cfa_offset 8
	mov	%rsp, catches_sp(%rip)
	mov	%rdi, %rax
	mov	%rsi, %rdi
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*%rax
	.cfi_endproc
	.size	catches, . - catches

/* catches() ends with a call, whose return address is here: only the call is in catches(). */
	.globl	leaves
	.type	leaves, @function
leaves:
	.cfi_startproc
	mov	$1, %eax
	mov	catches_sp(%rip), %rsp
	.cfi_def_cfa_offset 56
	.cfi_offset %rbp, -16
	pop	%r15
	.cfi_adjust_cfa_offset -8
	pop	%r14
	.cfi_adjust_cfa_offset -8
	pop	%r13
	.cfi_adjust_cfa_offset -8
	pop	%r12
	.cfi_adjust_cfa_offset -8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	leaves, . - leaves

	.local	catches_sp
	.comm	catches_sp, 8, 8
	.section .note.GNU-stack, "", @progbits
