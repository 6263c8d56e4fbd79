// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * _dl_runtime_resolve() of glibc for AArch64, and functions like it. A PLT has pushed two words
 * before it goes on to such a function, and the upper one is the return address. Its call frame
 * information begins below them: the return address is above the CFA, and the caller's stack
 * pointer is 16 bytes above it. Callers whose frame is found by the stack pointer were wrong.
 */
#include "resolver.h"

/* Bytes that the PLT has pushed, and where in them the return address is. */
#define PUSHED	16
#define RA_OFF	8

static bool is_on_stack(const struct cfi_machine *machine, const struct cfi_row *row)
{
	return !row->hole && row->state.cfa.how == CFI_REG && row->state.cfa.reg == machine->sp;
}

static bool is_resolver(const struct cfi_machine *machine, const struct cfi_row *rows, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (is_on_stack(machine, &rows[i]) && rows[i].state.ra.how == CFI_CFA_MEM &&
		    rows[i].state.ra.off == RA_OFF)
			return true;
	return false;
}

static void add_offset(struct cfi_rule *rule, s64 off)
{
	*rule = cfi_make_rule(rule->how, rule->reg, rule->off + off);
}

/* Of what is found relative to the CFA. */
static void lower_offset(struct cfi_rule *rule)
{
	if (rule->how == CFI_CFA || rule->how == CFI_CFA_MEM)
		add_offset(rule, -PUSHED);
}

/**
 * resolver_raise_cfa - correct the rows of a function if a PLT has pushed words before it
 * @machine: the architecture; nothing is done where calls push the return address
 * @rows: all rows of the function
 * @nr: their number
 */
void resolver_raise_cfa(const struct cfi_machine *machine, struct cfi_row *rows, u32 nr)
{
	u32 i;

	if (machine->fixed_ra || !is_resolver(machine, rows, nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!is_on_stack(machine, &rows[i]))
			continue;
		add_offset(&rows[i].state.cfa, PUSHED);
		lower_offset(&rows[i].state.ra);
		lower_offset(&rows[i].state.fp);
	}
}
