/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of x86_64 in code that compilers write: how long they are, and which of them move
 * the stack pointer, or jump. See chapter 2 and appendix A of Intel's manual, volume 2.
 */
#ifndef X86_INSN_H
#define X86_INSN_H

#include "sframe_types.h"

#define X86_INSN_MAX	15	/* bytes of the longest instruction */
#define X86_INSN_READ	32	/* bytes that x86_insn_decode() may read */

#define X86_SP		4
#define X86_FP		5

/* Flags of an opcode. An opcode without flags is unknown. */
#define OP_KNOWN	0x01
#define OP_MODRM	0x02
#define OP_IMM8		0x04
#define OP_IMM		0x08	/* of 32 bits, or 16 */
#define OP_IMM64	0x10	/* of 64 bits, if the operand has them */
#define OP_PREFIX	0x20
#define OP_ESCAPE	0x40	/* the opcode, or its map, is in the next bytes */

/**
 * struct x86_insn - an instruction
 * @op: what is known of its opcode
 * @size: bytes
 * @map: of its opcode: 0: one byte; 1: after 0f; 2: after 0f 38; 3: after 0f 3a
 * @opcode: the last byte of it
 * @is_wide: its operands have 64 bits
 * @is_16: they have 16
 * @mod: ModRM.mod; 3: the operand is a register
 * @reg: the register of ModRM.reg, or what that adds to the opcode
 * @rm: the register of ModRM.rm, or of the low bits of the opcode
 * @is_sp: the operand is in memory at the stack pointer + @disp
 * @disp: what is added to an address in memory
 * @imm: the last operand
 */
struct x86_insn {
	u8	op;
	u8	size;
	u8	map;
	u8	opcode;
	bool	is_wide;
	bool	is_16;
	u8	mod;
	u8	reg;
	u8	rm;
	bool	is_sp;
	s32	disp;
	s32	imm;
};

bool x86_insn_decode(struct x86_insn *insn, const u8 *code);

#endif /* X86_INSN_H */
