/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How functions of arm64 begin. Compiles on the host, too.
 *
 * SFRAME_TEXT_STEP: bytes from a place where a function may begin to the next one.
 * SFRAME_TEXT_FIRST: offset of the first such place in a piece of code.
 * SFRAME_TEXT_AFTER: bytes from such a place on that sframe_text_start() needs.
 */
#ifndef SFRAME_PROLOGUE_H
#define SFRAME_PROLOGUE_H

#include "sframe_habit.h"

/* The instruction that stores x30 says that a function begins. So each is looked at. */
#define SFRAME_TEXT_STEP	4
#define SFRAME_TEXT_FIRST	0
#define SFRAME_TEXT_AFTER	36

static inline u32 sframe_insn(const u8 *code)
{
	return code[0] | code[1] << 8 | code[2] << 16 | (u32)code[3] << 24;
}

/* mov x29, sp; or add x29, sp, #imm */
static inline bool sframe_sets_x29(u32 insn)
{
	return (insn & 0xffc003ff) == 0x910003fd;
}

/* stp x29, x30, [sp, #-imm]! */
static inline bool sframe_pushes_record(u32 insn)
{
	return (insn & 0xffe07fff) == 0xa9a07bfd;
}

/* stp x29, x30, [sp, #imm] */
static inline bool sframe_stores_record(u32 insn)
{
	return (insn & 0xffe07fff) == 0xa9007bfd;
}

/* str x30, [sp, #-imm]!; or stp x30, xN, [sp, #-imm]! */
static inline bool sframe_pushes_x30(u32 insn)
{
	return (insn & 0xfff00fff) == 0xf8100ffe || (insn & 0xffe083ff) == 0xa9a003fe;
}

static inline enum sframe_start sframe_text_start(const u8 *code)
{
	u32 insn = sframe_insn(code);
	unsigned int i;

	if (sframe_pushes_x30(insn))
		return SFRAME_START_OTHER;
	if (!sframe_pushes_record(insn) && !sframe_stores_record(insn))
		return SFRAME_START_NONE;
	/* The compiler may have moved a few instructions between the two. */
	for (i = 4; i < SFRAME_TEXT_AFTER; i += 4)
		if (sframe_sets_x29(sframe_insn(code + i)))
			return SFRAME_START_FP;
	return SFRAME_START_OTHER;
}

#endif /* SFRAME_PROLOGUE_H */
