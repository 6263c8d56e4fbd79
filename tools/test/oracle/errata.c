// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The faults that toolchains are known for. Each has to be shown: for what an
 * assembler got wrong, by making the same mistake with the same instructions
 * and finding the very row that is stored; for what a linker or the encoding
 * got wrong, by the form of the row and the place where it stands.
 */
#include "errata.h"
#include "expression.h"

#define PLT_BLOCK	16

static bool rules_equal(const struct sframe_rule *a, const struct sframe_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off;
}

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

/* In an outermost frame no other rule is of interest. */
static bool rows_equal(const struct sframe_row *a, const struct sframe_row *b)
{
	if (a->outermost || b->outermost)
		return a->outermost && b->outermost;
	return a->ra_mangled == b->ra_mangled && rules_equal(&a->cfa, &b->cfa) &&
	       rules_equal(&a->ra, &b->ra) && rules_equal(&a->fp, &b->fp);
}

/*
 * A function of which .eh_frame says nothing has no caller either. A signal
 * frame without rules claims no more than that it is one.
 */
static bool rows_agree(const struct sframe_row *sframe, const struct sframe_row *dwarf)
{
	if (has_no_rules(sframe) && !sframe->outermost)
		return true;
	if (sframe->outermost && has_no_rules(dwarf))
		return true;
	return rows_equal(sframe, dwarf);
}

/* What the assemblers of a version get wrong; clang's output alone is not sorted. */
static unsigned int mistakes_of(const struct sframe_section *sec)
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

/* The fewest mistakes, as errata, that lead to what SFrame says; 0: none do. */
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

/* Whether SFrame has the one offset for the CFA, .eh_frame the other, and all else is equal. */
static bool differs_by_cfa(const struct finding *found, s64 sframe, s64 dwarf)
{
	struct sframe_row row = found->dwarf;

	if (!found->func || row.cfa.how != SFRAME_RULE_REG || row.cfa.off != dwarf)
		return false;
	row.cfa.off = sframe;
	return rows_equal(&found->sframe, &row);
}

static bool get_section(const struct finding *found, const char *name,
			struct elf_section *sec)
{
	u32 i;

	for (i = 0; elf_get_section(&found->obj->elf, i, sec); i++)
		if (!strcmp(sec->name, name))
			return true;
	return false;
}

/*
 * ld 2.40 describes the first stub of .plt.sec as if it were entry 0 of .plt,
 * and then 32 bytes, where the section ends or not.
 */
static bool is_plt_sec_of_2_40(const struct finding *found)
{
	const struct sframe_row *row = &found->sframe;
	struct elf_section sec;

	if (!get_section(found, ".plt.sec", &sec))
		return false;
	if (row->pcmask)
		return row->func - sec.addr == PLT_BLOCK &&
		       found->addr - sec.addr >= sec.size;
	return row->func == sec.addr &&
	       differs_by_cfa(found, found->addr - row->func < 6 ? 16 : 24, 8);
}

/* And in each entry of an IBT .plt, the push as two bytes longer than it is. */
static bool is_ibt_plt_of_2_40(const struct finding *found)
{
	u64 off = (found->addr - found->sframe.func) % PLT_BLOCK;
	struct elf_section sec;

	return found->sframe.pcmask && (off == 9 || off == 10) &&
	       differs_by_cfa(found, 8, 16) &&
	       get_section(found, ".plt", &sec) && found->addr - sec.addr < sec.size;
}

static bool is_plt_of_2_40(const struct finding *found)
{
	return found->sec->version == SFRAME_VERSION_1 &&
	       found->sec->abi == SFRAME_ABI_AMD64_LE &&
	       (is_plt_sec_of_2_40(found) || is_ibt_plt_of_2_40(found));
}

/* The register of a rule by expression whose base is not FP got lost. */
static bool is_lost_register(const struct finding *found, u8 fp)
{
	const struct sframe_rule *rule = &found->dwarf.fp;

	return found->func && found->sec->version == SFRAME_VERSION_3 &&
	       found->err == -EOPNOTSUPP && found->fault == SFRAME_FAULT_REGNUM &&
	       rule->how == SFRAME_RULE_REG_MEM && rule->reg != fp;
}

/**
 * errata_agree - whether SFrame and .eh_frame say the same
 * @found: what they say
 *
 * Nothing is the same as nothing: behind the end of a function that a longer
 * one of SFrame overlaps, the look-up finds nothing.
 */
bool errata_agree(const struct finding *found)
{
	if (!found->func)
		return found->err == -ENOENT;
	return !found->err && same_signal(found) &&
	       rows_agree(&found->sframe, &found->dwarf);
}

/**
 * errata_explain - why the two differ
 * @eh: the .eh_frame
 * @found: what they say, and do not agree on
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
 * errata_mended - what the decoder had to mend for the two to agree
 * @found: what they say
 *
 * Return: the erratum, 0 if what is stored is not what the decoder knows of.
 */
errata_t errata_mended(const struct finding *found)
{
	struct elf_section sec;

	return found->sec->version > SFRAME_VERSION_1 && found->stored_cfa == 16 &&
	       get_section(found, ".plt.got", &sec) &&
	       found->addr - sec.addr < sec.size ? ERRATUM(6) : 0;
}
