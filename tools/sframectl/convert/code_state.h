/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known before an instruction of a function: where its caller's frame is. */
#ifndef CODE_STATE_H
#define CODE_STATE_H

#include "code_insn.h"

enum code_kind {
	CODE_UNKNOWN,
	CODE_OF_CALLER,	/* what the register @reg had at the entry; off: its signature */
	CODE_STACK,	/* CFA + off */
	CODE_ALIGNED,	/* the stack pointer as it was rounded down, + off */
	CODE_NUMBER,	/* off */
	CODE_OFFSET,	/* an entry of a table: off is its address, reg its form */
	CODE_PLACE,	/* where an entry of a table leads to: off is the number of the table */
};

/* There is no padding: values are compared by memcmp(). */
struct code_value {
	u8	kind;
	u8	reg;
	u16	unused;
	s32	off;
};

struct code_slot {
	struct code_value	place;	/* CODE_STACK or CODE_ALIGNED; CODE_UNKNOWN: empty */
	struct code_value	value;
};

#define CODE_NR_SLOTS	16
#define CODE_NR_TABLES	64

/**
 * struct code_state - what is known before an instruction
 * @regs: values of registers
 * @slots: words of the stack that have a value worth to know
 * @compared: one more than the constant of the last comparison; 0: not known
 * @bound: entries of a table, by the last unsigned comparison that branches; 0: not known
 * @lost_ra: something was stored over the return address
 * @after_call: since the last call, there were only instructions that do nothing
 */
struct code_state {
	struct code_value	regs[CODE_NR_REGS];
	struct code_slot	slots[CODE_NR_SLOTS];
	u32			compared;
	u32			bound;
	bool			lost_ra;
	bool			after_call;
};

/**
 * struct code_table - a table of places that a switch jumps to
 * @addr: address of the table
 * @base: what is added to each entry
 * @form: size of an entry, with CODE_UNSIGNED, CODE_MINUS or CODE_ABSOLUTE
 * @shift: of each entry
 */
struct code_table {
	u64	addr;
	u64	base;
	u32	form;
	u32	shift;
};

struct code_tables {
	struct code_table	all[CODE_NR_TABLES];
	u32			nr;
};

void code_state_init(struct code_state *state, const struct cfi_machine *machine);
bool code_state_meet(struct code_state *state, const struct code_state *other);
void code_state_run(struct code_state *state, const struct cfi_machine *machine,
		    const struct code_insn *insn, struct code_tables *tables);
void code_state_call(struct code_state *state, const struct cfi_machine *machine);
bool code_state_is_entry(const struct code_state *state, const struct cfi_machine *machine);
bool code_state_row(const struct code_state *state, const struct cfi_machine *machine,
		    struct cfi_state *row);

#endif /* CODE_STATE_H */
