// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The .eh_frame of a file as rows of SFrame: the rows that an assembler without
 * mistakes would write. libdw interprets .eh_frame. Each call of libdw starts at
 * the beginning of the function, so the last result is kept while it is valid.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include "ehframe.h"
#include "expression.h"

static bool get_registers(struct registers *regs, u16 machine)
{
	switch (machine) {
	case EM_X86_64:
		*regs = (struct registers){
			.sp = SFRAME_AMD64_REG_SP, .fp = SFRAME_AMD64_REG_FP,
			.ra = 16, .pc = 16,
		};
		return true;
	case EM_AARCH64:
		*regs = (struct registers){
			.sp = SFRAME_AARCH64_REG_SP, .fp = SFRAME_AARCH64_REG_FP,
			.ra = SFRAME_AARCH64_REG_RA, .pc = -1,
		};
		return true;
	default:
		return false;
	}
}

/* Return: NULL, or an error text. Call ehframe_close() only after NULL. */
const char *ehframe_open(struct ehframe *eh, const struct object *obj)
{
	*eh = (struct ehframe){};
	if (!get_registers(&eh->regs, obj->elf.machine))
		return "neither amd64 nor arm64";
	elf_version(EV_CURRENT);
	eh->elf = elf_begin(obj->file.fd, ELF_C_READ, NULL);
	if (!eh->elf)
		return elf_errmsg(-1);
	eh->cfi = dwarf_getcfi_elf(eh->elf);
	if (!eh->cfi) {
		elf_end(eh->elf);
		return "no .eh_frame";
	}
	return NULL;
}

void ehframe_close(struct ehframe *eh)
{
	free(eh->frame);
	dwarf_cfi_end(eh->cfi);
	elf_end(eh->elf);
}

static bool find_frame(struct ehframe *eh, u64 addr)
{
	if (eh->frame && addr >= eh->start && addr < eh->end)
		return true;
	free(eh->frame);
	eh->frame = NULL;
	if (dwarf_cfi_addrframe(eh->cfi, addr, &eh->frame)) {
		eh->frame = NULL;
		return false;
	}
	dwarf_frame_info(eh->frame, &eh->start, &eh->end, &eh->signal);
	return true;
}

/* Without a rule, the result is all zero. */
static struct sframe_rule cfa_rule(struct ehframe *eh, u64 addr)
{
	struct expression expr = { .pc = addr, .pc_reg = eh->regs.pc };
	Dwarf_Op *ops;

	if (dwarf_frame_cfa(eh->frame, &ops, &expr.nr))
		return odd_rule;
	if (expr.nr == 0)
		return (struct sframe_rule){};
	expr.ops = ops;
	return expression_value(&expr);
}

/* Both an undefined and an unchanged register have no rule; @undefined separates them. */
static struct sframe_rule register_rule(struct ehframe *eh, u64 addr, int reg,
					bool *undefined)
{
	struct expression expr = { .pc = addr, .pc_reg = eh->regs.pc };
	Dwarf_Op room[3], *ops;

	*undefined = false;
	if (dwarf_frame_register(eh->frame, reg, room, &ops, &expr.nr))
		return odd_rule;
	if (expr.nr == 0) {
		*undefined = ops == room;
		return (struct sframe_rule){};
	}
	expr.ops = ops;
	return expression_location(&expr);
}

/**
 * ehframe_row - find the row of .eh_frame at an address
 * @eh: the .eh_frame
 * @addr: the address
 * @row: filled if .eh_frame has a row; libdw does not report whether the return
 *	address is signed
 *
 * Rules that SFrame cannot express become odd_rule. If the value of the frame
 * pointer is lost, its rule is "unchanged": no row can have a better one.
 *
 * Return: true if .eh_frame describes a function there.
 */
bool ehframe_row(struct ehframe *eh, u64 addr, struct sframe_row *row)
{
	bool lost;

	if (!find_frame(eh, addr))
		return false;
	*row = (struct sframe_row){ .signal = eh->signal };
	row->cfa = cfa_rule(eh, addr);
	row->ra = register_rule(eh, addr, eh->regs.ra, &row->outermost);
	row->fp = register_rule(eh, addr, eh->regs.fp, &lost);
	return true;
}

/* Takes the addition of a number from the end of @ops. Return: false if they end otherwise. */
static bool take_addition(const Dwarf_Op *ops, size_t *nr, s64 *sum)
{
	const Dwarf_Op *last = &ops[*nr - 1];

	if (*nr > 1 && last->atom == DW_OP_plus_uconst) {
		*sum = last->number;
		*nr -= 1;
		return true;
	}
	if (*nr < 3 || last->atom != DW_OP_plus)
		return false;
	last--;
	*nr -= 2;
	*sum = last->number;
	if (last->atom >= DW_OP_lit0 && last->atom <= DW_OP_lit31)
		*sum = last->atom - DW_OP_lit0;
	else if (last->atom < DW_OP_const1u || last->atom > DW_OP_consts)
		return false;
	return true;
}

/**
 * ehframe_saved_sp - recognise a CFA that is a word in memory plus a number
 * @eh: the .eh_frame
 * @addr: an address for which ehframe_row() has found a row
 * @word: set to the word, without the number
 * @sum: set to the number
 *
 * Return: false if the CFA has another form.
 */
bool ehframe_saved_sp(struct ehframe *eh, u64 addr, struct sframe_rule *word, s64 *sum)
{
	struct expression expr = { .pc = addr, .pc_reg = eh->regs.pc };
	Dwarf_Op *ops;

	if (dwarf_frame_cfa(eh->frame, &ops, &expr.nr) || !expr.nr ||
	    !take_addition(ops, &expr.nr, sum))
		return false;
	expr.ops = ops;
	*word = expression_value(&expr);
	return !rule_is_odd(word) && word->how == SFRAME_RULE_REG_MEM;
}

/**
 * ehframe_sp_is_cfa - find out whether the caller's stack pointer is the CFA
 * @eh: the .eh_frame
 * @addr: an address for which ehframe_row() has found a row
 * @row: that row
 *
 * Return: false if .eh_frame has another rule for the stack pointer. SFrame has no such rule.
 */
bool ehframe_sp_is_cfa(struct ehframe *eh, u64 addr, const struct sframe_row *row)
{
	struct sframe_rule sp;
	bool undefined;

	sp = register_rule(eh, addr, eh->regs.sp, &undefined);
	if (undefined || rule_is_odd(&sp))
		return false;
	if (sp.how == SFRAME_RULE_SAME)
		return eh->regs.pc < 0;
	if (sp.how == SFRAME_RULE_CFA)
		return sp.off == 0;
	return sp.how == row->cfa.how && sp.reg == row->cfa.reg && sp.off == row->cfa.off;
}

void ehframe_print_row(const char *who, u8 abi, const struct sframe_row *row)
{
	struct row_text text;

	row_to_text(abi, row, &text);
	printf(" %s: cfa %s fp %s ra %s%s%s%s", who,
	       rule_is_odd(&row->cfa) ? "exp" : text.cfa,
	       rule_is_odd(&row->fp) ? "exp" : text.fp,
	       rule_is_odd(&row->ra) ? "exp" : text.ra,
	       row->ra_mangled ? " [s]" : "", row->signal ? " signal" : "",
	       row->outermost ? " outermost" : "");
}
