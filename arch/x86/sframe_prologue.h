/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How functions of x86_64 begin. Compiles on the host, too.
 *
 * SFRAME_TEXT_STEP: bytes from a place where a function may begin to the next one.
 * SFRAME_TEXT_FIRST: offset of the first such place in a piece of code.
 * SFRAME_TEXT_AFTER: bytes from such a place on that sframe_text_start() needs.
 * SFRAME_JIT_STEP: bytes from a place where a function of a JIT may begin to the next one.
 */
#ifndef SFRAME_PROLOGUE_H
#define SFRAME_PROLOGUE_H

#include "sframe_habit.h"

/* Compilers align functions to this. The byte before is needed, too. */
#define SFRAME_TEXT_STEP	16
#define SFRAME_TEXT_FIRST	16
#define SFRAME_TEXT_AFTER	36
#define SFRAME_JIT_STEP		1

#define PUSH_RBP		0x55
#define MOVED_BETWEEN		16	/* bytes that a compiler moves into a prologue, at most */

static inline bool sframe_is_endbr64(const u8 *code)
{
	return code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa;
}

/* mov %rsp,%rbp, in both of its forms */
static inline bool sframe_sets_rbp(const u8 *code)
{
	return code[0] == 0x48 && ((code[1] == 0x89 && code[2] == 0xe5) ||
				   (code[1] == 0x8b && code[2] == 0xec));
}

/* push of rbx, or of r12 to r15; sub $imm,%rsp */
static inline bool sframe_makes_room(const u8 *code)
{
	return code[0] == 0x53 || (code[0] == 0x41 && (code[1] & 0xfc) == 0x54) ||
	       (code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xec);
}

/* Functions of Go first compare the stack pointer with a limit: cmp 0x10(%r14),%rsp; jbe. */
static inline unsigned int sframe_go_check(const u8 *code)
{
	if (code[0] != 0x49 || code[1] != 0x3b || code[2] != 0x66 || code[3] != 0x10)
		return 0;
	if (code[4] == 0x76)
		return 6;
	return code[4] == 0x0f && code[5] == 0x86 ? 10 : 0;
}

/* May this byte end the code before a function: ret, nop, int3, or a long nop? */
static inline bool sframe_ends_function(u8 byte)
{
	return byte == 0xc3 || byte == 0x90 || byte == 0xcc || byte == 0x00;
}

/*
 * Bytes from the end of push %rbp to the end of mov %rsp,%rbp. 0: the code does not set rbp,
 * or pushes another register first.
 */
static inline unsigned int sframe_rbp_is_set_at(const u8 *code)
{
	unsigned int i;

	if (sframe_makes_room(code))
		return 0;
	for (i = 0; i < MOVED_BETWEEN; i++)
		if (sframe_sets_rbp(code + i))
			return i + 3;
	return 0;
}

/* _init and _fini of libc: sub $8,%rsp; add $8,%rsp. They are the same in every file. */
static inline bool sframe_is_empty(const u8 *code)
{
	static const u8 empty[] = { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08 };

	return !memcmp(code, empty, sizeof(empty));
}

static inline enum sframe_start sframe_text_start(const u8 *code)
{
	if (!sframe_ends_function(code[-1]))
		return SFRAME_START_NONE;
	if (sframe_is_endbr64(code))
		code += 4;
	code += sframe_go_check(code);
	if (code[0] == PUSH_RBP)
		return sframe_rbp_is_set_at(code + 1) ? SFRAME_START_FP : SFRAME_START_OTHER;
	return sframe_makes_room(code) && !sframe_is_empty(code) ? SFRAME_START_OTHER :
								   SFRAME_START_NONE;
}

/*
 * The same for code of a JIT: its functions begin anywhere, and checks may come first. These four
 * bytes together hardly mean anything else. OpenJDK makes room at once unless it keeps frame
 * pointers.
 */
static inline enum sframe_start sframe_jit_start(const u8 *code)
{
	if (code[0] != PUSH_RBP)
		return SFRAME_START_NONE;
	if (sframe_sets_rbp(code + 1))
		return SFRAME_START_FP;
	return sframe_makes_room(code + 1) ? SFRAME_START_OTHER : SFRAME_START_NONE;
}

#endif /* SFRAME_PROLOGUE_H */
