/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of chain-x86_64.S, for arm64. */
#include "chain.h"

#ifdef FRAME_POINTERS
	.macro prologue
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	.endm
	.macro after_prologue
	.cfi_def_cfa x29, 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	.endm
#else
	.macro prologue
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
	.endm
	.macro after_prologue
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
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
	subs	x0, x0, #1
	b.eq	2f
	bl	1f
2:
	br	x3
	.cfi_endproc
	.endr
	.p2align 5
1:
	b	chain

	.p2align 5
	.globl	leaves
leaves:
	.rept	CHAIN_FUNCTIONS
	.p2align 5
	.cfi_startproc
	after_prologue
	mov	x8, #172		/* SYS_getpid */
	svc	#0
	b	leave_chain
	.cfi_endproc
	.endr

	.globl	enter_chain
	.type	enter_chain, %function
enter_chain:
	stp	x29, x30, [sp, #-32]!
	str	x19, [sp, #16]
	mov	x19, sp
	mov	sp, x0
	mov	x0, x1
	mov	x29, xzr
	mov	x30, xzr
	br	x2
leave_chain:
	mov	sp, x19
	ldr	x19, [sp, #16]
	ldp	x29, x30, [sp], #32
	ret
	.size	enter_chain, . - enter_chain

	.section .note.GNU-stack, "", %progbits
