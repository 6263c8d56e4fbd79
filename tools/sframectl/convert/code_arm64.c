// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads instructions of AArch64 by their bits: a few fields say which registers an instruction
 * writes. What capstone says of that is wrong for instructions that it learned late, as ldadd, and
 * its older versions know neither those nor retaa. What may do harm to the stack is refused.
 */
#include "code_insn.h"

#define X16	16
#define X17	17
#define LR	30
#define SP	31

/* In the place of a register that is zero, or of the stack pointer */
#define R31	31

/* Conditions of b.cond: unsigned comparisons */
#define COND_HS	2
#define COND_LO	3
#define COND_HI	8
#define COND_LS	9

static u32 bits(u32 code, u32 low, u32 nr)
{
	return code >> low & ((1u << nr) - 1);
}

static s64 signed_bits(u32 code, u32 low, u32 nr)
{
	return (s32)(code << (32 - low - nr)) >> (32 - nr);
}

static u32 dst(u32 code)
{
	return bits(code, 0, 5);
}

static u32 base(u32 code)
{
	return bits(code, 5, 5);
}

static u32 third(u32 code)
{
	return bits(code, 16, 5);
}

static void add(struct code_insn *out, u8 how, u8 reg, u8 from, s64 arg)
{
	code_op_add(out, how, reg, from, 8, arg);
}

static void lose_or_sp(struct code_insn *out, u32 reg)
{
	add(out, CODE_LOSE, 0, 0, (s32)(1u << reg));
}

static void lose(struct code_insn *out, u32 reg)
{
	if (reg != R31)
		lose_or_sp(out, reg);
}

static void compare(struct code_insn *out, s64 with)
{
	add(out, CODE_COMPARE, 0, 0, with);
}

static void set(struct code_insn *out, u32 reg, u64 value)
{
	if (reg == R31)
		return;
	out->value = value;
	add(out, CODE_CONST, reg, 0, 0);
}

static void copy(struct code_insn *out, u32 to, u32 from, s64 off)
{
	add(out, CODE_COPY, to, from, off);
}

/* Some hints sign the return address, or find that its signature is right. */
static void hint(u32 number, struct code_insn *out)
{
	switch (number) {
	case 7:		/* xpaclri */
	case 24:	/* paciaz */
	case 26:
	case 28:	/* autiaz */
	case 30:
		lose(out, LR);
		break;
	case 8:		/* pacia1716 */
	case 10:
	case 12:	/* autia1716 */
	case 14:
		lose(out, X17);
		break;
	case 25:	/* paciasp, pacibsp */
	case 27:
		add(out, CODE_SIGN, LR, 0, 0);
		break;
	case 29:	/* autiasp, autibsp */
	case 31:
		add(out, CODE_AUTH, LR, 0, 0);
		break;
	case 40:	/* chkfeat */
		lose(out, X16);
		break;
	case 0:		/* nop */
	case 32:	/* bti */
	case 34:
	case 36:
	case 38:
		out->is_nop = true;
		break;
	}
}

static void system(u32 code, struct code_insn *out)
{
	if ((code & 0xfffff01f) == 0xd503201f)
		hint(bits(code, 5, 7), out);
	else if (bits(code, 22, 2))
		out->flow = CODE_ODD;
	else if (bits(code, 21, 1))
		lose(out, dst(code));
}

static void raise(u32 code, struct code_insn *out)
{
	switch (code & 0xffe0001f) {
	case 0xd4000001:
		out->flow = CODE_SYSCALL;
		return;
	case 0xd4200000:	/* brk */
	case 0xd4400000:	/* hlt */
		out->flow = CODE_STOP;
		return;
	default:
		out->flow = CODE_ODD;
	}
}

/* br, blr, ret, and these with a signature */
static void jump(u32 code, struct code_insn *out)
{
	u32 reg = base(code), kind = bits(code, 21, 3);
	bool is_signed = bits(code, 11, 1);

	if (third(code) != 0x1f || bits(code, 12, 4) || (!is_signed && bits(code, 10, 1)) ||
	    bits(code, 24, 1) > is_signed) {
		out->flow = CODE_ODD;
	} else if (kind == 1) {
		out->flow = CODE_CALL_ANY;
	} else if (kind == 2) {
		if (is_signed)
			add(out, CODE_AUTH, LR, 0, 0);
		else if (reg != LR)
			copy(out, LR, reg, 0);
		out->flow = (reg == R31) == is_signed ? CODE_RETURN : CODE_ODD;
	} else if (kind == 0 && reg != R31) {
		copy(out, CODE_TEMP, reg, 0);
		out->flow = reg == LR ? CODE_RETURN : CODE_JUMP_REG;
	} else {
		out->flow = CODE_ODD;
	}
}

static void branch(struct code_insn *out, s64 words)
{
	out->value = out->addr + 4 * words;
	out->flow = CODE_BRANCH;
}

/* What is known of the number of entries holds where the number is small enough. */
static void branch_if(u32 code, struct code_insn *out)
{
	u32 cond = bits(code, 0, 4);

	branch(out, signed_bits(code, 5, 19));
	if (cond == COND_HI || cond == COND_LS || cond == COND_HS || cond == COND_LO)
		add(out, CODE_ABOVE, 0, 0, cond == COND_HS || cond == COND_LO);
}

static void go(u32 code, struct code_insn *out)
{
	switch (code >> 24 & 0xfe) {
	case 0x14:
	case 0x16:
	case 0x94:
	case 0x96:
		branch(out, signed_bits(code, 0, 26));
		out->flow = code >> 31 ? CODE_CALL : CODE_JUMP;
		break;
	case 0x34:	/* cbz, cbnz */
	case 0xb4:
		branch(out, signed_bits(code, 5, 19));
		break;
	case 0x36:	/* tbz, tbnz */
	case 0xb6:
		branch(out, signed_bits(code, 5, 14));
		break;
	case 0x54:
		if (bits(code, 24, 1))
			out->flow = CODE_ODD;
		else
			branch_if(code, out);
		break;
	case 0xd4:
		if (bits(code, 24, 1))
			system(code, out);
		else
			raise(code, out);
		break;
	case 0xd6:
		jump(code, out);
		break;
	default:
		out->flow = CODE_ODD;
	}
}

/* A register, and the stack pointer, plus or minus a constant */
static void compute_sum(u32 code, struct code_insn *out)
{
	s64 imm = (s64)bits(code, 10, 12) << (bits(code, 22, 1) ? 12 : 0);
	bool is_minus = bits(code, 30, 1), sets_flags = bits(code, 29, 1);
	bool is_known = code >> 31 && !bits(code, 23, 1);

	if (sets_flags)
		compare(out, is_minus ? imm : -1);
	if (sets_flags && dst(code) == R31)
		return;
	if (is_known)
		copy(out, dst(code), base(code), is_minus ? -imm : imm);
	else
		lose_or_sp(out, dst(code));
}

/* and rounds down if the mask has ones from the highest bit on. */
static void compute_mask(u32 code, struct code_insn *out)
{
	u32 opcode = bits(code, 29, 2), ones = bits(code, 10, 6) + 1;

	if (code >> 31 && !opcode && bits(code, 22, 1) && bits(code, 16, 6) == ones &&
	    base(code) != R31) {
		copy(out, dst(code), base(code), 0);
		add(out, CODE_ALIGN, dst(code), 0, 0);
	} else if (opcode == 3) {
		compare(out, -1);
		lose(out, dst(code));
	} else {
		lose_or_sp(out, dst(code));
	}
}

static void set_wide(u32 code, struct code_insn *out)
{
	u64 value = (u64)bits(code, 5, 16) << 16 * bits(code, 21, 2);
	u32 opcode = bits(code, 29, 2);

	if (opcode & 1)
		lose(out, dst(code));
	else if (opcode)
		set(out, dst(code), value);
	else
		set(out, dst(code), code >> 31 ? ~value : (u32)~value);
}

static void compute_constant(u32 code, struct code_insn *out)
{
	s64 off = signed_bits(code, 5, 19) * 4 + bits(code, 29, 2);

	switch (bits(code, 23, 3)) {
	case 0:
	case 1:
		set(out, dst(code), code >> 31 ? (out->addr & ~0xfffull) + off * 0x1000 :
						 out->addr + off);
		break;
	case 2:
	case 3:
		compute_sum(code, out);
		break;
	case 4:
		compute_mask(code, out);
		break;
	case 5:
		set_wide(code, out);
		break;
	default:
		lose(out, dst(code));
	}
}

/* @bytes: so many bytes of the last operand are extended by their sign; 0: all are used */
static void add_sum(u32 code, struct code_insn *out, u32 shift, u32 bytes)
{
	copy(out, CODE_TEMP, third(code), 0);
	code_op_add(out, CODE_TARGET, CODE_TEMP, base(code),
		    shift | (bits(code, 30, 1) ? CODE_MINUS : 0), bytes);
	copy(out, dst(code), CODE_TEMP, 0);
}

static void compute_sums(u32 code, struct code_insn *out)
{
	bool is_extended = bits(code, 21, 1), sets_flags = bits(code, 29, 1);
	u32 option = bits(code, 13, 3), shift = bits(code, 10, is_extended ? 3 : 6);
	bool is_plain = code >> 31 && !sets_flags && third(code) != R31 && shift < 8;

	if (sets_flags) {
		compare(out, -1);
		lose(out, dst(code));
	} else if (is_extended && is_plain && option >= 3 && option < 7) {
		add_sum(code, out, shift, option == 3 ? 0 : 1 << (option - 4));
	} else if (is_extended) {
		lose_or_sp(out, dst(code));
	} else if (is_plain && !bits(code, 22, 2) && base(code) != R31 && dst(code) != R31) {
		add_sum(code, out, shift, 0);
	} else {
		lose(out, dst(code));
	}
}

static void compute_registers(u32 code, struct code_insn *out)
{
	switch (bits(code, 24, 5)) {
	case 0x0a:
		if ((code & 0x7fe0ffe0) == 0x2a0003e0 && third(code) == R31)
			set(out, dst(code), 0);
		else if ((code & 0xffe0ffe0) == 0xaa0003e0 && dst(code) != R31)
			copy(out, dst(code), third(code), 0);
		else
			lose(out, dst(code));
		if (bits(code, 29, 2) == 3)
			compare(out, -1);
		return;
	case 0x0b:
		compute_sums(code, out);
		return;
	case 0x1a:
		if ((code & 0x1fe00000) == 0x1a400000) {
			compare(out, -1);	/* ccmp */
			return;
		}
		if ((code & 0x3fe00000) == 0x3a000000)
			compare(out, -1);	/* adcs, rmif, setf8 */
		if ((code & 0xffffebff) == 0xdac103fe) {
			/* pacia x30, sp and the like */
			add(out, bits(code, 12, 1) ? CODE_AUTH : CODE_SIGN, LR, 0, 0);
			return;
		}
		break;
	}
	if ((code & 0xffe0fc00) == 0x9ac01000)
		lose_or_sp(out, dst(code));	/* irg */
	else
		lose(out, dst(code));
}

/* Instructions that move a vector register, or a number, to a general register */
static void compute_vectors(u32 code, struct code_insn *out)
{
	u32 opcode = bits(code, 16, 3);

	if ((code & 0x5f20fc00) == 0x1e200000 || (code & 0x5f200000) == 0x1e000000) {
		if (opcode != 2 && opcode != 3 && opcode != 7)
			lose(out, dst(code));
	} else if ((code & 0xbfe0ec00) == 0x0e002c00) {
		lose(out, dst(code));	/* smov, umov */
	} else if ((code & 0x5f20fc00) == 0x1e202000 || (code & 0x5f200c00) == 0x1e200400) {
		compare(out, -1);	/* fcmp, fccmp */
	}
}

/* Of the instructions of SVE, many write a general register. addvl writes the stack pointer. */
static void compute_scalable(u32 code, struct code_insn *out)
{
	if (code >> 31)
		return;
	if ((code & 0xff20f000) == 0x04205000)
		lose_or_sp(out, dst(code));
	else
		lose(out, dst(code));
	compare(out, -1);
}

static void store(struct code_insn *out, u32 code, s64 off, u32 size)
{
	code_op_add(out, CODE_STORE, CODE_TEMP, base(code), size, off);
}

/* The base of an address gets another value. */
static void move_base(struct code_insn *out, u32 code, s64 off)
{
	copy(out, base(code), base(code), off);
}

/* ldr and str of one register */
static void move_one(u32 code, struct code_insn *out, s64 off)
{
	u32 size = bits(code, 30, 2), opcode = bits(code, 22, 2), reg = dst(code);

	if (bits(code, 26, 1)) {
		if (!(opcode & 1))
			store(out, code, off, opcode & 2 ? 16 : 1 << size);
	} else if (!opcode) {
		code_op_add(out, CODE_STORE, size == 3 && reg != R31 ? reg : CODE_TEMP,
			    base(code), 1 << size, off);
	} else if (size == 3 && opcode == 1 && reg != R31) {
		add(out, CODE_LOAD, reg, base(code), off);
	} else if (size < 3 || opcode != 2) {
		lose(out, reg);		/* else prfm */
	}
}

/* A register may not be loaded and be the base of an address that changes. */
static bool is_odd(u32 code, u32 reg)
{
	return !bits(code, 26, 1) && reg == base(code) && reg != R31;
}

static void move_any(u32 code, struct code_insn *out)
{
	s64 off = signed_bits(code, 12, 9);
	u32 kind = bits(code, 10, 2);

	if (kind & 1 && is_odd(code, dst(code))) {
		out->flow = CODE_ODD;
		return;
	}
	move_one(code, out, kind == 1 ? 0 : off);
	if (kind & 1)
		move_base(out, code, off);
}

/* An entry of a table of places to jump to, or anything else with two registers in its address */
static void move_indexed(u32 code, struct code_insn *out)
{
	u32 size = bits(code, 30, 2), opcode = bits(code, 22, 2);
	bool is_scaled = bits(code, 12, 1) || !size;

	if (bits(code, 26, 1) || !opcode || (size == 3 && opcode == 2))
		return;
	if (dst(code) == R31)
		return;
	if (!is_scaled || base(code) == R31 || opcode == 3)
		lose(out, dst(code));
	else
		code_op_add(out, CODE_ENTRY, dst(code), base(code), size == 3 ?
			    8 | CODE_ABSOLUTE : 1 << size | (opcode == 1 ? CODE_UNSIGNED : 0), 0);
}

/* ldadd and the like; ldraa */
static void move_atomic(u32 code, struct code_insn *out)
{
	bool is_signed = bits(code, 10, 1);

	/* ld64b and the like */
	if (!is_signed && code >> 30 == 3 && !bits(code, 22, 2) && bits(code, 15, 1) &&
	    bits(code, 12, 3)) {
		out->flow = CODE_ODD;
		return;
	}
	if (is_signed && bits(code, 11, 1))
		lose_or_sp(out, base(code));
	if (!is_signed)
		store(out, code, 0, 8);
	if (!bits(code, 26, 1))
		lose(out, dst(code));
}

/* Of two loads, that of the base comes last. */
static void load_pair(u32 code, struct code_insn *out, s64 off)
{
	u32 one = dst(code), two = bits(code, 10, 5);

	if (one == base(code) && two != R31)
		add(out, CODE_LOAD, two, base(code), off + 8);
	if (one != R31)
		add(out, CODE_LOAD, one, base(code), off);
	if (one != base(code) && two != R31)
		add(out, CODE_LOAD, two, base(code), off + 8);
}

static void move_pair(u32 code, struct code_insn *out)
{
	u32 kind = bits(code, 23, 2), opcode = bits(code, 30, 2), one = dst(code);
	bool is_load = bits(code, 22, 1), is_vector = bits(code, 26, 1);
	bool is_tagged = opcode == 1 && !is_load && !is_vector;
	u32 two = bits(code, 10, 5);
	u32 size = is_vector ? 4 << opcode : is_tagged ? 16 : opcode == 2 ? 8 : 4;
	s64 off = signed_bits(code, 15, 7) * size, at = kind == 1 ? 0 : off;

	if (opcode == 3 || (kind & 1 && (is_odd(code, one) || is_odd(code, two))) ||
	    (is_load && !is_vector && one == two)) {
		out->flow = CODE_ODD;
		return;
	}
	if (is_vector || (!is_load && opcode < 2)) {
		if (!is_load)
			store(out, code, at, 2 * size);
	} else if (!is_load) {
		add(out, CODE_STORE, one == R31 ? CODE_TEMP : one, base(code), at);
		add(out, CODE_STORE, two == R31 ? CODE_TEMP : two, base(code), at + 8);
	} else if (opcode == 2) {
		load_pair(code, out, at);
	} else {
		lose(out, one);
		lose(out, two);
	}
	if (kind & 1)
		move_base(out, code, off);
}

/* ld1 to ld4, and st1 to st4. The address may go on by the bytes of all registers. */
static void move_structures(u32 code, struct code_insn *out)
{
	static const u8 numbers[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2,
	};
	u32 size = numbers[bits(code, 12, 4)] * (bits(code, 30, 1) ? 16 : 8);
	bool is_single = bits(code, 24, 1);

	if (code >> 31 || (!is_single && !size)) {
		out->flow = CODE_ODD;
		return;
	}
	if (!bits(code, 22, 1))
		store(out, code, 0, is_single ? 32 : size);
	if (!bits(code, 23, 1))
		return;
	if (!is_single && third(code) == 31)
		move_base(out, code, size);
	else
		lose_or_sp(out, base(code));
}

/* ldxr, stxr, ldar, stlr, cas, casp */
static void move_exclusive(u32 code, struct code_insn *out)
{
	u32 status = third(code);

	if (bits(code, 24, 1)) {
		out->flow = CODE_ODD;
		return;
	}
	store(out, code, 0, 16);
	lose(out, dst(code));
	lose(out, bits(code, 10, 5));
	/* casp writes two registers, an even one and the next. */
	if (status != R31)
		add(out, CODE_LOSE, 0, 0, (s32)((3u << (status & ~1u)) & ~(1u << SP)));
}

/* Tags of memory; copies of memory; loads and stores with an order */
static void move_new(u32 code, struct code_insn *out)
{
	u32 kind = bits(code, 10, 2);

	if (bits(code, 21, 1)) {
		if (code >> 30 != 3 || bits(code, 26, 1)) {
			out->flow = CODE_ODD;
			return;
		}
		if (!kind)
			lose(out, dst(code));
		else
			store(out, code, kind == 1 ? 0 : signed_bits(code, 12, 9) * 16, 32);
		if (kind & 1)
			move_base(out, code, signed_bits(code, 12, 9) * 16);
	} else if (kind == 1 && !bits(code, 26, 1)) {
		code_op_add(out, CODE_STORE, CODE_TEMP, dst(code), 0, 0);
		lose(out, dst(code));
		lose(out, base(code));
		lose(out, third(code));
	} else if (!kind && !bits(code, 26, 1)) {
		move_one(code, out, signed_bits(code, 12, 9));
	} else {
		out->flow = CODE_ODD;
	}
}

static void move(u32 code, struct code_insn *out)
{
	switch (bits(code, 28, 2)) {
	case 0:
		if (bits(code, 26, 1))
			move_structures(code, out);
		else
			move_exclusive(code, out);
		return;
	case 1:
		if (bits(code, 24, 1))
			move_new(code, out);
		else if (!bits(code, 26, 1) && code >> 30 != 3)
			lose(out, dst(code));	/* ldr of a constant */
		return;
	case 2:
		move_pair(code, out);
		return;
	}
	if (bits(code, 24, 1))
		move_one(code, out, (s64)bits(code, 10, 12) <<
			 (bits(code, 26, 1) && bits(code, 23, 1) ? 4 : bits(code, 30, 2)));
	else if (!bits(code, 21, 1))
		move_any(code, out);
	else if (bits(code, 10, 2) == 2)
		move_indexed(code, out);
	else
		move_atomic(code, out);
}

void code_arm64_decode(const u8 *bytes, struct code_insn *insn)
{
	u32 code;

	memcpy(&code, bytes, sizeof(code));
	insn->size = 4;
	switch (bits(code, 25, 4)) {
	case 0:
		/* udf; SME */
		if (!(code >> 31))
			insn->flow = code >> 16 ? CODE_ODD : CODE_STOP;
		return;
	case 2:
		compute_scalable(code, insn);
		return;
	case 4:
	case 6:
	case 12:
	case 14:
		move(code, insn);
		return;
	case 5:
	case 13:
		compute_registers(code, insn);
		return;
	case 7:
	case 15:
		compute_vectors(code, insn);
		return;
	case 8:
	case 9:
		compute_constant(code, insn);
		return;
	case 10:
	case 11:
		go(code, insn);
		return;
	default:
		insn->flow = CODE_ODD;
	}
}
