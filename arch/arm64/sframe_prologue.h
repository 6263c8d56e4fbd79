/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How functions of arm64 begin. Compiles on the host, too. */
#ifndef SFRAME_PROLOGUE_H
#define SFRAME_PROLOGUE_H

#include "map/habit.h"

/* The instruction that stores x30 says that a function begins. So each is looked at. */
#define SFRAME_TEXT_STEP	4	/* bytes between places where a function may begin */
#define SFRAME_TEXT_FIRST	0	/* offset of the first such place in a piece of code */
#define SFRAME_TEXT_AFTER	36	/* bytes from such a place on for sframe_text_start() */
#define SFRAME_JIT_STEP		SFRAME_TEXT_STEP	/* the same for functions of a JIT */

static inline u32 sframe_insn(const u8 *code)
{
	return code[0] | code[1] << 8 | code[2] << 16 | (u32)code[3] << 24;
}

static inline bool sframe_is_bl(u32 insn)
{
	return (insn & 0xfc000000) == 0x94000000;
}

/* blr, blraa, ... */
static inline bool sframe_is_indirect_call(u32 insn)
{
	return (insn & 0xfefff000) == 0xd63f0000;
}

/* ret, retaa, retab */
static inline bool sframe_is_ret(u32 insn)
{
	return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff;
}

/* paciasp, pacibsp: the first instruction of a prologue */
static inline bool sframe_signs_ra(u32 insn)
{
	return insn == 0xd503233f || insn == 0xd503237f;
}

/* mov x29, sp; or add x29, sp, #imm */
static inline bool sframe_sets_x29(u32 insn)
{
	return (insn & 0xffc003ff) == 0x910003fd;
}

/* stur x29, [sp, #-8]; sub x29, sp, #8: Go stores x29 below the stack pointer, and x30 at it. */
static inline bool sframe_stores_low_x29(u32 insn)
{
	return insn == 0xf81f83fd;
}

static inline bool sframe_sets_low_x29(u32 insn)
{
	return insn == 0xd10023fd;
}

/* stp x29, x30, [sp, #-imm]! */
static inline bool sframe_pushes_record(u32 insn)
{
	return (insn & 0xffe07fff) == 0xa9a07bfd;
}

/* ldp x29, x30, [sp], #imm */
static inline bool sframe_pops_record(u32 insn)
{
	return (insn & 0xffe07fff) == 0xa8c07bfd;
}

/* autiasp, autibsp */
static inline bool sframe_checks_ra(u32 insn)
{
	return insn == 0xd50323bf || insn == 0xd50323ff;
}

/* str x30, [sp, #-imm]! */
static inline bool sframe_pushes_x30(u32 insn)
{
	return (insn & 0xfff00fff) == 0xf8100ffe;
}

/* stp x29, x30, [sp, #imm] */
static inline bool sframe_stores_record(u32 insn)
{
	return (insn & 0xffe07fff) == 0xa9007bfd;
}

/*
 * str x30 on the stack; or stp of x30 and another register but x29. The first slot of a PLT
 * stores x16 and x30.
 */
static inline bool sframe_stores_x30(u32 insn)
{
	u32 first = insn & 0x1f, second = insn >> 10 & 0x1f;

	if (sframe_pushes_x30(insn) || (insn & 0xffc003ff) == 0xf90003fe) /* str x30, [sp, #imm] */
		return true;
	if ((insn & 0xffe003e0) != 0xa9a003e0 &&	/* stp [sp, #-imm]! */
	    (insn & 0xffe003e0) != 0xa90003e0)		/* stp [sp, #imm] */
		return false;
	return first == 30 || (second == 30 && first != 29 && first != 16);
}

/* _init and _fini: a record, and maybe one call. They are the same in every file. */
static inline bool sframe_is_empty(const u8 *code)
{
	u32 insn = sframe_insn(code + 8);

	if (sframe_insn(code) != 0xa9bf7bfd || sframe_insn(code + 4) != 0x910003fd)
		return false;
	if (sframe_is_bl(insn))
		insn = sframe_insn(code + 12);
	return insn == 0xa8c17bfd;			/* ldp x29, x30, [sp], #16 */
}

/*
 * __do_global_dtors_aux is the same in every file, too: stp x29, x30, [sp, #-32]!; mov x29, sp;
 * str x19, [sp, #16]; adrp x19; ldrb w0, [x19, #imm]
 */
static inline bool sframe_is_of_runtime(const u8 *code)
{
	return sframe_insn(code) == 0xa9be7bfd && sframe_insn(code + 4) == 0x910003fd &&
	       sframe_insn(code + 8) == 0xf9000bf3 &&
	       (sframe_insn(code + 12) & 0x9f00001f) == 0x90000013 &&
	       (sframe_insn(code + 16) & 0xffc003ff) == 0x39400260;
}

/*
 * Go: str x30, [sp, #-imm]!; stur x29, [sp, #-8], or, for large frames, stp x29, x30, [x20, #-8].
 * sub x29, sp, #8 follows, in the large ones after mov sp, x20.
 */
static inline bool sframe_is_of_go(const u8 *code)
{
	u32 insn = sframe_insn(code);

	if (!sframe_sets_low_x29(sframe_insn(code + 8)))
		return false;
	return insn == 0xa93ffa9d ||
	       (sframe_pushes_x30(insn) && sframe_stores_low_x29(sframe_insn(code + 4)));
}

static inline enum sframe_start sframe_text_start(const u8 *code)
{
	u32 insn = sframe_insn(code);
	unsigned int i;

	if (sframe_is_of_go(code))
		return SFRAME_START_FP;
	if (sframe_stores_x30(insn))
		return SFRAME_START_OTHER;
	if (!sframe_pushes_record(insn) && !sframe_stores_record(insn))
		return SFRAME_START_NONE;
	if (sframe_is_empty(code) || sframe_is_of_runtime(code))
		return SFRAME_START_NONE;
	/* The compiler may have moved a few instructions between the two. */
	for (i = 4; i < SFRAME_TEXT_AFTER; i += 4)
		if (sframe_sets_x29(sframe_insn(code + i)))
			return SFRAME_START_FP;
	return SFRAME_START_OTHER;
}

/* The same for code of a JIT. */
static inline enum sframe_start sframe_jit_start(const u8 *code)
{
	return sframe_text_start(code);
}

static inline enum sframe_start sframe_jit_text_start(const u8 *code)
{
	return SFRAME_START_NONE;	/* sframe_jit_start() has looked there */
}

#endif /* SFRAME_PROLOGUE_H */
