/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * long catches(void (*fn)(long), long x): call fn, which does not return
 * void leaves(void): return from the last catches() instead
 *
 * The same functions as in chain-x86_64.S.
 */
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define LANDING		bti	c
#define FEATURE_BTI	1
#else
#define LANDING
#define FEATURE_BTI	0
#endif
#if (__ARM_FEATURE_PAC_DEFAULT & 2)
#define PROTECTED	.cfi_b_key_frame
#define SIGN		pacibsp
#define AUTHENTICATE	autibsp
#elif (__ARM_FEATURE_PAC_DEFAULT & 1)
#define PROTECTED
#define SIGN		paciasp
#define AUTHENTICATE	autiasp
#endif

	.text
	.globl	catches
	.type	catches, %function
catches:
	.cfi_startproc
#ifdef SIGN
	PROTECTED
	SIGN
	.cfi_negate_ra_state
#else
	LANDING
#endif
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	adrp	x2, catches_sp
	mov	x3, sp
	str	x3, [x2, :lo12:catches_sp]
	mov	x16, x0
	mov	x0, x1
	sub	sp, sp, #16
	.cfi_def_cfa_offset 176
	blr	x16
	.cfi_endproc
	.size	catches, . - catches

/* catches() ends with a call, whose return address is here: only the call is in catches(). */
	.globl	leaves
	.type	leaves, %function
leaves:
	.cfi_startproc
#ifdef SIGN
	PROTECTED
#endif
	LANDING
	mov	x0, #1
	adrp	x2, catches_sp
	ldr	x3, [x2, :lo12:catches_sp]
	mov	sp, x3
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
#ifdef SIGN
	.cfi_negate_ra_state
#endif
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	ldp	x29, x30, [sp], #160
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
#ifdef SIGN
	AUTHENTICATE
	.cfi_negate_ra_state
#endif
	ret
	.cfi_endproc
	.size	leaves, . - leaves

	.local	catches_sp
	.comm	catches_sp, 8, 8
	.section .note.GNU-stack, "", %progbits
#ifdef SIGN
/* A program is protected only if all of its parts are: ABI, GNU_PROPERTY_AARCH64_FEATURE_1_AND. */
	.section .note.gnu.property, "a"
	.balign	8
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 2 | FEATURE_BTI, 0
#endif
