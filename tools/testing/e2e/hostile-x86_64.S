/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of the programs of hostile.py. It is loaded 0x1000 bytes after the start of the
 * section. The sections of section_cases.c describe two functions there, at +0 and +0x40. The
 * code needs no libc and no data. It runs for argv[1] milliseconds of processor time, and exits
 * with status 42 on success.
 */
	.text
	.globl	_start
	.org	0
function:				/* rows at 0, 1 and 4 */
	push	%rbp
	mov	%rsp, %rbp
	lea	(%rdi, %rdi), %rax
	mov	$40, %ecx
1:	add	$1, %rax
	xor	$3, %rax
	lea	1(%rax), %rax
	xor	$3, %rax
	dec	%ecx
	jnz	1b
	pop	%rbp
	ret
	.org	0x40
leaf:					/* one row: CFA = SP + 8 */
	mov	$40, %ecx
	mov	%rdi, %rax
1:	add	$3, %rax
	dec	%ecx
	jnz	1b
	ret	$0			/* the module knows plain returns without a row */
	.org	0x80
_start:
	mov	$250, %r12d
	cmpl	$2, (%rsp)
	jb	3f
	mov	16(%rsp), %rsi		/* argv[1], a decimal number */
	xor	%r12d, %r12d
1:	movzbl	(%rsi), %eax
	sub	$'0', %eax
	jb	3f
	imul	$10, %r12d
	add	%eax, %r12d
	inc	%rsi
	jmp	1b
3:	sub	$32, %rsp
	call	milliseconds
	add	%rax, %r12
turn:
	mov	$300, %r13d
1:	mov	$7, %edi
	call	function
	mov	%rax, %r14
	mov	$7, %edi
	call	function
	cmp	%rax, %r14
	jne	bad
	mov	$7, %edi
	call	leaf
	cmp	$127, %rax
	jne	bad
	dec	%r13d
	jnz	1b
	call	milliseconds
	cmp	%r12, %rax
	jb	turn
	mov	$42, %edi
	jmp	exit
bad:	mov	$1, %edi
exit:	mov	$231, %eax		/* exit_group */
	syscall
	hlt				/* the ip in that call: it has a row of this function */
milliseconds:
	mov	$228, %eax		/* clock_gettime */
	mov	$2, %edi		/* CLOCK_PROCESS_CPUTIME_ID */
	lea	8(%rsp), %rsi
	syscall
	imul	$1000, 8(%rsp), %rcx
	mov	16(%rsp), %rax
	xor	%edx, %edx
	mov	$1000000, %r8d
	div	%r8
	add	%rcx, %rax
	ret
	.section .note.GNU-stack, "", @progbits
