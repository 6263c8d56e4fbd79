/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 32-bit task that is busy for a while, within two calls, and exits with status 42.
 */
	.code32
	.text
	.globl	_start
_start:
	mov	$30000, %ebx
1:	call	function
	dec	%ebx
	jnz	1b
	mov	$42, %ebx
	mov	$1, %eax		/* exit */
	int	$0x80
function:
	push	%ebp
	mov	%esp, %ebp
	mov	$1000, %ecx
1:	loop	1b
	pop	%ebp
	ret
	.section .note.GNU-stack, "", @progbits
