/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same functions as in hostile-x86_64.S, at the same places, with the same argument and status.
 */
	.text
	.globl	_start
	.org	0
function:				/* rows at 0, 4 and 8 */
	stp	x29, x30, [sp, #-16]!
	mov	x29, sp
	add	x0, x0, x0
	mov	w9, #40
1:	add	x0, x0, #1
	eor	x0, x0, #3
	add	x0, x0, #1
	eor	x0, x0, #3
	subs	w9, w9, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	ret
	.org	0x40
leaf:					/* one row: CFA = SP */
	mov	w9, #40
1:	add	x0, x0, #3
	subs	w9, w9, #1
	b.ne	1b
	ret
	.org	0x80
_start:
	mov	x20, #250
	mov	x3, #10
	ldr	x0, [sp]
	cmp	x0, #2
	b.lo	3f
	ldr	x1, [sp, #16]		/* argv[1], a decimal number */
	mov	x20, #0
1:	ldrb	w2, [x1], #1
	subs	w2, w2, #'0'
	b.lo	3f
	madd	x20, x20, x3, x2
	b	1b
3:	sub	sp, sp, #32
	bl	milliseconds
	add	x20, x20, x0
turn:
	mov	w21, #300
1:	mov	x0, #7
	bl	function
	mov	x22, x0
	mov	x0, #7
	bl	function
	cmp	x0, x22
	b.ne	bad
	mov	x0, #7
	bl	leaf
	cmp	x0, #127
	b.ne	bad
	subs	w21, w21, #1
	b.ne	1b
	bl	milliseconds
	cmp	x0, x20
	b.lo	turn
	mov	x0, #42
	b	exit
bad:	mov	x0, #1
exit:	mov	x8, #94			/* exit_group */
	svc	#0
milliseconds:
	mov	x8, #113		/* clock_gettime */
	mov	x0, #2			/* CLOCK_PROCESS_CPUTIME_ID */
	mov	x1, sp
	svc	#0
	ldp	x2, x0, [sp]
	mov	x1, #1000
	mul	x2, x2, x1
	mul	x1, x1, x1
	udiv	x0, x0, x1
	add	x0, x0, x2
	ret
	.section .note.GNU-stack, "", %progbits
