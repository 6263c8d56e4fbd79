// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is different with a table of sframectl convert.
 *
 * Each row is looked up twice: by the decoder alone, and as the module does it in a table that is
 * loaded. Both have to agree with libdw.
 *
 * A PLT may be in the table only: sframectl has recognised its code. Its rows are not compared.
 * So may the code at which a loader starts, which has no caller.
 *
 * Code that .eh_frame describes and the table does not is a hole. It is justified if SFrame
 * has no form for what libdw reports there.
 */
#include <inttypes.h>
#include <stdio.h>

#include "compare.h"
#include "expression.h"
#include "ranges.h"

/*
 * A CFA of *(reg + n) + c, with the return address directly below it: the table has
 * CFA' = *(reg + n), and offsets from CFA'. The return address is then at CFA' or above it. From
 * this the walk knows that the caller's stack pointer is the address after it, which is CFA' + c.
 */
static void take_saved_sp(struct comparison *cmp, u64 addr, struct sframe_row *row)
{
	struct sframe_rule word;
	s64 sum;

	if (is_arm64(cmp) || !rule_is_odd(&row->cfa) ||
	    row->ra.how != SFRAME_RULE_CFA_MEM || row->ra.off != -8 ||
	    !ehframe_saved_sp(&cmp->eh, addr, &word, &sum) || sum < 8)
		return;
	row->cfa = word;
	row->ra.off += sum;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		row->fp.off += sum;
}

/* A function that a PLT has pushed two words before has its return address above the CFA. */
static bool has_pushed_ra(const struct assembler *faultless, const struct function *func)
{
	struct sframe_row row;
	u64 addr, end;

	for (addr = func->start; addr < func->end; addr = end) {
		if (!assembler_row_until(faultless, func, addr, &row, &end))
			return false;
		if (row.ra.how == SFRAME_RULE_CFA_MEM && row.ra.off == 8 &&
		    row.cfa.how == SFRAME_RULE_REG && row.cfa.reg == SFRAME_AARCH64_REG_SP)
			return true;
	}
	return false;
}

/* .eh_frame of such a function is 16 bytes off. The table has the CFA that the caller has. */
static void take_pushed_words(struct comparison *cmp, const struct function *func,
			      struct sframe_row *row)
{
	const struct assembler faultless = { .eh = &cmp->eh };

	if (row->cfa.how != SFRAME_RULE_REG || row->cfa.reg != SFRAME_AARCH64_REG_SP)
		return;
	/* A function may have thousands of rows, and each one asks. */
	if (cmp->asked != func)
		cmp->has_pushed_ra = has_pushed_ra(&faultless, func);
	cmp->asked = func;
	if (!cmp->has_pushed_ra)
		return;
	row->cfa.off += 16;
	if (row->ra.how == SFRAME_RULE_CFA_MEM)
		row->ra.off -= 16;
	if (row->fp.how == SFRAME_RULE_CFA_MEM)
		row->fp.off -= 16;
}

/**
 * converted_describe() - take the forms that sframectl convert gives the rules
 * @cmp: the comparison
 * @found: what .eh_frame says
 */
void converted_describe(struct comparison *cmp, struct finding *found)
{
	found->sp_is_cfa = ehframe_sp_is_cfa(&cmp->eh, found->addr, &found->dwarf);
	take_saved_sp(cmp, found->addr, &found->dwarf);
	if (is_arm64(cmp))
		take_pushed_words(cmp, found->func, &found->dwarf);
}

/* CFA + offset has no form in SFrame: the register of the CFA + another offset is the same. */
static struct sframe_rule comparable(const struct sframe_row *row, struct sframe_rule rule)
{
	if (rule.how == SFRAME_RULE_CFA && row->cfa.how == SFRAME_RULE_REG) {
		rule.how = SFRAME_RULE_REG;
		rule.reg = row->cfa.reg;
		rule.off += row->cfa.off;
	}
	return rule;
}

static bool rows_agree(const struct finding *found)
{
	const struct sframe_row *sframe = &found->sframe, *dwarf = &found->dwarf;
	struct sframe_rule ra, fp;

	if (sframe->signal != dwarf->signal)
		return false;
	if (sframe->outermost || dwarf->outermost)
		return sframe->outermost && dwarf->outermost;
	ra = comparable(dwarf, dwarf->ra);
	fp = comparable(dwarf, dwarf->fp);
	return found->sp_is_cfa && sframe->ra_mangled == dwarf->ra_mangled &&
	       rules_equal(&sframe->cfa, &dwarf->cfa) && rules_equal(&sframe->ra, &ra) &&
	       rules_equal(&sframe->fp, &fp);
}

/**
 * converted_agree() - compare the row of a table with that of .eh_frame
 * @cmp: the comparison
 * @found: both; if they agree, the row becomes the one that the module finds
 *
 * Return: true if both rows of the table agree with .eh_frame.
 */
bool converted_agree(struct comparison *cmp, struct finding *found)
{
	/* What the module does not accept, converted_judge() reports. */
	if (found->err || !found->func || !rows_agree(found) || !cmp->host_table.is_accepted)
		return false;
	found->err = host_table_find(&cmp->host_table, found->addr, &found->sframe);
	return !found->err && rows_agree(found);
}

/*
 * Returns true if no byte of it is in .eh_frame: a PLT, or other code. Its instructions say what is
 * in the table, which the part code of this oracle tests.
 */
bool converted_is_alone(struct comparison *cmp, const struct sframe_fde *fde)
{
	u32 i;

	for (i = 0; i < fde->size; i++)
		if (functions_find(&cmp->functions, fde->start + i))
			return false;
	return true;
}

static bool can_follow(const struct comparison *cmp, const struct sframe_rule *rule)
{
	return !rule_is_odd(rule) &&
	       rule->reg < (is_arm64(cmp) ? SFRAME_AARCH64_NR_REGS : SFRAME_AMD64_NR_REGS);
}

/* Is there a form in SFrame for what libdw reports? */
static bool is_expressible(const struct comparison *cmp, const struct finding *found)
{
	const struct sframe_row *row = &found->dwarf;
	struct sframe_rule ra = comparable(row, row->ra), fp = comparable(row, row->fp);

	if (row->outermost)
		return true;
	return found->sp_is_cfa && can_follow(cmp, &row->cfa) &&
	       (row->cfa.how == SFRAME_RULE_REG || row->cfa.how == SFRAME_RULE_REG_MEM) &&
	       can_follow(cmp, &ra) && ra.how != SFRAME_RULE_CFA &&
	       (is_arm64(cmp) || ra.how != SFRAME_RULE_SAME) &&
	       can_follow(cmp, &fp) && fp.how != SFRAME_RULE_CFA;
}

static void judge_hole(struct comparison *cmp, u64 start, u64 end)
{
	struct finding found;
	u64 addr, next;

	for (addr = start; addr < end; addr = next) {
		found = (struct finding){ .addr = addr };
		next = addr + 1;
		compare_describe(cmp, &found);
		if (!found.func)
			continue;
		if (found.end > addr)
			next = found.end < end ? found.end : end;
		cmp->of_table.holes += next - addr;
		if (!is_expressible(cmp, &found))
			continue;
		if (!cmp->of_table.unjustified) {
			printf("# %s: hole at 0x%" PRIx64 ":", cmp->name, addr);
			ehframe_print_row("eh_frame", cmp->sec.abi, &found.dwarf);
			putchar('\n');
		}
		cmp->of_table.unjustified += next - addr;
	}
}

/* Functions of one address are described once. */
static void judge_holes(struct comparison *cmp)
{
	const struct range *covered;
	struct ranges code = functions_ranges(&cmp->functions);
	size_t i, k = 0;
	u64 addr;

	ranges_merge(&cmp->covered);
	cmp->of_table.code = ranges_bytes(&code);
	for (i = 0; i < code.nr; i++) {
		for (addr = code.all[i].start; addr < code.all[i].end; addr = covered->end) {
			while (k < cmp->covered.nr && cmp->covered.all[k].end <= addr)
				k++;
			covered = &cmp->covered.all[k];
			if (k == cmp->covered.nr || covered->start >= code.all[i].end) {
				judge_hole(cmp, addr, code.all[i].end);
				break;
			}
			if (covered->start > addr)
				judge_hole(cmp, addr, covered->start);
		}
	}
	ranges_free(&code);
}

/* Return: NULL, or the reason why the module cannot use the table; its rows have been compared. */
const char *converted_judge(struct comparison *cmp)
{
	if (!cmp->host_table.is_accepted)
		return "the module does not accept its table";
	judge_holes(cmp);
	return NULL;
}
