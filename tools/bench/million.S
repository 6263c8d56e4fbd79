/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of a million functions with three rows each. It does nothing. */
	.text
	.rept	1000000
	.p2align 4
	.cfi_startproc
	sub	$24, %rsp
	.cfi_def_cfa_offset 32
	nop
	nop
	add	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr

	.globl	main
main:
	xor	%eax, %eax
	ret

	.section .note.GNU-stack, "", @progbits
