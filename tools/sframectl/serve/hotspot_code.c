// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the code of a method that HotSpot has compiled, on x86_64: how far the stack pointer
 * is from the return address at each instruction.
 *
 * The code is read once, from its first byte to its last. A jump takes the depth to its target.
 * Code that no jump before it leads to is assumed to have the whole frame, whose size HotSpot
 * knows: handlers, and parts of loops. It may be dead: if what follows contradicts that, there is a
 * hole. If two ways to one place differ elsewhere, or a return is not at the return address,
 * nothing is known of the method.
 */
#include <stdlib.h>

#include "hotspot_code.h"
#include "sframe_format.h"
#include "x86_insn.h"

#define WORD		8

/* The first instruction of a frame touches the stack at least so far below. */
#define BANG_MIN	4096

/**
 * struct flow - a method that is being followed
 * @depths: of each instruction that was followed; before that, of each target of a jump
 * @size: bytes of code
 * @frame: the depth where the whole frame is there
 * @is_native: its frame is found by the frame pointer
 * @off: the present instruction
 * @depth: before it; then after it
 * @assumed: where the present piece of code begins whose depth is assumed; the end of the code:
 *	it is known
 * @is_reached: the instruction before it leads to it
 * @is_after_call: it is a call, which may not return
 */
struct flow {
	u32	*depths;
	u32	size;
	u32	frame;
	bool	is_native;
	u32	off;
	u32	depth;
	u32	assumed;
	bool	is_reached;
	bool	is_after_call;
};

/* Return: false if the stack pointer is not known after the instruction. */
static bool move_sp(struct flow *flow, const struct x86_insn *insn)
{
	bool is_sp = insn->mod == 3 && insn->rm == X86_SP;

	switch (insn->opcode) {
	case 0x50 ... 0x57: case 0x68: case 0x6a: case 0x9c:	/* push */
		flow->depth += WORD;
		return true;
	case 0x58 ... 0x5f: case 0x8f: case 0x9d:		/* pop */
		flow->depth -= WORD;
		return insn->opcode == 0x8f || insn->rm != X86_SP;
	case 0x81: case 0x83:
		if (!is_sp || insn->reg == 7)			/* cmp */
			return true;
		flow->depth += insn->reg == 5 ? insn->imm : -(s64)insn->imm;
		return insn->reg == 5 || insn->reg == 0;	/* sub, add */
	case 0x8d:						/* lea */
		if (insn->reg == X86_SP)
			flow->depth -= insn->disp;
		return insn->reg != X86_SP || insn->is_sp;
	case 0x03: case 0x2b: case 0x8b: case 0x23:		/* add, sub, mov, and */
		return insn->reg != X86_SP;
	case 0x01: case 0x29: case 0x89: case 0x21: case 0x87:
		return !is_sp;
	case 0xe8:						/* call of what follows */
		flow->depth += insn->imm ? 0 : WORD;
		return true;
	case 0xff:
		flow->depth += insn->reg == 6 ? WORD : 0;	/* push */
		return true;
	default:
		return insn->opcode != 0xc9;			/* leave */
	}
}

static void fill(u32 *depths, u32 size, u32 depth)
{
	while (size)
		depths[--size] = depth;
}

/* The depth is wrong. Return: false if it was known. */
static bool contradict(struct flow *flow)
{
	if (flow->assumed == flow->size)
		return false;
	fill(flow->depths + flow->assumed, flow->off - flow->assumed, HOTSPOT_HOLE);
	flow->depth = HOTSPOT_HOLE;
	return true;
}

/* Takes the depth to the target of a jump. Return: false if it has another one. */
static bool take_to(struct flow *flow, const struct x86_insn *insn)
{
	u32 target = flow->off + insn->size + insn->imm;

	if (target >= flow->size || flow->depth == HOTSPOT_HOLE)
		return true;
	if (target > flow->off && !flow->depths[target])
		flow->depths[target] = flow->depth;
	return !flow->depths[target] || flow->depths[target] == flow->depth || contradict(flow);
}

/* Return: false if a return or a jump leads to another depth than there is. */
static bool leave(struct flow *flow, const struct x86_insn *insn)
{
	bool is_one_byte = !insn->map, is_jump;

	/* A nop after a call carries what HotSpot knows of the call, and may have become an ud0. */
	if (insn->map == 1 && (insn->opcode == 0x1f || insn->opcode == 0xff))
		return true;
	flow->is_after_call = false;
	if ((is_one_byte && ((insn->opcode & 0xf0) == 0x70 || (insn->opcode & 0xfc) == 0xe0)) ||
	    (insn->map == 1 && (insn->opcode & 0xf0) == 0x80))
		return take_to(flow, insn);
	if (!is_one_byte) {
		flow->is_reached = insn->map != 1 || insn->opcode != 0x0b;	/* ud2 */
		return true;
	}
	flow->is_after_call = insn->opcode == 0xe8;
	is_jump = insn->opcode == 0xe9 || insn->opcode == 0xeb;
	flow->is_reached = !is_jump && insn->opcode != 0xc3 && insn->opcode != 0xf4 &&
			   insn->opcode != 0xcc && (insn->opcode != 0xff || insn->reg != 4);
	if (insn->opcode == 0xc3)
		return flow->depth == HOTSPOT_ENTRY || contradict(flow);
	return !is_jump || take_to(flow, insn);
}

/* mov %rsp, %rbp */
static bool is_enter(const struct x86_insn *insn)
{
	return !insn->map && insn->is_wide && insn->mod == 3 &&
	       ((insn->opcode == 0x8b && insn->reg == X86_FP && insn->rm == X86_SP) ||
		(insn->opcode == 0x89 && insn->reg == X86_SP && insn->rm == X86_FP));
}

/* The depth after the instruction. Return: false if it is not known. */
static bool execute(struct flow *flow, const struct x86_insn *insn)
{
	if (flow->depth == HOTSPOT_FP) {
		if (!insn->map && insn->opcode == 0xc9)
			flow->depth = HOTSPOT_ENTRY;
		return true;
	}
	if (flow->is_native && flow->depth == 2 * WORD && is_enter(insn)) {
		flow->depth = HOTSPOT_FP;
		return true;
	}
	/* Before it stops the VM, a method aligns the stack pointer. */
	if (flow->depth == HOTSPOT_HOLE || (!insn->map && !move_sp(flow, insn)))
		flow->depth = HOTSPOT_HOLE;
	else
		return flow->depth >= HOTSPOT_ENTRY && flow->depth <= 2 * HOTSPOT_FRAME_MAX;
	return true;
}

/*
 * In a method that calls nothing, this stores RBP after the stack pointer was moved: where it is
 * saved, there is another value before.
 */
static bool saves_fp(const struct flow *flow, const struct x86_insn *insn)
{
	return !insn->map && insn->opcode == 0x89 && insn->reg == X86_FP && insn->is_sp &&
	       insn->is_wide && (u32)insn->disp + 2 * WORD == flow->depth;
}

/* A frame begins: mov %eax, -n(%rsp). Methods that take over a running loop have two. */
static bool is_bang(const struct x86_insn *insn)
{
	return !insn->map && insn->opcode == 0x89 && insn->is_sp && insn->disp <= -BANG_MIN;
}

/*
 * The first instruction of a method that shall not be called any more is overwritten by a jump of
 * five bytes: mov %eax, -n(%rsp), which push %rbp follows, or sub $n, %rsp, which a store follows.
 */
static void repair(const struct flow *flow, u8 *bytes)
{
	static const u8 bang[] = { 0x89, 0x84, 0x24, 0, 0 };
	u8 sub[] = { 0x48, 0x81, 0xec, flow->frame - WORD, (flow->frame - WORD) >> 8 };

	if (*bytes != 0xe9)
		return;
	if (bytes[6] == 0xff && bytes[7] == 0x55)
		memcpy(bytes, bang, sizeof(bang));
	else if (bytes[6] == 0 && bytes[7] == 0x48 && bytes[8] == 0x89 && (bytes[9] & 0x3f) == 0x2c)
		memcpy(bytes, sub, sizeof(sub));
}

/* The depth before the instruction. Return: false if two ways lead to it with different ones. */
static bool arrive(struct flow *flow, const struct x86_insn *insn)
{
	u32 other = is_bang(insn) ? HOTSPOT_ENTRY : flow->depths[flow->off];
	bool is_reached = flow->is_reached && (!flow->is_after_call || !other) && !is_bang(insn);

	if (is_reached && other && other != flow->depth && !contradict(flow))
		return false;
	if (!is_reached || other)
		flow->assumed = other ? flow->size : flow->off;
	if (!is_reached || other)
		flow->depth = other ?: flow->frame;
	return true;
}

/* Return: false if the instruction, or where it leads to, is not known. */
static bool follow_insn(struct flow *flow, const u8 *code, struct x86_insn *insn)
{
	u8 bytes[X86_INSN_READ] = {};
	u32 left = flow->size - flow->off;

	memcpy(bytes, code, min_t(u32, left, sizeof(bytes)));
	/* Until a class is loaded, a jump replaces a longer instruction. The rest is no code. */
	if (!flow->is_reached && !*bytes && !flow->depths[flow->off]) {
		insn->size = 1;
		return true;
	}
	repair(flow, bytes);
	if (!x86_insn_decode(insn, bytes) || insn->size > left || !arrive(flow, insn))
		return false;
	fill(flow->depths + flow->off, insn->size,
	     saves_fp(flow, insn) ? HOTSPOT_HOLE : flow->depth);
	return execute(flow, insn) && leave(flow, insn);
}

static bool follow(struct flow *flow, const u8 *code)
{
	struct x86_insn insn;
	bool is_whole = false;

	for (; flow->off < flow->size; flow->off += insn.size) {
		if (!follow_insn(flow, code + flow->off, &insn))
			return false;
		/* The prologue has led to the size that HotSpot has reported. */
		is_whole |= flow->assumed == flow->size && flow->depth == flow->frame;
	}
	return is_whole;
}

/**
 * hotspot_follow - find the depth at each instruction of a method
 * @code: its code
 * @depths: for each byte of code, 0; set to the depth of the instruction
 * @size: bytes of code
 * @frame: bytes of its frame, as HotSpot has them
 * @is_native: the method calls a native function
 */
void hotspot_follow(const u8 *code, u32 *depths, u32 size, u32 frame, bool is_native)
{
	struct flow flow = {
		.depths = depths, .size = size, .frame = is_native ? HOTSPOT_FP : frame,
		.is_native = is_native, .depth = HOTSPOT_ENTRY, .assumed = size,
		.is_reached = true,
	};

	if (!follow(&flow, code))
		fill(depths, size, HOTSPOT_HOLE);
}

/* ---- rows ---- */

static struct cfi_row make_row(u32 depth)
{
	struct cfi_row row = {
		.state.sp.how = CFI_CFA,
		.hole = depth == HOTSPOT_HOLE ? CFI_HOLE_UNKNOWN : CFI_HOLE_NONE,
	};

	if (depth == HOTSPOT_FP)
		row.state.cfa = cfi_make_rule(CFI_REG, SFRAME_AMD64_REG_FP, 2 * WORD);
	else
		row.state.cfa = cfi_make_rule(CFI_REG, SFRAME_AMD64_REG_SP, depth);
	row.state.ra = cfi_make_rule(CFI_CFA_MEM, 0, -WORD);
	if (depth != HOTSPOT_ENTRY)
		row.state.fp = cfi_make_rule(CFI_CFA_MEM, 0, -2 * WORD);
	return row;
}

/**
 * hotspot_make_rows - turn depths into rows
 * @depths: for each byte of code
 * @size: bytes of code, at least 1
 * @nr: set to the number of rows
 *
 * Return: the rows, which the caller frees; NULL: out of memory.
 */
struct cfi_row *hotspot_make_rows(const u32 *depths, u32 size, u32 *nr)
{
	struct cfi_row *rows;
	u32 i, changes = 1;

	for (i = 1; i < size; i++)
		changes += depths[i] != depths[i - 1];
	rows = calloc(changes, sizeof(*rows));
	*nr = 0;
	for (i = 0; rows && i < size; i++)
		if (!i || depths[i] != depths[i - 1]) {
			rows[*nr] = make_row(depths[i]);
			rows[(*nr)++].start = i;
		}
	return rows;
}

/*
 * An interpreted method has its caller's stack pointer in its frame, because its arguments, on
 * the caller's stack, have become its first variables.
 */
struct cfi_row hotspot_interpreter_row(void)
{
	struct cfi_row row = { .state.sp.how = CFI_CFA };

	row.state.cfa = cfi_make_rule(CFI_REG_MEM, SFRAME_AMD64_REG_FP, -WORD);
	row.state.ra = cfi_make_rule(CFI_REG_MEM, SFRAME_AMD64_REG_FP, WORD);
	row.state.fp = cfi_make_rule(CFI_REG_MEM, SFRAME_AMD64_REG_FP, 0);
	return row;
}
