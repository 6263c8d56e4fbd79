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
	u64			end;
	u64			function;
	struct cfi_state	theirs;
	struct cfi_state	ours;
	bool			is_late;	/* the next row of .eh_frame is right, and near */
	bool			is_bare;	/* the only row of .eh_frame is that of the entry */
};

/* An instruction that both describe alike, and that moves the stack pointer by a constant */
struct move {
	u64			end;
	struct cfi_state	theirs;
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
 * @nr_reloaded: of these, those whose CFA of .eh_frame is relative to the caller's frame pointer
 * @differ: those that differ
 * @nr_differ: their number
 * @moves: instructions that move the stack pointer
 * @nr_moves: their number
 * @nr_late: how many of @differ have rows, and a row of .eh_frame that comes a bit late
 * @nr_bare: how many have rows, in functions whose .eh_frame leaves out all that they push
 * @differences: how many others of them have rows
 */
struct comparison {
	const char			*name;
	struct cfi_functions		functions;
	const struct cfi_function	*function;
	struct cfi_cie			cie;
	struct cfi_rows			rows;
	u64				nr;
	u64				nr_elsewhere;
	u64				nr_reloaded;
	struct difference		*differ;
	size_t				nr_differ;
	struct move			*moves;
	size_t				nr_moves;
	u64				nr_late;
	u64				nr_bare;
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

static void *grow_or_exit(void *all, size_t nr, size_t size)
{
	all = grow(all, nr, size);
	if (!all)
		exit(2);
	return all;
}

static void add_move(struct comparison *cmp, const struct code_insn *insn,
		     const struct cfi_state *theirs)
{
	u8 sp = cmp->functions.machine->sp;
	u32 i;

	for (i = 0; i < insn->nr_ops; i++)
		if (insn->ops[i].how == CODE_COPY && insn->ops[i].reg == sp &&
		    insn->ops[i].base == sp)
			break;
	if (i == insn->nr_ops)
		return;
	cmp->moves = grow_or_exit(cmp->moves, cmp->nr_moves, sizeof(*cmp->moves));
	cmp->moves[cmp->nr_moves++] = (struct move){
		.end = insn->addr + insn->size, .theirs = *theirs,
	};
}

static bool has_entry_alone(const struct comparison *cmp)
{
	const struct cfi_machine *machine = cmp->functions.machine;
	const struct cfi_state *row = &cmp->rows.all[0].state;

	return cmp->rows.nr == 1 && row->cfa.how == CFI_REG && row->cfa.reg == machine->sp &&
	       row->cfa.off == -machine->fixed_ra;
}

static void compare(void *arg, const struct code_step *step)
{
	struct comparison *cmp = arg;
	const struct cfi_row *row, *late;
	struct cfi_state ours;

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
	if (agrees(cmp, step, &row->state)) {
		add_move(cmp, &step->insn, &row->state);
		return;
	}
	/* A loop has moved the register up to where another one is: both lead to the CFA. */
	if ((row->state.cfa.how == CFI_REG || row->state.cfa.how == CFI_REG_MEM) &&
	    !step->state.regs[row->state.cfa.reg].kind && ours.cfa.how == CFI_REG &&
	    ours.cfa.reg != row->state.cfa.reg) {
		cmp->nr_elsewhere++;
		return;
	}
	if (!cmp->functions.machine->fixed_ra &&
	    is_reloaded(&step->state, cmp->functions.machine, &row->state, &ours)) {
		cmp->nr_reloaded++;
		return;
	}
	/* LLVM forgets an addition before a branch in the block that it leads to. */
	late = find_row(cmp, step->insn.addr - cmp->function->start + LATE_MAX);
	cmp->differ = grow_or_exit(cmp->differ, cmp->nr_differ, sizeof(*cmp->differ));
	cmp->differ[cmp->nr_differ++] = (struct difference){
		.addr = step->insn.addr, .end = step->insn.addr + step->insn.size,
		.function = cmp->function->start, .theirs = row->state,
		.ours = ours,
		.is_late = late != row && late->state.cfa.off < row->state.cfa.off &&
			   agrees(cmp, step, &row[1].state),
		.is_bare = has_entry_alone(cmp),
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

static int compare_moves(const void *one, const void *two)
{
	const struct move *a = one, *b = two;

	return a->end < b->end ? -1 : a->end > b->end;
}

static int compare_differences(const void *one, const void *two)
{
	const struct difference *a = one, *b = two;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Return: the first move that ends after @from and not after @to; NULL: there is none. */
static const struct move *find_move(const struct comparison *cmp, u64 from, u64 to)
{
	size_t lo = 0, hi = cmp->nr_moves, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (cmp->moves[mid].end <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < cmp->nr_moves && cmp->moves[lo].end <= to ? &cmp->moves[lo] : NULL;
}

/*
 * LLVM makes no row at once for pushes and additions to the stack pointer. Both say the same before
 * such an instruction, and there is no new row after it.
 */
static bool is_late(const struct comparison *cmp, const struct difference *differ, u64 *late_from,
		    u64 *late_to)
{
	const struct move *move = find_move(cmp, differ->addr - 1, differ->addr);

	if (move && !memcmp(&move->theirs, &differ->theirs, sizeof(move->theirs)))
		*late_from = differ->addr;
	else if (differ->addr > *late_to || differ->addr - *late_from > LATE_MAX)
		return differ->is_late;
	*late_to = differ->end;
	return true;
}

/* Assembly with one row, that of the entry, though an instruction before moves the stack pointer */
static bool is_bare(const struct comparison *cmp, const struct difference *differ)
{
	return differ->is_bare && find_move(cmp, differ->function, differ->addr);
}

static void print_difference(const struct comparison *cmp, const struct code_image *image,
			     const struct difference *differ)
{
	u8 bytes[8] = {};
	size_t i;

	code_image_read(image, differ->function, bytes, sizeof(bytes));
	printf("# %s: 0x%" PRIx64 " in 0x%" PRIx64 " (", cmp->name, differ->addr,
	       differ->function);
	for (i = 0; i < sizeof(bytes); i++)
		printf("%02x", bytes[i]);
	putchar(')');
	print_state("CFI", &differ->theirs);
	print_state("the analysis", &differ->ours);
	putchar('\n');
}

/* What differs counts where a row was made of it. */
static void judge(struct comparison *cmp, const struct code_image *image,
		  const struct code_rows *rows)
{
	u64 late_from = 0, late_to = 0;
	bool late, bare;
	size_t i;

	qsort(cmp->moves, cmp->nr_moves, sizeof(*cmp->moves), compare_moves);
	qsort(cmp->differ, cmp->nr_differ, sizeof(*cmp->differ), compare_differences);
	for (i = 0; i < cmp->nr_differ; i++) {
		const struct difference *differ = &cmp->differ[i];

		late = is_late(cmp, differ, &late_from, &late_to);
		if (!is_used(rows, differ->addr, &differ->ours))
			continue;
		bare = !late && is_bare(cmp, differ);
		cmp->nr_late += late;
		cmp->nr_bare += bare;
		if (late || bare)
			continue;
		cmp->differences++;
		print_difference(cmp, image, differ);
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
	if (!error && !code_image_open(&image, source, &nothing)) {
		code_image_close(&image);
		error = "too much code, or not enough memory";
	}
	if (error) {
		cfi_functions_free(&cmp->functions);
		return error;
	}
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
	       " elsewhere, %" PRIu64 " late, %" PRIu64 " bare, %" PRIu64 " reloaded, %" PRIu64
	       " differences\n",
	       cmp->name, common, ranges_bytes(&described), cmp->nr, cmp->nr_elsewhere,
	       cmp->nr_late, cmp->nr_bare, cmp->nr_reloaded, cmp->differences);
	code_image_close(&image);
	ranges_free(&described);
	ranges_free(&found);
	code_rows_free(&rows);
	cfi_functions_free(&cmp->functions);
	free(cmp->rows.all);
	free(cmp->differ);
	free(cmp->moves);
	return NULL;
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
