// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Analyses functions that have call frame information as if they had none, and compares: at each
 * instruction that gets a row, both must say the same of the CFA, the return address and the frame
 * pointer.
 *
 * Usage: analysed FILE...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cfi_program.h"
#include "code_rows.h"
#include "grow.h"

/* A row of .eh_frame comes at most so many bytes late. */
#define LATE_MAX	16

/* An instruction that both describe, and not alike */
struct difference {
	u64			addr;
	u64			function;
	struct cfi_state	theirs;
	struct cfi_state	ours;
};

/**
 * struct comparison - the comparison of a file
 * @name: its path
 * @functions: what .eh_frame says
 * @function: the one that @rows are of
 * @cie: its CIE
 * @rows: its rows
 * @nr: instructions that were compared
 * @nr_elsewhere: of these, those with rows of different registers, whose values are not both known
 * @nr_late: of these, those whose row of .eh_frame comes a few instructions late
 * @nr_reloaded: of these, those whose CFA of .eh_frame is relative to the caller's frame pointer
 * @differ: those that differ
 * @nr_differ: their number
 * @differences: how many of them have rows
 */
struct comparison {
	const char			*name;
	struct cfi_functions		functions;
	const struct cfi_function	*function;
	struct cfi_cie			cie;
	struct cfi_rows			rows;
	u64				nr;
	u64				nr_elsewhere;
	u64				nr_late;
	u64				nr_reloaded;
	struct difference		*differ;
	size_t				nr_differ;
	u64				differences;
};

/* Finds the function of an address, and its rows. */
static bool find_function(struct comparison *cmp, u64 addr)
{
	const struct cfi_functions *functions = &cmp->functions;
	const struct cfi_cie *cie;
	struct cfi_fde fde;
	u32 lo = 0, hi = functions->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (functions->all[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - functions->all[lo - 1].start >= functions->all[lo - 1].size)
		return false;
	if (cmp->function == &functions->all[lo - 1])
		return true;
	cmp->function = &functions->all[lo - 1];
	cie = cfi_functions_get(&cmp->functions, cmp->function->off, &fde);
	if (!cie)
		return false;
	cmp->cie = *cie;
	return cfi_run_fde(&functions->sec, functions->machine, &cmp->cie, &fde, &cmp->rows);
}

static const struct cfi_row *find_row(const struct comparison *cmp, u32 off)
{
	const struct cfi_row *row = NULL;
	u32 i;

	for (i = 0; i < cmp->rows.nr && cmp->rows.all[i].start <= off; i++)
		row = &cmp->rows.all[i];
	return row;
}

static const struct code_value *find_word(const struct code_state *state, u8 kind, s64 off)
{
	static const struct code_value unknown;
	u32 i;

	for (i = 0; i < CODE_NR_SLOTS; i++)
		if (state->slots[i].place.kind == kind && state->slots[i].place.off == off)
			return &state->slots[i].value;
	return &unknown;
}

/* The word that a rule of the forms *(CFA + n) and *(reg + n) names */
static const struct code_value *find_value(const struct code_state *state,
					   const struct cfi_rule *rule)
{
	if (rule->how == CFI_CFA_MEM)
		return find_word(state, CODE_STACK, rule->off);
	return find_word(state, state->regs[rule->reg].kind,
			 (s64)state->regs[rule->reg].off + rule->off);
}

static bool is_cfa(const struct code_state *state, const struct cfi_rule *rule)
{
	const struct code_value *value;

	switch (rule->how) {
	case CFI_REG:
		value = &state->regs[rule->reg];
		return value->kind == CODE_STACK && value->off == -rule->off;
	case CFI_REG_MEM:
		value = find_value(state, rule);
		return value->kind == CODE_STACK && value->off == -rule->sum;
	default:
		return false;
	}
}

/* Does the rule lead to what the register @reg had in the caller? */
static bool is_saved(const struct code_state *state, const struct cfi_rule *rule, u8 reg,
		     u64 is_signed)
{
	const struct code_value *value;

	switch (rule->how) {
	case CFI_SAME:
		value = &state->regs[reg];
		break;
	case CFI_REG:
		value = &state->regs[rule->reg];
		break;
	case CFI_CFA_MEM:
	case CFI_REG_MEM:
		value = find_value(state, rule);
		break;
	default:
		return false;
	}
	return value->kind == CODE_OF_CALLER && value->reg == reg && value->off == (s32)is_signed;
}

/*
 * After the frame pointer was loaded again, compilers leave its rule as it was: a word below the
 * stack pointer, or that where the frame pointer points to.
 */
static bool is_restored(const struct code_state *state, const struct cfi_machine *machine,
			const struct cfi_rule *rule)
{
	const struct cfi_rule same = { .how = CFI_SAME };
	const struct code_value *sp = &state->regs[machine->sp];

	if (rule->how == CFI_CFA_MEM ? sp->kind != CODE_STACK || rule->off >= sp->off :
				       rule->how != CFI_REG_MEM || rule->reg != machine->fp)
		return false;
	return is_saved(state, &same, machine->fp, 0);
}

static bool agrees(const struct comparison *cmp, const struct code_step *step,
		   const struct cfi_state *row)
{
	const struct cfi_machine *machine = cmp->functions.machine;
	const struct code_state *state = &step->state;

	if (row->ra.how == CFI_UNDEFINED || !is_cfa(state, &row->cfa))
		return false;
	if (row->fp.how != CFI_UNDEFINED && !is_saved(state, &row->fp, machine->fp, 0) &&
	    !is_restored(state, machine, &row->fp))
		return false;
	if (machine->fixed_ra)
		return row->ra.how == CFI_CFA_MEM && row->ra.off == machine->fixed_ra;
	return is_saved(state, &row->ra, machine->ra, row->ra_signed);
}

/*
 * GCC forgets that the frame pointer is loaded before other registers in an epilogue: the CFA stays
 * relative to it. The word that .eh_frame itself names has the caller's frame pointer, and so has
 * the register, while the stack pointer still leads to the CFA.
 */
static bool is_reloaded(const struct code_state *state, const struct cfi_machine *machine,
			const struct cfi_state *row, const struct cfi_state *ours)
{
	const struct cfi_rule same = { .how = CFI_SAME };

	return row->cfa.how == CFI_REG && row->cfa.reg == machine->fp &&
	       row->fp.how == CFI_CFA_MEM && is_saved(state, &row->fp, machine->fp, 0) &&
	       is_saved(state, &same, machine->fp, 0) && ours->cfa.how == CFI_REG &&
	       ours->cfa.reg == machine->sp && is_cfa(state, &ours->cfa) &&
	       is_saved(state, &row->ra, machine->ra, row->ra_signed);
}

static void compare(void *arg, const struct code_step *step)
{
	struct comparison *cmp = arg;
	struct difference *differ;
	struct cfi_state ours;
	const struct cfi_row *row, *late;

	if (!code_state_row(&step->state, cmp->functions.machine, &ours) ||
	    !find_function(cmp, step->insn.addr))
		return;
	row = find_row(cmp, step->insn.addr - cmp->function->start);
	/* What SFrame has no form for is compared in signal frames alone: they have no rows. */
	if (!row || (!cmp->cie.is_signal &&
		     (row->hole || row->state.cfa.how == CFI_HOLE ||
		      row->state.cfa.how == CFI_PLT)))
		return;
	cmp->nr++;
	if (agrees(cmp, step, &row->state))
		return;
	/* LLVM forgets the addition before the pops of an epilogue, until the next row. */
	late = find_row(cmp, step->insn.addr - cmp->function->start + LATE_MAX);
	if (late != row && late->state.cfa.off < row->state.cfa.off &&
	    agrees(cmp, step, &row[1].state)) {
		cmp->nr_late++;
		return;
	}
	/* A loop has moved the register up to where another one is: both lead to the CFA. */
	if (row->state.cfa.how == CFI_REG && !step->state.regs[row->state.cfa.reg].kind &&
	    ours.cfa.how == CFI_REG && ours.cfa.reg != row->state.cfa.reg) {
		cmp->nr_elsewhere++;
		return;
	}
	if (!cmp->functions.machine->fixed_ra &&
	    is_reloaded(&step->state, cmp->functions.machine, &row->state, &ours)) {
		cmp->nr_reloaded++;
		return;
	}
	differ = grow(cmp->differ, cmp->nr_differ, sizeof(*differ));
	if (!differ)
		exit(2);
	cmp->differ = differ;
	differ[cmp->nr_differ++] = (struct difference){
		.addr = step->insn.addr, .function = cmp->function->start, .theirs = row->state,
		.ours = ours,
	};
}

static void print_state(const char *whose, const struct cfi_state *state)
{
	printf("; %s: CFA %u:%u%+d, FP %u:%u%+d, RA %u:%u%+d", whose, state->cfa.how,
	       state->cfa.reg, state->cfa.off, state->fp.how, state->fp.reg, state->fp.off,
	       state->ra.how, state->ra.reg, state->ra.off);
}

/* Is it the row of this address? Several functions may share code, and not all get rows. */
static bool is_used(const struct code_rows *rows, u64 addr, const struct cfi_state *state)
{
	const struct code_part *part;
	size_t lo = 0, hi = rows->nr_parts, mid;
	u32 i;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (rows->parts[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - rows->parts[lo - 1].start >= rows->parts[lo - 1].size)
		return false;
	part = &rows->parts[lo - 1];
	for (i = part->nr; rows->rows[part->first + i - 1].start > addr - part->start; i--)
		;
	return !memcmp(&rows->rows[part->first + i - 1].state, state, sizeof(*state));
}

/* What differs counts where a row was made of it. */
static void judge(struct comparison *cmp, const struct code_image *image,
		  const struct code_rows *rows)
{
	u8 bytes[8] = {};
	size_t i, k;

	for (i = 0; i < cmp->nr_differ; i++) {
		const struct difference *differ = &cmp->differ[i];

		if (!is_used(rows, differ->addr, &differ->ours))
			continue;
		cmp->differences++;
		code_image_read(image, differ->function, bytes, sizeof(bytes));
		printf("# %s: 0x%" PRIx64 " in 0x%" PRIx64 " (", cmp->name, differ->addr,
		       differ->function);
		for (k = 0; k < sizeof(bytes); k++)
			printf("%02x", bytes[k]);
		putchar(')');
		print_state("CFI", &differ->theirs);
		print_state("the analysis", &differ->ours);
		putchar('\n');
	}
}

static const char *compare_source(struct comparison *cmp, const struct cfi_source *source)
{
	struct cfi_functions nothing = {};
	struct ranges described = {}, found = {};
	struct code_image image;
	struct code_rows rows = {};
	const char *error;
	u64 common;
	u32 i;

	error = cfi_functions_read(&cmp->functions, &source->sec, source->machine, &source->code);
	if (!error && code_image_open(&image, source, &nothing))
		code_rows_find(&rows, &image, compare, cmp);
	for (i = 0; i < cmp->functions.nr; i++)
		ranges_add(&described, cmp->functions.all[i].start, cmp->functions.all[i].size);
	for (i = 0; i < rows.nr_parts; i++)
		ranges_add(&found, rows.parts[i].start, rows.parts[i].size);
	ranges_merge(&described);
	ranges_merge(&found);
	judge(cmp, &image, &rows);
	common = ranges_common_bytes(&described, &found);
	printf("%s: %" PRIu64 " of %" PRIu64 " bytes, %" PRIu64 " instructions, %" PRIu64
	       " elsewhere, %" PRIu64 " late, %" PRIu64 " reloaded, %" PRIu64 " differences\n",
	       cmp->name, common, ranges_bytes(&described), cmp->nr, cmp->nr_elsewhere,
	       cmp->nr_late, cmp->nr_reloaded, cmp->differences);
	if (!error)
		code_image_close(&image);
	ranges_free(&described);
	ranges_free(&found);
	code_rows_free(&rows);
	cfi_functions_free(&cmp->functions);
	free(cmp->rows.all);
	free(cmp->differ);
	return error;
}

static const char *compare_file(struct comparison *cmp)
{
	struct cfi_source source = {};
	struct file file;
	struct elf elf;
	const char *error = file_open(&file, cmp->name);

	if (error)
		return error;
	error = elf_init(&elf, &file);
	if (!error)
		error = cfi_source_open(&source, &elf);
	if (!error && source.sec.size)
		error = compare_source(cmp, &source);
	cfi_source_close(&source);
	elf_close(&elf);
	file_close(&file);
	return error;
}

int main(int argc, char **argv)
{
	u64 differences = 0;
	const char *error;
	int i;

	for (i = 1; i < argc; i++) {
		struct comparison cmp = { .name = argv[i] };

		error = compare_file(&cmp);
		if (error)
			printf("%s: skipped: %s\n", argv[i], error);
		differences += cmp.differences;
	}
	return differences ? 1 : 0;
}
