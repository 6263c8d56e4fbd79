// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The known mistakes of toolchains. Each one has to be proved. For an assembler,
 * the same mistake is made with the same instructions, and must give the stored
 * row. A mistake by a linker or of the encoding is recognised by the form of the
 * row and its place in the file.
 */
#include "errata.h"
#include "expression.h"

#define PLT_BLOCK	16

static bool has_no_rules(const struct sframe_row *row)
{
	return row->cfa.how == SFRAME_RULE_SAME;
}

/* V1 and V2 have no mark for signal frames. */
static bool same_signal(const struct finding *found)
{
	return found->sec->version < SFRAME_VERSION_3 ||
	       found->sframe.signal == found->dwarf.signal;
}

/* In an outermost frame the other rules do not matter. */
static bool rows_equal(const struct sframe_row *a, const struct sframe_row *b)
{
	if (a->outermost || b->outermost)
		return a->outermost && b->outermost;
	return a->ra_mangled == b->ra_mangled && rules_equal(&a->cfa, &b->cfa) &&
	       rules_equal(&a->ra, &b->ra) && rules_equal(&a->fp, &b->fp);
}

/*
 * A signal frame without rules agrees with any row: it has only the mark. An
 * outermost frame agrees with a function without rules in .eh_frame, which has
 * no caller either.
 */
static bool rows_agree(const struct sframe_row *sframe, const struct sframe_row *dwarf)
{
	if (has_no_rules(sframe) && !sframe->outermost)
		return true;
	if (sframe->outermost && has_no_rules(dwarf))
		return true;
	return rows_equal(sframe, dwarf);
}

/* The mistakes of the assemblers of a version. Only clang writes unsorted sections. */
static unsigned int mistakes_of(const struct sframe_header *sec)
{
	bool pcrel = sec->flags & SFRAME_F_FDE_FUNC_START_PCREL;
	bool sorted = sec->flags & SFRAME_F_FDE_SORTED;

	switch (sec->version) {
	case SFRAME_VERSION_1:
		return MISTAKE_RESTORE_FIRST | MISTAKE_ONE_STATE |
		       MISTAKE_SP_BASED | MISTAKE_RA_DEFINED |
		       (sec->abi == SFRAME_ABI_AMD64_LE ? 0 : MISTAKE_FP_IS_RA);
	case SFRAME_VERSION_2:
		if (pcrel && !sorted)
			return MISTAKE_RESTORE_FIRST | MISTAKE_RA_DEFINED |
			       MISTAKE_FP_FORGOTTEN;
		return MISTAKE_RESTORE_FIRST | MISTAKE_ONE_STATE | MISTAKE_RA_DEFINED;
	default:
		return MISTAKE_RESTORE_FIRST | MISTAKE_ONE_STATE;
	}
}

/* Return: the fewest mistakes, as errata, that give the row of SFrame; 0 if none do. */
static errata_t find_mistakes(struct ehframe *eh, const struct finding *found)
{
	struct assembler as = {
		.eh = eh, .remembers_last_row = found->sec->version < SFRAME_VERSION_3,
	};
	unsigned int possible = mistakes_of(found->sec), best = 0, tried;
	struct sframe_row row;

	if (!assembler_row(&as, found->func, found->addr, &row) ||
	    !rows_equal(&row, &found->dwarf))
		return 0;

	/* All subsets, the full set last. */
	for (tried = 0; tried != possible;) {
		tried = (tried - possible) & possible;
		if (best && __builtin_popcount(best) <= __builtin_popcount(tried))
			continue;
		as.mistakes = tried;
		if (assembler_row(&as, found->func, found->addr, &row) &&
		    rows_equal(&found->sframe, &row))
			best = tried;
	}
	return best;
}

/* Return: true if the CFA's offset is @sframe and @dwarf in the two rows, and the rest is equal. */
static bool differs_by_cfa(const struct finding *found, s64 sframe, s64 dwarf)
{
	struct sframe_row row = found->dwarf;

	if (!found->func || row.cfa.how != SFRAME_RULE_REG || row.cfa.off != dwarf)
		return false;
	row.cfa.off = sframe;
	return rows_equal(&found->sframe, &row);
}

/*
 * ld 2.40 describes the first stub of .plt.sec like entry 0 of .plt. Then it
 * describes 32 bytes, even if the section ends before.
 */
static bool is_plt_sec_of_2_40(const struct finding *found)
{
	const struct sframe_row *row = &found->sframe;
	struct elf_section sec;

	if (!functions_section(found->obj, ".plt.sec", &sec))
		return false;
	if (row->pcmask)
		return row->func - sec.addr == PLT_BLOCK &&
		       found->addr - sec.addr >= sec.size;
	return row->func == sec.addr &&
	       differs_by_cfa(found, found->addr - row->func < 6 ? 16 : 24, 8);
}

/* ld 2.40 describes the push in each entry of an IBT .plt as two bytes longer than it is. */
static bool is_ibt_plt_of_2_40(const struct finding *found)
{
	u64 off = (found->addr - found->sframe.func) % PLT_BLOCK;
	struct elf_section sec;

	return found->sframe.pcmask && (off == 9 || off == 10) &&
	       differs_by_cfa(found, 8, 16) &&
	       functions_section(found->obj, ".plt", &sec) && found->addr - sec.addr < sec.size;
}

static bool is_plt_of_2_40(const struct finding *found)
{
	return found->sec->version == SFRAME_VERSION_1 &&
	       found->sec->abi == SFRAME_ABI_AMD64_LE &&
	       (is_plt_sec_of_2_40(found) || is_ibt_plt_of_2_40(found));
}

/* If an expression for FP has a base other than FP, the assembler loses the register. */
static bool is_lost_register(const struct finding *found, u8 fp)
{
	const struct sframe_rule *rule = &found->dwarf.fp;

	return found->func && found->sec->version == SFRAME_VERSION_3 &&
	       found->err == -EOPNOTSUPP && found->defect == SFRAME_DEFECT_REGNUM &&
	       rule->how == SFRAME_RULE_REG_MEM && rule->reg != fp;
}

/**
 * errata_agree - check if SFrame and .eh_frame agree
 * @found: the rows of both
 *
 * They also agree if neither has a row. In SFrame a longer function may overlap a
 * shorter one: after the end of the shorter one the look-up finds no row.
 */
bool errata_agree(const struct finding *found)
{
	if (!found->func)
		return found->err == -ENOENT;
	return !found->err && same_signal(found) &&
	       rows_agree(&found->sframe, &found->dwarf);
}

/**
 * errata_explain - find the errata that explain a difference
 * @eh: the .eh_frame
 * @found: the rows of SFrame and .eh_frame, which differ
 *
 * Return: the errata that together explain the difference, 0 if none do.
 */
errata_t errata_explain(struct ehframe *eh, const struct finding *found)
{
	if (is_lost_register(found, eh->regs.fp))
		return ERRATUM(8);
	if (found->err)
		return 0;
	if (is_plt_of_2_40(found))
		return ERRATUM(7);
	if (!found->func || !same_signal(found))
		return 0;
	return find_mistakes(eh, found);
}

/**
 * errata_mended - find the erratum that the decoder corrected
 * @found: the rows of SFrame and .eh_frame, which agree
 *
 * Return: the erratum, 0 if the stored row is none that the decoder corrects.
 */
errata_t errata_mended(const struct finding *found)
{
	struct elf_section sec;

	return found->sec->version > SFRAME_VERSION_1 && found->stored_cfa == 16 &&
	       functions_section(found->obj, ".plt.got", &sec) &&
	       found->addr - sec.addr < sec.size ? ERRATUM(6) : 0;
}
