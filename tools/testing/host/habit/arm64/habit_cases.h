/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How functions of arm64 begin, from the architecture's manual. */
#ifndef HABIT_CASES_H
#define HABIT_CASES_H

#include "map/keeps_fp.h"

#define PADDING		0

struct start_case {
	const char		*name;
	enum sframe_prologue	want;
	u8			len;
	u8			before;
	u32			code[9];
};

#define INSNS(name, want, ...)	\
	{ name, want, sizeof((u32 []){ __VA_ARGS__ }), 0, { __VA_ARGS__ } }

#define NOP		0xd503201f
#define PUSH_RECORD	0xa9be7bfd	/* stp x29, x30, [sp, #-32]! */
#define SET_X29		0x910003fd	/* mov x29, sp */

static const struct start_case start_cases[] = {
	INSNS("stp; mov", SFRAME_PROLOGUE_FP, PUSH_RECORD, SET_X29),
	INSNS("stp by 512; mov", SFRAME_PROLOGUE_FP, 0xa9a07bfd, SET_X29),
	INSNS("paciasp; stp; mov", SFRAME_PROLOGUE_FP, 0xd503233f, PUSH_RECORD, SET_X29),
	INSNS("stp; two others; mov", SFRAME_PROLOGUE_FP, PUSH_RECORD, NOP, NOP, SET_X29),
	INSNS("stp; seven others; mov", SFRAME_PROLOGUE_FP,
	      PUSH_RECORD, NOP, NOP, NOP, NOP, NOP, NOP, NOP, SET_X29),
	INSNS("sub; stp; add", SFRAME_PROLOGUE_FP,
	      0xd10103ff, 0xa9027bfd, 0x910083fd),		/* stp and add at sp + 32 */
	INSNS("stp, no mov", SFRAME_PROLOGUE_OTHER, PUSH_RECORD, NOP, NOP),
	INSNS("sub; stp, no add", SFRAME_PROLOGUE_OTHER, 0xd10103ff, 0xa9027bfd),
	INSNS("str x30", SFRAME_PROLOGUE_OTHER, 0xf81f0ffe, NOP),	/* [sp, #-16]! */
	INSNS("stp x30, x19", SFRAME_PROLOGUE_OTHER, 0xa9be4ffe, NOP),	/* [sp, #-32]! */
	INSNS("sub; str x30", SFRAME_PROLOGUE_OTHER, 0xd10103ff, 0xf90007fe),	/* at sp + 8 */
	INSNS("sub; stp x30, x19", SFRAME_PROLOGUE_OTHER, 0xd10103ff, 0xa9014ffe),
	INSNS("sub; stp x19, x30", SFRAME_PROLOGUE_OTHER, 0xd10103ff, 0xa9017bf3),
	INSNS("stp x19, x30, [sp, #-16]!", SFRAME_PROLOGUE_OTHER, 0xa9bf7bf3, NOP),
	/* Go */
	INSNS("str x30; stur x29", SFRAME_PROLOGUE_FP, 0xf8160ffe, 0xf81f83fd, 0xd10023fd),
	INSNS("str x30; stur x29; no sub", SFRAME_PROLOGUE_OTHER, 0xf8160ffe, 0xf81f83fd, NOP),
	INSNS("sub x20; stp; mov; no sub", SFRAME_PROLOGUE_NONE,
	      0xd10703f4, 0xa93ffa9d, 0x9100029f, NOP),
	INSNS("str x30; stur x29 elsewhere", SFRAME_PROLOGUE_OTHER, 0xf8160ffe, 0xf81f03fd),
	INSNS("sub x20; stp; mov; sub x29", SFRAME_PROLOGUE_FP,
	      0xd10703f4, 0xa93ffa9d, 0x9100029f, 0xd10023fd),
	INSNS("stp x29, x27", SFRAME_PROLOGUE_NONE, 0xa93eeffd, 0xd10063fd),
	INSNS("str x30 elsewhere", SFRAME_PROLOGUE_NONE, 0xf900041e, NOP),	/* at x0 + 8 */
	/* In every file: _fini, _init, __do_global_dtors_aux, and the first slot of a PLT. */
	INSNS("stp; mov; ldp", SFRAME_PROLOGUE_NONE,
	      0xd503233f, 0xa9bf7bfd, SET_X29, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0),
	INSNS("stp; mov; bl; ldp", SFRAME_PROLOGUE_NONE,
	      0xa9bf7bfd, SET_X29, 0x94000017, 0xa8c17bfd, 0xd65f03c0),
	INSNS("stp; mov; bl; nop", SFRAME_PROLOGUE_FP, 0xa9bf7bfd, SET_X29, 0x94000017, NOP),
	INSNS("stp; mov; str; adrp; ldrb", SFRAME_PROLOGUE_NONE,
	      0xa9be7bfd, SET_X29, 0xf9000bf3, 0x90000113, 0x39406260, 0x37000140),
	INSNS("stp; mov; str; adrp; ldr", SFRAME_PROLOGUE_FP,
	      0xa9be7bfd, SET_X29, 0xf9000bf3, 0x90000113, 0xf9406260),
	INSNS("stp x16, x30", SFRAME_PROLOGUE_NONE, 0xa9bf7bf0, 0xf00000f0),
	INSNS("ldp x29, x30", SFRAME_PROLOGUE_NONE, 0xa8c27bfd, SET_X29),
	INSNS("stp x29, x30 elsewhere", SFRAME_PROLOGUE_NONE, 0xa9017c1d, SET_X29),	/* [x0] */
	INSNS("stp x19, x20", SFRAME_PROLOGUE_NONE, 0xa90153f3, SET_X29),
	INSNS("no frame", SFRAME_PROLOGUE_NONE, 0x8b000400, 0xd65f03c0),
};

/* As the disassembly of V8's and OpenJDK's code has them. */
static const struct start_case jit_cases[] = {
	INSNS("stp by 16; mov", SFRAME_PROLOGUE_FP, 0xa9bf7bfd, SET_X29, NOP, NOP),
	INSNS("sub; stp, no mov", SFRAME_PROLOGUE_OTHER, 0xd10103ff, 0xa9027bfd, NOP),
	INSNS("no frame", SFRAME_PROLOGUE_NONE, 0x8b000400, 0xd65f03c0),
};

#endif /* HABIT_CASES_H */
