// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes instructions of x86_64. What compilers do not write is unknown. */
#include "x86_insn.h"

#define OP_M		(OP_KNOWN | OP_MODRM)
#define OP_M8		(OP_M | OP_IMM8)
#define OP_MI		(OP_M | OP_IMM)
#define OP_I8		(OP_KNOWN | OP_IMM8)
#define OP_I		(OP_KNOWN | OP_IMM)

/* The opcodes of one byte. */
static const u8 one_byte_ops[256] = {
	/* add, or, adc, sbb, and, sub, xor, cmp: four with ModRM, two with a constant */
	[0x00 ... 0x03] = OP_M, [0x04] = OP_I8, [0x05] = OP_I,
	[0x08 ... 0x0b] = OP_M, [0x0c] = OP_I8, [0x0d] = OP_I,
	[0x10 ... 0x13] = OP_M, [0x14] = OP_I8, [0x15] = OP_I,
	[0x18 ... 0x1b] = OP_M, [0x1c] = OP_I8, [0x1d] = OP_I,
	[0x20 ... 0x23] = OP_M, [0x24] = OP_I8, [0x25] = OP_I,
	[0x28 ... 0x2b] = OP_M, [0x2c] = OP_I8, [0x2d] = OP_I,
	[0x30 ... 0x33] = OP_M, [0x34] = OP_I8, [0x35] = OP_I,
	[0x38 ... 0x3b] = OP_M, [0x3c] = OP_I8, [0x3d] = OP_I,
	[0x0f] = OP_ESCAPE,
	[0x26] = OP_PREFIX, [0x2e] = OP_PREFIX, [0x36] = OP_PREFIX, [0x3e] = OP_PREFIX,
	[0x40 ... 0x4f] = OP_PREFIX,		/* REX */
	[0x50 ... 0x5f] = OP_KNOWN,		/* push, pop */
	[0x62] = OP_ESCAPE,			/* EVEX */
	[0x63] = OP_M,				/* movslq */
	[0x64 ... 0x67] = OP_PREFIX,		/* of a segment, of sizes */
	[0x68] = OP_I, [0x6a] = OP_I8,		/* push */
	[0x69] = OP_MI, [0x6b] = OP_M8,		/* imul */
	[0x70 ... 0x7f] = OP_I8,		/* jcc */
	[0x80] = OP_M8, [0x81] = OP_MI, [0x83] = OP_M8,
	[0x84 ... 0x8b] = OP_M,			/* test, xchg, mov */
	[0x8d] = OP_M, [0x8f] = OP_M,		/* lea, pop */
	[0x90 ... 0x99] = OP_KNOWN,		/* nop, xchg, cltq, cqto */
	[0x9b ... 0x9f] = OP_KNOWN,		/* fwait, pushf, popf, sahf, lahf */
	[0xa4 ... 0xa7] = OP_KNOWN, [0xa8] = OP_I8, [0xa9] = OP_I,
	[0xaa ... 0xaf] = OP_KNOWN,		/* stos, lods, scas */
	[0xb0 ... 0xb7] = OP_I8,		/* mov */
	[0xb8 ... 0xbf] = OP_I | OP_IMM64,
	[0xc0 ... 0xc1] = OP_M8,		/* shifts */
	[0xc3] = OP_KNOWN,			/* ret */
	[0xc4 ... 0xc5] = OP_ESCAPE,		/* VEX */
	[0xc6] = OP_M8, [0xc7] = OP_MI,		/* mov */
	[0xc9] = OP_KNOWN, [0xcc] = OP_KNOWN,	/* leave, int3 */
	[0xd0 ... 0xd3] = OP_M,			/* shifts */
	[0xd8 ... 0xdf] = OP_M,			/* x87 */
	[0xe0 ... 0xe3] = OP_I8,		/* loop, jrcxz */
	[0xe8 ... 0xe9] = OP_I, [0xeb] = OP_I8,	/* call, jmp */
	[0xf0] = OP_PREFIX, [0xf2 ... 0xf3] = OP_PREFIX,
	[0xf4 ... 0xf5] = OP_KNOWN,		/* hlt, cmc */
	[0xf6 ... 0xf7] = OP_M,			/* test, not, neg, mul, div */
	[0xf8 ... 0xf9] = OP_KNOWN, [0xfc ... 0xfd] = OP_KNOWN,
	[0xfe ... 0xff] = OP_M,			/* inc to push */
};

/* The opcodes after 0f. */
static const u8 two_byte_ops[256] = {
	[0x01] = OP_M, [0x05] = OP_KNOWN, [0x0b] = OP_KNOWN, [0x0d] = OP_M,
	[0x10 ... 0x1f] = OP_M,			/* moves, nops */
	[0x28 ... 0x2f] = OP_M,
	[0x31] = OP_KNOWN,			/* rdtsc */
	[0x40 ... 0x6f] = OP_M,
	[0x70 ... 0x73] = OP_M8,
	[0x74 ... 0x76] = OP_M,
	[0x77] = OP_KNOWN,			/* emms, vzeroupper */
	[0x78 ... 0x7f] = OP_M,
	[0x80 ... 0x8f] = OP_I,			/* jcc */
	[0x90 ... 0x9f] = OP_M,			/* setcc */
	[0xa2] = OP_KNOWN, [0xa3] = OP_M,	/* cpuid, bt */
	[0xa4] = OP_M8, [0xa5] = OP_M, [0xab] = OP_M, [0xac] = OP_M8,
	[0xad ... 0xb1] = OP_M, [0xb3] = OP_M, [0xb6 ... 0xb8] = OP_M,
	[0xba] = OP_M8, [0xbb ... 0xc1] = OP_M,
	[0xc2] = OP_M8, [0xc3] = OP_M, [0xc4 ... 0xc6] = OP_M8, [0xc7] = OP_M,
	[0xc8 ... 0xcf] = OP_KNOWN,		/* bswap */
	[0xd0 ... 0xff] = OP_M,			/* up to ud0 */
};

/* The bits of the prefix that extends the numbers of registers. */
struct rex {
	u8	reg;
	u8	base;
};

/* Decodes the prefixes up to REX, which is the last one. Returns what follows them. */
static const u8 *decode_prefixes(struct x86_insn *insn, struct rex *rex, const u8 *code)
{
	const u8 *const end = code + X86_INSN_MAX;

	for (; code < end && (one_byte_ops[*code] & OP_PREFIX); code++) {
		insn->is_16 |= *code == 0x66;
		if ((*code & 0xf0) == 0x40) {
			insn->is_wide = *code & 8;
			rex->reg = (*code & 4) << 1;
			rex->base = (*code & 1) << 3;
			return code + 1;
		}
	}
	return code;
}

/* VEX and EVEX: instructions of vectors, or without effect on the stack. Returns the opcode. */
static const u8 *decode_vex(struct x86_insn *insn, const u8 *code)
{
	if (*code == 0xc5) {
		insn->map = 1;
		return code + 2;
	}
	insn->map = code[1] & (*code == 0x62 ? 7 : 31);
	return code + (*code == 0xc4 ? 3 : 4);
}

static u8 escaped_op(const struct x86_insn *insn, bool is_vex)
{
	switch (insn->map) {
	case 1:
		/* k registers */
		if (is_vex && ((insn->opcode & 0xf0) == 0x90 || (insn->opcode & 0xf0) == 0x40))
			return OP_M;
		return two_byte_ops[insn->opcode];
	case 2: case 6:
		return OP_M;
	case 3:
		return OP_M8;
	case 5:
		return two_byte_ops[insn->opcode] & ~(OP_IMM8 | OP_IMM);
	default:
		return 0;
	}
}

static const u8 *decode_opcode(struct x86_insn *insn, const u8 *code)
{
	bool is_vex = *code != 0x0f;

	insn->op = one_byte_ops[*code];
	if (!(insn->op & OP_ESCAPE)) {
		insn->opcode = *code++;
		return code;
	}
	if (is_vex) {
		code = decode_vex(insn, code);
	} else {
		insn->map = 1;
		code++;
		if (*code == 0x38 || *code == 0x3a)
			insn->map = *code++ == 0x38 ? 2 : 3;
	}
	insn->opcode = *code++;
	insn->op = escaped_op(insn, is_vex);
	/* No general instruction looks like one of vectors. */
	if (is_vex)
		insn->map |= 0x80;
	return code;
}

/* Decodes ModRM, SIB and displacement. Returns what follows. */
static const u8 *decode_modrm(struct x86_insn *insn, const struct rex *rex, const u8 *code)
{
	const u8 modrm = *code++;
	u8 base = modrm & 7;

	insn->mod = modrm >> 6;
	insn->reg = (modrm >> 3 & 7) | rex->reg;
	insn->rm = base | rex->base;
	if (insn->mod == 3)
		return code;
	if (base == X86_SP) {
		insn->is_sp = *code == 0x24 && !rex->base;	/* without index */
		base = *code++ & 7;
	}
	if (insn->mod == 1) {
		insn->disp = (s8)*code;
		return code + 1;
	}
	if (insn->mod == 2 || base == X86_FP) {
		memcpy(&insn->disp, code, sizeof(insn->disp));
		code += sizeof(insn->disp);
	}
	return code;
}

/* Bytes of the constant. */
static u32 count_imm(const struct x86_insn *insn)
{
	if (insn->op & OP_IMM8)
		return 1;
	if (!(insn->op & OP_IMM))
		return 0;
	if (insn->is_wide && (insn->op & OP_IMM64))
		return 8;
	return insn->is_16 && !insn->is_wide ? 2 : 4;
}

/**
 * x86_insn_decode - decode an instruction
 * @insn: filled in
 * @code: its bytes; X86_INSN_READ bytes are there
 *
 * Return: true if it is known.
 */
bool x86_insn_decode(struct x86_insn *insn, const u8 *code)
{
	const u8 *at = code;
	struct rex rex = {};
	u32 size;

	*insn = (struct x86_insn){};
	at = decode_opcode(insn, decode_prefixes(insn, &rex, at));
	insn->rm = (insn->opcode & 7) | rex.base;
	if (insn->op & OP_MODRM) {
		at = decode_modrm(insn, &rex, at);
		/* test is the only one of its group that has a constant. */
		if (!insn->map && (insn->opcode & 0xfe) == 0xf6 && !(insn->reg & 6))
			insn->op |= insn->opcode == 0xf6 ? OP_IMM8 : OP_IMM;
	}
	size = count_imm(insn);
	if (size == 1)
		insn->imm = (s8)*at;
	else if (size >= 4)
		memcpy(&insn->imm, at, sizeof(insn->imm));
	insn->size = at + size - code;
	return (insn->op & OP_KNOWN) && insn->size <= X86_INSN_MAX;
}
