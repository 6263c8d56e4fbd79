// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evaluates DWARF expressions symbolically. A value is a number, or a base plus a number; the
 * base is a register, the CFA, or the word in memory at one of these. Any other value has no
 * form in SFrame.
 *
 * The CFA in a PLT depends on the address of the instruction. It is known by its bytes.
 */
#include <stdint.h>

#include "cfi_expression.h"

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U, OP_CONST4S, OP_CONST8U, OP_CONST8S,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG7 = 0x77,	/* rsp */
	OP_BREG16 = 0x80,	/* rip */
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
	OP_CALL_FRAME_CFA = 0x9c,
};

/* The form of a number. No rule has it. */
#define NUMBER		CFI_SAME

#define STACK_SIZE	8

/* Numbers wrap as the 64-bit arithmetic of DWARF does. @sum is added to a word in memory. */
struct value {
	u64	off;
	u64	sum;
	u64	reg;
	u8	how;	/* NUMBER, CFI_CFA, CFI_CFA_MEM, CFI_REG, CFI_REG_MEM */
};

struct stack {
	struct value	values[STACK_SIZE];
	u32		nr;
	bool		is_bad;	/* the result has no form */
};

static void push(struct stack *stack, struct value value)
{
	if (stack->nr == STACK_SIZE)
		stack->is_bad = true;
	else
		stack->values[stack->nr++] = value;
}

static void push_number(struct stack *stack, u64 number)
{
	push(stack, (struct value){ .how = NUMBER, .off = number });
}

static void push_register(struct stack *stack, u64 reg, s64 off)
{
	push(stack, (struct value){ .how = CFI_REG, .reg = reg, .off = off });
}

static struct value pop(struct stack *stack)
{
	if (stack->nr == 0) {
		stack->is_bad = true;
		return (struct value){};
	}
	return stack->values[--stack->nr];
}

static void add(struct stack *stack, struct value value, u64 number)
{
	if (value.how == CFI_CFA_MEM || value.how == CFI_REG_MEM)
		value.sum += number;
	else
		value.off += number;
	push(stack, value);
}

static void add_two(struct stack *stack)
{
	struct value right = pop(stack), left = pop(stack);

	if (right.how == NUMBER)
		add(stack, left, right.off);
	else if (left.how == NUMBER)
		add(stack, right, left.off);
	else
		stack->is_bad = true;
}

static void subtract(struct stack *stack)
{
	struct value right = pop(stack), left = pop(stack);

	if (right.how == NUMBER)
		add(stack, left, -right.off);
	else
		stack->is_bad = true;
}

static void dereference(struct stack *stack)
{
	struct value value = pop(stack);

	if (value.how == CFI_CFA)
		value.how = CFI_CFA_MEM;
	else if (value.how == CFI_REG)
		value.how = CFI_REG_MEM;
	else
		stack->is_bad = true;
	push(stack, value);
}

static void execute_constant(struct stack *stack, struct cfi_cursor *cur, u8 op)
{
	u32 size = 1u << ((op - OP_CONST1U) / 2);
	u64 number = cfi_fixed(cur, size);

	push_number(stack, (op - OP_CONST1U) & 1 ? (u64)cfi_signed(number, size) : number);
}

static void execute_operation(struct stack *stack, struct cfi_cursor *cur, u8 op)
{
	u64 reg;

	switch (op) {
	case OP_DEREF:
		dereference(stack);
		break;
	case OP_CONST1U ... OP_CONST8S:
		execute_constant(stack, cur, op);
		break;
	case OP_CONSTU:
		push_number(stack, cfi_uleb(cur));
		break;
	case OP_CONSTS:
		push_number(stack, cfi_sleb(cur));
		break;
	case OP_MINUS:
		subtract(stack);
		break;
	case OP_PLUS:
		add_two(stack);
		break;
	case OP_PLUS_UCONST:
		add(stack, pop(stack), cfi_uleb(cur));
		break;
	case OP_LIT0 ... OP_LIT31:
		push_number(stack, op - OP_LIT0);
		break;
	case OP_BREG0 ... OP_BREG31:
		push_register(stack, op - OP_BREG0, cfi_sleb(cur));
		break;
	case OP_BREGX:
		reg = cfi_uleb(cur);
		push_register(stack, reg, cfi_sleb(cur));
		break;
	case OP_CALL_FRAME_CFA:
		push(stack, (struct value){ .how = CFI_CFA });
		break;
	case OP_NOP:
		break;
	default:
		stack->is_bad = true;
	}
}

/* SFrame has no form for the word in memory plus a number. Only that of a CFA is kept. */
static struct cfi_rule add_sum(struct cfi_rule rule, u64 sum, bool is_cfa)
{
	if (!sum)
		return rule;
	if (!is_cfa || rule.how != CFI_REG_MEM || sum > INT16_MAX)
		return cfi_hole_rule(CFI_HOLE_EXPRESSION);
	rule.sum = sum;
	return rule;
}

/* @deref: the result of the expression is an address, and the value is there. */
static struct cfi_rule evaluate(struct stack *stack, struct cfi_cursor block, bool deref,
				bool is_cfa)
{
	struct value value;

	while (!stack->is_bad && block.pos != block.end)
		execute_operation(stack, &block, cfi_byte(&block));
	if (deref)
		dereference(stack);
	value = pop(stack);
	if (block.is_bad)
		return cfi_hole_rule(CFI_HOLE_MALFORMED);
	if (stack->is_bad || value.how == NUMBER)
		return cfi_hole_rule(CFI_HOLE_EXPRESSION);
	return add_sum(cfi_make_rule(value.how, value.reg, value.off), value.sum, is_cfa);
}

/* Return: true if the next operation is DW_OP_litN. Sets @number to N. */
static bool take_literal(struct cfi_cursor *cur, u8 *number)
{
	*number = cfi_byte(cur) - OP_LIT0;
	return *number <= OP_LIT31 - OP_LIT0;
}

/* breg7 8; breg16 0; lit MASK; and; lit END; ge; lit SHIFT; shl; plus */
static bool is_plt(struct cfi_cursor cur, struct cfi_plt *plt)
{
	*plt = (struct cfi_plt){};
	return cfi_byte(&cur) == OP_BREG7 && cfi_byte(&cur) == 8 &&
	       cfi_byte(&cur) == OP_BREG16 && cfi_byte(&cur) == 0 &&
	       take_literal(&cur, &plt->mask) && cfi_byte(&cur) == OP_AND &&
	       take_literal(&cur, &plt->push_end) && cfi_byte(&cur) == OP_GE &&
	       take_literal(&cur, &plt->shift) && cfi_byte(&cur) == OP_SHL &&
	       cfi_byte(&cur) == OP_PLUS && cur.pos == cur.end && !cur.is_bad;
}

/* Return: the rule of the CFA that the expression @block gives. */
struct cfi_rule cfi_cfa_expression(struct cfi_cursor block)
{
	struct stack stack = {};
	struct cfi_plt plt;

	if (is_plt(block, &plt))
		return (struct cfi_rule){ .how = CFI_PLT, .plt = plt };
	return evaluate(&stack, block, false, true);
}

/* Return: the rule of a register that is saved at the address that the expression @block gives. */
struct cfi_rule cfi_location_expression(struct cfi_cursor block)
{
	struct stack stack = { .values[0].how = CFI_CFA, .nr = 1 };

	return evaluate(&stack, block, true, false);
}

/* Return: the rule of a register whose value the expression @block gives. */
struct cfi_rule cfi_value_expression(struct cfi_cursor block)
{
	struct stack stack = { .values[0].how = CFI_CFA, .nr = 1 };

	return evaluate(&stack, block, false, false);
}
