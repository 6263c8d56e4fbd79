/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of x86_64: their length, and the registers that they write. Compiles on the
 * host, too.
 *
 * This is for code that compilers and assemblers write. What such code does not use counts as
 * unknown: instructions of the kernel, of other modes, and encodings that no processor has yet.
 * See chapter 2 and appendix A of Intel's manual, volume 2.
 */
#ifndef SFRAME_INSN_H
#define SFRAME_INSN_H

#include "sframe_types.h"

#define SFRAME_INSN_MAX		15	/* bytes of the longest instruction */
#define SFRAME_INSN_READ	32	/* bytes that sframe_insn_decode() may read */

/* The opcode maps; those of EVEX have the same numbers. */
#define SFRAME_MAP_ONE_BYTE	0
#define SFRAME_MAP_0F		1
#define SFRAME_MAP_0F38		2
#define SFRAME_MAP_0F3A		3

/* Numbers of registers in instructions. They differ from those of DWARF. */
#define SFRAME_INSN_RBX		3
#define SFRAME_INSN_SP		4
#define SFRAME_INSN_FP		5
#define SFRAME_INSN_NO_REG	16

/* ModRM.mod of an operand that is a register; ModRM.rm of a SIB byte, and of RIP. */
#define SFRAME_MOD_REG		3
#define SFRAME_RM_SIB		4
#define SFRAME_RM_RIP		5

/* Flags of an opcode. An opcode without flags is unknown. */
#define SFRAME_OP_KNOWN		0x001
#define SFRAME_OP_MODRM		0x002
#define SFRAME_OP_IMM8		0x004
#define SFRAME_OP_IMM		0x008	/* of 32 bits, or 16 */
#define SFRAME_OP_REG		0x010	/* writes ModRM.reg */
#define SFRAME_OP_RM		0x020	/* writes ModRM.rm */
#define SFRAME_OP_LOW		0x040	/* writes the register of its low bits */
#define SFRAME_OP_BYTE		0x080	/* its registers have one byte */
#define SFRAME_OP_PREFIX	0x100	/* is a prefix */
#define SFRAME_OP_ESCAPE	0x200	/* the opcode, or its map, is in the next bytes */
#define SFRAME_OP_STACK		0x400	/* moves the stack pointer, calls, jumps or returns */
#define SFRAME_OP_BRANCH	0x800	/* may jump */

/**
 * struct sframe_insn - an instruction
 * @op: what is known of its opcode: SFRAME_OP_*
 * @size: bytes
 * @map: of its opcode
 * @opcode: the last byte of it
 * @is_vex: it has a VEX or EVEX prefix
 * @is_wide: its operands have 64 bits
 * @is_16: they have 16, if it is of general registers
 * @has_rex: byte registers 4 to 7 are spl to dil, not ah to bh
 * @prefix: 0xf2 or 0xf3, or what stands for it in VEX, or 0
 * @mod: ModRM.mod
 * @reg: the register of ModRM.reg, or what that adds to the opcode
 * @rm: the register of ModRM.rm, if @mod is SFRAME_MOD_REG
 * @base: else the register that the address in memory starts from, or SFRAME_INSN_NO_REG
 * @has_index: another register is added
 * @vvvv: the register of the VEX prefix
 * @low: the register in the low bits of the opcode
 * @disp: what is added to an address in memory
 * @imm: the last operand
 */
struct sframe_insn {
	u16	op;
	u8	size;
	u8	map;
	u8	opcode;
	bool	is_vex;
	bool	is_wide;
	bool	is_16;
	bool	has_rex;
	u8	prefix;
	u8	mod;
	u8	reg;
	u8	rm;
	u8	base;
	bool	has_index;
	u8	vvvv;
	u8	low;
	s32	disp;
	s32	imm;
};

#define SFRAME_INSN_M		(SFRAME_OP_KNOWN | SFRAME_OP_MODRM)
#define SFRAME_INSN_M_REG	(SFRAME_INSN_M | SFRAME_OP_REG)
#define SFRAME_INSN_M_RM	(SFRAME_INSN_M | SFRAME_OP_RM)
#define SFRAME_INSN_REG8	(SFRAME_INSN_M_REG | SFRAME_OP_BYTE)
#define SFRAME_INSN_RM8		(SFRAME_INSN_M_RM | SFRAME_OP_BYTE)
#define SFRAME_INSN_M_IMM8	(SFRAME_INSN_M | SFRAME_OP_IMM8)
#define SFRAME_INSN_I8		(SFRAME_OP_KNOWN | SFRAME_OP_IMM8)
#define SFRAME_INSN_I		(SFRAME_OP_KNOWN | SFRAME_OP_IMM)
#define SFRAME_INSN_STACK	(SFRAME_OP_KNOWN | SFRAME_OP_STACK)

/* The opcodes of one byte. */
static const u16 sframe_one_byte_ops[256] = {
	[0x00] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* add */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x08] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* or */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x10] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* adc */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x18] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* sbb */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x20] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* and */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x28] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* sub */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x30] = SFRAME_INSN_RM8, SFRAME_INSN_M_RM,			/* xor */
		 SFRAME_INSN_REG8, SFRAME_INSN_M_REG, SFRAME_INSN_I8, SFRAME_INSN_I,
	[0x38 ... 0x3b] = SFRAME_INSN_M,			/* cmp */
	[0x3c] = SFRAME_INSN_I8,
	[0x3d] = SFRAME_INSN_I,
	[0x0f] = SFRAME_OP_ESCAPE,
	[0x26] = SFRAME_OP_PREFIX,				/* of a segment */
	[0x2e] = SFRAME_OP_PREFIX,
	[0x36] = SFRAME_OP_PREFIX,
	[0x3e] = SFRAME_OP_PREFIX,
	[0x40 ... 0x4f] = SFRAME_OP_PREFIX,			/* REX */
	[0x50 ... 0x5f] = SFRAME_INSN_STACK,			/* push, pop */
	[0x62] = SFRAME_OP_ESCAPE,				/* EVEX */
	[0x63] = SFRAME_INSN_M_REG,				/* movslq */
	[0x64 ... 0x67] = SFRAME_OP_PREFIX,			/* of a segment, of sizes */
	[0x68] = SFRAME_INSN_STACK | SFRAME_OP_IMM,		/* push */
	[0x69] = SFRAME_INSN_M_REG | SFRAME_OP_IMM,		/* imul */
	[0x6a] = SFRAME_INSN_STACK | SFRAME_OP_IMM8,		/* push */
	[0x6b] = SFRAME_INSN_M_REG | SFRAME_OP_IMM8,		/* imul */
	[0x70 ... 0x7f] = SFRAME_INSN_I8 | SFRAME_OP_BRANCH,	/* jcc */
	[0x80] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8 | SFRAME_OP_BYTE,
	[0x81] = SFRAME_INSN_M_RM | SFRAME_OP_IMM,		/* add and its like */
	[0x83] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8,
	[0x84 ... 0x85] = SFRAME_INSN_M,			/* test */
	[0x86] = SFRAME_INSN_M_RM | SFRAME_OP_REG | SFRAME_OP_BYTE,
	[0x87] = SFRAME_INSN_M_RM | SFRAME_OP_REG,		/* xchg */
	[0x88] = SFRAME_INSN_RM8,		/* mov */
	[0x89] = SFRAME_INSN_M_RM,
	[0x8a] = SFRAME_INSN_REG8,
	[0x8b] = SFRAME_INSN_M_REG,
	[0x8d] = SFRAME_INSN_M_REG,				/* lea */
	[0x8f] = SFRAME_INSN_STACK | SFRAME_OP_MODRM,		/* pop */
	[0x90 ... 0x97] = SFRAME_OP_KNOWN | SFRAME_OP_LOW,	/* nop, xchg */
	[0x98 ... 0x99] = SFRAME_OP_KNOWN,			/* cltq, cqto */
	[0x9b] = SFRAME_OP_KNOWN,				/* fwait */
	[0x9c ... 0x9d] = SFRAME_INSN_STACK,			/* pushf, popf */
	[0x9e ... 0x9f] = SFRAME_OP_KNOWN,			/* sahf, lahf */
	[0xa4 ... 0xa7] = SFRAME_OP_KNOWN,			/* movs, cmps */
	[0xa8] = SFRAME_INSN_I8,				/* test */
	[0xa9] = SFRAME_INSN_I,
	[0xaa ... 0xaf] = SFRAME_OP_KNOWN,			/* stos, lods, scas */
	[0xb0 ... 0xb7] = SFRAME_INSN_I8 | SFRAME_OP_LOW | SFRAME_OP_BYTE,
	[0xb8 ... 0xbf] = SFRAME_INSN_I | SFRAME_OP_LOW,	/* mov */
	[0xc0] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8 | SFRAME_OP_BYTE,
	[0xc1] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8,		/* shifts */
	[0xc3] = SFRAME_INSN_STACK,				/* ret */
	[0xc4 ... 0xc5] = SFRAME_OP_ESCAPE,			/* VEX */
	[0xc6] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8 | SFRAME_OP_BYTE,
	[0xc7] = SFRAME_INSN_M_RM | SFRAME_OP_IMM,		/* mov */
	[0xc9] = SFRAME_INSN_STACK,				/* leave */
	[0xd0] = SFRAME_INSN_RM8,		/* shifts */
	[0xd1] = SFRAME_INSN_M_RM,
	[0xd2] = SFRAME_INSN_RM8,
	[0xd3] = SFRAME_INSN_M_RM,
	[0xd7] = SFRAME_OP_KNOWN,				/* xlat */
	[0xd8 ... 0xdf] = SFRAME_INSN_M,			/* x87 */
	[0xe0 ... 0xe3] = SFRAME_INSN_I8 | SFRAME_OP_BRANCH,	/* loop, jrcxz */
	[0xe8 ... 0xe9] = SFRAME_INSN_STACK | SFRAME_OP_IMM,	/* call, jmp */
	[0xeb] = SFRAME_INSN_STACK | SFRAME_OP_IMM8,		/* jmp */
	[0xf0] = SFRAME_OP_PREFIX,				/* lock */
	[0xf2 ... 0xf3] = SFRAME_OP_PREFIX,			/* rep */
	[0xf5] = SFRAME_OP_KNOWN,				/* cmc */
	[0xf6] = SFRAME_INSN_RM8,		/* test, not, neg, mul */
	[0xf7] = SFRAME_INSN_M_RM,
	[0xf8 ... 0xf9] = SFRAME_OP_KNOWN,			/* clc, stc */
	[0xfc ... 0xfd] = SFRAME_OP_KNOWN,			/* cld, std */
	[0xfe] = SFRAME_INSN_RM8,		/* inc, dec */
	[0xff] = SFRAME_INSN_M_RM | SFRAME_OP_STACK,		/* inc to push */
};

/* The opcodes after 0f. Few of those that are of vectors write a general register. */
static const u16 sframe_0f_ops[256] = {
	[0x01] = SFRAME_INSN_M_RM,				/* xgetbv, rdtscp */
	[0x05] = SFRAME_OP_KNOWN,				/* syscall */
	[0x0d] = SFRAME_INSN_M,					/* prefetchw */
	[0x10 ... 0x1d] = SFRAME_INSN_M,			/* moves, nops */
	[0x1e] = SFRAME_INSN_M_RM,				/* endbr64, rdssp */
	[0x1f] = SFRAME_INSN_M,					/* nop */
	[0x28 ... 0x2b] = SFRAME_INSN_M,
	[0x2c ... 0x2d] = SFRAME_INSN_M_REG,			/* cvttss2si */
	[0x2e ... 0x2f] = SFRAME_INSN_M,
	[0x31] = SFRAME_OP_KNOWN,				/* rdtsc */
	[0x40 ... 0x4f] = SFRAME_INSN_M_REG,			/* cmov */
	[0x50] = SFRAME_INSN_M_REG,				/* movmskps */
	[0x51 ... 0x6f] = SFRAME_INSN_M,
	[0x70 ... 0x73] = SFRAME_INSN_M_IMM8,
	[0x74 ... 0x76] = SFRAME_INSN_M,
	[0x77] = SFRAME_OP_KNOWN,				/* emms, vzeroupper */
	[0x78 ... 0x79] = SFRAME_INSN_M_REG,			/* vcvttss2usi */
	[0x7a ... 0x7d] = SFRAME_INSN_M,
	[0x7e] = SFRAME_INSN_M_RM,				/* movd */
	[0x7f] = SFRAME_INSN_M,
	[0x80 ... 0x8f] = SFRAME_INSN_I | SFRAME_OP_BRANCH,	/* jcc */
	[0x90 ... 0x9f] = SFRAME_INSN_RM8,	/* setcc */
	[0xa2] = SFRAME_OP_KNOWN,				/* cpuid */
	[0xa3] = SFRAME_INSN_M,					/* bt */
	[0xa4] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8,		/* shld */
	[0xa5] = SFRAME_INSN_M_RM,
	[0xab] = SFRAME_INSN_M_RM,				/* bts */
	[0xac] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8,		/* shrd */
	[0xad] = SFRAME_INSN_M_RM,
	[0xae] = SFRAME_INSN_M_RM,				/* fences, ldmxcsr, rdfsbase */
	[0xaf] = SFRAME_INSN_M_REG,				/* imul */
	[0xb0] = SFRAME_INSN_RM8,				/* cmpxchg */
	[0xb1] = SFRAME_INSN_M_RM,
	[0xb3] = SFRAME_INSN_M_RM,				/* btr */
	[0xb6 ... 0xb8] = SFRAME_INSN_M_REG,			/* movzx, popcnt */
	[0xba] = SFRAME_INSN_M_RM | SFRAME_OP_IMM8,		/* bt and its like */
	[0xbb] = SFRAME_INSN_M_RM,				/* btc */
	[0xbc ... 0xbf] = SFRAME_INSN_M_REG,			/* bsf, bsr, movsx */
	[0xc0] = SFRAME_INSN_M_RM | SFRAME_OP_REG | SFRAME_OP_BYTE,
	[0xc1] = SFRAME_INSN_M_RM | SFRAME_OP_REG,		/* xadd */
	[0xc2] = SFRAME_INSN_M_IMM8,				/* cmpps */
	[0xc3] = SFRAME_INSN_M,					/* movnti */
	[0xc4] = SFRAME_INSN_M_IMM8,				/* pinsrw */
	[0xc5] = SFRAME_INSN_M_REG | SFRAME_OP_IMM8,		/* pextrw */
	[0xc6] = SFRAME_INSN_M_IMM8,				/* shufps */
	[0xc7] = SFRAME_INSN_M_RM,				/* cmpxchg16b, rdrand */
	[0xc8 ... 0xcf] = SFRAME_OP_KNOWN | SFRAME_OP_LOW,	/* bswap */
	[0xd0 ... 0xd6] = SFRAME_INSN_M,
	[0xd7] = SFRAME_INSN_M_REG,				/* pmovmskb */
	[0xd8 ... 0xfe] = SFRAME_INSN_M,
};

/* The opcodes after 0f 38. The only ones that write general registers are from e0 on. */
static inline u16 sframe_0f38_op(u8 opcode)
{
	return opcode < 0xe0 ? SFRAME_INSN_M : SFRAME_INSN_M_REG;
}

/* The opcodes after 0f 3a: pextr writes to ModRM.rm, rorx to ModRM.reg. */
static inline u16 sframe_0f3a_op(u8 opcode)
{
	if (opcode >= 0x14 && opcode <= 0x17)
		return SFRAME_INSN_M_RM | SFRAME_OP_IMM8;
	return opcode < 0xf0 ? SFRAME_INSN_M_IMM8 : SFRAME_INSN_M_REG | SFRAME_OP_IMM8;
}

/* The opcodes of EVEX's maps 5 and 6, for numbers of 16 bits. */
static inline u16 sframe_evex_op(u8 map, u8 opcode)
{
	return map == 5 ? sframe_0f_ops[opcode] & ~(SFRAME_OP_IMM8 | SFRAME_OP_IMM) : SFRAME_INSN_M;
}

/* Opcodes of k registers, of which kmov may write a general register. */
static inline bool sframe_is_k_op(u8 opcode)
{
	return (opcode >= 0x41 && opcode <= 0x4b) || (opcode >= 0x90 && opcode <= 0x99);
}

/* The opcodes that are not of one byte. */
static inline u16 sframe_escaped_op(const struct sframe_insn *insn)
{
	switch (insn->map) {
	case SFRAME_MAP_0F:
		if (insn->is_vex && sframe_is_k_op(insn->opcode))
			return insn->opcode == 0x93 ? SFRAME_INSN_M_REG : SFRAME_INSN_M;
		/* extrq and insertq of AMD, which no compiler uses by itself; vmread */
		if (!insn->is_vex && (insn->opcode & 0xfe) == 0x78)
			return 0;
		return sframe_0f_ops[insn->opcode];
	case SFRAME_MAP_0F38:
		return sframe_0f38_op(insn->opcode);
	case SFRAME_MAP_0F3A:
		return sframe_0f3a_op(insn->opcode);
	case 5: case 6:
		return sframe_evex_op(insn->map, insn->opcode);
	default:
		return 0;
	}
}

/* The bits of prefixes that extend the numbers of registers. */
struct sframe_rex {
	u8	reg;
	u8	index;
	u8	base;
};

/* Decodes the prefixes up to REX, which is the last one. Returns what follows them. */
static inline const u8 *sframe_insn_prefixes(struct sframe_insn *insn, struct sframe_rex *rex,
					     const u8 *code)
{
	const u8 *const end = code + SFRAME_INSN_MAX;

	for (; code < end && (sframe_one_byte_ops[*code] & SFRAME_OP_PREFIX); code++) {
		if ((*code & 0xf0) == 0x40) {
			insn->has_rex = true;
			insn->is_wide = *code & 8;
			rex->reg = (*code & 4) << 1;
			rex->index = (*code & 2) << 2;
			rex->base = (*code & 1) << 3;
			return code + 1;
		}
		if (*code == 0x66)
			insn->is_16 = true;
		else if (*code >= 0xf2)
			insn->prefix = *code;
	}
	return code;
}

/* Decodes VEX or EVEX: the bits of registers are inverted there. Returns where the opcode is. */
static inline const u8 *sframe_insn_vex(struct sframe_insn *insn, struct sframe_rex *rex,
					const u8 *code)
{
	const u8 kind = *code, first = ~code[1];
	u8 last = code[1];

	insn->is_vex = true;
	rex->reg = first >> 4 & 8;
	insn->map = SFRAME_MAP_0F;
	if (kind != 0xc5) {
		rex->index = first >> 3 & 8;
		rex->base = first >> 2 & 8;
		insn->map = code[1] & (kind == 0x62 ? 7 : 31);
		last = code[2];
		insn->is_wide = last & 0x80;
	}
	insn->vvvv = ~last >> 3 & 15;
	insn->prefix = (last & 3) == 2 ? 0xf3 : (last & 3) == 3 ? 0xf2 : 0;
	return code + (kind == 0xc5 ? 2 : kind == 0xc4 ? 3 : 4);
}

/* Decodes the opcode and what says its map. Returns what follows. */
static inline const u8 *sframe_insn_opcode(struct sframe_insn *insn, struct sframe_rex *rex,
					   const u8 *code)
{
	insn->op = sframe_one_byte_ops[*code];
	if (!(insn->op & SFRAME_OP_ESCAPE)) {
		insn->opcode = *code++;
	} else {
		if (*code != 0x0f) {
			code = sframe_insn_vex(insn, rex, code);
		} else {
			code++;
			insn->map = SFRAME_MAP_0F;
			if (*code == 0x38 || *code == 0x3a)
				insn->map = *code++ == 0x38 ? SFRAME_MAP_0F38 : SFRAME_MAP_0F3A;
		}
		insn->opcode = *code++;
		insn->op = sframe_escaped_op(insn);
	}
	insn->low = (insn->opcode & 7) | rex->base;
	return code;
}

/* Decodes ModRM, SIB and displacement. Returns what follows. */
static inline const u8 *sframe_insn_modrm(struct sframe_insn *insn, const struct sframe_rex *rex,
					  const u8 *code)
{
	const u8 modrm = *code++;
	u8 base = modrm & 7;

	insn->mod = modrm >> 6;
	insn->reg = (modrm >> 3 & 7) | rex->reg;
	insn->rm = base | rex->base;
	insn->base = SFRAME_INSN_NO_REG;
	if (insn->mod == SFRAME_MOD_REG)
		return code;
	if (base == SFRAME_RM_SIB) {
		insn->has_index = ((*code >> 3 & 7) | rex->index) != SFRAME_INSN_SP;
		base = *code++ & 7;
	} else if (base == SFRAME_RM_RIP && !insn->mod) {
		insn->rm = SFRAME_RM_RIP;
	}
	if (insn->mod || base != SFRAME_RM_RIP)
		insn->base = base | rex->base;
	if (insn->mod == 1) {
		insn->disp = (s8)*code;
		return code + 1;
	}
	if (insn->mod == 2 || insn->base == SFRAME_INSN_NO_REG) {
		memcpy(&insn->disp, code, sizeof(insn->disp));
		code += sizeof(insn->disp);
	}
	return code;
}

/* test is the only one of its group that has a constant. */
static inline bool sframe_is_test(const struct sframe_insn *insn)
{
	return insn->map == SFRAME_MAP_ONE_BYTE && (insn->opcode & 0xfe) == 0xf6 &&
	       (insn->reg & 6) == 0;
}

/* Bytes of the constant. */
static inline unsigned int sframe_insn_imm_bytes(const struct sframe_insn *insn)
{
	if (insn->op & SFRAME_OP_IMM8)
		return 1;
	if (!(insn->op & SFRAME_OP_IMM))
		return 0;
	/* Only mov has one of 64 bits. */
	if (insn->is_wide && (insn->op & SFRAME_OP_LOW))
		return 8;
	return insn->is_16 && !insn->is_wide ? 2 : 4;
}

/* AMD's XOP has the opcode of pop, and another ModRM.reg. No processor has it any more. */
static inline bool sframe_is_xop(const struct sframe_insn *insn)
{
	return insn->map == SFRAME_MAP_ONE_BYTE && insn->opcode == 0x8f && (insn->reg & 7);
}

/**
 * sframe_insn_decode() - decode an instruction
 * @insn: set if it returns true, else undefined
 * @at: the code; SFRAME_INSN_READ bytes are there
 *
 * Return: Whether the instruction is known.
 */
static inline bool sframe_insn_decode(struct sframe_insn *insn, const u8 *at)
{
	struct sframe_rex rex = {};
	unsigned int size;
	const u8 *code;

	*insn = (struct sframe_insn){};
	code = sframe_insn_prefixes(insn, &rex, at);
	code = sframe_insn_opcode(insn, &rex, code);
	if (insn->op & SFRAME_OP_MODRM) {
		code = sframe_insn_modrm(insn, &rex, code);
		if (sframe_is_test(insn))
			insn->op |= insn->opcode == 0xf6 ? SFRAME_OP_IMM8 : SFRAME_OP_IMM;
	}
	size = sframe_insn_imm_bytes(insn);
	if (size == 1)
		insn->imm = (s8)*code;
	else if (size >= 4)
		memcpy(&insn->imm, code, sizeof(insn->imm));
	insn->size = code + size - at;
	return (insn->op & SFRAME_OP_KNOWN) && insn->size <= SFRAME_INSN_MAX &&
	       !sframe_is_xop(insn);
}

/* Does the operation leave ModRM.rm as it is, though others with the same opcode write it? */
static inline bool sframe_insn_spares_rm(const struct sframe_insn *insn)
{
	const u8 which = insn->reg & 7;

	if (insn->map == SFRAME_MAP_0F)		/* movq between vectors */
		return insn->opcode == 0x7e && insn->prefix == 0xf3;
	if (insn->map != SFRAME_MAP_ONE_BYTE)
		return false;
	switch (insn->opcode) {
	case 0x80: case 0x81: case 0x83:	/* cmp */
		return which == 7;
	case 0xf6: case 0xf7:			/* test, mul, div */
		return which != 2 && which != 3;
	case 0xff:				/* call, jmp, push */
		return which >= 2;
	default:
		return false;
	}
}

/* Byte registers 4 to 7 are ah, ch, dh and bh without REX: parts of registers 0 to 3. */
static inline u32 sframe_insn_bit(const struct sframe_insn *insn, u8 reg)
{
	if ((insn->op & SFRAME_OP_BYTE) && !insn->has_rex && reg >= 4 && reg < 8)
		reg &= 3;
	return 1U << reg;
}

#define SFRAME_CPUID	0xa2	/* after 0f */

/**
 * sframe_insn_written() - the general registers that an instruction may write
 * @insn: from sframe_insn_decode()
 *
 * Not all that an instruction writes without naming it is in the set: the stack pointer is not, for
 * stack operations, the frame pointer for leave, nor are rax, rcx, rdx, rsi, rdi and r11.
 *
 * Return: A bit for each register.
 */
static inline u32 sframe_insn_written(const struct sframe_insn *insn)
{
	const u16 op = insn->op;
	u32 set = 0;

	if (op & SFRAME_OP_REG)
		set |= sframe_insn_bit(insn, insn->reg);
	if ((op & SFRAME_OP_RM) && insn->mod == SFRAME_MOD_REG && !sframe_insn_spares_rm(insn))
		set |= sframe_insn_bit(insn, insn->rm);
	if (op & SFRAME_OP_LOW)
		set |= sframe_insn_bit(insn, insn->low);
	/* mulx, blsr, cmpccxadd */
	if (insn->is_vex && insn->map == SFRAME_MAP_0F38 && insn->opcode >= 0xe0)
		set |= 1U << insn->vvvv;
	if (insn->map == SFRAME_MAP_0F && insn->opcode == SFRAME_CPUID)
		set |= 1U << SFRAME_INSN_RBX;
	return set;
}

/*
 * May the instruction store in memory? All count that do not load a general register, and xchg and
 * xadd, which do both. VEX and EVEX are left out: nobody stores a return address or a saved
 * register by them.
 */
static inline bool sframe_insn_stores(const struct sframe_insn *insn)
{
	return (insn->op & SFRAME_OP_MODRM) && insn->mod != SFRAME_MOD_REG && !insn->is_vex &&
	       ((insn->op & SFRAME_OP_RM) || !(insn->op & SFRAME_OP_REG));
}

#endif /* SFRAME_INSN_H */
