// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads call frame instructions as assemblers do, with their mistakes. Without
 * a mistake the row is the same as libdw's. If a row with a mistake equals the
 * row of SFrame, the assembler has made this mistake.
 *
 * Expressions are left to libdw: an expression sets the rule that libdw finds
 * at that address.
 */
#include <dwarf.h>

#include "assembler.h"
#include "encoding.h"

#define NR_STATES	32

struct reading {
	const struct assembler	*as;
	const struct function	*func;
	u64			loc;
	u64			target;
	struct sframe_row	row;		/* at @loc, incomplete */
	struct sframe_row	initial;	/* set by the CIE */
	struct sframe_row	first;		/* first row of the function */
	struct sframe_row	last;		/* row before @loc */
	struct sframe_row	states[NR_STATES];
	u32			nr_states;
	bool			has_first;
	bool			bad;
};

static bool makes_mistake(const struct reading *rd, enum mistake mistake)
{
	return rd->as->mistakes & mistake;
}

/* Return: the rule of a register, NULL if SFrame has no rule for it. */
static struct sframe_rule *rule_of(struct reading *rd, struct sframe_row *row, u64 reg)
{
	const struct registers *regs = &rd->as->eh->regs;

	if (reg == regs->fp)
		return &row->fp;
	return reg == regs->ra ? &row->ra : NULL;
}

static void set_rule(struct reading *rd, u64 reg, u8 how, u32 base, s64 off)
{
	struct sframe_rule *rule = rule_of(rd, &rd->row, reg);

	if (!rule)
		return;
	if (makes_mistake(rd, MISTAKE_FP_FORGOTTEN) && rule == &rd->row.fp &&
	    how == SFRAME_RULE_CFA_MEM)
		return;
	*rule = (struct sframe_rule){ .how = how, .reg = base, .off = off };
	if (rule == &rd->row.ra)
		rd->row.outermost = false;
}

static void set_cfa(struct reading *rd, u64 reg, s64 off)
{
	rd->row.cfa = (struct sframe_rule){
		.how = SFRAME_RULE_REG, .reg = reg, .off = off,
	};
}

static void set_undefined(struct reading *rd, u64 reg)
{
	if (reg == rd->as->eh->regs.ra && makes_mistake(rd, MISTAKE_RA_DEFINED))
		return;
	set_rule(rd, reg, SFRAME_RULE_SAME, 0, 0);
	if (reg == rd->as->eh->regs.ra)
		rd->row.outermost = true;
}

static void restore_rule(struct reading *rd, u64 reg)
{
	struct sframe_row *from = &rd->initial;
	struct sframe_rule *rule = rule_of(rd, &rd->row, reg);

	if (!rule)
		return;
	if (makes_mistake(rd, MISTAKE_RESTORE_FIRST))
		from = rd->has_first ? &rd->first : &rd->row;
	*rule = *rule_of(rd, from, reg);
	if (rule == &rd->row.ra)
		rd->row.outermost = from->outermost;
}

static void remember_state(struct reading *rd)
{
	if (makes_mistake(rd, MISTAKE_ONE_STATE))
		rd->nr_states = 0;
	if (rd->nr_states == NR_STATES) {
		rd->bad = true;
		return;
	}
	rd->states[rd->nr_states++] =
		makes_mistake(rd, MISTAKE_ONE_STATE) && rd->as->remembers_last_row ?
		rd->last : rd->row;
}

static void restore_state(struct reading *rd)
{
	if (rd->nr_states == 0) {
		rd->bad = true;
		return;
	}
	rd->row = rd->states[rd->nr_states - 1];
	if (!makes_mistake(rd, MISTAKE_ONE_STATE))
		rd->nr_states--;
}

/* Return: true if the row that is now complete covers the target. */
static bool advance_loc(struct reading *rd, u64 by)
{
	rd->loc += by * rd->func->code_factor;
	rd->last = rd->row;
	if (!rd->has_first)
		rd->first = rd->row;
	rd->has_first = true;
	return rd->loc > rd->target;
}

static void take_expression(struct reading *rd, u64 reg)
{
	struct sframe_rule *rule = rule_of(rd, &rd->row, reg);
	struct sframe_row seen;

	if (!rule)
		return;
	if (ehframe_row(rd->as->eh, rd->loc, &seen))
		*rule = *rule_of(rd, &seen, reg);
	else
		rd->bad = true;
}

static void skip_block(const u8 **pos, const u8 *end)
{
	u64 size = read_uleb(pos, end);

	*pos += min_t(u64, size, end - *pos);
}

static void take_cfa_expression(struct reading *rd)
{
	struct sframe_row seen;

	if (ehframe_row(rd->as->eh, rd->loc, &seen))
		rd->row.cfa = seen.cfa;
	else
		rd->bad = true;
}

/* Return: as advance_loc(). */
static bool execute_instruction(struct reading *rd, struct program *prog)
{
	const s64 factor = rd->func->data_factor;
	const u8 **pos = &prog->ops, *end = prog->end;
	u8 op = *(*pos)++;
	u64 reg;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_loc(rd, op & 0x3f);
	case DW_CFA_offset:
		set_rule(rd, op & 0x3f, SFRAME_RULE_CFA_MEM, 0,
			 read_uleb(pos, end) * factor);
		return false;
	case DW_CFA_restore:
		restore_rule(rd, op & 0x3f);
		return false;
	}

	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_advance_loc1:
		return advance_loc(rd, read_fixed(pos, end, 1, false));
	case DW_CFA_advance_loc2:
		return advance_loc(rd, read_fixed(pos, end, 2, false));
	case DW_CFA_advance_loc4:
		return advance_loc(rd, read_fixed(pos, end, 4, false));
	case DW_CFA_def_cfa:
		reg = read_uleb(pos, end);
		set_cfa(rd, reg, read_uleb(pos, end));
		break;
	case DW_CFA_def_cfa_sf:
		reg = read_uleb(pos, end);
		set_cfa(rd, reg, read_sleb(pos, end) * factor);
		break;
	case DW_CFA_def_cfa_register:
		set_cfa(rd, read_uleb(pos, end), rd->row.cfa.off);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa(rd, rd->row.cfa.reg, read_uleb(pos, end));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(rd, rd->row.cfa.reg, read_sleb(pos, end) * factor);
		break;
	case DW_CFA_def_cfa_expression:
		skip_block(pos, end);
		take_cfa_expression(rd);
		break;
	case DW_CFA_offset_extended:
		reg = read_uleb(pos, end);
		set_rule(rd, reg, SFRAME_RULE_CFA_MEM, 0, read_uleb(pos, end) * factor);
		break;
	case DW_CFA_offset_extended_sf:
		reg = read_uleb(pos, end);
		set_rule(rd, reg, SFRAME_RULE_CFA_MEM, 0, read_sleb(pos, end) * factor);
		break;
	case DW_CFA_val_offset:
		reg = read_uleb(pos, end);
		set_rule(rd, reg, SFRAME_RULE_CFA, 0, read_uleb(pos, end) * factor);
		break;
	case DW_CFA_val_offset_sf:
		reg = read_uleb(pos, end);
		set_rule(rd, reg, SFRAME_RULE_CFA, 0, read_sleb(pos, end) * factor);
		break;
	case DW_CFA_register:
		reg = read_uleb(pos, end);
		set_rule(rd, reg, SFRAME_RULE_REG, read_uleb(pos, end), 0);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		reg = read_uleb(pos, end);
		skip_block(pos, end);
		take_expression(rd, reg);
		break;
	case DW_CFA_undefined:
		set_undefined(rd, read_uleb(pos, end));
		break;
	case DW_CFA_same_value:
		set_rule(rd, read_uleb(pos, end), SFRAME_RULE_SAME, 0, 0);
		break;
	case DW_CFA_restore_extended:
		restore_rule(rd, read_uleb(pos, end));
		break;
	case DW_CFA_remember_state:
		remember_state(rd);
		break;
	case DW_CFA_restore_state:
		restore_state(rd);
		break;
	case DW_CFA_AARCH64_negate_ra_state:
		rd->row.ra_mangled = !rd->row.ra_mangled;
		break;
	case DW_CFA_GNU_args_size:
		read_uleb(pos, end);
		break;
	default:
		rd->bad = true;
	}
	return false;
}

static void run_program(struct reading *rd, struct program prog)
{
	while (!rd->bad && prog.ops < prog.end)
		if (execute_instruction(rd, &prog))
			break;
}

/* Turns the row into the form in which the assembler stores it. */
static void write_row(struct reading *rd)
{
	const struct registers *regs = &rd->as->eh->regs;
	struct sframe_row *row = &rd->row;

	if (makes_mistake(rd, MISTAKE_SP_BASED) && row->cfa.how == SFRAME_RULE_REG &&
	    row->cfa.reg != regs->fp)
		row->cfa.reg = regs->sp;
	if (makes_mistake(rd, MISTAKE_FP_IS_RA) && row->ra.how == SFRAME_RULE_SAME) {
		row->ra = row->fp;
		row->fp = (struct sframe_rule){};
	}
	if (makes_mistake(rd, MISTAKE_FP_FORGOTTEN) && row->cfa.how == SFRAME_RULE_SAME) {
		set_cfa(rd, regs->fp, 0);
		set_rule(rd, regs->ra, SFRAME_RULE_CFA_MEM, 0,
			 SFRAME_AMD64_FIXED_RA_OFFSET);
	}
}

/**
 * assembler_row_until - find a row as assembler_row() does, and how far it holds
 * @as: the assembler
 * @func: the function
 * @addr: the address in it
 * @row: filled on success with the row at @addr; without the mark of a signal frame
 * @end: set to the first address after @addr at which instructions change a rule
 *
 * Return: false if the instructions are not understood.
 */
bool assembler_row_until(const struct assembler *as, const struct function *func,
			 u64 addr, struct sframe_row *row, u64 *end)
{
	struct reading rd = {
		.as = as, .func = func, .loc = func->start, .target = addr,
	};

	run_program(&rd, func->initial);
	rd.initial = rd.row;
	run_program(&rd, func->own);
	write_row(&rd);
	*row = rd.row;
	*end = rd.loc > addr && rd.loc < func->end ? rd.loc : func->end;
	return !rd.bad;
}

/**
 * assembler_row - find the row that an assembler makes from a function's instructions
 * @as: the assembler
 * @func: the function
 * @addr: the address in it
 * @row: filled on success with the row at @addr; without the mark of a signal frame
 *
 * Return: false if the instructions are not understood.
 */
bool assembler_row(const struct assembler *as, const struct function *func,
		   u64 addr, struct sframe_row *row)
{
	u64 end;

	return assembler_row_until(as, func, addr, row, &end);
}
