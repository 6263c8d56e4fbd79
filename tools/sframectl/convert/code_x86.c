// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads instructions of x86_64, by capstone. What may do harm to the stack is refused. */
#include <capstone/capstone.h>

#include "code_insn.h"

#define RAX	0
#define RBP	6
#define RSP	7

/* The longest instruction */
#define INSN_MAX	15

/* A register of the library: its DWARF number + 1, and whether it has 64 bits. */
static u8 numbers[X86_REG_ENDING];
static bool are_whole[X86_REG_ENDING];

static void name_registers(void)
{
	static const u16 names[][4] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};
	static const u16 high[] = { X86_REG_AH, X86_REG_DH, X86_REG_CH, X86_REG_BH };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		for (k = 0; k < 4; k++)
			numbers[names[i][k]] = i + 1;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		are_whole[names[i][0]] = true;
	for (i = 0; i < ARRAY_SIZE(high); i++)
		numbers[high[i]] = i + 1;
}

bool code_x86_open(struct code_decoder *decoder)
{
	csh handle;

	name_registers();
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return false;
	decoder->handle = handle;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->insn = cs_malloc(handle);
	return decoder->insn;
}

void code_x86_close(struct code_decoder *decoder)
{
	csh handle = decoder->handle;

	if (decoder->insn)
		cs_free(decoder->insn, 1);
	if (handle)
		cs_close(&handle);
}

static bool is_whole(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && are_whole[op->reg];
}

static u8 number(const cs_x86_op *op)
{
	return numbers[op->reg] - 1;
}

/* Memory of the stack has no segment. */
static bool is_plain_mem(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->mem.segment != X86_REG_FS &&
	       op->mem.segment != X86_REG_GS;
}

static bool is_based(const cs_x86_op *op)
{
	return is_plain_mem(op) && are_whole[op->mem.base] && !op->mem.index;
}

static void add(struct code_insn *out, u8 how, u8 reg, u8 base, s64 arg)
{
	code_op_add(out, how, reg, base, 8, arg);
}

static void lose(struct code_insn *out, u32 regs)
{
	if (regs)
		add(out, CODE_LOSE, 0, 0, (s32)regs);
}

static void store(struct code_insn *out, const cs_x86_op *op, u8 reg)
{
	if (is_based(op))
		code_op_add(out, CODE_STORE, reg, numbers[op->mem.base] - 1, op->size,
			    op->mem.disp);
}

/* Registers and memory that the instruction may write */
static void add_writes(const struct code_decoder *decoder, const cs_insn *insn,
		       struct code_insn *out)
{
	const cs_x86 *x86 = &insn->detail->x86;
	cs_regs read, written;
	u8 nr_read, nr_written;
	u32 i, regs = 0;

	if (cs_regs_access(decoder->handle, insn, read, &nr_read, written, &nr_written)) {
		out->flow = CODE_ODD;
		return;
	}
	for (i = 0; i < nr_written; i++)
		if (numbers[written[i]])
			regs |= 1u << (numbers[written[i]] - 1);
	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		bool is_written = !i || op->access & CS_AC_WRITE || insn->id == X86_INS_XADD ||
			insn->id == X86_INS_XCHG || insn->id == X86_INS_MULX;

		if (is_written && op->type == X86_OP_REG && numbers[op->reg])
			regs |= 1u << number(op);
		else if (is_written)
			store(out, op, CODE_TEMP);
	}
	lose(out, regs);
}

/* Return: whether the instruction reads an entry of a table of places. */
static bool add_entry(const cs_x86_op *op, u8 reg, u8 size, struct code_insn *out)
{
	u8 form = size == 8 ? 8 | CODE_ABSOLUTE : size;

	if (!is_plain_mem(op) || !op->mem.index || op->mem.scale != size)
		return false;
	if (!op->mem.base && op->mem.disp > 0) {
		out->value = op->mem.disp;
		add(out, CODE_CONST, CODE_TEMP, 0, 0);
		code_op_add(out, CODE_ENTRY, reg, CODE_TEMP, form, 0);
		return true;
	}
	if (!are_whole[op->mem.base])
		return false;
	code_op_add(out, CODE_ENTRY, reg, numbers[op->mem.base] - 1, form, op->mem.disp);
	return true;
}

/* Return: false if add_writes() says what it does. */
static bool move(const cs_x86 *x86, struct code_insn *out)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	if (is_based(to) && is_whole(from)) {
		store(out, to, number(from));
		return true;
	}
	if (to->type != X86_OP_REG || !numbers[to->reg])
		return false;
	/* The number of a system call may be set so. */
	if (from->type == X86_OP_IMM && from->imm >= 0 && (to->size >= 4 || number(to) == RAX)) {
		out->value = from->imm;
		add(out, CODE_CONST, number(to), 0, 0);
		return true;
	}
	if (!is_whole(to))
		return false;
	if (is_whole(from))
		add(out, CODE_COPY, number(to), number(from), 0);
	else if (is_based(from))
		add(out, CODE_LOAD, number(to), numbers[from->mem.base] - 1, from->mem.disp);
	else
		return add_entry(from, number(to), 8, out);
	return true;
}

static bool load_address(const cs_x86 *x86, struct code_insn *out)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];

	if (!is_whole(to) || from->mem.index)
		return false;
	if (from->mem.base == X86_REG_RIP) {
		out->value = out->addr + out->size + from->mem.disp;
		add(out, CODE_CONST, number(to), 0, 0);
		return true;
	}
	if (!are_whole[from->mem.base])
		return false;
	add(out, CODE_COPY, number(to), numbers[from->mem.base] - 1, from->mem.disp);
	return true;
}

static bool compute(unsigned int id, const cs_x86 *x86, struct code_insn *out)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	bool is_imm = x86->op_count == 2 && from->type == X86_OP_IMM;

	if (id == X86_INS_XOR && to->type == X86_OP_REG && from->type == X86_OP_REG &&
	    to->reg == from->reg && to->size >= 4 && numbers[to->reg]) {
		out->value = 0;
		add(out, CODE_CONST, number(to), 0, 0);
		return true;
	}
	if (!is_whole(to))
		return false;
	switch (id) {
	case X86_INS_ADD:
		if (is_imm)
			add(out, CODE_COPY, number(to), number(to), from->imm);
		else if (is_whole(from))
			code_op_add(out, CODE_TARGET, number(to), number(from), 0, 0);
		else
			return false;
		return true;
	case X86_INS_SUB:
		if (is_imm)
			add(out, CODE_COPY, number(to), number(to), -from->imm);
		return is_imm;
	case X86_INS_INC:
	case X86_INS_DEC:
		add(out, CODE_COPY, number(to), number(to), id == X86_INS_INC ? 1 : -1);
		return true;
	case X86_INS_AND:
		if (is_imm && from->imm < 0)
			add(out, CODE_ALIGN, number(to), 0, 0);
		return is_imm && from->imm < 0;
	default:
		return false;
	}
}

static bool push_or_pop(const cs_insn *insn, struct code_insn *out)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = &x86->operands[0];
	bool is_flags = insn->id == X86_INS_PUSHFQ || insn->id == X86_INS_POPFQ;

	/* It moves the stack pointer by two bytes. No compiler makes such a thing. */
	if (x86->prefix[2] == 0x66 || (!is_flags && op->type == X86_OP_REG && !is_whole(op))) {
		out->flow = CODE_ODD;
		return true;
	}
	if (insn->id == X86_INS_PUSH || insn->id == X86_INS_PUSHFQ) {
		add(out, CODE_STORE, !is_flags && is_whole(op) ? number(op) : CODE_TEMP, RSP, -8);
		add(out, CODE_COPY, RSP, RSP, -8);
		return true;
	}
	if (!is_flags && is_whole(op)) {
		add(out, CODE_LOAD, number(op), RSP, 0);
		if (number(op) == RSP)
			return true;
	}
	add(out, CODE_COPY, RSP, RSP, 8);
	if (!is_flags)
		store(out, op, CODE_TEMP);
	return true;
}

/* Return: false if it is an instruction like all others. */
static bool leave_or_compare(const cs_insn *insn, struct code_insn *out)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *ops = x86->operands;

	switch (insn->id) {
	case X86_INS_LEAVE:
		add(out, CODE_COPY, RSP, RBP, 0);
		add(out, CODE_LOAD, RBP, RSP, 0);
		add(out, CODE_COPY, RSP, RSP, 8);
		if (x86->prefix[2] == 0x66)
			out->flow = CODE_ODD;
		return true;
	case X86_INS_CMP:
		add(out, CODE_COMPARE, 0, 0, ops[1].type == X86_OP_IMM && ops[1].imm >= 0 &&
		    ops[1].imm < INT32_MAX ? ops[1].imm : -1);
		return true;
	case X86_INS_TEST:
	case X86_INS_BT:
		return true;
	case X86_INS_NOP:
	case X86_INS_ENDBR64:
		out->is_nop = true;
		return true;
	case X86_INS_XCHG:
		if (!is_whole(&ops[0]) || !is_whole(&ops[1]))
			return false;
		add(out, CODE_SWAP, number(&ops[0]), number(&ops[1]), 0);
		return true;
	case X86_INS_MOVSXD:
		return is_whole(&ops[0]) && add_entry(&ops[1], number(&ops[0]), 4, out);
	default:
		return false;
	}
}

static bool compute_any(const cs_insn *insn, struct code_insn *out)
{
	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_POP:
	case X86_INS_PUSHFQ:
	case X86_INS_POPFQ:
		return push_or_pop(insn, out);
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		return move(&insn->detail->x86, out);
	case X86_INS_LEA:
		return load_address(&insn->detail->x86, out);
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_INC:
	case X86_INS_DEC:
	case X86_INS_AND:
	case X86_INS_XOR:
		return compute(insn->id, &insn->detail->x86, out);
	default:
		return leave_or_compare(insn, out);
	}
}

static void jump(const cs_x86_op *op, struct code_insn *out)
{
	out->flow = CODE_JUMP_REG;
	if (is_whole(op))
		add(out, CODE_COPY, CODE_TEMP, number(op), 0);
	else if (!add_entry(op, CODE_TEMP, 8, out))
		add(out, CODE_LOAD, CODE_TEMP, CODE_TEMP, 0);
}

/* Return: false if the processor goes on at the next instruction. */
static bool go(const struct code_decoder *decoder, const cs_insn *insn, struct code_insn *out)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = &x86->operands[0];
	bool is_direct = x86->op_count == 1 && op->type == X86_OP_IMM;

	if (is_direct)
		out->value = op->imm;
	switch (insn->id) {
	case X86_INS_CALL:
		out->flow = is_direct ? CODE_CALL : CODE_CALL_ANY;
		return true;
	case X86_INS_JMP:
		if (is_direct)
			out->flow = CODE_JUMP;
		else
			jump(op, out);
		return true;
	case X86_INS_RET:
		out->flow = x86->op_count ? CODE_ODD : CODE_RETURN;
		return true;
	case X86_INS_SYSCALL:
		out->flow = CODE_SYSCALL;
		return true;
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_INT3:
	case X86_INS_HLT:
		out->flow = CODE_STOP;
		return true;
	case X86_INS_ENTER:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_LJMP:
	case X86_INS_LCALL:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
		out->flow = CODE_ODD;
		return true;
	case X86_INS_JA:
	case X86_INS_JAE:
		add(out, CODE_ABOVE, 0, 0, insn->id == X86_INS_JAE);
		out->flow = CODE_BRANCH;
		return true;
	default:
		if (cs_insn_group(decoder->handle, insn, X86_GRP_PRIVILEGE) ||
		    cs_insn_group(decoder->handle, insn, X86_GRP_IRET))
			out->flow = CODE_ODD;
		else if (cs_insn_group(decoder->handle, insn, X86_GRP_BRANCH_RELATIVE))
			out->flow = CODE_BRANCH;
		return out->flow != CODE_NEXT;
	}
}

/* Bytes of the address of an operand in memory */
static u32 displacement(u8 modrm, u8 sib)
{
	switch (modrm >> 6) {
	case 0:
		return (modrm & 7) == 5 || ((modrm & 7) == 4 && (sib & 7) == 5) ? 4 : 0;
	case 1:
		return 1;
	default:
		return 4;
	}
}

static bool is_in(u8 byte, const char *set)
{
	return byte && strchr(set, byte);
}

/*
 * A vector instruction that the library is too old for: its form says how long it is. It may write
 * a general register, and the memory of the stack; then it is refused if it is not known which.
 */
static void decode_vector(const u8 *bytes, u64 left, struct code_insn *out)
{
	u32 prefix = *bytes == 0x62 ? 4 : *bytes == 0xc4 ? 3 : *bytes == 0xc5 ? 2 : 0;
	u32 map, pos = prefix + 2;
	u8 op, modrm, sib;

	if (!prefix || left < INSN_MAX)
		return;
	map = prefix == 2 ? 1 : bytes[1] & (prefix == 4 ? 7 : 31);
	if (map == 4 || !map || map > 6)
		return;
	op = bytes[prefix];
	modrm = bytes[prefix + 1];
	sib = bytes[prefix + 2];
	/* General registers have instructions of their own in the second map. */
	if (map == 2 && prefix < 4 && op >= 0xf0)
		return;
	if (modrm >> 6 != 3) {
		/* A store to the stack */
		if ((map == 1 || map > 3 ? is_in(op, "\x11\x13\x17\x29\x2b\x7e\x7f\xd6\xe7\x91") :
		     map == 2 ? is_in(op, "\x2e\x2f\x63\x8a\x8b\x8e") || op >= 0xa0 :
				is_in(op, "\x14\x15\x16\x17\x19\x1b\x1d\x39\x3b")) &&
		    is_in(((modrm & 7) == 4 ? sib : modrm) & 7, "\4\5"))
			return;
		pos += ((modrm & 7) == 4) + displacement(modrm, sib);
	}
	if (map == 3 || (map == 1 && is_in(op, "\x70\x71\x72\x73\xc2\xc4\xc5\xc6")))
		pos++;
	if (map != 2 && is_in(op, "\x2c\x2d\x50\x78\x79\x93\xc5\xd7"))
		lose(out, 1u << ((modrm >> 3 & 7) | (bytes[1] & 0x80 ? 0 : 8)));
	if (modrm >> 6 == 3 && is_in(op, map == 3 ? "\x14\x15\x16\x17" : "\x7e"))
		lose(out, (1u << (modrm & 7)) | (1u << ((modrm & 7) | 8)));
	out->size = pos;
	out->flow = CODE_NEXT;
}

/* prefetch of 3DNow! has an operand in memory, and does nothing. */
static void decode_prefetch(const u8 *bytes, u64 left, struct code_insn *out)
{
	u32 rex = (*bytes & 0xf0) == 0x40;

	if (left < INSN_MAX || bytes[rex] != 0x0f || bytes[rex + 1] != 0x0d ||
	    bytes[rex + 2] >> 6 == 3)
		return;
	out->size = rex + 3 + ((bytes[rex + 2] & 7) == 4) +
		    displacement(bytes[rex + 2], bytes[rex + 3]);
	out->flow = CODE_NEXT;
}

void code_x86_decode(const struct code_decoder *decoder, const u8 *bytes, u64 left,
		     struct code_insn *out)
{
	cs_insn *insn = decoder->insn;
	u64 addr = out->addr;
	size_t len = left < INSN_MAX ? left : INSN_MAX;
	const u8 *pos = bytes;

	if (!cs_disasm_iter(decoder->handle, &pos, &len, &addr, insn)) {
		out->flow = CODE_ODD;
		decode_vector(bytes, left, out);
		decode_prefetch(bytes, left, out);
		return;
	}
	out->size = insn->size;
	if (go(decoder, insn, out)) {
		/* Processors disagree about a jump of 16 bits. */
		if (out->flow <= CODE_CALL && insn->detail->x86.prefix[2] == 0x66 &&
		    !(insn->detail->x86.rex & 8))
			out->flow = CODE_ODD;
		if (out->flow == CODE_SYSCALL || out->flow == CODE_BRANCH)
			add_writes(decoder, insn, out);
		return;
	}
	if (!compute_any(insn, out))
		add_writes(decoder, insn, out);
}
