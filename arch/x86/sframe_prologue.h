/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How functions of x86_64 begin. Compiles on the host, too. */
#ifndef SFRAME_PROLOGUE_H
#define SFRAME_PROLOGUE_H

#include "map/habit.h"

/* Compilers align functions to this. The byte before is needed, too. */
#define SFRAME_TEXT_STEP	16	/* bytes between places where a function may begin */
#define SFRAME_TEXT_FIRST	16	/* offset of the first such place in a piece of code */
#define SFRAME_TEXT_AFTER	36	/* bytes from such a place on for sframe_text_start() */
#define SFRAME_JIT_STEP		1	/* the same for functions of a JIT */

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

/* Bytes of sub $n,%rsp; 0: it is another instruction. */
static inline unsigned int sframe_sub_rsp(const u8 *code)
{
	if (code[0] != 0x48 || code[2] != 0xec)
		return 0;
	if (code[1] == 0x83)
		return 4;
	return code[1] == 0x81 ? 7 : 0;
}

/* Bytes of mov %rbp,n(%rsp); 0: it is another instruction. */
static inline unsigned int sframe_saves_rbp(const u8 *code)
{
	if (code[0] != 0x48 || code[1] != 0x89 || code[3] != 0x24)
		return 0;
	if (code[2] == 0x6c)
		return 5;
	return code[2] == 0xac ? 8 : 0;
}

/*
 * The same for code of a JIT: its functions begin anywhere, and checks may come first. The bytes
 * looked for hardly mean anything else together. OpenJDK makes room at once unless it keeps frame
 * pointers, after push %rbp or before it stores %rbp in the frame. push %r13 ends with the byte
 * of push %rbp.
 */
static inline enum sframe_start sframe_jit_start(const u8 *code)
{
	unsigned int room = sframe_sub_rsp(code), save = room ? sframe_saves_rbp(code + room) : 0;

	if (save)
		return sframe_sets_rbp(code + room + save) ? SFRAME_START_FP : SFRAME_START_OTHER;
	if (code[0] != PUSH_RBP)
		return SFRAME_START_NONE;
	if (sframe_sets_rbp(code + 1))
		return SFRAME_START_FP;
	return sframe_makes_room(code + 1) && code[-1] != 0x41 ? SFRAME_START_OTHER :
								 SFRAME_START_NONE;
}

/*
 * Has a function ended before this place in code of a JIT? The 0 at the end of a long nop may as
 * well end a jump. The interpreter of OpenJDK aligns the stack for calls after such jumps, with the
 * instruction that functions begin with.
 */
static inline bool sframe_jit_ends_function(const u8 *code)
{
	static const struct {
		u8	len;
		u8	code[8];
	} nops[] = {
		{ 3, { 0x0f, 0x1f, 0x00 } },
		{ 4, { 0x0f, 0x1f, 0x40 } },
		{ 5, { 0x0f, 0x1f, 0x44 } },
		{ 7, { 0x0f, 0x1f, 0x80 } },
		{ 8, { 0x0f, 0x1f, 0x84 } },
	};
	unsigned int i;

	if (code[-1])
		return sframe_ends_function(code[-1]);
	for (i = 0; i < ARRAY_SIZE(nops); i++)
		if (!memcmp(code - nops[i].len, nops[i].code, nops[i].len))
			return true;
	return false;
}

/* Code of a JIT, where compilers begin functions: is there a frame without a record? */
static inline enum sframe_start sframe_jit_text_start(const u8 *code)
{
	if (!sframe_jit_ends_function(code) || sframe_text_start(code) != SFRAME_START_OTHER)
		return SFRAME_START_NONE;
	return SFRAME_START_OTHER;
}

#endif /* SFRAME_PROLOGUE_H */
