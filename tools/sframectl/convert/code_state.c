// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the stack pointer, the caller's frame pointer and the return address through
 * instructions. Each value is exact or unknown: where two paths disagree, it is unknown.
 */
#include <elf.h>

#include "code_state.h"

/* Below the stack pointer, signals leave this as it is. */
#define RED_ZONE	128

/* Of a store whose size is not known: the largest that saves a part of the processor's state */
#define STORE_MAX	512

/* No file loads anything below its header. */
#define ADDRESS_MIN	0x1000

/* Registers that functions may change. */
#define CHANGED_X86	0x00000f37u	/* rax, rdx, rcx, rsi, rdi, r8 to r11 */
#define CHANGED_ARM64	0x4007ffffu	/* x0 to x18, x30 */

static bool is_equal(const struct code_value *one, const struct code_value *two)
{
	return !memcmp(one, two, sizeof(*one));
}

static struct code_value make_value(u8 kind, u8 reg, s64 off)
{
	if (off != (s32)off)
		return (struct code_value){};
	return (struct code_value){ .kind = kind, .reg = reg, .off = off };
}

static bool is_place(const struct code_value *value)
{
	return value->kind == CODE_STACK || value->kind == CODE_ALIGNED;
}

/* A call has pushed the return address, or it is in a register. */
void code_state_init(struct code_state *state, const struct cfi_machine *machine)
{
	*state = (struct code_state){};
	state->regs[machine->sp] = make_value(CODE_STACK, 0, machine->fixed_ra);
	state->regs[machine->fp] = make_value(CODE_OF_CALLER, machine->fp, 0);
	if (!machine->fixed_ra)
		state->regs[machine->ra] = make_value(CODE_OF_CALLER, machine->ra, 0);
}

static struct code_slot *find_slot(const struct code_state *state, const struct code_value *place)
{
	u32 i;

	for (i = 0; i < CODE_NR_SLOTS; i++)
		if (is_equal(&state->slots[i].place, place))
			return (struct code_slot *)&state->slots[i];
	return NULL;
}

/**
 * code_state_meet - keep of a state what another path says, too
 * @state: the state
 * @other: that of the other path
 *
 * Return: whether @state changed.
 */
bool code_state_meet(struct code_state *state, const struct code_state *other)
{
	bool is_changed = false;
	struct code_slot *slot;
	u32 i;

	for (i = 0; i < CODE_NR_REGS; i++) {
		if (is_equal(&state->regs[i], &other->regs[i]) || !state->regs[i].kind)
			continue;
		state->regs[i] = (struct code_value){};
		is_changed = true;
	}
	for (i = 0; i < CODE_NR_SLOTS; i++) {
		if (!state->slots[i].place.kind)
			continue;
		slot = find_slot(other, &state->slots[i].place);
		if (slot && is_equal(&slot->value, &state->slots[i].value))
			continue;
		state->slots[i] = (struct code_slot){};
		is_changed = true;
	}
	if (state->bound && state->bound != other->bound) {
		state->bound = 0;
		is_changed = true;
	}
	if (state->compared && state->compared != other->compared) {
		state->compared = 0;
		is_changed = true;
	}
	if (!state->lost_ra && other->lost_ra) {
		state->lost_ra = true;
		is_changed = true;
	}
	if (state->after_call && !other->after_call) {
		state->after_call = false;
		is_changed = true;
	}
	return is_changed;
}

/* Of numbers, only one that may be the address of a table */
static bool is_worthy(const struct code_value *value)
{
	return is_place(value) || value->kind == CODE_OF_CALLER ||
	       (value->kind == CODE_NUMBER && value->off >= ADDRESS_MIN);
}

/* Something was stored at @place. */
static void store(struct code_state *state, const struct cfi_machine *machine,
		  const struct code_value *place, u32 size, const struct code_value *value)
{
	struct code_slot *slot, *free_slot = NULL;
	s64 end = (s64)place->off + (size ?: STORE_MAX);
	u32 i;

	if (!is_place(place))
		return;
	for (i = 0; i < CODE_NR_SLOTS; i++) {
		slot = &state->slots[i];
		if (slot->place.kind == place->kind && slot->place.off < end &&
		    place->off < (s64)slot->place.off + 8)
			*slot = (struct code_slot){};
		if (!slot->place.kind)
			free_slot = slot;
	}
	if (machine->fixed_ra && place->kind == CODE_STACK && place->off < 0 &&
	    end > machine->fixed_ra)
		state->lost_ra = true;
	if (size == 8 && free_slot && is_worthy(value))
		*free_slot = (struct code_slot){ .place = *place, .value = *value };
}

/* What is relative to the stack pointer as it was rounded down before has no meaning any more. */
static void align(struct code_state *state, u8 reg)
{
	bool is_stack = is_place(&state->regs[reg]);
	u32 i;

	for (i = 0; is_stack && i < CODE_NR_REGS; i++)
		if (state->regs[i].kind == CODE_ALIGNED)
			state->regs[i] = (struct code_value){};
	for (i = 0; is_stack && i < CODE_NR_SLOTS; i++)
		if (state->slots[i].place.kind == CODE_ALIGNED ||
		    state->slots[i].value.kind == CODE_ALIGNED)
			state->slots[i] = (struct code_slot){};
	state->regs[reg] = make_value(is_stack ? CODE_ALIGNED : CODE_UNKNOWN, 0, 0);
}

static struct code_value moved(const struct code_value *value, s64 arg)
{
	switch (value->kind) {
	case CODE_STACK:
	case CODE_ALIGNED:
	case CODE_NUMBER:
		return make_value(value->kind, 0, value->off + arg);
	default:
		return arg ? (struct code_value){} : *value;
	}
}

/* @bytes: so many bytes of the entry are extended by their sign; 0: all of it is used as it is */
static struct code_value target(const struct code_value *base, const struct code_value *entry,
				u8 shift, u32 bytes, struct code_tables *tables)
{
	const struct code_table table = {
		.addr = (u32)entry->off, .base = (u32)base->off,
		.form = (entry->reg & (bytes ? ~CODE_UNSIGNED : ~0)) | (shift & CODE_MINUS),
		.shift = shift & 7,
	};
	u32 i;

	for (i = 0; i < tables->nr && memcmp(&tables->all[i], &table, sizeof(table)); i++)
		;
	if (base->kind != CODE_NUMBER || entry->kind != CODE_OFFSET || i == CODE_NR_TABLES ||
	    (bytes && bytes != (entry->reg & 15u)))
		return (struct code_value){};
	if (i == tables->nr)
		tables->all[tables->nr++] = table;
	return make_value(CODE_PLACE, 0, i);
}

/* Of an addition without a shift, either of the two may be the entry. */
static struct code_value sum(const struct code_value *base, const struct code_value *reg,
			     const struct code_op *op, struct code_tables *tables)
{
	bool is_plain = !(op->size & 7) && !op->arg;
	struct code_value value;

	if (reg->kind == CODE_NUMBER && is_plain && (is_place(base) || base->kind == CODE_NUMBER))
		return moved(base, op->size & CODE_MINUS ? -(s64)reg->off : reg->off);
	value = target(base, reg, op->size, op->arg, tables);
	if (!value.kind && is_plain && !op->size)
		value = target(reg, base, 0, 0, tables);
	return value;
}

/* @size has the form of the entry. An entry that is an address needs no more. */
static struct code_value entry(const struct code_value *base, const struct code_op *op,
			       struct code_tables *tables)
{
	static const struct code_value zero = { .kind = CODE_NUMBER };
	struct code_value value = moved(base, op->arg);

	if (value.kind != CODE_NUMBER)
		return (struct code_value){};
	value = make_value(CODE_OFFSET, op->size, value.off);
	return op->size & CODE_ABSOLUTE ? target(&zero, &value, 0, 0, tables) : value;
}

/* A signature depends on the stack pointer, which has to be as at the entry. */
static void sign(struct code_state *state, const struct cfi_machine *machine, u8 reg,
		 bool is_signed)
{
	struct code_value *value = &state->regs[reg];
	const struct code_value *sp = &state->regs[machine->sp];

	if (value->kind != CODE_OF_CALLER || value->reg != machine->ra || value->off == is_signed ||
	    sp->kind != CODE_STACK || sp->off)
		*value = (struct code_value){};
	else
		value->off = is_signed;
}

static void run_op(struct code_state *state, const struct cfi_machine *machine,
		   const struct code_insn *insn, const struct code_op *op,
		   struct code_tables *tables)
{
	static const struct code_value unknown;
	struct code_value *regs = state->regs, value;
	const struct code_slot *slot;
	u32 i;

	switch (op->how) {
	case CODE_LOSE:
		for (i = 0; i < 32; i++)
			if ((u32)op->arg >> i & 1)
				regs[i] = unknown;
		return;
	case CODE_COPY:
		regs[op->reg] = moved(&regs[op->base], op->arg);
		return;
	case CODE_SWAP:
		value = regs[op->reg];
		regs[op->reg] = regs[op->base];
		regs[op->base] = value;
		return;
	case CODE_CONST:
		regs[op->reg] = insn->value > INT32_MAX ? unknown :
			make_value(CODE_NUMBER, 0, insn->value);
		return;
	case CODE_LOAD:
		value = moved(&regs[op->base], op->arg);
		slot = is_place(&value) ? find_slot(state, &value) : NULL;
		regs[op->reg] = slot ? slot->value : unknown;
		return;
	case CODE_STORE:
		value = moved(&regs[op->base], op->arg);
		store(state, machine, &value, op->size,
		      op->reg == CODE_TEMP ? &unknown : &regs[op->reg]);
		return;
	case CODE_ALIGN:
		align(state, op->reg);
		return;
	case CODE_COMPARE:
		state->compared = op->arg >= 0 ? (u32)op->arg + 1 : 0;
		return;
	case CODE_ABOVE:
		state->bound = state->compared ? state->compared - op->arg : 0;
		return;
	case CODE_SIGN:
	case CODE_AUTH:
		sign(state, machine, op->reg, op->how == CODE_SIGN);
		return;
	case CODE_ENTRY:
		regs[op->reg] = entry(&regs[op->base], op, tables);
		return;
	case CODE_TARGET:
		regs[op->reg] = sum(&regs[op->base], &regs[op->reg], op, tables);
		return;
	}
}

/* Calls and signals write below the stack pointer. */
static void forget_below(struct code_state *state, const struct cfi_machine *machine)
{
	const struct code_value *sp = &state->regs[machine->sp];
	u32 i;

	for (i = 0; i < CODE_NR_SLOTS; i++)
		if (state->slots[i].place.kind == sp->kind &&
		    state->slots[i].place.off < sp->off)
			state->slots[i] = (struct code_slot){};
}

/* What a function may change that keeps to the calling convention. */
void code_state_call(struct code_state *state, const struct cfi_machine *machine)
{
	u32 i, changed = machine->machine == EM_X86_64 ? CHANGED_X86 : CHANGED_ARM64;

	for (i = 0; i < 32; i++)
		if (changed >> i & 1)
			state->regs[i] = (struct code_value){};
	state->bound = 0;
	state->compared = 0;
	forget_below(state, machine);
	state->after_call = true;
}

/**
 * code_state_run - go on to after an instruction
 * @state: what is known before it, and then after it
 * @machine: the architecture
 * @insn: the instruction
 * @tables: the tables of the function; one may be added
 */
void code_state_run(struct code_state *state, const struct cfi_machine *machine,
		    const struct code_insn *insn, struct code_tables *tables)
{
	u32 i;

	for (i = 0; i < insn->nr_ops; i++)
		run_op(state, machine, insn, &insn->ops[i], tables);
	state->after_call &= insn->is_nop;
}

static bool is_of_caller(const struct code_value *value, u8 reg)
{
	return value->kind == CODE_OF_CALLER && value->reg == reg && !value->off;
}

/* Is all as a caller has left it, so that the function may return, or give its place to another? */
bool code_state_is_entry(const struct code_state *state, const struct cfi_machine *machine)
{
	const struct code_value *sp = &state->regs[machine->sp];

	return sp->kind == CODE_STACK && sp->off == machine->fixed_ra && !state->lost_ra &&
	       is_of_caller(&state->regs[machine->fp], machine->fp) &&
	       (machine->fixed_ra || is_of_caller(&state->regs[machine->ra], machine->ra));
}

/* Return: the rule for a place of the stack; CFI_UNDEFINED if nothing leads there. */
static struct cfi_rule rule_of(const struct code_state *state, const struct cfi_machine *machine,
			       const struct code_value *place)
{
	const u8 bases[] = { machine->sp, machine->fp };
	const struct code_value *base;
	u32 i;

	if (place->kind == CODE_STACK)
		return cfi_make_rule(CFI_CFA_MEM, 0, place->off);
	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		base = &state->regs[bases[i]];
		if (base->kind == place->kind)
			return cfi_make_rule(CFI_REG_MEM, bases[i], (s64)place->off - base->off);
	}
	return (struct cfi_rule){ .how = CFI_UNDEFINED };
}

/* Is the word still what was stored there? */
static bool is_kept(const struct code_state *state, const struct cfi_machine *machine,
		    const struct code_value *place)
{
	const struct code_value *sp = &state->regs[machine->sp];

	return sp->kind != place->kind ||
	       place->off >= (s64)sp->off - (machine->fixed_ra ? RED_ZONE : 0);
}

/* The register @reg, as the caller had it. A word above the stack pointer is preferred. */
static struct cfi_rule find_saved(const struct code_state *state,
				  const struct cfi_machine *machine, u8 reg, u64 *is_signed)
{
	struct cfi_rule found = { .how = CFI_UNDEFINED }, rule;
	const struct code_value *sp = &state->regs[machine->sp];
	const struct code_slot *slot;
	u32 i;

	if (state->regs[reg].kind == CODE_OF_CALLER && state->regs[reg].reg == reg) {
		found.how = CFI_SAME;
		*is_signed = state->regs[reg].off;
	}
	for (i = 0; i < CODE_NR_SLOTS; i++) {
		slot = &state->slots[i];
		if (slot->value.kind != CODE_OF_CALLER || slot->value.reg != reg ||
		    !is_kept(state, machine, &slot->place) ||
		    (found.how == CFI_SAME && sp->kind == slot->place.kind &&
		     slot->place.off < sp->off))
			continue;
		rule = rule_of(state, machine, &slot->place);
		if (rule.how == CFI_UNDEFINED)
			continue;
		*is_signed = slot->value.off;
		return rule;
	}
	return found;
}

/* The CFA in a word of the stack, relative to the stack pointer or the frame pointer */
static struct cfi_rule find_saved_cfa(const struct code_state *state,
				      const struct cfi_machine *machine)
{
	const struct code_slot *slot;
	struct cfi_rule rule;
	u32 i;

	for (i = 0; i < CODE_NR_SLOTS; i++) {
		slot = &state->slots[i];
		if (slot->place.kind != CODE_ALIGNED || slot->value.kind != CODE_STACK ||
		    slot->value.off > 0 || slot->value.off < -0x7fff ||
		    !is_kept(state, machine, &slot->place))
			continue;
		rule = rule_of(state, machine, &slot->place);
		rule.sum = -slot->value.off;
		if (rule.how == CFI_REG_MEM)
			return rule;
	}
	return (struct cfi_rule){};
}

static struct cfi_rule find_cfa(const struct code_state *state, const struct cfi_machine *machine)
{
	const u8 bases[] = { machine->sp, machine->fp };
	struct cfi_rule rule;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bases); i++)
		if (state->regs[bases[i]].kind == CODE_STACK)
			return cfi_make_rule(CFI_REG, bases[i], -(s64)state->regs[bases[i]].off);
	rule = find_saved_cfa(state, machine);
	if (rule.how)
		return rule;
	for (i = 0; i < machine->nr_regs && i < CODE_TEMP; i++)
		if (state->regs[i].kind == CODE_STACK)
			return cfi_make_rule(CFI_REG, i, -(s64)state->regs[i].off);
	return rule;
}

/**
 * code_state_row - say where the caller's frame is
 * @state: what is known
 * @machine: the architecture
 * @row: filled in
 *
 * Return: false if that is not known.
 */
bool code_state_row(const struct code_state *state, const struct cfi_machine *machine,
		    struct cfi_state *row)
{
	u64 is_signed = 0, unused;

	*row = (struct cfi_state){ .sp.how = CFI_CFA };
	row->cfa = find_cfa(state, machine);
	row->fp = find_saved(state, machine, machine->fp, &unused);
	if (machine->fixed_ra)
		row->ra = cfi_make_rule(CFI_CFA_MEM, 0, machine->fixed_ra);
	else
		row->ra = find_saved(state, machine, machine->ra, &is_signed);
	row->ra_signed = is_signed;
	return row->cfa.how && !state->lost_ra && row->fp.how != CFI_UNDEFINED &&
	       row->ra.how != CFI_UNDEFINED;
}
