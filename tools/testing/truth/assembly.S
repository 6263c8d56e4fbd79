/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions without call frame information, as people write them by hand. Where the symbol begins
 * with easy_, the code up to its end tells where the return address is. See assembly.c.
 */
	.text

	.globl	easy_leaf
	.type	easy_leaf, @function
easy_leaf:
	xor	%eax, %eax
1:	add	%rdi, %rax
	test	$1, %al
	jz	2f
	lea	3(%rax,%rdi,2), %rax
2:	dec	%rdi
	jnz	1b
	ret
	.size	easy_leaf, . - easy_leaf

/* The frame pointer is for data. */
	.globl	easy_pushes
	.type	easy_pushes, @function
easy_pushes:
	push	%rbx
	push	%rbp
	push	%r12
	sub	$24, %rsp
	mov	%rdi, %rbp
	movq	$5, 8(%rsp)
1:	add	8(%rsp), %rbp
	dec	%rdi
	jg	1b
	mov	%rbp, %rax
	add	$24, %rsp
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	easy_pushes, . - easy_pushes

	.globl	easy_record
	.type	easy_record, @function
easy_record:
	push	%rbp
	mov	%rsp, %rbp
	sub	$32, %rsp
	mov	%rdi, -8(%rbp)
	mov	-8(%rbp), %rax
	leave
	ret
	.size	easy_record, . - easy_record

/* The only way out of the loop is a branch. */
	.globl	easy_loop
	.type	easy_loop, @function
easy_loop:
	push	%rbx
	mov	%rdi, %rbx
	jmp	2f
1:	dec	%rbx
	jz	3f
	vpxor	%xmm4, %xmm5, %xmm4
	jmp	1b
	hlt
2:	nopw	%cs:0x200(%rax,%rax,1)
	jmp	1b
3:	pop	%rbx
	ret
	.size	easy_loop, . - easy_loop

/* The stack pointer is kept in a register while the stack is aligned. */
	.globl	hard_kept
	.type	hard_kept, @function
hard_kept:
	push	%r12
	mov	%rsp, %r12
	sub	$64, %rsp
	and	$-32, %rsp
	.size	hard_kept, . - hard_kept
	.type	easy_kept, @function
easy_kept:
	movaps	%xmm0, 32(%rsp)
	mov	%rdi, (%rsp)
	mov	(%rsp), %rax
	mov	%r12, %rsp
	pop	%r12
	ret
	.size	easy_kept, . - easy_kept

/* And here in the frame. */
	.globl	hard_saved
	.type	hard_saved, @function
hard_saved:
	push	%rbp
	mov	%rsp, %rax
	sub	$96, %rsp
	and	$-64, %rsp
	mov	%rax, 64(%rsp)
	.size	hard_saved, . - hard_saved
	.type	easy_saved, @function
easy_saved:
	mov	%rdi, %rbp
	imul	%rbp, %rdi
	mov	%rdi, 8(%rsp)
	mov	8(%rsp), %rax
	mov	64(%rsp), %rsp
	pop	%rbp
	ret
	.size	easy_saved, . - easy_saved

/*
 * A part of it is called, and changes the frame pointer. The pieces have symbols of their own, so what
 * comes after a call may be another function.
 */
	.globl	easy_calls
	.type	easy_calls, @function
easy_calls:
	push	%rbp
	lea	1(%rdi), %rbp
	.size	easy_calls, . - easy_calls
	.type	hard_calls, @function
hard_calls:
	call	part
	call	part
	.size	hard_calls, . - hard_calls
	.type	hard_after, @function
hard_after:
	mov	%rbp, %rax
	pop	%rbp
	ret
	.size	hard_after, . - hard_after
	.type	part, @function
part:	add	%rdi, %rbp
	test	%rdi, %rdi
	jz	1f
	ret
1:	xor	%ebp, %ebp
	ret
	.size	part, . - part

/* Its end is that of another function. */
	.globl	easy_tail
	.type	easy_tail, @function
easy_tail:
	push	%rbx
	mov	%rdi, %rbx
	shl	$1, %rdi
	and	$15, %rdi
	inc	%rdi
	pop	%rbx
	jmp	easy_leaf
	.size	easy_tail, . - easy_tail

	.section .note.GNU-stack, "", @progbits
