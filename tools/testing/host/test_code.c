// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the analysis of code that nothing describes: functions of a few instructions, and the
 * rows that follow from them. What may be wrong must give no row.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "code_insn.h"
#include "code_rows.h"

#define CODE_ADDR	0x401000
#define CODE_MAX	128

/*
 * Each row: the offset, the CFA, and where the caller's frame pointer and the return address are,
 * unless they are in place; +: it is signed. A symbol names the function, unless there are @flags
 * for its first byte. Then a function is called at offset 16. Other code has the address of the
 * byte at the offset @label.
 */
struct example {
	const char	*name;
	const char	*code;
	const char	*rows;
	u16		flags;
	u16		label;
};

/*
 * push %rbx; cmp $LAST,%edi; ja 2f; lea 3f(%rip),%rax; movslq (%rax,%rdi,4),%rdx; add %rax,%rdx;
 * jmp *%rdx; 1: nop; 2: pop %rbx; ret; three bytes; 3: the table
 */
#define SWITCH(last) \
	"53 83 ff " last " 77 11 48 8d 05 0f 00 00 00 48 63 14 b8 48 01 c2 ff e2 90 5b c3 "
#define SWITCH_ROWS "0 sp+8, 1 sp+16, 24 sp+8"

static const struct example x86[] = {
	/* push %rbx; call .+0x1000; pop %rbx; ret */
	{ "push and pop",
	  "53 e8 fb 0f 00 00 5b c3",
	  "0 sp+8, 1 sp+16, 7 sp+8" },
	/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp; leave; ret */
	{ "frame pointer, stack of any size",
	  "55 48 89 e5 48 29 c4 c9 c3",
	  "0 sp+8, 1 sp+16 fp-16, 7 fp+16 fp-16, 8 sp+8" },
	/* ret $8 */
	{ "ret n",
	  "c2 08 00",
	  "none" },
	/* mov %r11,(%rsp); ret */
	{ "the return address is overwritten",
	  "4c 89 1c 24 c3",
	  "none" },
	/* call 1f; 2: pause; lfence; jmp 2b; 1: mov %r11,(%rsp); ret */
	{ "retpoline",
	  "e8 07 00 00 00 f3 90 0f ae e8 eb f9 4c 89 1c 24 c3",
	  "0 sp+8, 5 none" },
	/* push %rbp; mov %rsp,%rbp; add $8,%rbp; leave; ret */
	{ "leave, after the frame pointer has changed",
	  "55 48 89 e5 48 83 c5 08 c9 c3",
	  "none" },
	/* push %rbp; movq $0,(%rsp); pop %rbp; ret */
	{ "the saved frame pointer is overwritten",
	  "55 48 c7 04 24 00 00 00 00 5d c3",
	  "none" },
	/* push %rbp; movq $0,-8(%rsp); pop %rbp; ret */
	{ "the word below is written",
	  "55 48 c7 44 24 f8 00 00 00 00 5d c3",
	  "0 sp+8, 1 sp+16 fp-16, 11 sp+8" },
	/* enter $16,$0; leave; ret */
	{ "enter",
	  "c8 10 00 00 c9 c3",
	  "none" },
	/* push %rsp; pop %rsp; ret */
	{ "push and pop of the stack pointer",
	  "54 5c c3",
	  "0 sp+8, 1 sp+16, 2 sp+8" },
	/* add %rax,%rsp; ret */
	{ "the stack pointer plus something",
	  "48 01 c4 c3",
	  "none" },
	/* add $8,%esp; sub $8,%esp; ret */
	{ "the lower half of the stack pointer",
	  "83 c4 08 83 ec 08 c3",
	  "none" },
	/* pushw %ax; popw %ax; ret */
	{ "a push of 16 bits",
	  "66 50 66 58 c3",
	  "none" },
	/* mov %rsp,%rbx; and $-64,%rsp; mov %rbx,%rsp; ret */
	{ "realignment with a copy",
	  "48 89 e3 48 83 e4 c0 48 89 dc c3",
	  "0 sp+8, 7 r3+8, 10 sp+8" },
	/* mov %rsp,%rbx; and $-64,%rsp; mov $1,%bl; mov %rbx,%rsp; ret */
	{ "a part of the copy is overwritten",
	  "48 89 e3 48 83 e4 c0 b3 01 48 89 dc c3",
	  "none" },
	/*
	 * mov %rsp,%rax; sub $64,%rsp; and $-32,%rsp; mov %rax,32(%rsp); call .+0x1000; mov
	 * 32(%rsp),%rsp; ret
	 */
	{ "realignment with the copy in memory",
	  "48 89 e0 48 83 ec 40 48 83 e4 e0 48 89 44 24 20 e8 fb 0f 00 00 48 8b 64 24 20 c3",
	  "0 sp+8, 7 sp+72, 11 r0+8, 16 *(sp+32)+8, 26 sp+8" },
	/* and $-64,%rsp; ret */
	{ "realignment without a copy",
	  "48 83 e4 c0 c3",
	  "none" },
	/* call 1f; 1: pop %rax; ret */
	{ "a call of the next instruction",
	  "e8 00 00 00 00 58 c3",
	  "0 sp+8, 5 none" },
	/* push %rax; call 1f; 1: push %rbx; pop %rbx; ret: the call may not return */
	{ "a call of the function after it",
	  "50 e8 00 00 00 00 53 5b c3",
	  "0 sp+8, 1 sp+16, 6 none" },
	/* cmove %rax,%rsp; ret */
	{ "cmov to the stack pointer",
	  "48 0f 44 e0 c3",
	  "none" },
	/* mov %rdi,%rsp; ret */
	{ "another stack",
	  "48 89 fc c3",
	  "none" },
	/* mov $15,%eax; syscall; ret */
	{ "rt_sigreturn",
	  "b8 0f 00 00 00 0f 05 c3",
	  "none" },
	/* mov $14,%eax; syscall; ret */
	{ "another system call",
	  "b8 0e 00 00 00 0f 05 c3",
	  "0 sp+8" },
	/* mov $56,%eax; syscall; ret */
	{ "clone",
	  "b8 38 00 00 00 0f 05 c3",
	  "none" },
	/* xor %ebp,%ebp; ret */
	{ "the frame pointer is lost",
	  "31 ed c3",
	  "none" },
	/* mov %rbp,%r8; mov $1,%ebp; mov %r8,%rbp; ret */
	{ "a frame pointer in another register",
	  "49 89 e8 bd 01 00 00 00 4c 89 c5 c3",
	  "0 sp+8, 8 none, 11 sp+8" },
	/*
	 * push %rax; test %edi,%edi; je 1f; pop %rax; ret; 1: call .+0x1000; push %rbx; pop
	 * %rbx; push %rbx; pop %rbx; ret
	 */
	{ "a call that does not return, before another function",
	  "50 85 ff 74 02 58 c3 e8 fb 0f 00 00 53 5b 53 5b c3",
	  "0 sp+8, 1 sp+16, 6 sp+8, 7 sp+16, 12 none" },
	/* je .+3; mov $0xc3585050,%eax; ret */
	{ "a jump into an instruction",
	  "74 01 b8 50 50 58 c3 c3",
	  "none" },
	/* push %rax; jmp *%rax */
	{ "a jump to an unknown place",
	  "50 ff e0",
	  "none" },
	/* push %rax; jmp .+0x1000 */
	{ "a tail call with a changed stack",
	  "50 e9 fb 0f 00 00",
	  "none" },
	/* test %edi,%edi; je 1f; push %rbx; pop %rbx; 1: ret */
	{ "two paths that agree",
	  "85 ff 74 02 53 5b c3",
	  "0 sp+8, 5 sp+16, 6 sp+8" },
	/* test %edi,%edi; je 1f; push %rbx; 1: ret */
	{ "two paths that disagree",
	  "85 ff 74 01 53 c3",
	  "none" },
	/* 1: push %rax; dec %edi; jne 1b; ret */
	{ "a loop that pushes",
	  "50 ff cf 75 fb c3",
	  "none" },
	/* push %rbp; mov %rsp,%rbp; 1: push %rax; dec %edi; jne 1b; leave; ret */
	{ "a loop that pushes, with a frame pointer",
	  "55 48 89 e5 50 ff cf 75 fb c9 c3",
	  "0 sp+8, 1 sp+16 fp-16, 4 fp+16 fp-16, 10 sp+8" },
	/* 1: jmp 1b */
	{ "a loop without an end",
	  "eb fe",
	  "0 sp+8" },
	/* mov %rbp,-8(%rsp); mov $1,%ebp; mov -8(%rsp),%rbp; ret */
	{ "the frame pointer in the red zone",
	  "48 89 6c 24 f8 bd 01 00 00 00 48 8b 6c 24 f8 c3",
	  "0 sp+8, 10 sp+8 fp-16, 15 sp+8" },
	/* push %rbx; .byte 0x06; pop %rbx; ret */
	{ "bytes that are no instruction",
	  "53 06 5b c3",
	  "none" },
	/* push %rbp; sub $0x7fffffb0,%rsp; add $0x7fffffb0,%rsp; pop %rbp; ret */
	{ "a frame of 2 GiB",
	  "55 48 81 ec b0 ff ff 7f 48 81 c4 b0 ff ff 7f 5d c3",
	  "0 sp+8, 1 sp+16 fp-16, 8 sp+2147483584 fp-16, 15 sp+16 fp-16, 16 sp+8" },
	/* cli; ret */
	{ "an instruction of the kernel",
	  "fa c3",
	  "none" },
	/* push %rbx; call f; 1: call f; jmp 1b; nop; f: ret */
	{ "an endless function that a pointer names",
	  "53 e8 0a 00 00 00 e8 05 00 00 00 eb f9 90 90 90 c3",
	  "0 sp+8, 1 sp+16, 13 none, 16 sp+8", CODE_HINTED | CODE_POINTER },
	{ "an endless function in a table",
	  "53 e8 0a 00 00 00 e8 05 00 00 00 eb f9 90 90 90 c3",
	  "16 sp+8", CODE_HINTED },
	/* f: jmp f */
	{ "an endless function that calls one that never returns",
	  "53 e8 0a 00 00 00 e8 05 00 00 00 eb f9 90 90 90 eb fe",
	  "0 sp+8, 1 sp+16, 6 none", CODE_HINTED | CODE_POINTER },
	/* xor %ebx,%ebx; call f; 1: call f; jmp 1b; nop; f: ret */
	{ "a pointer to what may be a label",
	  "31 db e8 09 00 00 00 e8 04 00 00 00 eb f9 90 90 c3",
	  "16 sp+8", CODE_HINTED | CODE_POINTER },
	/* pop %rsi; xor %ebp,%ebp; call f; hlt; nop; f: ret */
	{ "where the kernel starts a program",
	  "5e 31 ed e8 08 00 00 00 f4 90 90 90 90 90 90 90 c3",
	  "0 no caller, 8 none, 16 sp+8", CODE_ROOT },
	/* It calls itself: call .-3 */
	{ "the same, if something else calls it",
	  "5e 31 ed e8 f8 ff ff ff f4 90 90 90 90 90 90 90 c3",
	  "16 sp+8", CODE_ROOT | CODE_CALLED },
	/* ret; nop; call .+0x1000; add %bl,%al; pop %rbx; ret; ret */
	{ "an addition that begins with a zero, in a gap",
	  "c3 90 e8 fb 0f 00 00 00 d8 5b c3 c3",
	  "0 sp+8, 1 none, 11 sp+8" },
	/* 3: .long 1b - 3b, 2b - 3b */
	{ "a jump table",
	  SWITCH("01") "90 90 90 fa ff ff ff fb ff ff ff",
	  SWITCH_ROWS ", 25 none" },
	/* .long 1b - 3b, 2b - 3b, 2b + 1 - 3b */
	{ "a jump table that leads to one place with two depths",
	  SWITCH("02") "90 90 90 fa ff ff ff fb ff ff ff fc ff ff ff",
	  "none" },
	{ "a jump table in which other data seems to begin",
	  SWITCH("02") "90 90 90 fa ff ff ff fb ff ff ff fc ff ff ff",
	  "none", 0, 36 },
	{ "a jump table with more entries than the last comparison says",
	  SWITCH("01") "90 90 90 fa ff ff ff fb ff ff ff fc ff ff ff",
	  "none" },
	/* pop %rbx; ret; nop; 3: .long 1b - 3b, 2b - 3b, 2b + 2 - 3b */
	{ "a jump table with three entries",
	  SWITCH("02") "5b c3 90 fa ff ff ff fb ff ff ff fd ff ff ff",
	  SWITCH_ROWS ", 25 sp+16, 26 sp+8, 27 none" },
	{ "a jump table that ends where other data begins",
	  SWITCH("02") "5b c3 90 fa ff ff ff fb ff ff ff fd ff ff ff",
	  SWITCH_ROWS ", 25 none", 0, 36 },
	/* push %rax; jmp .; 3: .long 1b - 3b, 2b - 3b, 2b + 2 - 3b */
	{ "a jump table with an entry that leads to what never returns",
	  SWITCH("02") "50 eb fe fa ff ff ff fb ff ff ff fd ff ff ff",
	  SWITCH_ROWS ", 25 none" },
};

/* Words, not bytes */
static const struct example arm64[] = {
	/* mov w0, #1; ret */
	{ "leaf",
	  "52800020 d65f03c0",
	  "0 sp+0" },
	/*
	 * stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [sp, #16]; bl .+0x1000; ldr x19,
	 * [sp, #16]; ldp x29, x30, [sp], #32; ret
	 */
	{ "frame record",
	  "a9be7bfd 910003fd f9000bf3 94000400 f9400bf3 a8c27bfd d65f03c0",
	  "0 sp+0, 4 sp+32 fp-32 ra-24, 24 sp+0" },
	/*
	 * sub sp, sp, #48; stp x29, x30, [sp, #32]; add x29, sp, #32; bl .+0x1000; ldp x29,
	 * x30, [sp, #32]; add sp, sp, #48; ret
	 */
	{ "frame record above other words",
	  "d100c3ff a9027bfd 910083fd 94000400 a9427bfd 9100c3ff d65f03c0",
	  "0 sp+0, 4 sp+48, 8 sp+48 fp-16 ra-8, 24 sp+0" },
	/*
	 * stp x29, x30, [sp, #-16]!; mov x29, sp; sub sp, sp, x0; mov sp, x29; ldp x29, x30,
	 * [sp], #16; ret
	 */
	{ "stack of any size",
	  "a9bf7bfd 910003fd cb2063ff 910003bf a8c17bfd d65f03c0",
	  "0 sp+0, 4 sp+16 fp-16 ra-8, 12 fp+16 fp-16 ra-8, 16 sp+16 fp-16 ra-8, 20 sp+0" },
	/* str x30, [sp, #-16]!; bl .+0x1000; ldr x30, [sp], #16; ret */
	{ "the link register alone",
	  "f81f0ffe 94000400 f84107fe d65f03c0",
	  "0 sp+0, 4 sp+16 ra-16, 12 sp+0" },
	/* mov x12, #4112; sub sp, sp, x12; add sp, sp, x12; ret */
	{ "a large frame",
	  "d282020c cb2c63ff 8b2c63ff d65f03c0",
	  "0 sp+0, 8 sp+4112, 12 sp+0" },
	/*
	 * paciasp; stp x29, x30, [sp, #-16]!; bl .+0x1000; ldp x29, x30, [sp], #16; autiasp;
	 * ret
	 */
	{ "signed",
	  "d503233f a9bf7bfd 94000400 a8c17bfd d50323bf d65f03c0",
	  "0 sp+0, 4 sp+0+, 8 sp+16 fp-16 ra-8+, 16 sp+0+, 20 sp+0" },
	/* pacibsp; str x30, [sp, #-16]!; bl .+0x1000; ldr x30, [sp], #16; retab */
	{ "signed, retab",
	  "d503237f f81f0ffe 94000400 f84107fe d65f0fff",
	  "0 sp+0, 4 sp+0+, 8 sp+16 ra-16+, 16 sp+0+" },
	/* paciasp; stp x29, x30, [sp, #-16]!; bl .+0x1000; ldp x29, x30, [sp], #16; ret */
	{ "signed, and not as it was",
	  "d503233f a9bf7bfd 94000400 a8c17bfd d65f03c0",
	  "0 sp+0, 4 sp+0+, 8 sp+16 fp-16 ra-8+, 12 none" },
	/* sub sp, sp, #16; paciasp; add sp, sp, #16; autiasp; ret */
	{ "signed at another stack pointer",
	  "d10043ff d503233f 910043ff d50323bf d65f03c0",
	  "none" },
	/* retaa */
	{ "retaa without a signature",
	  "d65f0bff",
	  "none" },
	/* bl .+0x1000; ret */
	{ "the link register is lost",
	  "94000400 d65f03c0",
	  "0 sp+0, 4 none" },
	/* ldr x30, [sp, #8]; ret */
	{ "the link register gets a word of another function",
	  "f94007fe d65f03c0",
	  "none" },
	/* mov x9, x30; bl .+0x1000; ret x9 */
	{ "the link register in another register",
	  "aa1e03e9 94000400 d65f0120",
	  "0 sp+0, 8 none" },
	/* mov x19, x30; mov x30, #0; ret x19 */
	{ "the link register in another register, kept",
	  "aa1e03f3 d280001e d65f0260",
	  "0 sp+0, 8 none" },
	/* mov x29, #0; ret */
	{ "the frame pointer is lost",
	  "d280001d d65f03c0",
	  "none" },
	/* stp x29, x30, [sp, #-16]!; str x0, [sp, #8]; ldp x29, x30, [sp], #16; ret */
	{ "the saved link register is overwritten",
	  "a9bf7bfd f90007e0 a8c17bfd d65f03c0",
	  "none" },
	/* stp x29, x30, [sp, #-16]!; str w0, [sp, #12]; ldp x29, x30, [sp], #16; ret */
	{ "half of it is overwritten",
	  "a9bf7bfd b9000fe0 a8c17bfd d65f03c0",
	  "none" },
	/* stp x29, x30, [sp, #-32]!; str q0, [sp]; ldp x29, x30, [sp], #32; ret */
	{ "it is overwritten by a vector",
	  "a9be7bfd 3d8003e0 a8c27bfd d65f03c0",
	  "none" },
	/* stp x29, x30, [sp, #-32]!; str x0, [sp, #16]; ldp x29, x30, [sp], #32; ret */
	{ "the word above is written",
	  "a9be7bfd f9000be0 a8c27bfd d65f03c0",
	  "0 sp+0, 4 sp+32 fp-32 ra-24, 12 sp+0" },
	/* stp x29, x30, [sp, #-16]!; ldp x30, x29, [sp], #16; ret */
	{ "the registers change places",
	  "a9bf7bfd a8c177fe d65f03c0",
	  "none" },
	/* stur x30, [sp, #-8]; bl .+0x1000; ldur x30, [sp, #-8]; ret */
	{ "a saved register below the stack",
	  "f81f83fe 94000400 f85f83fe d65f03c0",
	  "0 sp+0, 8 none" },
	/* sub sp, sp, #16; ret */
	{ "the stack is not moved back",
	  "d10043ff d65f03c0",
	  "none" },
	/* add sp, sp, #16; ret */
	{ "the caller's words are taken",
	  "910043ff d65f03c0",
	  "none" },
	/* sub wsp, wsp, #16; add wsp, wsp, #16; ret */
	{ "the lower half of the stack pointer",
	  "510043ff 110043ff d65f03c0",
	  "none" },
	/* mov sp, x0; ret */
	{ "another stack",
	  "9100001f d65f03c0",
	  "none" },
	/* stp d8, d9, [sp, #-16]!; ldp d8, d9, [sp], #16; ret */
	{ "vector registers are saved",
	  "6dbf27e8 6cc127e8 d65f03c0",
	  "0 sp+0, 4 sp+16, 8 sp+0" },
	/* sub sp, sp, #64; st1 {v8.2d-v11.2d}, [sp]; ld1 {v8.2d-v11.2d}, [sp], #64; ret */
	{ "st1 and ld1 that move the stack",
	  "d10103ff 4c002fe8 4cdf2fe8 d65f03c0",
	  "0 sp+0, 4 sp+64, 12 sp+0" },
	/* sub sp, sp, #64; ld1 {v8.2d}, [sp], x0; ret */
	{ "ld1 that moves the stack by a register",
	  "d10103ff 4cc07fe8 d65f03c0",
	  "none" },
	/*
	 * stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp]; ldadd x0, x30, [x1]; add sp, sp, #16;
	 * ret
	 */
	{ "ldadd writes a register",
	  "a9bf7bfd a9407bfd f820003e 910043ff d65f03c0",
	  "none" },
	/* cas x30, x0, [x1]; ret */
	{ "cas writes a register",
	  "c8be7c20 d65f03c0",
	  "none" },
	/* mov x29, v0.d[0]; ret */
	{ "a vector lane to the frame pointer",
	  "4e083c1d d65f03c0",
	  "none" },
	/* fadd d29, d29, d30; ret */
	{ "a vector that has the number of the frame pointer",
	  "1e7e2bbd d65f03c0",
	  "0 sp+0" },
	/* addvl sp, sp, #-1; addvl sp, sp, #1; ret */
	{ "addvl",
	  "043f57ff 043f503f d65f03c0",
	  "none" },
	/*
	 * stp x29, x30, [sp, #-16]!; mov x29, sp; sub x9, sp, #64; and sp, x9,
	 * #0xffffffffffffffc0; mov sp, x29; ldp x29, x30, [sp], #16; ret
	 */
	{ "realignment",
	  "a9bf7bfd 910003fd d10103e9 927ae53f 910003bf a8c17bfd d65f03c0",
	  "0 sp+0, 4 sp+16 fp-16 ra-8, 16 fp+16 fp-16 ra-8, 20 sp+16 fp-16 ra-8, 24 sp+0" },
	/* and sp, x9, #0xffffffffffffffc0; ret */
	{ "realignment without a copy",
	  "927ae53f d65f03c0",
	  "none" },
	/* cbz x0, .+12; sub sp, sp, #16; add sp, sp, #16; ret */
	{ "two paths that agree",
	  "b4000060 d10043ff 910043ff d65f03c0",
	  "0 sp+0, 8 sp+16, 12 sp+0" },
	/* cbz x0, .+8; sub sp, sp, #16; ret */
	{ "two paths that disagree",
	  "b4000040 d10043ff d65f03c0",
	  "none" },
	/* cbz x0, .+20; str x30, [sp, #-16]!; bl .+0x1000; ldr x30, [sp], #16; ret; ret */
	{ "a path saves the link register",
	  "b40000a0 f81f0ffe 94000400 f84107fe d65f03c0 d65f03c0",
	  "0 sp+0, 8 sp+16 ra-16, 16 sp+0" },
	/* tbz w0, #1, .+8; str x30, [sp, #-16]!; bl .+0x1000; ldr x30, [sp], #16; ret */
	{ "only one path saves the link register",
	  "36080040 f81f0ffe 94000400 f84107fe d65f03c0",
	  "0 sp+0, 8 none" },
	/*
	 * cbz x0, .+8; ret; stp x29, x30, [sp, #-16]!; bl .+0x1000; stp x29, x30, [sp, #-32]!;
	 * ldp x29, x30, [sp], #32; ret
	 */
	{ "a call that does not return, before another function",
	  "b4000040 d65f03c0 a9bf7bfd 94000400 a9be7bfd a8c27bfd d65f03c0",
	  "0 sp+0, 12 sp+16 fp-16 ra-8, 16 none" },
	/* sub sp, sp, #16; add sp, sp, #16; b .+0x1000 */
	{ "a tail call",
	  "d10043ff 910043ff 14000400",
	  "0 sp+0, 4 sp+16, 8 sp+0" },
	/* sub sp, sp, #16; b .+0x1000 */
	{ "a tail call with a changed stack",
	  "d10043ff 14000400",
	  "none" },
	/* bl .+0x1000; b .+0x1000 */
	{ "a tail call without the link register",
	  "94000400 14000400",
	  "0 sp+0, 4 none" },
	/* sub sp, sp, #16; br x0 */
	{ "a jump to an unknown place",
	  "d10043ff d61f0000",
	  "none" },
	/* cbz x0, .+8; br x0; ret */
	{ "a tail call to an unknown place",
	  "b4000040 d61f0000 d65f03c0",
	  "0 sp+0" },
	/* sub sp, sp, #16; .word 0x02000000; add sp, sp, #16; ret */
	{ "bytes that are no instruction",
	  "d10043ff 02000000 910043ff d65f03c0",
	  "none" },
	/* cbz x0, .+8; brk #1; ret */
	{ "a trap",
	  "b4000040 d4200020 d65f03c0",
	  "0 sp+0" },
	/* eret; ret */
	{ "an instruction of the kernel",
	  "d69f03e0 d65f03c0",
	  "none" },
	/* mov x8, #139; svc #0; ret */
	{ "rt_sigreturn",
	  "d2801168 d4000001 d65f03c0",
	  "none" },
	/* mov w8, #172; svc #0; ret */
	{ "another system call",
	  "52801588 d4000001 d65f03c0",
	  "0 sp+0" },
	/* mov x8, #220; svc #0; ret */
	{ "clone",
	  "d2801b88 d4000001 d65f03c0",
	  "none" },
	/* mov x8, x0; svc #0; ret */
	{ "a system call of any number",
	  "aa0003e8 d4000001 d65f03c0",
	  "none" },
	/* b . */
	{ "a loop without an end",
	  "14000000",
	  "0 sp+0" },
	/* str x0, [sp, #-16]!; subs w1, w1, #1; b.ne .-8; ret */
	{ "a loop that pushes",
	  "f81f0fe0 71000421 54ffffc1 d65f03c0",
	  "none" },
	/*
	 * sub sp, sp, #16; adr x1, .+28; ldrb w1, [x1, w0, uxtw]; adr x2, .+12; add x1, x2, w1,
	 * sxtb #2; br x1; add sp, sp, #16; ret
	 */
	{ "a jump table without a limit",
	  "d10043ff 100000e1 38604821 10000062 8b218841 d61f0020 910043ff d65f03c0",
	  "none" },
};

/* @size: of each number, in bytes */
static u32 read_code(const char *text, u32 size, u8 *code)
{
	u32 nr = 0, number;
	char *end;

	for (; *text && nr < CODE_MAX; text = end, nr += size) {
		number = strtoul(text, &end, 16);
		memcpy(code + nr, &number, size);
	}
	return nr;
}

static void print_row(FILE *out, const struct cfi_machine *machine, const struct cfi_state *row)
{
	const struct cfi_rule *cfa = &row->cfa;

	if (row->ra.how == CFI_UNDEFINED)
		fprintf(out, "no caller");
	else if (cfa->how == CFI_REG_MEM)
		fprintf(out, "*(%s%+d)+%u", cfa->reg == machine->sp ? "sp" : "fp", cfa->off,
			cfa->sum);
	else if (cfa->reg == machine->sp || cfa->reg == machine->fp)
		fprintf(out, "%s%+d", cfa->reg == machine->sp ? "sp" : "fp", cfa->off);
	else
		fprintf(out, "r%u%+d", cfa->reg, cfa->off);
	if (row->fp.how == CFI_CFA_MEM)
		fprintf(out, " fp%+d", row->fp.off);
	if (row->ra.how == CFI_CFA_MEM && !machine->fixed_ra)
		fprintf(out, " ra%+d", row->ra.off);
	if (row->ra_signed)
		fputc('+', out);
}

static void print_rows(FILE *out, const struct code_image *image, const struct code_rows *rows)
{
	const struct code_part *part;
	const char *comma = "";
	u64 end = 0;
	size_t i;
	u32 k;

	for (i = 0; i < rows->nr_parts; i++) {
		part = &rows->parts[i];
		if (end && part->start != end)
			fprintf(out, ", %u none", (u32)(end - CODE_ADDR));
		for (k = 0; k < part->nr; k++) {
			const struct cfi_row *row = &rows->rows[part->first + k];

			fprintf(out, "%s%u ", comma, (u32)(part->start - CODE_ADDR) + row->start);
			print_row(out, image->machine, &row->state);
			comma = ", ";
		}
		end = part->start + part->size;
	}
	if (!end)
		fprintf(out, "none");
	else if (end != CODE_ADDR + image->size)
		fprintf(out, ", %u none", (u32)(end - CODE_ADDR));
}

static void test(u16 machine, const struct example *example)
{
	struct cfi_functions functions = {};
	struct {
		Elf64_Ehdr	header;
		Elf64_Phdr	segment;
		u8		code[CODE_MAX];
	} object = {};
	u16 flags[CODE_MAX] = {
		example->flags ?: CODE_SYMBOL, [16] = example->flags ? CODE_CALLED : 0,
	};
	struct code_image image = {
		.machine = cfi_find_machine(machine), .functions = &functions,
		.size = read_code(example->code, machine == EM_AARCH64 ? 4 : 1, object.code),
		.bytes = object.code, .flags = flags,
	};
	struct file file = file_of_bytes(&object, sizeof(object));
	struct elf elf;
	struct code_rows rows;
	char got[512] = "";
	FILE *out = fmemopen(got, sizeof(got) - 1, "w");

	object.header = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(object.header), .e_phoff = sizeof(object.header),
		.e_phentsize = sizeof(object.segment), .e_phnum = 1,
	};
	object.segment = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE_ADDR,
		.p_offset = object.code - (u8 *)&object, .p_filesz = image.size,
		.p_memsz = image.size,
	};
	if (!out || elf_init(&elf, &file))
		exit(1);
	image.elf = &elf;
	if (example->label)
		ranges_add(&image.labels, CODE_ADDR + example->label, 1);
	ranges_merge(&image.labels);
	ranges_add(&image.ranges, CODE_ADDR, image.size);
	ranges_merge(&image.ranges);
	ranges_add(&image.all, CODE_ADDR, 0x10000);
	ranges_merge(&image.all);
	code_rows_find(&rows, &image, NULL, NULL);
	print_rows(out, &image, &rows);
	fclose(out);
	printf("%s - analysis of %s: %s\n", strcmp(got, example->rows) ? "not ok" : "ok",
	       machine == EM_AARCH64 ? "arm64" : "amd64", example->name);
	if (strcmp(got, example->rows))
		printf("# got %s\n# not %s\n", got, example->rows);
	code_rows_free(&rows);
	ranges_free(&image.ranges);
	ranges_free(&image.all);
	ranges_free(&image.labels);
	elf_close(&elf);
}

static const struct {
	u32	nr;
	u32	want;
} zeros[] = { { 1, 1 }, { 2, 2 }, { 63, 63 }, { 64, 64 }, { 65, 63 }, { 66, 63 }, { 4096, 63 } };

/* A piece of padding takes at most 64 zeros, however many follow, and leaves no single one. */
static void test_zeros(void)
{
	const struct cfi_machine *machine = cfi_find_machine(EM_X86_64);
	static const u8 bytes[4096];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(zeros); i++) {
		u32 got = code_padding(machine, bytes, zeros[i].nr);

		printf("%s - the first piece of padding of %u zeros\n",
		       got == zeros[i].want ? "ok" : "not ok", zeros[i].nr);
		if (got != zeros[i].want)
			printf("# got %u bytes, not %u\n", got, zeros[i].want);
	}
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(x86); i++)
		test(EM_X86_64, &x86[i]);
	for (i = 0; i < ARRAY_SIZE(arm64); i++)
		test(EM_AARCH64, &arm64[i]);
	test_zeros();
	printf("1..%zu\n", ARRAY_SIZE(x86) + ARRAY_SIZE(arm64) + ARRAY_SIZE(zeros));
	return 0;
}
