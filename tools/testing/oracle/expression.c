// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Evaluates DWARF expressions to rules. A value is base + offset, where the base
 * is a register, the CFA, nothing, or the word in memory at one of these.
 */
#include <dwarf.h>
#include <stdint.h>

#include "expression.h"

#define STACK_SIZE	16

/* The form of a value without a base. No rule has this form. */
#define NUMBER		SFRAME_RULE_SAME

const struct sframe_rule odd_rule = {
	.how = SFRAME_RULE_REG_MEM, .reg = UINT8_MAX,
};

struct stack {
	struct sframe_rule	values[STACK_SIZE];
	int			nr;
	bool			bad;	/* no rule can express the result */
};

static void push_value(struct stack *stack, u8 how, u32 reg, s64 off)
{
	if (stack->nr == STACK_SIZE || reg >= odd_rule.reg ||
	    (how != NUMBER && off != (s32)off)) {
		stack->bad = true;
		return;
	}
	stack->values[stack->nr++] =
		(struct sframe_rule){ .how = how, .reg = reg, .off = off };
}

static struct sframe_rule pop_value(struct stack *stack)
{
	if (stack->nr == 0) {
		stack->bad = true;
		return odd_rule;
	}
	return stack->values[--stack->nr];
}

static s64 pop_number(struct stack *stack)
{
	struct sframe_rule value = pop_value(stack);

	if (value.how != NUMBER)
		stack->bad = true;
	return value.off;
}

/* A word in memory plus an offset is no form of a rule. */
static void add_offset(struct stack *stack, s64 off)
{
	struct sframe_rule value = pop_value(stack);

	if (off && (value.how == SFRAME_RULE_CFA_MEM ||
		    value.how == SFRAME_RULE_REG_MEM))
		stack->bad = true;
	push_value(stack, value.how, value.reg, value.off + off);
}

static void dereference(struct stack *stack)
{
	struct sframe_rule value = pop_value(stack);

	if (value.how == SFRAME_RULE_CFA)
		value.how = SFRAME_RULE_CFA_MEM;
	else if (value.how == SFRAME_RULE_REG)
		value.how = SFRAME_RULE_REG_MEM;
	else
		stack->bad = true;
	push_value(stack, value.how, value.reg, value.off);
}

static void push_register(struct stack *stack, const struct expression *expr,
			  u64 reg, s64 off)
{
	if ((int)reg == expr->pc_reg)
		push_value(stack, NUMBER, 0, expr->pc + off);
	else
		push_value(stack, SFRAME_RULE_REG, reg, off);
}

static void execute_binary(struct stack *stack, u8 atom)
{
	s64 right = pop_number(stack), left;

	if (atom == DW_OP_plus || atom == DW_OP_minus) {
		add_offset(stack, atom == DW_OP_plus ? right : -right);
		return;
	}
	left = pop_number(stack);
	switch (atom) {
	case DW_OP_and:
		push_value(stack, NUMBER, 0, left & right);
		break;
	case DW_OP_ge:
		push_value(stack, NUMBER, 0, left >= right);
		break;
	case DW_OP_shl:
		push_value(stack, NUMBER, 0, (u64)left << (right & 63));
		break;
	default:
		stack->bad = true;
	}
}

static void execute_operation(struct stack *stack, const struct expression *expr,
			      const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_call_frame_cfa:
		push_value(stack, SFRAME_RULE_CFA, 0, 0);
		break;
	case DW_OP_lit0 ... DW_OP_lit31:
		push_value(stack, NUMBER, 0, op->atom - DW_OP_lit0);
		break;
	case DW_OP_const1u ... DW_OP_consts:
		push_value(stack, NUMBER, 0, op->number);
		break;
	case DW_OP_reg0 ... DW_OP_reg31:
		push_register(stack, expr, op->atom - DW_OP_reg0, 0);
		break;
	case DW_OP_regx:
		push_register(stack, expr, op->number, 0);
		break;
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(stack, expr, op->atom - DW_OP_breg0, op->number);
		break;
	case DW_OP_bregx:
		push_register(stack, expr, op->number, op->number2);
		break;
	case DW_OP_plus_uconst:
		add_offset(stack, op->number);
		break;
	case DW_OP_deref:
		dereference(stack);
		break;
	case DW_OP_nop:
		break;
	default:
		execute_binary(stack, op->atom);
	}
}

/* Return: true if the result is the value itself, false if it is the value's address. */
static bool is_value(const struct expression *expr)
{
	u8 last = expr->ops[expr->nr - 1].atom;

	return last == DW_OP_stack_value || last == DW_OP_regx ||
	       (last >= DW_OP_reg0 && last <= DW_OP_reg31);
}

static struct sframe_rule evaluate_expression(const struct expression *expr, bool deref)
{
	struct stack stack = {};
	struct sframe_rule value;
	size_t i;

	for (i = 0; i < expr->nr; i++)
		if (expr->ops[i].atom != DW_OP_stack_value)
			execute_operation(&stack, expr, &expr->ops[i]);
	if (deref)
		dereference(&stack);
	value = pop_value(&stack);
	return stack.bad || value.how == NUMBER ? odd_rule : value;
}

/* Return: the value of an expression, such as that of a CFA. It has at least one operation. */
struct sframe_rule expression_value(const struct expression *expr)
{
	return evaluate_expression(expr, false);
}

/* Return: the value at the location that the expression gives, such as a saved register's. */
struct sframe_rule expression_location(const struct expression *expr)
{
	return evaluate_expression(expr, !is_value(expr));
}
