/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 32-bit task that is busy for a while and exits with status 42, as compat-x86_64.S. The
 * assembler of arm64 knows no 32-bit instructions, so this is the whole file as data, ELF header
 * first.
 */
	.set	ADDRESS, 0x10000
	.text
file:	.ascii	"\177ELF"
	.byte	1, 1, 1			/* 32 bits, little-endian */
	.zero	9
	.hword	2, 40			/* executable, for arm */
	.word	1
	.word	ADDRESS + start - file
	.word	segment - file, 0
	.word	0x05000000		/* EABI 5 */
	.hword	52, 32, 1, 0, 0, 0
segment:
	.word	1, 0			/* to be loaded, from the start */
	.word	ADDRESS, ADDRESS
	.word	end - file, end - file
	.word	5, 0x1000		/* to be read and executed */
start:	.word	0xe3a01402		/* mov	r1, #0x2000000 */
	.word	0xe2511001		/* 1: subs r1, r1, #1 */
	.word	0x1afffffd		/* bne	1b */
	.word	0xe3a0002a		/* mov	r0, #42 */
	.word	0xe3a07001		/* mov	r7, #1, exit */
	.word	0xef000000		/* svc	#0 */
end:
