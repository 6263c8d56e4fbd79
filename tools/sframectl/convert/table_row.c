// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns rules of call frame information into rows of SFrame version 3, in the DEFAULT form or
 * the FLEX form ("Flexible FDE type"). A rule that neither form says exactly makes a hole.
 */
#include <stdint.h>

#include "table_row.h"

/* The control word of a FLEX rule */
#define CONTROL_REG		1
#define CONTROL_DEREF		2
#define CONTROL_REGNUM_SHIFT	3
#define CONTROL_DEFAULT		0	/* no rule: the fixed RA, or unchanged */

/* The words of a row. Control words are unsigned, so 0x80 to 0xff fit a byte. */
struct words {
	s64	all[6];
	u32	nr;
	u32	size_code;	/* as the info word has it: 1 << size_code bytes each */
};

static bool is_default_ra(const struct cfi_machine *machine, const struct cfi_rule *ra)
{
	if (machine->fixed_ra)
		return ra->how == CFI_CFA_MEM && ra->off == machine->fixed_ra;
	return ra->how == CFI_SAME;
}

/*
 * A lost frame pointer has no rule in SFrame. Nothing that the caller does can depend on its
 * value.
 */
static bool is_default_fp(const struct cfi_rule *fp)
{
	return fp->how == CFI_SAME || fp->how == CFI_UNDEFINED;
}

/*
 * CFA + offset has no control word of its own. With a CFA of a register, it is that register +
 * offset.
 */
static struct cfi_rule from_register(const struct cfi_rule *cfa, const struct cfi_rule *rule)
{
	if (rule->how == CFI_CFA && cfa->how == CFI_REG)
		return cfi_make_rule(CFI_REG, cfa->reg, (s64)cfa->off + rule->off);
	return *rule;
}

static enum cfi_hole register_hole(const struct cfi_machine *machine, const struct cfi_rule *rule)
{
	if ((rule->how == CFI_REG || rule->how == CFI_REG_MEM) && rule->reg >= machine->nr_regs)
		return CFI_HOLE_REGISTER;
	return rule->how == CFI_HOLE ? rule->hole : CFI_HOLE_NONE;
}

/* @odd: the reason if the rule has no form */
static enum cfi_hole saved_hole(const struct cfi_machine *machine, const struct cfi_rule *cfa,
				const struct cfi_rule *saved, enum cfi_hole odd)
{
	struct cfi_rule rule = from_register(cfa, saved);

	switch (rule.how) {
	case CFI_CFA_MEM:
	case CFI_REG:
	case CFI_REG_MEM:
	case CFI_HOLE:
		return register_hole(machine, &rule);
	default:
		return odd;
	}
}

/* A rule for SP is sound if it says that SP is the CFA, as without a rule. */
static bool sp_is_cfa(const struct cfi_state *state)
{
	const struct cfi_rule *sp = &state->sp;

	if (sp->how == CFI_CFA)
		return sp->off == 0;
	return !memcmp(sp, &state->cfa, sizeof(*sp));
}

static bool is_plt(const struct cfi_machine *machine, const struct cfi_state *state)
{
	const struct cfi_plt *plt = &state->cfa.plt;

	return machine->abi == SFRAME_ABI_AMD64_LE && is_default_ra(machine, &state->ra) &&
	       is_default_fp(&state->fp) && sp_is_cfa(state) &&
	       !((plt->mask + 1) & plt->mask) && plt->push_end && plt->push_end <= plt->mask &&
	       plt->shift <= 6;
}

/*
 * A CFA of *(reg + n) + c has no form in SFrame. Where the return address is at CFA - 8, the row
 * says CFA' = *(reg + n), and has its offsets from CFA'. A call has pushed the return address, so
 * the caller's stack begins after it. The reader knows such rows: in no others is the return
 * address at the CFA or above it. It must not take CFA' for the caller's stack pointer.
 */
static bool has_form_without_sum(const struct cfi_machine *machine, const struct cfi_state *state)
{
	return machine->fixed_ra && is_default_ra(machine, &state->ra) &&
	       state->cfa.sum >= -machine->fixed_ra &&
	       state->fp.how != CFI_CFA && state->fp.off <= INT32_MAX - INT16_MAX;
}

static struct cfi_state without_sum(const struct cfi_state *state)
{
	struct cfi_state stored = *state;

	if (state->cfa.how != CFI_REG_MEM || !state->cfa.sum)
		return stored;
	stored.cfa.sum = 0;
	stored.ra.off += state->cfa.sum;
	if (stored.fp.how == CFI_CFA_MEM)
		stored.fp.off += state->cfa.sum;
	return stored;
}

/* A reader takes a row for one of these if the return address is at the CFA or above it. */
static bool looks_like_sum(const struct cfi_machine *machine, const struct cfi_state *state)
{
	return machine->fixed_ra && state->cfa.how == CFI_REG_MEM && !state->cfa.sum &&
	       state->ra.how == CFI_CFA_MEM && state->ra.off >= 0;
}

/**
 * table_row_hole - find out whether SFrame can say what a row says
 * @machine: the architecture
 * @row: the row
 *
 * Return: CFI_HOLE_NONE, or the reason why not.
 */
enum cfi_hole table_row_hole(const struct cfi_machine *machine, const struct cfi_row *row)
{
	const struct cfi_state *state = &row->state;
	enum cfi_hole hole;

	if (row->hole)
		return row->hole;
	if (state->ra.how == CFI_UNDEFINED)
		return CFI_HOLE_NONE;
	switch (state->cfa.how) {
	case CFI_PLT:
		return is_plt(machine, state) ? CFI_HOLE_NONE : CFI_HOLE_PLT;
	case CFI_REG:
	case CFI_REG_MEM:
	case CFI_HOLE:
		hole = register_hole(machine, &state->cfa);
		break;
	case CFI_SAME:
		hole = CFI_HOLE_NO_CFA;
		break;
	default:
		hole = CFI_HOLE_EXPRESSION;
	}
	if (!hole && state->cfa.how == CFI_REG_MEM && state->cfa.sum &&
	    !has_form_without_sum(machine, state))
		hole = CFI_HOLE_EXPRESSION;
	if (!hole && looks_like_sum(machine, state))
		hole = CFI_HOLE_RA;
	if (!hole && !sp_is_cfa(state))
		hole = CFI_HOLE_SP;
	if (!hole && !is_default_ra(machine, &state->ra))
		hole = saved_hole(machine, &state->cfa, &state->ra, CFI_HOLE_RA);
	if (!hole && !is_default_fp(&state->fp))
		hole = saved_hole(machine, &state->cfa, &state->fp, CFI_HOLE_FP);
	return hole;
}

/**
 * table_row_is_plain - find out whether a row has the DEFAULT form
 * @machine: the architecture
 * @row: a row that is no hole
 *
 * Return: false if only the FLEX form says it.
 */
bool table_row_is_plain(const struct cfi_machine *machine, const struct cfi_row *row)
{
	const struct cfi_state *state = &row->state;
	bool has_ra = machine->fixed_ra || state->ra.how == CFI_CFA_MEM;

	if (state->ra.how == CFI_UNDEFINED)
		return true;
	if (state->cfa.how != CFI_REG || (state->cfa.reg != machine->sp &&
					  state->cfa.reg != machine->fp))
		return false;
	if (!is_default_ra(machine, &state->ra) && (machine->fixed_ra || !has_ra))
		return false;
	return is_default_fp(&state->fp) || (state->fp.how == CFI_CFA_MEM && has_ra);
}

static void add_word(struct words *words, s64 word, bool is_unsigned)
{
	u32 code = 2;

	if (word == (s8)word || (is_unsigned && word <= 0xff))
		code = 0;
	else if (word == (s16)word)
		code = 1;
	if (code > words->size_code)
		words->size_code = code;
	words->all[words->nr++] = word;
}

static void add_plain_words(struct words *words, const struct cfi_machine *machine,
			    const struct cfi_state *state)
{
	add_word(words, state->cfa.off, false);
	if (!is_default_ra(machine, &state->ra))
		add_word(words, state->ra.off, false);
	if (!is_default_fp(&state->fp))
		add_word(words, state->fp.off, false);
}

static void add_flex_rule(struct words *words, const struct cfi_rule *rule)
{
	u32 control = 0;

	if (rule->how == CFI_REG || rule->how == CFI_REG_MEM)
		control |= CONTROL_REG | (u32)rule->reg << CONTROL_REGNUM_SHIFT;
	if (rule->how == CFI_CFA_MEM || rule->how == CFI_REG_MEM)
		control |= CONTROL_DEREF;
	add_word(words, control, true);
	add_word(words, rule->off, false);
}

/* Rules at the end that are the default are left out. */
static void add_flex_words(struct words *words, const struct cfi_machine *machine,
			   const struct cfi_state *state)
{
	struct cfi_rule ra = from_register(&state->cfa, &state->ra);
	struct cfi_rule fp = from_register(&state->cfa, &state->fp);

	add_flex_rule(words, &state->cfa);
	if (!is_default_ra(machine, &ra))
		add_flex_rule(words, &ra);
	else if (!is_default_fp(&fp))
		add_word(words, CONTROL_DEFAULT, true);
	if (!is_default_fp(&fp))
		add_flex_rule(words, &fp);
}

/* Writes four bytes whatever @size is: the next value replaces the rest. */
static u8 *put(u8 *to, u32 value, u32 size)
{
	memcpy(to, &value, sizeof(value));
	return to + size;
}

/**
 * table_row_put - store a row
 * @to: the place, of at least TABLE_ROW_ROOM bytes
 * @machine: the architecture
 * @row: a row that is no hole
 * @start: offset from the start of the function, or of the slot
 * @addr_type: SFRAME_FRE_TYPE_*, which has room for @start
 * @flex: the function has the FLEX form
 *
 * Return: the number of bytes.
 */
u32 table_row_put(u8 *to, const struct cfi_machine *machine, const struct cfi_row *row,
		  u32 start, u8 addr_type, bool flex)
{
	const struct cfi_state *state = &row->state;
	struct cfi_state stored;
	struct words words;
	u8 *pos = to;
	u8 info;
	u32 i;

	words.nr = 0;
	words.size_code = 0;
	/* A row without words: there is no caller. */
	if (state->ra.how == CFI_UNDEFINED) {
		;
	} else if (flex) {
		stored = without_sum(state);
		add_flex_words(&words, machine, &stored);
	} else {
		add_plain_words(&words, machine, state);
	}

	info = words.nr << 1 | words.size_code << 5;
	if (words.nr && (flex || state->cfa.reg == machine->sp))
		info |= 1;
	if (state->ra_signed)
		info |= 1 << 7;
	pos = put(pos, start, 1u << addr_type);
	pos = put(pos, info, 1);
	for (i = 0; i < words.nr; i++)
		pos = put(pos, words.all[i], 1u << words.size_code);
	return pos - to;
}
