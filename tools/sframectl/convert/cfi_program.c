// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Executes call frame instructions (DWARF 5, section 6.4), and keeps the rules for the CFA,
 * the return address, the frame pointer and the stack pointer. Rules for other registers are
 * skipped.
 *
 * "restore" means the rule of the CIE. Where instructions contradict themselves, the rest of
 * the function is a hole: libdw refuses it as well.
 */
#include <stdint.h>
#include <stdlib.h>

#include "cfi_expression.h"
#include "cfi_program.h"
#include "sframe_format.h"

enum {
	/* In the two high bits; the operand is in the others. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_LOC1,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/*
 * AArch64: a pseudo register. Instructions for it would change whether the return address is
 * signed.
 */
#define AARCH64_RA_SIGN_STATE	34

#define OP_CONST1U	0x08
#define OP_LIT0		0x30
#define OP_LIT1		0x31

/* Compilers nest two levels, if at all. */
#define NR_REMEMBERED	32

/**
 * struct run - the execution of one program
 * @state: the rules at @loc
 * @loc: offset in the function
 * @size: bytes of the function
 * @fde: NULL in a CIE, which has no advances
 * @rows: takes the rows; NULL in a CIE
 * @is_full: there was no memory for a row
 * @failure: not CFI_HOLE_NONE: the program cannot be followed beyond @loc
 */
struct run {
	const struct cfi_section	*sec;
	const struct cfi_machine	*machine;
	const struct cfi_cie		*cie;
	const struct cfi_fde		*fde;
	struct cfi_cursor		cur;
	struct cfi_state		state;
	u64				loc;
	u64				size;
	struct cfi_rows			*rows;
	bool				is_full;
	enum cfi_hole			failure;
	u32				nr_remembered;
	struct cfi_state		remembered[NR_REMEMBERED];
};

static bool has_room(struct cfi_rows *rows)
{
	u32 room = rows->room ? 2 * rows->room : 64;
	struct cfi_row *all;

	if (rows->nr < rows->room)
		return true;
	all = reallocarray(rows->all, room, sizeof(*all));
	if (!all)
		return false;
	rows->all = all;
	rows->room = room;
	return true;
}

/**
 * cfi_rows_add - add a row, unless the row before says the same
 * @rows: the rows
 * @row: the next row
 *
 * Return: false if there is not enough memory.
 */
bool cfi_rows_add(struct cfi_rows *rows, const struct cfi_row *row)
{
	const struct cfi_row *last = rows->nr ? &rows->all[rows->nr - 1] : NULL;

	if (last && last->hole == row->hole &&
	    !memcmp(&last->state, &row->state, sizeof(row->state)))
		return true;
	if (!has_room(rows))
		return false;
	rows->all[rows->nr++] = *row;
	return true;
}

/* Keeps a row for @loc. */
static void add_row(struct run *run)
{
	const struct cfi_row row = {
		.state = run->state,
		.start = run->loc,
		.hole = run->failure,
	};

	run->is_full |= !cfi_rows_add(run->rows, &row);
}

static void fail(struct run *run, enum cfi_hole hole)
{
	run->failure = hole;
}

/* The rules are complete for the instructions from @loc up to @next. */
static void advance_to(struct run *run, u64 next)
{
	if (!run->rows) {
		fail(run, CFI_HOLE_MALFORMED);
		return;
	}
	if (next == run->loc)
		return;
	add_row(run);
	run->loc = next;
}

static void advance_by(struct run *run, u64 units)
{
	u64 bytes;

	if (__builtin_mul_overflow(units, run->cie->code_factor, &bytes) ||
	    bytes > run->size - run->loc)
		bytes = run->size - run->loc;
	advance_to(run, run->loc + bytes);
}

static void set_loc(struct run *run)
{
	u64 addr = cfi_encoded(run->sec, &run->cur, run->cie->encoding);
	u64 off = run->fde ? addr - run->fde->start : 0;

	if (!run->fde || run->cur.is_bad || addr < run->fde->start || off < run->loc)
		fail(run, CFI_HOLE_MALFORMED);
	else
		advance_to(run, off < run->size ? off : run->size);
}

/* Return: the rule of a register, NULL if it is of no interest. */
static struct cfi_rule *rule_of(struct run *run, struct cfi_state *state, u64 reg)
{
	const struct cfi_machine *machine = run->machine;

	if (reg == machine->fp)
		return &state->fp;
	if (reg == machine->ra)
		return &state->ra;
	if (reg == machine->sp)
		return &state->sp;
	if (reg == AARCH64_RA_SIGN_STATE && machine->abi == SFRAME_ABI_AARCH64_LE)
		fail(run, CFI_HOLE_UNKNOWN);
	return NULL;
}

static void set_rule(struct run *run, u64 reg, struct cfi_rule new)
{
	struct cfi_rule *rule = rule_of(run, &run->state, reg);

	if (rule)
		*rule = new;
}

static struct cfi_rule factored(struct run *run, u8 how, s64 units)
{
	s64 off;

	if (__builtin_mul_overflow(units, run->cie->data_factor, &off))
		return cfi_hole_rule(CFI_HOLE_OFFSET);
	return cfi_make_rule(how, 0, off);
}

static void restore_rule(struct run *run, u64 reg)
{
	struct cfi_rule *rule = rule_of(run, &run->state, reg);
	struct cfi_state initial = run->cie->initial;

	if (rule)
		*rule = *rule_of(run, &initial, reg);
}

/* The two parts of a CFA can be changed one by one only where it has these parts. */
static bool has_parts(struct run *run)
{
	if (run->state.cfa.how == CFI_REG)
		return true;
	fail(run, CFI_HOLE_MALFORMED);
	return false;
}

static void set_cfa_offset(struct run *run, s64 off)
{
	if (has_parts(run))
		run->state.cfa = cfi_make_rule(CFI_REG, run->state.cfa.reg, off);
}

static void set_cfa_register(struct run *run, u64 reg)
{
	if (has_parts(run))
		run->state.cfa = cfi_make_rule(CFI_REG, reg, run->state.cfa.off);
}

static s64 factored_cfa(struct run *run, s64 units)
{
	s64 off;

	return __builtin_mul_overflow(units, run->cie->data_factor, &off) ? INT64_MAX : off;
}

static void remember_state(struct run *run)
{
	if (run->nr_remembered == NR_REMEMBERED)
		fail(run, CFI_HOLE_MALFORMED);
	else
		run->remembered[run->nr_remembered++] = run->state;
}

static void restore_state(struct run *run)
{
	if (run->nr_remembered == 0)
		fail(run, CFI_HOLE_MALFORMED);
	else
		run->state = run->remembered[--run->nr_remembered];
}

static struct cfi_cursor take_block(struct run *run)
{
	u64 len = cfi_uleb(&run->cur);

	return cfi_block(&run->cur, len);
}

static void negate_ra_state(struct run *run)
{
	if (run->machine->abi == SFRAME_ABI_AARCH64_LE)
		run->state.ra_signed ^= 1;
	else
		fail(run, CFI_HOLE_UNKNOWN);
}

/*
 * The state as a constant: DW_OP_lit0 or lit1, or const1u and a byte. 1: the return address is
 * signed. Higher values, of addresses signed with the PC as well, have no row.
 */
static void set_ra_state(struct run *run, struct cfi_cursor block)
{
	const u8 *op = block.pos;
	const size_t len = block.end - block.pos;

	if (len == 1 && (*op == OP_LIT0 || *op == OP_LIT1))
		run->state.ra_signed = *op - OP_LIT0;
	else if (len == 2 && *op == OP_CONST1U && op[1] <= 1)
		run->state.ra_signed = op[1];
	else
		fail(run, CFI_HOLE_UNKNOWN);
}

/* The instructions without an operand in their first byte. */
static void execute_extended(struct run *run, u8 op)
{
	struct cfi_cursor *cur = &run->cur;
	u64 reg;

	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		set_loc(run);
		break;
	case CFA_ADVANCE_LOC1:
		advance_by(run, cfi_fixed(cur, 1));
		break;
	case CFA_ADVANCE_LOC2:
		advance_by(run, cfi_fixed(cur, 2));
		break;
	case CFA_ADVANCE_LOC4:
		advance_by(run, cfi_fixed(cur, 4));
		break;
	case CFA_MIPS_ADVANCE_LOC8:
		advance_by(run, cfi_fixed(cur, 8));
		break;
	case CFA_DEF_CFA:
		reg = cfi_uleb(cur);
		run->state.cfa = cfi_make_rule(CFI_REG, reg, cfi_uleb(cur));
		break;
	case CFA_DEF_CFA_SF:
		reg = cfi_uleb(cur);
		run->state.cfa = cfi_make_rule(CFI_REG, reg, factored_cfa(run, cfi_sleb(cur)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_register(run, cfi_uleb(cur));
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(run, cfi_uleb(cur));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(run, factored_cfa(run, cfi_sleb(cur)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		run->state.cfa = cfi_cfa_expression(take_block(run));
		break;
	case CFA_OFFSET_EXTENDED:
		reg = cfi_uleb(cur);
		set_rule(run, reg, factored(run, CFI_CFA_MEM, cfi_uleb(cur)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		reg = cfi_uleb(cur);
		set_rule(run, reg, factored(run, CFI_CFA_MEM, cfi_sleb(cur)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cfi_uleb(cur);
		set_rule(run, reg, factored(run, CFI_CFA_MEM, -cfi_uleb(cur)));
		break;
	case CFA_VAL_OFFSET:
		reg = cfi_uleb(cur);
		set_rule(run, reg, factored(run, CFI_CFA, cfi_uleb(cur)));
		break;
	case CFA_VAL_OFFSET_SF:
		reg = cfi_uleb(cur);
		set_rule(run, reg, factored(run, CFI_CFA, cfi_sleb(cur)));
		break;
	case CFA_REGISTER:
		reg = cfi_uleb(cur);
		set_rule(run, reg, cfi_make_rule(CFI_REG, cfi_uleb(cur), 0));
		break;
	case CFA_EXPRESSION:
		reg = cfi_uleb(cur);
		set_rule(run, reg, cfi_location_expression(take_block(run)));
		break;
	case CFA_VAL_EXPRESSION:
		reg = cfi_uleb(cur);
		if (reg == AARCH64_RA_SIGN_STATE && run->machine->abi == SFRAME_ABI_AARCH64_LE)
			set_ra_state(run, take_block(run));
		else
			set_rule(run, reg, cfi_value_expression(take_block(run)));
		break;
	case CFA_UNDEFINED:
		set_rule(run, cfi_uleb(cur), (struct cfi_rule){ .how = CFI_UNDEFINED });
		break;
	case CFA_SAME_VALUE:
		set_rule(run, cfi_uleb(cur), (struct cfi_rule){ .how = CFI_SAME });
		break;
	case CFA_RESTORE_EXTENDED:
		restore_rule(run, cfi_uleb(cur));
		break;
	case CFA_REMEMBER_STATE:
		remember_state(run);
		break;
	case CFA_RESTORE_STATE:
		restore_state(run);
		break;
	case CFA_AARCH64_NEGATE_RA_STATE:
		negate_ra_state(run);
		break;
	case CFA_GNU_ARGS_SIZE:
		cfi_uleb(cur);
		break;
	default:
		fail(run, CFI_HOLE_UNKNOWN);
	}
}

static void execute_program(struct run *run)
{
	struct cfi_cursor *cur = &run->cur;
	u8 op;

	while (cur->pos != cur->end && !run->failure && run->loc < run->size) {
		op = *cur->pos++;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			advance_by(run, op & 0x3f);
			break;
		case CFA_OFFSET:
			set_rule(run, op & 0x3f, factored(run, CFI_CFA_MEM, cfi_uleb(cur)));
			break;
		case CFA_RESTORE:
			restore_rule(run, op & 0x3f);
			break;
		default:
			execute_extended(run, op);
		}
		if (cur->is_bad)
			fail(run, CFI_HOLE_MALFORMED);
	}
}

/**
 * cfi_run_cie - execute the instructions of a CIE
 * @sec: the section
 * @machine: its architecture
 * @cie: the initial rules are filled in
 */
void cfi_run_cie(const struct cfi_section *sec, const struct cfi_machine *machine,
		 struct cfi_cie *cie)
{
	struct run run;

	if (cie->hole)
		return;
	run.sec = sec;
	run.machine = machine;
	run.cie = cie;
	run.fde = NULL;
	run.cur = cie->program;
	/* Without a rule, the caller's stack pointer is the CFA. */
	run.state = (struct cfi_state){ .sp.how = CFI_CFA };
	run.loc = 0;
	run.size = 1;
	run.rows = NULL;
	run.is_full = false;
	run.failure = CFI_HOLE_NONE;
	run.nr_remembered = 0;
	execute_program(&run);
	cie->initial = run.state;
	cie->hole = run.failure;
}

/**
 * cfi_run_fde - execute the instructions of a function
 * @sec: the section
 * @machine: its architecture
 * @cie: the CIE of @fde, after cfi_run_cie()
 * @fde: the function, of at least one byte
 * @rows: the rows of the function replace what was there
 *
 * Return: false if there is not enough memory.
 */
bool cfi_run_fde(const struct cfi_section *sec, const struct cfi_machine *machine,
		 const struct cfi_cie *cie, const struct cfi_fde *fde, struct cfi_rows *rows)
{
	struct run run;

	rows->nr = 0;
	run.sec = sec;
	run.machine = machine;
	run.cie = cie;
	run.fde = fde;
	run.cur = fde->program;
	run.state = cie->initial;
	run.loc = 0;
	run.size = fde->size;
	run.rows = rows;
	run.is_full = false;
	run.failure = cie->hole;
	run.nr_remembered = 0;
	execute_program(&run);
	if (run.loc < run.size)
		add_row(&run);
	return !run.is_full;
}
